"""The page on which administrators tune agents; auditors look. What is saved goes through `agents.tuning.actions`."""

import os
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents import registry
from agents.tuning import actions
from agents.tuning.faults import faults_of, nothing_chosen
from agents.tuning.models import CHOSEN, AgentTuning
from hitl.admin.access import ForAuditors, is_administrator
from hyperagent.accounts.requests import person
from hyperagent.lib.llm.config import LLMSettings


class AgentTuningForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = AgentTuning
        fields = ("agent", *CHOSEN)
        error_messages: ClassVar[dict[str, Any]] = {
            "agent": {"unique": _("This agent is tuned already: open its row in the list, and change it there.")}
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "agent" in self.fields:
            self.fields["agent"].widget = forms.Select(choices=[(name, name) for name in registry.names()])

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        chosen = {name: given[name] for name in CHOSEN if given.get(name) not in (None, "")}
        agent = given.get("agent") or self.instance.agent
        for name, words in faults_of(agent, chosen, LLMSettings.from_env(os.environ)).items():
            self.add_error(name if name in self.fields else None, words)
        if not chosen and not self.errors:
            self.add_error(None, nothing_chosen())
        return given


@admin.register(AgentTuning)
class AgentTuningAdmin(ForAuditors):
    """Whose row it is stays: another agent's is another row."""

    form = AgentTuningForm
    list_display = ("agent", *CHOSEN, "changed_by", "changed_at")
    list_select_related = ("changed_by",)
    ordering = ("agent",)
    fields = ("agent", *CHOSEN, "changed_by", "changed_at")

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True

    def owner_id(self, row: Any) -> Any:
        return row.changed_by_id

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_administrator(request)

    has_change_permission = has_delete_permission = has_add_permission

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return super().get_fields(request, obj) if obj else AgentTuningForm.Meta.fields

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ["agent", *super().get_readonly_fields(request, obj)] if obj else ()

    def save_model(self, request: HttpRequest, obj: AgentTuning, form: Any, change: bool) -> None:
        actions.tune(obj, by=person(request), request=request)

    def delete_model(self, request: HttpRequest, obj: AgentTuning) -> None:
        actions.untune(obj, by=person(request), request=request)
