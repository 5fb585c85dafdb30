"""The form in which a reviewer decides one request, and how the arguments in it look. Decides nothing itself."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext, pgettext_lazy

from hitl import calls
from hitl.answers import DECISIONS, MAX_INSTRUCTIONS_CHARS, MAX_TEXT_CHARS, Response, options_of, response_from
from hitl.kinds import SNOOZED, Happening, RequestKind, RequestStatus
from hitl.line_diff import Line, line_diff
from hitl.models import Request
from hyperagent.lib.hashes import arguments_hash
from hyperagent.lib.labels import said
from hyperagent.lib.read_only_admin import table
from hyperagent.lib.refusals import Refused
from hyperagent.lib.stored_sentences import in_our_words
from hyperagent.lib.text import revealed

WORDS: dict[RequestStatus | Happening, str | Promise] = {
    RequestStatus.APPROVED: gettext_lazy("Approve"),
    RequestStatus.ANSWERED: gettext_lazy("Answer"),
    RequestStatus.DENIED: gettext_lazy("Deny"),
    SNOOZED: pgettext_lazy("verb", "Put off"),
}


def _decisions_here(kind: str) -> frozenset[RequestStatus | Happening]:
    """A plan is answered with another plan, for which this form has no field."""
    others = {RequestStatus.ANSWERED} if kind == RequestKind.PLAN else set()
    return DECISIONS[kind] - others | {SNOOZED}


class ArgumentsField(forms.JSONField):
    """Django's own breaks down at what Python cannot read (thousands of digits, a thousand brackets), and writes all of
    it into one line.
    """

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, InvalidJSONInput):
            return value
        return json.dumps(value, ensure_ascii=False, indent=2)

    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except (ValueError, RecursionError):
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        try:
            return super().bound_data(data, initial)
        except (ValueError, RecursionError):
            return InvalidJSONInput(data)


class DecisionForm(forms.Form):
    """Fields that do not belong to the request's kind are left out."""

    decision = forms.ChoiceField(widget=forms.RadioSelect, label=gettext_lazy("Decision"))
    choice = forms.ChoiceField(required=False, label=gettext_lazy("Choice"))
    text = forms.CharField(
        required=False, max_length=MAX_TEXT_CHARS, widget=forms.Textarea, label=gettext_lazy("Answer")
    )
    edited_arguments = ArgumentsField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 12, "class": "vLargeTextField"}),
        label=gettext_lazy("Arguments"),
        help_text=gettext_lazy(
            "As they will be used if you approve. Change them here; what was asked for is kept beside it."
        ),
    )
    instructions = forms.CharField(
        required=False,
        max_length=MAX_INSTRUCTIONS_CHARS,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
        label=gettext_lazy("Instructions, or the reason"),
    )
    snooze_until = forms.DateTimeField(
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        label=gettext_lazy("Put off until"),
        help_text=gettext_lazy("For “Put off” only. Left empty: for an hour. You are reminded of it then."),
    )
    arguments_hash = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, request: Request, *args: Any, **kwargs: Any) -> None:
        call = calls.only_call(request.question)
        super().__init__(*args, **kwargs)
        self._call = call
        allowed = [status for status in WORDS if status in _decisions_here(request.kind)]
        self.fields["decision"].choices = [(status.value, WORDS[status]) for status in allowed]  # type: ignore[attr-defined]
        options = options_of(request.question)
        named = labels_of(request.question)
        self.fields["choice"].choices = [("", "—"), *((one, named.get(one, one)) for one in options)]  # type: ignore[attr-defined]
        self.initial["edited_arguments"] = call["arguments"] if call else None
        self.initial["arguments_hash"] = request.arguments_hash
        is_approval = request.kind == RequestKind.APPROVAL
        is_raised = request.kind == RequestKind.BUDGET and "suggested" in request.question
        if is_raised:
            self.fields["text"].label = _("New limit")
            self.fields["text"].help_text = _("Where the limit is raised. Left empty: as much as the choice says.")
            self.fields["text"].widget = forms.TextInput()
        for name, belongs in (
            ("choice", bool(options)),
            ("text", is_raised or request.kind not in (RequestKind.APPROVAL, RequestKind.PLAN, RequestKind.BUDGET)),
            ("edited_arguments", is_approval and call is not None),
        ):
            if not belongs:
                del self.fields[name]

    def clean(self) -> dict[str, Any]:
        """An emptied field is no yes to the arguments that stood in it."""
        given: dict[str, Any] = super().clean() or {}
        if given.get("decision") == RequestStatus.APPROVED and "edited_arguments" in {*given} & {*self.data}:
            fault = calls.unfit(given["edited_arguments"])
            if fault:
                self.add_error("edited_arguments", fault)
        return given

    def response(self) -> Response:
        """Raises Refused. Arguments that were left as they are count as not edited, and so does a denial's."""
        given = {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}
        edited = given.pop("edited_arguments", None)
        if edited is not None and given["decision"] == RequestStatus.APPROVED and self._is_other(edited):
            given["edited_arguments"] = edited
        return response_from(given, now=timezone.now())

    def _is_other(self, edited: Mapping[str, Any]) -> bool:
        """By the hash, for which true is not 1."""
        return self._call is None or arguments_hash("", edited) != arguments_hash("", self._call["arguments"])

    def blame(self, refused: Refused) -> None:
        """Puts what was refused to the fields that it is about."""
        for name, words in (refused.fields or {"": [refused.message]}).items():
            field, _, place = name.partition(".")
            told = [f"{place}: {word}" if place else word for word in words]
            self.add_error(field if field in self.fields else None, told)


