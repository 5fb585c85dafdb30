"""Runs in the admin, for looking only: executions with their agents, steps, effects and events."""

import uuid
from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

# Django looks for pages and panels here; each part has its own beside its models.
from agents import admin_home as _home  # noqa: F401
from agents.apps import admin as _apps  # noqa: F401
from agents.guardrails import admin as _guardrails  # noqa: F401
from agents.guardrails import admin_home as _guardrails_home  # noqa: F401
from agents.log import agent_reading, plan_reading, reading
from agents.mail import admin as _mailboxes  # noqa: F401
from agents.mcp import admin as _mcp  # noqa: F401
from agents.models import AgentExecution, Effect, Event, Execution, Intervention, Runner, Step
from agents.sandbox import admin as _sandboxes  # noqa: F401
from agents.tuning import admin as _tuning  # noqa: F401
from agents.usage import admin as _usage  # noqa: F401
from hitl.models import Request
from hyperagent.lib.admin_values import ago, end_of_id, long_text, state
from hyperagent.lib.labels import said
from hyperagent.lib.languages import grouped
from hyperagent.lib.read_only_admin import ReadOnlyAdmin, link_to, link_to_id, link_to_list, table

SHOWN = 50
HEAVY = ("input", "result", "answer", "question")
"""Columns of a run that a list never needs, and that are long."""
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
    return f"{number_format((row.ended_at - row.started_at).total_seconds(), decimal_pos=1)} s"


def _cost(agent: AgentExecution) -> str:
    return gettext("unknown") if agent.cost_usd is None else number_format(agent.cost_usd, decimal_pos=6)


