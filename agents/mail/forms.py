"""The form by which a person connects a mailbox. Empty servers are those that the address suggests."""

from typing import Any, Final

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy, pgettext

from agents.mail.actions import Wanted
from agents.mail.known_servers import servers_of
from agents.mail.models import MailAccount
from hyperagent.lib.mail_servers import Security

_PLAIN_TEXT: Final = {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
_WAYS: Final = [("", gettext_lazy("As usual")), (Security.SSL.value, "TLS"), (Security.TLS.value, "STARTTLS")]


def _ways() -> list[tuple[str, Any]]:
    return [*_WAYS, (Security.PLAIN.value, pgettext("security", "None"))] if settings.MAIL_ALLOW_PRIVATE else _WAYS


class MailboxForm(forms.Form):
    address = forms.CharField(
        label=gettext_lazy("E-mail address"),
        max_length=254,
        widget=forms.EmailInput(attrs={**_PLAIN_TEXT, "autocomplete": "email", "data-mail-address": ""}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        max_length=500,
        strip=False,
        required=False,
        help_text=gettext_lazy(
            "Many providers want an app password here. It is stored encrypted, and shown to nobody."
        ),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    display_name = forms.CharField(
        label=gettext_lazy("Your name in mails"),
        max_length=60,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    user_name = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=254,
        required=False,
        help_text=gettext_lazy("If it is not the address."),
        widget=forms.TextInput(attrs=_PLAIN_TEXT),
    )
    imap_host = forms.CharField(label=gettext_lazy("IMAP server"), max_length=253, required=False)
    imap_port = forms.IntegerField(label=gettext_lazy("IMAP port"), required=False, min_value=1, max_value=65_535)
    imap_security = forms.ChoiceField(label=gettext_lazy("IMAP encryption"), required=False, choices=_ways)
    smtp_host = forms.CharField(label=gettext_lazy("SMTP server"), max_length=253, required=False)
    smtp_port = forms.IntegerField(label=gettext_lazy("SMTP port"), required=False, min_value=1, max_value=65_535)
    smtp_security = forms.ChoiceField(label=gettext_lazy("SMTP encryption"), required=False, choices=_ways)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for name in ("imap_host", "smtp_host"):
            self.fields[name].widget.attrs.update(_PLAIN_TEXT)

    @property
    def usual_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("address", "display_name", "password")]

    @property
    def server_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in ("address", "password", "display_name")]

    @property
    def shows_servers(self) -> bool:
        """Whether there is something in them to be seen at once."""
        return any(field.errors or field.value() for field in self.server_fields)

    @property
    def hint(self) -> str:
        """What is to know of the provider, once something was not right."""
        return servers_of(self.data.get("address", "")[:254]).hint if self.errors else ""

    def wanted(self) -> Wanted:
        typed = self.cleaned_data
        usual = servers_of(typed["address"])
        return Wanted(
            address=typed["address"],
            display_name=typed["display_name"],
            user_name=typed["user_name"],
            password=typed["password"],
            imap_host=typed["imap_host"] or usual.imap_host,
            imap_port=typed["imap_port"] or usual.imap_port,
            imap_security=typed["imap_security"] or usual.imap_security,
            smtp_host=typed["smtp_host"] or usual.smtp_host,
            smtp_port=typed["smtp_port"] or usual.smtp_port,
            smtp_security=typed["smtp_security"] or usual.smtp_security,
        )


def filled_with(account: MailAccount) -> dict[str, Any]:
    """What is known of a mailbox that is to be connected again; never its password."""
    names = [name for name in MailboxForm.base_fields if name != "password"]
    return {name: getattr(account, name) for name in names}