def labels_of(question: Any) -> dict[str, str]:
    """What its options are called, where it says so."""
    labels = question.get("labels") if isinstance(question, Mapping) else None
    found = labels if isinstance(labels, Mapping) else {}
    return {name: revealed(in_our_words(words)) for name, words in found.items() if isinstance(words, str)}


def shown_calls(question: Any) -> SafeString:
    """Each call with its arguments, one row for each; all of it as text."""
    found = calls.calls_of(question)
    if not found:
        return format_html("{}", "—")
    parts = (
        (
            revealed(str(call.get("tool", ""))),
            _("risk:"),
            said(call.get("risk", "")),
            call.get("arguments_hash", ""),
            _arguments(call.get("arguments")),
            _diff(call.get("preview")),
        )
        for call in found
    )
    return format_html_join("", "<p><strong>{}</strong> · {} {} · <code>{}</code></p>{}{}", parts)


def shown_tasks(question: Any) -> SafeString:
    """The tasks of a plan, one row for each; all of it as text."""
    tasks = question.get("tasks") if isinstance(question, Mapping) else None
    found = [task for task in tasks if isinstance(task, Mapping)] if isinstance(tasks, list) else []
    columns = {
        "id": _("Task"),
        "agent": _("Agent"),
        "task": _("What it is to do"),
        "depends_on": pgettext("column", "After"),
        "tools": _("May use"),
    }
    rows = [tuple(_listed(task.get(name, "")) for name in columns) for task in found]
    return table(tuple(columns.values()), rows) if rows else format_html("{}", "—")


def _listed(value: Any) -> str:
    return revealed(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def shown_changes(request: Request) -> SafeString:
    """What an approver changed, beside what was asked for."""
    call = calls.only_call(request.question)
    if request.edited_arguments is None or call is None:
        return format_html("{}", "—")
    changed = calls.changes(call["arguments"], request.edited_arguments)
    rows = [(one["path"], _written(one.get("before")), _written(one.get("after"))) for one in changed]
    return table((_("Argument"), _("Asked for"), _("Approved")), rows)


def _arguments(arguments: Any) -> SafeString:
    given = arguments if isinstance(arguments, Mapping) else {}
    return table((_("Argument"), _("Value")), [(revealed(name), _written(value)) for name, value in given.items()])


def _written(value: Any) -> SafeString:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return format_html("<pre>{}</pre>", revealed(text))


_SIGNS = {Line.GONE: "−", Line.NEW: "+", Line.SAME: " ", Line.LEFT_OUT: "…"}
_NOTES = {
    "new": gettext_lazy("There is no such file yet."),
    "unreadable": gettext_lazy("What the file has now is no text that can be shown. All of it would be replaced."),
    "misfit": gettext_lazy("The file does not have what would be replaced exactly once, so this change would fail."),
    "clipped": gettext_lazy("Only the beginning of this change is shown."),
}


def _diff(preview: Any) -> SafeString:
    """Of a call that writes a file: the file as it is against what it would be."""
    if not isinstance(preview, Mapping) or preview.get("kind") != "diff":
        return SafeString("")
    changed = line_diff(preview.get("before"), preview.get("after"))
    lines = format_html_join(
        "", '<span class="is-{}">{} {}\n</span>', ((line.value, _SIGNS[line], revealed(text)) for line, text in changed)
    )
    notes = format_html_join(
        "", "<p>{}</p>", ((_NOTES[note],) for note in preview.get("notes") or () if note in _NOTES)
    )
    title = _("Changes of {what}").format(what=revealed(str(preview.get("path") or "")))
    return format_html('<div class="call-diff"><p>{}</p><pre dir="ltr">{}</pre>{}</div>', title, lines, notes)