@admin.register(Execution)
class ExecutionAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "status",
        "user",
        "mode",
        "created_at",
        "took",
        "tokens",
        "cost_usd",
    )
    list_filter = ("status", "created_at")
    list_select_related = ("user",)
    ordering = ("-created_at", "id")
    sortable_by = ("created_at",)
    linked_by = ("error_code",)
    search_fields = ("id", "conversation_id", "user")
    search_help_text = _("The id of a run, a conversation or a user, or the beginning of an e-mail address.")
    content_fields = ("question", "answer", "input", "result", "its_plan")
    readonly_fields = (
        "took", "chain_end", "copy_of", "talk", "its_plan", "its_agents", "its_interventions", "its_requests",
        "its_steps", "its_effects", "its_events",
    )  # fmt: skip
    fields = (
        "id", "user", "talk", "status", "pipeline", "mode", "question", "answer", "input", "tuning", "result",
        "error_code", "error_message", "created_at", "started_at", "ended_at", "took",
        "prompt_tokens", "completion_tokens", "cost_usd", "its_plan", "its_agents", "its_interventions", "its_requests",
        "epoch", "lease_until", "leased_by", "crashes", "cancel_requested_at", "cancelled_by", "woken_at",
        "copy_of", "on_finish", "finish_handled_at", "last_seq", "chain_end",
        "its_steps", "its_effects", "its_events",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Execution]:
        rows: QuerySet[Execution] = super().get_queryset(request)
        return rows.defer(*HEAVY)

    @admin.display(description=_("Took"))
    def took(self, execution: Execution) -> str:
        return _took(execution)

    @admin.display(description=_("Tokens"))
    def tokens(self, execution: Execution) -> str:
        return grouped(execution.prompt_tokens + execution.completion_tokens)

    @admin.display(description=_("End of the hash chain"))
    def chain_end(self, execution: Execution) -> str:
        return bytes(execution.last_hash).hex()

    @admin.display(description=_("Copy of"))
    def copy_of(self, execution: Execution) -> SafeString | str:
        old = execution.forked_from_id
        return link_to(Execution(id=old), str(old)) if old else ""

    @admin.display(description=_("Conversation"))
    def talk(self, execution: Execution) -> SafeString | str:
        return link_to_id("conversations_conversation", execution.conversation_id)

    @admin.display(description=_("Plan"))
    def its_plan(self, execution: Execution) -> SafeString | str:
        plan = (execution.result or {}).get("plan") or plan_reading.told_by_log(execution.id).plan
        if plan is None:
            return gettext("No plan: one agent answered.")
        rows = [
            (
                task["stage"],
                task["id"],
                task["agent"],
                task["task"],
                ", ".join(task["depends_on"]),
                state(task["status"]),
            )
            for task in plan["tasks"]
        ]
        return table((_("stage"), _("step"), _("agent"), _("task"), _("after"), _("status")), rows)

    @admin.display(description=_("Agents"))
    def its_agents(self, execution: Execution) -> SafeString:
        agents = agent_reading.used_so_far(execution, execution.agents.defer("output", "task")[:SHOWN])
        rows = [
            (
                format_html("{}{}", INDENT * depth, link_to(agent, agent.agent_name)),
                agent.step_id,
                state(agent.status, gettext(", modified") if agent.modified else ""),
                agent.prompt_tokens,
                agent.completion_tokens,
                _cost(agent),
                _took(agent),
            )
            for agent, depth in as_tree(agents)
        ]
        more = link_to_list(AgentExecution, gettext("all agents"), execution__id__exact=execution.pk)
        return table(
            (
                _("agent"),
                _("step of the plan"),
                _("status"),
                _("tokens in"),
                _("tokens out"),
                _("Cost (US$)"),
                _("took"),
            ),
            rows,
            more,
        )

    @admin.display(description=_("Interventions"))
    def its_interventions(self, execution: Execution) -> SafeString | str:
        rows = [
            (
                link_to(one, said(one.kind)),
                one.by or "",
                ago(one.created_at),
                ago(one.applied_at) if one.applied_at else gettext("not yet"),
            )
            for one in execution.interventions.select_related("by").defer("text")[:SHOWN]
        ]
        more = link_to_list(Intervention, gettext("all interventions"), execution__id__exact=execution.pk)
        return table((_("wanted"), _("by"), _("said"), _("applied")), rows, more) if rows else gettext("None.")

    @admin.display(description=_("Requests"))
    def its_requests(self, execution: Execution) -> SafeString | str:
        asked = Request.objects.filter(execution_id=execution.pk).defer("question", "answer").order_by("created_at")
        rows = [
            (
                link_to(one, said(one.kind)),
                one.agent_name,
                ", ".join(one.tool_names),
                state(one.status),
                ago(one.created_at),
            )
            for one in asked[:SHOWN]
        ]
        more = link_to_list(Request, gettext("all requests"), q=str(execution.pk))
        return (
            table((_("kind"), _("agent"), _("tools"), _("status"), _("asked")), rows, more)
            if rows
            else gettext("None.")
        )

    @admin.display(description=_("Steps"))
    def its_steps(self, execution: Execution) -> SafeString:
        if execution.log_dropped_at is not None:
            return format_html("{}", reading.LOG_NOT_KEPT)
        agents = list(execution.agents.values_list("pk", flat=True))
        steps = Step.objects.filter(agent__in=agents).select_related("agent").defer("request", "response")
        rows = [
            (link_to(step), step.agent.agent_name, state(step.status), ago(step.started_at), ago(step.cut_at))
            for step in steps.order_by("id")[:SHOWN]
        ]
        more = link_to_list(Step, gettext("all steps"), agent__execution__id__exact=execution.pk)
        return table((_("step"), _("agent"), _("status"), _("started"), _("cut")), rows, more)

    @admin.display(description=_("Effects"))
    def its_effects(self, execution: Execution) -> SafeString:
        effects = execution.effects.defer("arguments", "response")[:SHOWN]
        rows = [(link_to(effect), state(effect.status), ago(effect.started_at)) for effect in effects]
        more = link_to_list(Effect, gettext("all effects"), execution__id__exact=execution.pk)
        return table((_("effect"), _("status"), _("started")), rows, more)

    @admin.display(description=_("Events"))
    def its_events(self, execution: Execution) -> SafeString:
        if execution.log_dropped_at is not None:
            return format_html("{}", reading.LOG_NOT_KEPT)
        events = execution.events.defer("body").order_by("seq")[:SHOWN]
        rows = [(event.seq, link_to(event, event.type), ago(event.created_at)) for event in events]
        text = gettext("all events")
        if execution.last_seq > SHOWN:
            text = gettext("all {count} events").format(count=grouped(execution.last_seq))
        return table(
            (_("number"), _("type"), _("time")), rows, link_to_list(Event, text, execution__id__exact=execution.pk)
        )


