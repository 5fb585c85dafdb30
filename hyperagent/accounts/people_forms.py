"""The forms of the pages about people: what is typed, bounded. Whether it is right is for the verbs to say."""

from collections.abc import Collection
from datetime import UTC, date, datetime, time
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts import service_accounts
from hyperagent.accounts.forms import SCOPE_LABELS, PlainForm
from hyperagent.accounts.models import User
from hyperagent.accounts.people import Ticks, plain_groups
from hyperagent.accounts.people_reading import PersonState
from hyperagent.accounts.scopes import SERVICE_SCOPES, Role, Scope, UserKind
from hyperagent.accounts.tokens import TOKEN_LIFETIME
from hyperagent.lib.alphabet import by_name

ROLE_LABELS = {
    Role.REVIEWER: _("Reviewer: decides requests that policies give to reviewers"),
    Role.AUDITOR: _("Auditor: reads what was asked, decided and changed"),
    Role.ADMINISTRATOR: _("Administrator: keeps people, settings and policies"),
}
ROLE_NAMES = {
    Role.USER: _("User"),
    Role.REVIEWER: _("Reviewer"),
    Role.AUDITOR: _("Auditor"),
    Role.ADMINISTRATOR: _("Administrator"),
}
GRACE_LABELS = (
    ("0", _("at once")),
    ("1", _("in an hour")),
    ("24", _("in a day")),
    ("168", _("in a week")),
)


def _usual_end() -> date:
    return service_accounts.usual_end().date()


def _usual_last_day() -> date:
    return (timezone.now() + TOKEN_LIFETIME).date()


class _GroupsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def __init__(self) -> None:
        super().__init__(
            queryset=Group.objects.none(), required=False, label=_("Groups"), widget=forms.CheckboxSelectMultiple
        )


