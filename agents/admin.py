"""Runs in the admin, for looking only: executions with their agents, steps, effects and events."""

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents import plan_reading
from agents.models import AgentExecution, Effect, Event, Execution, Intervention, Runner, Step
from agents.sandbox import admin as _sandboxes  # noqa: F401 (Django looks for it here)
from hyperagent.accounts.models import User
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to, link_to_list, table

SHOWN = 50
USERS_SEARCHED = 50
# Before an agent's name, once for each agent above it. No style can be set here.
INDENT = "\u2003"


def as_tree(agents: Iterable[AgentExecution]) -> list[tuple[AgentExecution, int]]:
    """Each agent below the one that forked it, with how many stand above it."""
    rows = list(agents)
    known = {agent.id for agent in rows}
    below: dict[uuid.UUID | None, list[AgentExecution]] = {}
    for agent in rows:
        below.setdefault(agent.parent_id if agent.parent_id in known else None, []).append(agent)
    ordered: list[tuple[AgentExecution, int]] = []
    left = [(agent, 0) for agent in reversed(below.get(None, []))]
    while left:
        agent, depth = left.pop()
        ordered.append((agent, depth))
        left += [(child, depth + 1) for child in reversed(below.get(agent.id, []))]
    return ordered


def _took(row: Execution | AgentExecution) -> str:
    if row.started_at is None or row.ended_at is None:
        return ""
    return f"{(row.ended_at - row.started_at).total_seconds():.1f} s"