class _PartOfRunAdmin(ReadOnlyAdmin):
    """A row that belongs to an execution, whose user it belongs to. Those of the newest runs stand first: runs are what
    an index has in order."""

    list_select_related: ClassVar[tuple[str, ...]] = ("execution",)
    ordering: ClassVar[tuple[str, ...]] = ("-execution__created_at", "execution_id")
    search_fields: ClassVar[tuple[str, ...]] = ("execution",)
    search_help_text = _("The id of a run.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.defer(*(f"execution__{name}" for name in HEAVY))

    def owner_id(self, row: Any) -> Any:
        return row.execution.user_id

    @admin.display(description=_("Execution"))
    def run(self, row: Any) -> SafeString:
        return link_to(row.execution, end_of_id(row.execution_id))


@admin.register(AgentExecution)
class AgentExecutionAdmin(_PartOfRunAdmin):
    list_display = ("agent_name", "step_id", "status", "run", "started_at", "ended_at")
    list_filter = ("status",)
    ordering = (*_PartOfRunAdmin.ordering, "lineage")
    search_fields = ("id", "execution")
    search_help_text = _("The id of an agent's part or of a run.")
    content_fields = ("task", "user_comment", "user_content", "output")
    readonly_fields = ("run", "its_steps")
    fields = (
        "id", "run", "parent", "agent_name", "step_id", "lineage", "task", "status", "modified", "user_comment",
        "user_content", "depends_on", "output", "error", "prompt_tokens", "completion_tokens", "cost_usd",
        "started_at", "ended_at", "its_steps",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentExecution]:
        return super().get_queryset(request).defer(*(f"execution__{name}" for name in HEAVY), "task", "output")

    @admin.display(description=_("Steps"))
    def its_steps(self, agent: AgentExecution) -> SafeString:
        return link_to_list(Step, gettext("all steps"), agent__id__exact=agent.pk)


@admin.register(Step)
class StepAdmin(ReadOnlyAdmin):
    list_display = ("id", "place", "kind", "name", "status", "agent_name", "started_at", "ended_at", "cut_at")
    list_select_related = ("agent",)
    ordering = ("-id",)
    sortable_by = ("id",)
    search_fields = ("id", "agent")
    search_help_text = _("The number of a step, or the id of an agent's part of a run.")
    content_fields = ("request", "response")
    readonly_fields = ("place", "agent_name", "run", "request_digest", "effect")
    fields = (
        "id", "run", "agent", "place", "kind", "name", "status", "request", "request_digest", "response", "effect",
        "usage", "epoch", "started_at", "ended_at", "cut_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Step]:
        rows: QuerySet[Step] = super().get_queryset(request)
        return rows.defer("request", "response", "agent__task", "agent__output", "agent__user_content")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        allowed = ("agent__execution__id__exact", "agent__id__exact")
        return lookup in allowed or super().lookup_allowed(lookup, value, request)

    def owner_id(self, row: Any) -> Any:
        return row.agent.execution.user_id

    @admin.display(description=_("Execution"))
    def run(self, step: Step) -> SafeString:
        return link_to(step.agent.execution, str(step.agent.execution_id))

    @admin.display(description=_("Effect"))
    def effect(self, step: Step) -> SafeString | str:
        return link_to(Effect(key=step.effect_key), step.effect_key) if step.effect_key else ""

    @admin.display(description=_("Place"))
    def place(self, step: Step) -> str:
        return ".".join(map(str, step.path))

    @admin.display(description=_("Agent"))
    def agent_name(self, step: Step) -> str:
        return step.agent.agent_name

    @admin.display(description=_("Hash of the request"))
    def request_digest(self, step: Step) -> str:
        return bytes(step.request_hash).hex()


@admin.register(Effect)
class EffectAdmin(_PartOfRunAdmin):
    list_display = ("key", "tool", "status", "run", "started_at", "ended_at")
    list_filter = ("status",)
    ordering = (*_PartOfRunAdmin.ordering, "key")
    search_fields = ("key", "execution")
    search_help_text = _("The key of an effect, or the id of a run.")
    content_fields = ("arguments", "response")
    readonly_fields = ("run",)
    fields = ("key", "run", "agent", "tool", "arguments", "status", "response", "epoch", "started_at", "ended_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Effect]:
        return super().get_queryset(request).defer(*(f"execution__{name}" for name in HEAVY), "arguments", "response")

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup == "execution__status__in" or super().lookup_allowed(lookup, value, request)


@admin.register(Event)
class EventAdmin(_PartOfRunAdmin):
    list_display = ("seq", "type", "run", "created_at")
    list_display_links = ("seq", "type")
    ordering = (*_PartOfRunAdmin.ordering, "seq")
    content_fields = ("text",)
    readonly_fields = ("run", "text", "digest")
    fields = ("run", "seq", "agent_id", "type", "text", "digest", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer(*(f"execution__{name}" for name in HEAVY), "body")

    @admin.display(description=_("Body"))
    def text(self, event: Event) -> SafeString:
        return format_html("{}", long_text(event.body))

    @admin.display(description=_("Hash"))
    def digest(self, event: Event) -> str:
        return bytes(event.hash).hex()


@admin.register(Intervention)
class InterventionAdmin(_PartOfRunAdmin):
    list_display = ("kind", "by", "run", "created_at", "applied_at")
    list_filter = ("kind",)
    list_select_related = ("execution", "by")
    ordering = (*_PartOfRunAdmin.ordering, "id")
    content_fields = ("text",)
    readonly_fields = ("run",)
    fields = ("id", "run", "agent_id", "kind", "text", "by", "client_id", "created_at", "applied_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Intervention]:
        return super().get_queryset(request).defer(*(f"execution__{name}" for name in HEAVY), "text")


@admin.register(Runner)
class RunnerAdmin(ReadOnlyAdmin):
    list_display = ("name", "host", "pid", "driving", "concurrency", "seen_at", "started_at", "version")
    ordering = ("name",)

    def may_read(self, request: HttpRequest, row: Any) -> bool:
        return True