class _WithGroups(PlainForm):
    """A form in which groups can be chosen; without any there is nothing to choose."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        groups = self.fields["groups"]
        assert isinstance(groups, forms.ModelMultipleChoiceField)
        groups.queryset = plain_groups().order_by(*by_name("name"))
        if not groups.queryset.exists():
            del self.fields["groups"]

    def group_ids(self) -> list[int]:
        return [group.pk for group in self.cleaned_data.get("groups", ())]


class _WithRoles(_WithGroups):
    roles = forms.MultipleChoiceField(
        required=False, label=_("Roles"), widget=forms.CheckboxSelectMultiple, choices=list(ROLE_LABELS.items())
    )
    groups = _GroupsField()


class PersonForm(_WithRoles):
    """What somebody may, and where they belong; with what both were when the page was shown."""

    shown = forms.JSONField(required=False, widget=forms.HiddenInput)

    def ticks(self, *, roles: Collection[Role], group_ids: Collection[int]) -> tuple[Ticks, Ticks]:
        """Of roles and groups. The arguments stand for what was shown, where the page does not say."""
        told = self.cleaned_data.get("shown")
        told = told if isinstance(told, dict) else {}
        names, numbers = (_listed(told.get(name)) for name in ("roles", "groups"))
        had = roles if names is None else [role for role in Role if role.value in names]
        were_in = group_ids if numbers is None else [number for number in numbers if isinstance(number, int)]
        sent = {Role(name) for name in self.cleaned_data["roles"]} | {Role.USER}
        return (
            Ticks(frozenset(had) | {Role.USER}, frozenset(sent)),
            Ticks(frozenset(were_in), frozenset(self.group_ids())),
        )


def _listed(told: Any) -> list[Any] | None:
    return told if isinstance(told, list) else None


class InviteForm(_WithRoles):
    email = forms.EmailField(max_length=254, label=_("E-mail"), widget=forms.EmailInput(attrs={"autocomplete": "off"}))

    field_order = ("email", "roles", "groups")


class GroupForm(PlainForm):
    name = forms.CharField(max_length=150, label=_("Name"), widget=forms.TextInput(attrs={"autocomplete": "off"}))


class MemberForm(PlainForm):
    email = forms.EmailField(
        max_length=254, label=_("E-mail address of a person"), widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )


class ServiceForm(_WithGroups):
    name = forms.CharField(
        max_length=service_accounts.NAME_CHARS, label=_("Name"), widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    purpose = forms.CharField(
        max_length=service_accounts.PURPOSE_CHARS,
        required=False,
        label=_("What it is for"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    owner = forms.EmailField(
        max_length=254,
        label=_("Who answers for it"),
        help_text=_("The e-mail address of a person. They are asked what it would have to be asked."),
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=_("How far it reaches"),
        widget=forms.CheckboxSelectMultiple,
        choices=[(scope.value, SCOPE_LABELS[scope]) for scope in SERVICE_SCOPES],
        initial=[Scope.RUN.value, Scope.READ.value],
    )
    groups = _GroupsField()
    ends_on = forms.DateField(
        label=_("Last day"),
        help_text=_("Within three years. Then it is deactivated, and what it has going stops."),
        widget=forms.DateInput(attrs={"type": "date", "autocomplete": "off"}, format="%Y-%m-%d"),
        initial=_usual_end,
    )

    def clean_owner(self) -> User:
        typed = self.cleaned_data["owner"]
        owner: User | None = User.objects.with_email(typed).filter(is_active=True, kind=UserKind.PERSON).first()
        if owner is None:
            raise forms.ValidationError(_("Name an active person who answers for it."))
        return owner

    def wish(self, *, ends_at_now: datetime | None = None) -> service_accounts.ServiceAccountInput:
        """Only after the form was found valid. `ends_at_now`: of an account that there is; where its day stays, so does
        the hour."""
        typed = self.cleaned_data
        return service_accounts.ServiceAccountInput(
            name=typed["name"],
            owner_id=typed["owner"].pk,
            scopes=typed["scopes"],
            ends_at=_end(typed["ends_on"], ends_at_now),
            group_ids=self.group_ids(),
            purpose=typed["purpose"],
        )


class ServiceTokenForm(PlainForm):
    name = forms.CharField(max_length=100, label=_("Name"), widget=forms.TextInput(attrs={"autocomplete": "off"}))
    scopes = forms.MultipleChoiceField(label=_("What it may do"), widget=forms.CheckboxSelectMultiple)
    ends_on = forms.DateField(
        label=_("Last day"),
        help_text=_("Within a year, and no longer than the account. It ends at midnight UTC."),
        widget=forms.DateInput(attrs={"type": "date", "autocomplete": "off"}, format="%Y-%m-%d"),
        initial=_usual_last_day,
    )

    def __init__(self, *args: Any, scopes: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["scopes"]
        assert isinstance(choice, forms.MultipleChoiceField)
        choice.choices = [(scope, SCOPE_LABELS[Scope(scope)]) for scope in scopes]
        choice.initial = scopes


class RotateForm(PlainForm):
    grace = forms.ChoiceField(label=_("The old one ends"), choices=GRACE_LABELS, initial="24")


class FindForm(PlainForm):
    """Empty fields narrow nothing down; what cannot be read is as if it were empty."""

    q = forms.CharField(required=False, max_length=254, label=_("Name or e-mail"))
    role = forms.ChoiceField(required=False, label=_("Role"))
    group = forms.ModelChoiceField(required=False, label=_("Group"), queryset=Group.objects.none())
    state = forms.ChoiceField(required=False, label=_("State"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        role, group, state = (self.fields[name] for name in ("role", "group", "state"))
        assert isinstance(role, forms.ChoiceField)
        assert isinstance(group, forms.ModelChoiceField)
        assert isinstance(state, forms.ChoiceField)
        role.choices = [("", _("Every role")), *((r.value, label) for r, label in ROLE_NAMES.items() if r != Role.USER)]
        group.queryset, group.empty_label = plain_groups().order_by(*by_name("name")), str(_("Every group"))
        state.choices = [
            ("", _("Active or not")),
            (PersonState.ACTIVE.value, _("Active")),
            (PersonState.DEACTIVATED.value, _("Deactivated")),
        ]


def _end(day: date, now: datetime | None) -> datetime:
    return now if now is not None and now.date() == day else end_of(day)


def end_of(day: date) -> datetime:
    return datetime.combine(day, time.max, tzinfo=UTC)