def _at(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else ""


@admin.register(Execution)
class ExecutionAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "status",
        "user",
        "mode",
        "created_at",
        "took",
        "prompt_tokens",
        "completion_tokens",
        "cost_usd",
    )
    list_filter = ("status",)
    list_select_related = ("user",)
    ordering = ("-created_at", "id")
    search_fields = ("id",)
    search_help_text = "The id of a run, a conversation or a user, or a part of an e-mail address."
    content_fields = ("question", "answer", "input", "result", "its_plan")
    readonly_fields = (
        "took", "chain_end", "copy_of", "its_plan", "its_agents", "its_interventions", "its_steps", "its_effects",
        "its_events",
    )  # fmt: skip
    fields = (
        "id", "user", "conversation_id", "status", "pipeline", "mode", "question", "answer", "input", "result",
        "error_code", "error_message", "created_at", "started_at", "ended_at", "took",
        "prompt_tokens", "completion_tokens", "cost_usd", "its_plan", "its_agents", "its_interventions",
        "epoch", "lease_until", "leased_by", "crashes", "cancel_requested_at", "cancelled_by", "woken_at",
        "copy_of", "on_finish", "finish_handled_at", "last_seq", "chain_end",
        "its_steps", "its_effects", "its_events",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Execution]:
        rows: QuerySet[Execution] = super().get_queryset(request)
        return rows.defer("input", "result", "answer", "question")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By indexes only: an id in full, or users whose address has the term."""
        term = search_term.strip().replace("\x00", "")
        if not term:
            return queryset, False
        try:
            wanted = uuid.UUID(term)
        except ValueError:
            users = User.objects.filter(email__icontains=term).values_list("pk", flat=True)[:USERS_SEARCHED]
            return queryset.filter(user_id__in=list(users)), False
        return queryset.filter(Q(id=wanted) | Q(conversation_id=wanted) | Q(user_id=wanted)), False

    @admin.display(description="Took")
    def took(self, execution: Execution) -> str:
        return _took(execution)

    @admin.display(description="End of the hash chain")
    def chain_end(self, execution: Execution) -> str:
        return bytes(execution.last_hash).hex()

    @admin.display(description="Copy of")
    def copy_of(self, execution: Execution) -> SafeString | str:
        old = execution.forked_from_id
        return link_to(Execution(id=old), str(old)) if old else ""

    @admin.display(description="Plan")
    def its_plan(self, execution: Execution) -> SafeString | str:
        plan = (execution.result or {}).get("plan") or plan_reading.told_by_log(execution.id).plan
        if plan is None:
            return "No plan: one agent answered."
        rows = [
            (task["stage"], task["id"], task["agent"], task["task"], ", ".join(task["depends_on"]), task["status"])
            for task in plan["tasks"]
        ]
        return table(("stage", "step", "agent", "task", "after", "status"), rows)

    @admin.display(description="Agents")
    def its_agents(self, execution: Execution) -> SafeString:
        rows = [
            (
                format_html("{}{}", INDENT * depth, link_to(agent, agent.agent_name)),
                agent.step_id,
                f"{agent.status}, modified" if agent.modified else agent.status,
                agent.prompt_tokens,
                agent.completion_tokens,
                _took(agent),
            )
            for agent, depth in as_tree(execution.agents.defer("output", "task")[:SHOWN])
        ]
        more = link_to_list(AgentExecution, "all agents", execution__id__exact=execution.pk)
        return table(("agent", "step of the plan", "status", "tokens in", "tokens out", "took"), rows, more)

    @admin.display(description="Interventions")
    def its_interventions(self, execution: Execution) -> SafeString | str:
        rows = [
            (link_to(one, one.kind), one.by or "", _at(one.created_at), _at(one.applied_at) or "not yet")
            for one in execution.interventions.select_related("by").defer("text")[:SHOWN]
        ]
        more = link_to_list(Intervention, "all interventions", execution__id__exact=execution.pk)
        return table(("wanted", "by", "said", "applied"), rows, more) if rows else "None."

    @admin.display(description="Steps")
    def its_steps(self, execution: Execution) -> SafeString:
        steps = Step.objects.filter(agent__execution=execution).select_related("agent").defer("request", "response")
        rows = [
            (link_to(step), step.agent.agent_name, step.status, _at(step.started_at), _at(step.cut_at))
            for step in steps.order_by("id")[:SHOWN]
        ]
        more = link_to_list(Step, "all steps", agent__execution__id__exact=execution.pk)
        return table(("step", "agent", "status", "started", "cut"), rows, more)

    @admin.display(description="Effects")
    def its_effects(self, execution: Execution) -> SafeString:
        rows = [(link_to(effect), effect.status, _at(effect.started_at)) for effect in execution.effects.all()[:SHOWN]]
        more = link_to_list(Effect, "all effects", execution__id__exact=execution.pk)
        return table(("effect", "status", "started"), rows, more)

    @admin.display(description="Events")
    def its_events(self, execution: Execution) -> SafeString:
        events = execution.events.defer("body").order_by("seq")[:SHOWN]
        rows = [(event.seq, link_to(event, event.type), _at(event.created_at)) for event in events]
        text = f"all {execution.last_seq} events" if execution.last_seq > SHOWN else "all events"
        return table(("number", "type", "time"), rows, link_to_list(Event, text, execution__id__exact=execution.pk))


class _PartOfRunAdmin(ReadOnlyAdmin):
    """A row that belongs to an execution, whose user it belongs to."""

    list_select_related: ClassVar[tuple[str, ...]] = ("execution",)

    def owner_id(self, row: Any) -> Any:
        return row.execution.user_id

    @admin.display(description="Execution")
    def run(self, row: Any) -> SafeString:
        return link_to(row.execution, str(row.execution_id))


@admin.register(AgentExecution)
class AgentExecutionAdmin(_PartOfRunAdmin):
    list_display = ("agent_name", "step_id", "status", "run", "started_at", "ended_at")
    list_filter = ("status",)
    ordering = ("execution", "lineage")
    content_fields = ("task", "user_comment", "user_content", "output")
    readonly_fields = ("run",)
    fields = (
        "id", "run", "parent", "agent_name", "step_id", "lineage", "task", "status", "modified", "user_comment",
        "user_content", "depends_on", "output", "error", "prompt_tokens", "completion_tokens", "cost_usd",
        "started_at", "ended_at",
    )  # fmt: skip


@admin.register(Step)
class StepAdmin(ReadOnlyAdmin):
    list_display = ("id", "place", "kind", "name", "status", "agent_name", "started_at", "ended_at", "cut_at")
    list_select_related = ("agent__execution",)
    ordering = ("-id",)
    content_fields = ("request", "response")
    readonly_fields = ("place", "agent_name", "request_digest")
    fields = (
        "id", "agent", "place", "kind", "name", "status", "request", "request_digest", "response", "effect_key",
        "usage", "epoch", "started_at", "ended_at", "cut_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Step]:
        rows: QuerySet[Step] = super().get_queryset(request)
        return rows.defer("request", "response")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup == "agent__execution__id__exact" or super().lookup_allowed(lookup, value, request)

    def owner_id(self, row: Any) -> Any:
        return row.agent.execution.user_id

    @admin.display(description="Place")
    def place(self, step: Step) -> str:
        return ".".join(map(str, step.path))

    @admin.display(description="Agent")
    def agent_name(self, step: Step) -> str:
        return step.agent.agent_name

    @admin.display(description="Hash of the request")
    def request_digest(self, step: Step) -> str:
        return bytes(step.request_hash).hex()


@admin.register(Effect)
class EffectAdmin(_PartOfRunAdmin):
    list_display = ("key", "tool", "status", "run", "started_at", "ended_at")
    list_filter = ("status",)
    ordering = ("-started_at", "key")
    content_fields = ("arguments", "response")
    readonly_fields = ("run",)
    fields = ("key", "run", "agent", "tool", "arguments", "status", "response", "epoch", "started_at", "ended_at")


@admin.register(Event)
class EventAdmin(_PartOfRunAdmin):
    list_display = ("seq", "type", "run", "created_at")
    list_display_links = ("seq", "type")
    ordering = ("execution", "seq")
    content_fields = ("text",)
    readonly_fields = ("run", "text", "digest")
    fields = ("run", "seq", "agent_id", "type", "text", "digest", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        rows: QuerySet[Event] = super().get_queryset(request)
        return rows.defer("body")

    @admin.display(description="Body")
    def text(self, event: Event) -> SafeString:
        return format_html("<pre>{}</pre>", event.body)

    @admin.display(description="Hash")
    def digest(self, event: Event) -> str:
        return bytes(event.hash).hex()


@admin.register(Intervention)
class InterventionAdmin(_PartOfRunAdmin):
    list_display = ("kind", "by", "run", "created_at", "applied_at")
    list_filter = ("kind",)
    list_select_related = ("execution", "by")
    ordering = ("-created_at", "id")
    content_fields = ("text",)
    readonly_fields = ("run",)
    fields = ("id", "run", "agent_id", "kind", "text", "by", "created_at", "applied_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Intervention]:
        rows: QuerySet[Intervention] = super().get_queryset(request)
        return rows.defer("text")


@admin.register(Runner)
class RunnerAdmin(ReadOnlyAdmin):
    list_display = ("name", "host", "pid", "driving", "concurrency", "seen_at", "started_at", "version")
    ordering = ("name",)

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True
