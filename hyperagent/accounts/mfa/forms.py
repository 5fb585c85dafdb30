"""What is typed of second factors, bounded and cleaned. Whether it is right is for `factors` and `passkeys` to say."""

import json
from typing import Any, ClassVar, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

CODE_CHARS: Final = 20
NAME_CHARS: Final = 60
# An attestation has a certificate or two in it.
ANSWER_CHARS: Final = 20_000


class _PlainForm(forms.Form):
    """Labels as they are, without a colon."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class _CodeInput(forms.TextInput):
    attributes: ClassVar = {
        "autocomplete": "one-time-code",
        "inputmode": "numeric",
        "autocapitalize": "none",
        "spellcheck": "false",
    }

    def __init__(self) -> None:
        super().__init__(attrs=self.attributes)


class CodeForm(_PlainForm):
    code = forms.CharField(label=_("Code"), max_length=CODE_CHARS, widget=_CodeInput)


class PasskeyForm(_PlainForm):
    """What the browser answered, put there by `passkeys.js`."""

    credential = forms.CharField(max_length=ANSWER_CHARS, widget=forms.HiddenInput)

    def clean_credential(self) -> Any:
        try:
            read = json.loads(self.cleaned_data["credential"])
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict):
            raise ValidationError(gettext("The browser sent no passkey. Try again."))
        return read


class NewPasskeyForm(PasskeyForm):
    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_CHARS,
        required=False,
        help_text=_("By which you know it again, such as “Laptop”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    field_order = ("name", "credential")


class ConfirmForm(_PlainForm):
    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        max_length=1024,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
