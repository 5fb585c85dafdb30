"""The form of a schedule: what people pick, as a `ScheduleInput` and back. Whether it can be: `actions`."""

from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any, Final
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.utils.dates import WEEKDAYS
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.modes import available_modes
from agents.tools.registry import tools
from conversations.schedules.kinds import CRON_CHARS, TITLE_CHARS, ApprovalRule, Kind, Talk, WhenMissed
from conversations.schedules.models import Schedule
from conversations.schedules.validation import ScheduleInput
from conversations.schedules.words import LAST_DAY, Frequency, Picked, cron_of, parts_of, pause_of, picked_from
from hitl.kinds import Op
from hyperagent.accounts.models import User
from hyperagent.accounts.zones import zones_by_region
from hyperagent.lib.alphabet import by_name
from memory.models import Document, Project

APPROVED_ROWS: Final = 3
MOST_CHOICES: Final = 200
UTC: Final = "UTC"
_END_OF_DAY: Final = time(23, 59, 59)
_MINUTE: Final = "%Y-%m-%dT%H:%M"
_FROM_MONDAY: Final = (1, 2, 3, 4, 5, 6, 0)
MODE_NAMES: Final[dict[str, str | Promise]] = {
    "task": gettext_lazy("Auto"),
    "chat": gettext_lazy("Chat"),
    "rag": gettext_lazy("Documents"),
    "web": gettext_lazy("Web"),
    "research": gettext_lazy("Research"),
    "code": gettext_lazy("Code"),
    "data": gettext_lazy("Data analysis"),
    "writing": gettext_lazy("Writing"),
    "mail": gettext_lazy("Mail"),
    "slide": gettext_lazy("Slides"),
}
FREQUENCIES: Final = (
    (Frequency.DAILY, gettext_lazy("Every day")),
    (Frequency.WORKDAYS, gettext_lazy("Monday to Friday")),
    (Frequency.WEEKLY, gettext_lazy("Weekly")),
    (Frequency.MONTHLY, gettext_lazy("Monthly")),
    (Frequency.EVERY, gettext_lazy("Every few hours")),
    (Frequency.ONCE, gettext_lazy("Once")),
    (Frequency.CRON, gettext_lazy("Other (cron)")),
)
UNITS: Final = (
    ("minutes", gettext_lazy("minutes")),
    ("hours", gettext_lazy("hours")),
    ("days", gettext_lazy("days")),
)
RULES: Final = (
    (ApprovalRule.WAIT, gettext_lazy("It waits in your inbox")),
    (ApprovalRule.DENY, gettext_lazy("It is denied, and the answer says so")),
    (ApprovalRule.PREAPPROVED, gettext_lazy("Only what I approve here goes ahead; all else is denied")),
)
TALKS: Final = (
    (Talk.NEW, gettext_lazy("Each time in a new conversation")),
    (Talk.SAME, gettext_lazy("All in one conversation, which knows what was said before")),
)
MISSED: Final = (
    (WhenMissed.ONCE, gettext_lazy("One run makes up for all of them")),
    (WhenMissed.SKIP, gettext_lazy("They are left out")),
)
OPERATORS: Final = (
    (Op.EQUALS, gettext_lazy("is exactly")),
    (Op.DOMAIN, gettext_lazy("has the domain")),
    (Op.STARTS_WITH, gettext_lazy("begins with")),
    (Op.MATCHES, gettext_lazy("looks like")),
)
# Where a fault of a ScheduleInput is shown in the form.
_AT_FIELD: Final = {
    "every_s": "count",
    "at": "moment",
    "ends_at": "until",
    "conversation_id": "talk",
    "project_id": "project",
    "document_ids": "documents",
}
_ROW: Final = ("tool", "path", "op", "value")


