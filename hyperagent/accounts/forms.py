"""The account's forms: what is typed, bounded and cleaned. Whether it is right is for `actions` to say."""

from datetime import UTC, date, datetime, time
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.password_validation import MinimumLengthValidator, get_default_password_validators
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts.addresses import check_address
from hyperagent.accounts.models import Theme, User, email_key
from hyperagent.accounts.scopes import DEFAULT_SCOPES, Scope, person_scopes
from hyperagent.accounts.tokens import TOKEN_LIFETIME
from hyperagent.accounts.zones import is_choosable, zones_by_region
from hyperagent.lib.languages import LANGUAGES

# A password is hashed whole, so its length is bounded before that.
MAX_PASSWORD_CHARS = 1024

SCOPE_LABELS = {
    Scope.RUN: _("run: ask questions and steer runs"),
    Scope.READ: _("read: see conversations, runs and usage"),
    Scope.APPROVE: _("approve: decide requests in your name"),
    Scope.DOCUMENTS: _("documents: add, search, delete"),
    Scope.ADMIN: _("admin: what administrators may do"),
}


def _email_field(autocomplete: str, **options: Any) -> forms.EmailField:
    return forms.EmailField(
        label=_("E-mail"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": autocomplete, "autofocus": True}),
        **options,
    )


def _password_field(label: Any, autocomplete: str, **options: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        strip=False,
        max_length=MAX_PASSWORD_CHARS,
        # No maxlength in the page: a browser would cut a pasted password without a word.
        widget=_PasswordInput(attrs={"autocomplete": autocomplete}),
        **options,
    )


class _PasswordInput(forms.PasswordInput):
    def build_attrs(self, base_attrs: dict[str, Any], extra_attrs: dict[str, Any] | None = None) -> dict[str, Any]:
        attrs = super().build_attrs(base_attrs, extra_attrs)
        attrs.pop("maxlength", None)
        return attrs


class PlainForm(forms.Form):
    """Labels as they are, without a colon."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class LoginForm(PlainForm):
    email = _email_field("username")
    password = _password_field(_("Password"), "current-password")


class _NewPassword(PlainForm):
    """A password that is typed twice, since without JavaScript nobody can look at it."""

    password = _password_field(_("New password"), "new-password")
    password_again = _password_field(_("New password again"), "new-password")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].help_text = _password_help()

    def clean_password_again(self) -> str:
        again: str = self.cleaned_data["password_again"]
        if "password" in self.cleaned_data and again != self.cleaned_data["password"]:
            raise ValidationError(gettext("The two passwords are not the same. Type the same one twice."))
        return again


class _NewAccount(_NewPassword):
    """Also takes the zone of the browser's clock, which a script fills in: nobody is asked for it here."""

    time_zone = forms.CharField(required=False, widget=forms.HiddenInput(attrs={"data-own-zone": ""}))

    def clean_time_zone(self) -> str:
        zone: str = self.cleaned_data["time_zone"]
        return zone if is_choosable(zone) else ""


class RegisterForm(_NewAccount):
    email = _email_field("username", validators=[check_address])
    display_name = forms.CharField(
        label=_("Name (optional)"),
        max_length=120,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    password = _password_field(_("Password"), "new-password")
    password_again = _password_field(_("Password again"), "new-password")

    field_order = ("email", "display_name", "password", "password_again")


class InvitedForm(_NewAccount):
    """The address is the invitation's."""

    display_name = forms.CharField(
        label=_("Name (optional)"),
        max_length=120,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "name", "autofocus": True}),
    )
    password = _password_field(_("Password"), "new-password")
    password_again = _password_field(_("Password again"), "new-password")

    field_order = ("display_name", "password", "password_again")


class PasswordChangeForm(_NewPassword):
    old_password = _password_field(_("Your password now"), "current-password")

    field_order = ("old_password", "password", "password_again")


class PasswordResetForm(PlainForm):
    email = _email_field("username")


class NewPasswordForm(_NewPassword):
    """The end of a reset."""


class _AccountForm(forms.ModelForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class ProfileForm(_AccountForm):
    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        required=False,
        help_text=_("Times are shown to you in it."),
        choices=lambda: [("", "UTC"), *zones_by_region()],
    )

    class Meta:
        model = User
        fields = ("display_name", "time_zone")
        labels: ClassVar = {"display_name": _("Name")}
        help_texts: ClassVar = {"display_name": _("How others see you. Without it they see your e-mail address.")}
        widgets: ClassVar = {"display_name": forms.TextInput(attrs={"autocomplete": "name"})}


class AppearanceForm(_AccountForm):
    theme = forms.ChoiceField(
        label=_("Theme"),
        widget=forms.RadioSelect,
        choices=[(Theme.SYSTEM, _("As the system")), (Theme.LIGHT, _("Light")), (Theme.DARK, _("Dark"))],
    )

    class Meta:
        model = User
        fields = ("theme",)


class LanguageForm(_AccountForm):
    language = forms.ChoiceField(
        label=_("Language"),
        required=False,
        widget=forms.RadioSelect,
        choices=[("", _("As the browser asks")), *LANGUAGES.items()],
    )

    class Meta:
        model = User
        fields = ("language",)


class DeleteAccountForm(PlainForm):
    """The password says who it is, the address that it was meant. Who has none has just confirmed it otherwise."""

    typed = forms.CharField(
        label=_("Your e-mail address"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = _password_field(_("Your password"), "current-password")

    def __init__(self, *args: Any, email: str, has_password: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._email = email
        if not has_password:
            del self.fields["password"]
        self.fields["typed"].help_text = gettext("Type %(email)s, so that nothing goes by mistake.") % {"email": email}

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if email_key(typed) != email_key(self._email):
            raise ValidationError(gettext("This is not the e-mail address of this account."))
        return typed


class TokenForm(PlainForm):
    name = forms.CharField(
        max_length=100,
        label=_("Name"),
        help_text=_("What will use it, so that you know which one to revoke."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple, label=_("What it may do"))
    ends_on = forms.DateField(
        label=_("Last day"),
        help_text=_("Within a year. It ends at midnight UTC."),
        widget=forms.DateInput(attrs={"type": "date", "autocomplete": "off"}, format="%Y-%m-%d"),
    )

    def __init__(self, *args: Any, is_staff: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        allowed = person_scopes(is_staff=is_staff)
        scopes = self.fields["scopes"]
        assert isinstance(scopes, forms.MultipleChoiceField)
        scopes.choices = [(scope.value, SCOPE_LABELS[scope]) for scope in Scope if scope in allowed]
        scopes.initial = [scope.value for scope in DEFAULT_SCOPES]
        self.fields["ends_on"].initial = _usual_last_day

    def expires_at(self) -> datetime:
        """The end of the chosen day. Only after the form was found valid."""
        day = self.cleaned_data["ends_on"]
        return datetime.combine(day, time.max, tzinfo=UTC)


def _usual_last_day() -> date:
    return (timezone.now() + TOKEN_LIFETIME).date()


def _password_help() -> str:
    """The one rule to know beforehand. Django's texts for all of them are a paragraph that nobody reads."""
    validators = get_default_password_validators()
    shortest = max((rule.min_length for rule in validators if isinstance(rule, MinimumLengthValidator)), default=1)
    return gettext("At least %(count)s characters, and not a common password.") % {"count": shortest}