class ScheduleForm(forms.Form):
    """`user`: whose projects and documents may be chosen. `schedule`: the one that is changed."""

    question = forms.CharField(
        label=gettext_lazy("What to ask"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("As you would ask it in the chat. It is asked in your name."),
    )
    title = forms.CharField(label=gettext_lazy("Name"), max_length=TITLE_CHARS, required=False)
    frequency = forms.ChoiceField(label=gettext_lazy("How often"), choices=FREQUENCIES, widget=forms.RadioSelect)
    at = forms.TimeField(
        label=gettext_lazy("At"), required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    weekdays = forms.MultipleChoiceField(
        label=gettext_lazy("On"),
        required=False,
        choices=[(str(number), WEEKDAYS[(number - 1) % 7]) for number in _FROM_MONDAY],
        widget=forms.CheckboxSelectMultiple,
    )
    day = forms.ChoiceField(
        label=gettext_lazy("On day"),
        required=False,
        choices=[*((str(number), str(number)) for number in range(1, 32)), (LAST_DAY, gettext_lazy("the last one"))],
    )
    count = forms.IntegerField(label=gettext_lazy("Every"), required=False, min_value=1, max_value=9_999)
    unit = forms.ChoiceField(label=gettext_lazy("Unit"), required=False, choices=UNITS)
    # No field of times: one of Django's would take what is typed for a time in the reader's zone.
    moment = forms.CharField(
        label=gettext_lazy("When"), required=False, widget=forms.TextInput(attrs={"type": "datetime-local"})
    )
    cron = forms.CharField(
        label=gettext_lazy("Cron expression"),
        max_length=CRON_CHARS,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "30 8 * * 1-5"}),
        help_text=gettext_lazy(
            "Minute, hour, day of the month, month, day of the week. L is the last day of a month. At least five "
            "minutes apart."
        ),
    )
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        choices=lambda: [(UTC, UTC), *zones_by_region()],
        help_text=gettext_lazy("The time of day stays when the clocks change."),
    )
    until = forms.DateField(
        label=gettext_lazy("Last day"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        input_formats=["%Y-%m-%d"],
        help_text=gettext_lazy("Leave it empty for no end."),
    )
    on_approval = forms.ChoiceField(
        label=gettext_lazy("If something needs a yes"),
        choices=RULES,
        widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Choose what happens then.")},
        help_text=gettext_lazy("Nobody watches when it runs. Sending a mail, say, needs a yes."),
    )
    when_missed = forms.ChoiceField(
        label=gettext_lazy("If times were missed"),
        choices=MISSED,
        widget=forms.RadioSelect,
        required=False,
        help_text=gettext_lazy("Because nothing ran here when they came."),
    )
    talk = forms.ChoiceField(label=gettext_lazy("Where"), choices=TALKS, widget=forms.RadioSelect)
    mode = forms.ChoiceField(label=gettext_lazy("Who works on it"), required=False)
    project = forms.ChoiceField(label=gettext_lazy("Project"), required=False)
    documents = forms.MultipleChoiceField(
        label=gettext_lazy("Documents"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Only these are searched. Choose none to search all that you may see."),
    )

    def __init__(self, *args: Any, user: User, schedule: Schedule | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "initial": _initial(user, schedule), **kwargs})
        self.user, self._schedule = user, schedule
        self.keeps_approved = schedule is not None and not _fits_rows(schedule.preapproved)
        modes = available_modes()
        self._choose("mode", [(name, MODE_NAMES.get(name, name)) for name in modes])
        self._choose("project", [("", _("None")), *_projects(user, schedule)])
        self._choose("documents", list(_documents(user, schedule)))
        self._choose("time_zone", _zones(schedule, user))
        for number in range(APPROVED_ROWS):
            self.fields[f"tool_{number}"] = forms.ChoiceField(
                label=_("Tool"), required=False, choices=[("", _("None")), *_tools(schedule)]
            )
            self.fields[f"path_{number}"] = forms.CharField(
                label=_("Argument"), required=False, max_length=200, widget=forms.TextInput(attrs={"placeholder": "to"})
            )
            self.fields[f"op_{number}"] = forms.ChoiceField(label=_("Condition"), required=False, choices=OPERATORS)
            self.fields[f"value_{number}"] = forms.CharField(
                label=_("Value"),
                required=False,
                max_length=2_000,
                widget=forms.TextInput(attrs={"placeholder": "anna@example.org"}),
            )

    def approved_rows(self) -> list[dict[str, forms.BoundField]]:
        """For the template: the fields of each row by their names."""
        return [{name: self[f"{name}_{number}"] for name in _ROW} for number in range(APPROVED_ROWS)]

    def clean_moment(self) -> datetime | None:
        typed: str = self.cleaned_data["moment"]
        if not typed:
            return None
        try:
            return datetime.fromisoformat(typed).replace(tzinfo=None)
        except ValueError:
            raise ValidationError(_("Write a day and a time, such as 2026-12-24T09:00.")) from None

    def clean(self) -> dict[str, Any]:
        typed = super().clean() or self.cleaned_data
        missing = {
            Frequency.WEEKLY: ("weekdays", _("Choose a day of the week at least.")),
            Frequency.EVERY: ("count", _("Say how many minutes, hours or days lie between.")),
            Frequency.CRON: ("cron", _("Write an expression such as 30 8 * * 1-5.")),
        }
        field, message = missing.get(typed.get("frequency", ""), ("", ""))
        if field and field not in self.errors and not typed.get(field):
            self.add_error(field, message)
        by_clock = (Frequency.DAILY, Frequency.WORKDAYS, Frequency.WEEKLY, Frequency.MONTHLY)
        for number in range(APPROVED_ROWS):
            is_typed = typed.get(f"path_{number}") or typed.get(f"value_{number}")
            if is_typed and not typed.get(f"tool_{number}") and typed.get("on_approval") == ApprovalRule.PREAPPROVED:
                self.add_error(f"tool_{number}", _("Choose the tool."))
        if typed.get("frequency") in by_clock and "at" not in self.errors and typed.get("at") is None:
            self.add_error("at", _("Say at what time."))
        return typed

    def wish(self) -> ScheduleInput:
        """Once it is valid."""
        typed = self.cleaned_data
        before = self._schedule
        return ScheduleInput(
            question=typed["question"],
            title=typed["title"],
            on_approval=ApprovalRule(typed["on_approval"]),
            **self._times(),
            talk=Talk(typed["talk"]),
            conversation_id=before.conversation_id if before is not None and _is_there(before) else None,
            mode=typed["mode"],
            project_id=UUID(typed["project"]) if typed["project"] else None,
            document_ids=tuple(UUID(one) for one in typed["documents"]),
            preapproved=self._approved(),
            when_missed=WhenMissed(typed["when_missed"] or WhenMissed.ONCE),
        )

    def times(self) -> ScheduleInput | None:
        """What of it says when it comes; None while that is not whole. For a look at the next times."""
        self.full_clean()
        wanted = {"frequency", "at", "weekdays", "day", "count", "unit", "moment", "cron", "time_zone", "until"}
        if wanted & self.errors.keys():
            return None
        return ScheduleInput(question="?", on_approval=ApprovalRule.DENY, **self._times())

    def field_of(self, place: str) -> str:
        """Where a fault of this place of a ScheduleInput is shown."""
        return self._field_of_approval(place) if place.startswith("preapproved") else _AT_FIELD.get(place, place)

    def _field_of_approval(self, place: str) -> str:
        """`preapproved.1.conditions` is of the second row that has a tool."""
        parts = place.split(".")
        rows = [] if self.keeps_approved else self._rows_used()
        if len(parts) < 2 or int(parts[1]) >= len(rows):
            return "on_approval"
        names = {"tool": "tool", "value": "value", "op": "op"}
        return f"{names.get(parts[-1], 'path')}_{rows[int(parts[1])]}"

    def _times(self) -> dict[str, Any]:
        typed = self.cleaned_data
        before = self._schedule if self._schedule and self._schedule.time_zone == typed["time_zone"] else None
        found: dict[str, Any] = {"time_zone": typed["time_zone"], "ends_at": _end_of(typed.get("until"), before)}
        match frequency := Frequency(typed["frequency"]):
            case Frequency.ONCE:
                return {**found, "kind": Kind.ONCE, "at": _moment_of(typed["moment"], before)}
            case Frequency.EVERY:
                return {**found, "kind": Kind.EVERY, "every_s": pause_of(typed["count"], typed["unit"] or "hours")}
            case Frequency.CRON:
                return {**found, "kind": Kind.CRON, "cron": typed["cron"]}
            case _:
                weekdays = tuple(int(day) for day in typed["weekdays"])
                picked = Picked(frequency, typed["at"], weekdays, typed["day"] or "1")
                return {**found, "kind": Kind.CRON, "cron": cron_of(picked)}

    def _approved(self) -> list[dict[str, Any]]:
        """One approval a row. What the rows cannot show stays as it was."""
        if self.keeps_approved:
            assert self._schedule is not None
            return list(self._schedule.preapproved)
        rows = [{name: self.cleaned_data[f"{name}_{number}"].strip() for name in _ROW} for number in self._rows_used()]
        return [
            {
                "tool": row["tool"],
                "conditions": [{"path": row["path"], "op": row["op"], "value": row["value"]}] if row["path"] else [],
            }
            for row in rows
        ]

    def _rows_used(self) -> list[int]:
        return [number for number in range(APPROVED_ROWS) if self.cleaned_data.get(f"tool_{number}")]

    def _choose(self, name: str, choices: Iterable[Any]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(choices)


def _initial(user: User, schedule: Schedule | None) -> dict[str, Any]:
    if schedule is None:
        return {
            "frequency": Frequency.WORKDAYS, "at": time(9, 0), "count": 6, "unit": "hours", "talk": Talk.NEW,
            "time_zone": user.time_zone or UTC, "mode": "task", "weekdays": ["1"], "day": "1",
            "when_missed": WhenMissed.ONCE,
        }  # fmt: skip
    return {
        **_initial(user, None),
        "question": schedule.question,
        "title": schedule.title,
        "time_zone": schedule.time_zone,
        "until": schedule.local(schedule.ends_at).date() if schedule.ends_at else None,
        "on_approval": schedule.on_approval,
        "when_missed": schedule.when_missed,
        "talk": schedule.talk,
        "mode": schedule.mode or "task",
        "project": str(schedule.project_id or ""),
        "documents": [str(one) for one in schedule.document_ids],
        **_initial_times(schedule),
        **_initial_approved(schedule),
    }


def _end_of(day: date | None, before: Schedule | None) -> datetime | None:
    """The day's. Where it was left as it was shown it is the schedule's own, which a program may have set to the
    second."""
    if before is not None and before.ends_at and before.local(before.ends_at).date() == day:
        return before.ends_at
    return datetime.combine(day, _END_OF_DAY) if day else None


def _moment_of(typed: datetime | None, before: Schedule | None) -> datetime | None:
    """Likewise."""
    if before is not None and before.at and typed and _shown(before, before.at) == f"{typed:{_MINUTE}}":
        return before.at
    return typed


def _shown(schedule: Schedule, moment: datetime) -> str:
    return f"{schedule.local(moment):{_MINUTE}}"


def _initial_times(schedule: Schedule) -> dict[str, Any]:
    match Kind(schedule.kind):
        case Kind.ONCE:
            return {"frequency": Frequency.ONCE, "moment": _shown(schedule, schedule.at) if schedule.at else ""}
        case Kind.EVERY:
            count, unit = parts_of(schedule.every_s or 0)
            return {"frequency": Frequency.EVERY, "count": count, "unit": unit}
        case Kind.CRON:
            picked = picked_from(schedule.cron)
            weekdays = [str(day) for day in picked.weekdays] or ["1"]
            return {
                "frequency": picked.frequency, "at": picked.at, "weekdays": weekdays, "day": picked.day or "1",
                "cron": schedule.cron,
            }  # fmt: skip


def _initial_approved(schedule: Schedule) -> dict[str, Any]:
    if not _fits_rows(schedule.preapproved):
        return {}
    found: dict[str, Any] = {}
    for number, one in enumerate(schedule.preapproved):
        condition = one["conditions"][0]
        found |= {f"tool_{number}": one["tool"], f"path_{number}": condition["path"]}
        found |= {f"op_{number}": condition["op"], f"value_{number}": condition["value"]}
    return found


def _fits_rows(preapproved: list[dict[str, Any]]) -> bool:
    """A tool with two conditions needs both to hold: two rows would approve more."""
    operators = [operator.value for operator, _words in OPERATORS]
    return len(preapproved) <= APPROVED_ROWS and all(
        len(one["conditions"]) == 1
        and one["conditions"][0]["op"] in operators
        and isinstance(one["conditions"][0]["value"], str)
        for one in preapproved
    )


def _projects(user: User, schedule: Schedule | None) -> list[tuple[str, str]]:
    rows = Project.objects.seen_by(user).order_by(*by_name("name"), "pk")
    found = [(str(pk), name) for pk, name in rows.values_list("pk", "name")[:MOST_CHOICES]]
    kept = schedule.project if schedule is not None else None
    return (
        found if kept is None or str(kept.pk) in dict(found) else [*found, (str(kept.pk), _("A project you have left"))]
    )


def _documents(user: User, schedule: Schedule | None) -> list[tuple[str, str]]:
    """The newest, and those that are chosen already."""
    seen = Document.objects.seen_by(user)
    newest = seen.order_by("-created_at", "-pk").values_list("pk", "filename")[:MOST_CHOICES]
    found = {str(pk): name for pk, name in newest}
    chosen = schedule.document_ids if schedule is not None else []
    found |= {str(pk): name for pk, name in seen.filter(pk__in=chosen).values_list("pk", "filename")}
    gone = [(str(pk), _("A document that is gone")) for pk in chosen if str(pk) not in found]
    return [*found.items(), *gone]


def _zones(schedule: Schedule | None, user: User) -> list[Any]:
    """A zone that a program chose, by an older name, stays one that can be chosen."""
    known = [(UTC, UTC), *zones_by_region()]
    names = {UTC, *(zone for _region, zones in zones_by_region() for zone, _city in zones)}
    others = {schedule.time_zone if schedule is not None else UTC, user.time_zone or UTC} - names
    return [*((name, name) for name in sorted(others)), *known]


def _tools(schedule: Schedule | None) -> list[tuple[str, str]]:
    asking = [name for name, tool in tools().items() if tool.requires_approval]
    chosen = [one["tool"] for one in schedule.preapproved] if schedule is not None else []
    return [(name, name) for name in dict.fromkeys([*asking, *chosen])]


def _is_there(schedule: Schedule) -> bool:
    return schedule.conversation is not None and schedule.conversation.deleted_at is None
