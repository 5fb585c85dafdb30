"""One turn: what happens between a question and its answer. Ordinary code over a context."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from agents.craft.exchange import AgentInput, AgentOutput, Metadata, Options
from agents.craft.stages import stage
from agents.craft.today import day_in
from agents.engine.context import LEFT
from agents.engine.errors import StepFailed
from agents.engine.events import Check, Config, Source, Stage, StageStatus, Title
from agents.engine.states import AgentStatus
from agents.pipeline import afterwards, carried_out, clarify, compose, plans
from agents.pipeline.attachments import with_attachments
from agents.pipeline.dispatch import dispatch
from agents.pipeline.grounded import grounded
from agents.pipeline.grounding import checks_of, evidence_of
from agents.pipeline.guards import guard_input, guard_output, guard_project
from agents.pipeline.not_agreed import NotAgreed, left_undone, told_beside
from agents.pipeline.planner import Agreed, asked_first, make_plan, make_plan_by_words
from agents.pipeline.plans import Plan
from agents.pipeline.protected import needing_a_yes
from agents.pipeline.recall import Recollection, recall
from agents.pipeline.remembering import Origin, learn, may_learn, write_receipts
from agents.pipeline.route import Route, decide
from agents.pipeline.titling import title_of
from agents.pipeline.todo import state_of
from agents.pipeline.verify import UNCHECKED, verified
from agents.pipeline.work import DECIDED_BY_PEOPLE, commission, retry_config
from agents.registry import specs
from agents.run_budget import CODE as OUT_OF_BUDGET
from agents.runtime.context import AgentContext
from agents.runtime.driven import PipelineSettings
from agents.runtime.spending import Terms
from agents.spec import AgentSpec
from hyperagent.lib.conf.choices import RoutingMode
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.errors import ModelError
from hyperagent.lib.llm.resolve import Target, targets
from hyperagent.lib.llm.types import ModelRequest, Tier
from hyperagent.lib.text import title_from
from hyperagent.lib.tool_labels import quoted_tool

BUNDLED_NOTICE = "A small built-in model answers here. It is good for trying things out, not for facts."
DECLINED = "All right. Tell me more whenever you like, and I will go on from there."
STOPPED = "You stopped this agent before it could answer."
LOOK = "look for yourself before you have it done again."
PATIENCE_S = 0.5
"""How long an answer that stands waits for its title, and for what is learned, to be told with it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a turn has found out, whichever way it took."""

    text: str
    sources: tuple[Source, ...] = ()
    model: str | None = None
    plan: dict[str, Any] | None = None
    skipped: tuple[dict[str, Any], ...] = ()
    outputs: tuple[AgentOutput, ...] = ()
    """Of the agents that it was made from."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the whole turn is decided by. Everything in it is recorded, so that a replay decides the same."""

    served: dict[str, Any]
    settings: PipelineSettings
    options: Options
    mode: str
    history: tuple[dict[str, str], ...]
    roster: Mapping[str, AgentSpec]
    message_id: str = ""
    """The person's message that is answered; empty where no conversation has it."""
    is_temporary: bool = False
    """Nothing is remembered of it, and nothing remembered is told in it."""
    trace_id: str = ""

    @property
    def capable(self) -> bool:
        return bool(self.served["capable"])


async def run(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """`turn`: question, history, mode, options. Gives answer, sources, checks, title, plan, routing, the model."""
    setting = await _setting(context, turn)
    context.run.may_ask = setting.options.interactive
    if setting.options.budget is not None:
        context.run.terms = Terms(setting.options.budget, may_ask=setting.options.interactive)
    context.emit(Config(values=setting.served))
    question = await guard_input(context, turn["question"])
    setting = replace(setting, options=await guard_project(context, setting.options))
    before = turn.get("attached_before") or ()
    setting = replace(setting, options=await with_attachments(context, setting.options, before=before))

    known = await recall(context, question, is_temporary=setting.is_temporary)

    async def title(branch: AgentContext) -> str:
        is_wanted = not setting.history and setting.served["titles"]
        return await title_of(branch, question, wanted=is_wanted, provider=setting.options.provider)

    async def learned(branch: AgentContext) -> list[dict[str, Any]]:
        await write_receipts(branch, known)
        origin = _origin(context, setting)
        options = setting.options if setting.capable else None
        return await learn(branch, question, known, origin=origin, options=options)

    async def answer(branch: AgentContext) -> tuple[Answered, Route, tuple[Check, ...]]:
        answered, route = await _answer(branch, question, setting, known)
        answered = replace(answered, text=await guard_output(branch, answered.text))
        return answered, route, await _checked(branch, answered, question, setting)

    # What is learned of the person, and the title, cost no time of their own (S24): what is not ready soon after the
    # answer is left to a run of its own (`agents.pipeline.afterwards`).
    (answered, route, checks), named, news = await context.beside(
        answer, (afterwards.TITLE, title), (afterwards.LEARN, learned), patience_s=PATIENCE_S
    )
    left = [afterwards.TITLE] if named is LEFT else []
    left += [afterwards.LEARN] if news is LEFT and may_learn(context.run) else []
    chosen = "" if named is LEFT else named
    if chosen:
        context.emit(Title(title=chosen))
    return {
        "answer": answered.text,
        "sources": [source.model_dump(mode="json") for source in answered.sources],
        "checks": [check.model_dump(mode="json") for check in checks],
        "title": chosen,
        "model": answered.model,
        "plan": answered.plan,
        "routing": asdict(route),
        "skipped": list(answered.skipped),
        "memory": {"used": len(known.told), "learned": [] if news is LEFT else news},
        "left": _left(context, setting, left, question) if left else None,
    }


def _left(context: AgentContext, setting: Setting, what: list[str], question: str) -> dict[str, Any]:
    """What `agents.pipeline.afterwards` is to do, and goes by."""
    origin = _origin(context, setting).as_json()
    return {"what": what, "question": question, "origin": origin, "today": setting.options.today}


def _origin(context: AgentContext, setting: Setting) -> Origin:
    about = context.run.about
    return Origin(str(context.run.effects_root), about.execution_id, about.conversation_id, setting.message_id)


async def _checked(context: AgentContext, answered: Answered, question: str, setting: Setting) -> tuple[Check, ...]:
    """The answer stands, and people have read it by now: its sentences are held against their sources."""
    evidence = evidence_of(answered.sources, answered.outputs)
    checks = checks_of(answered.text, evidence, question=question)
    if setting.capable:
        checks = await grounded(context, checks, evidence, options=setting.options)
    return tuple(checks)


async def _setting(context: AgentContext, turn: Mapping[str, Any]) -> Setting:
    options = Options.model_validate({k: v for k, v in turn["options"].items() if k in Options.model_fields})

    def now() -> dict[str, Any]:
        served = _served_by(context.run.models.settings, options)
        today = day_in(str(turn.get("time_zone") or ""), datetime.now(UTC)) if served["capable"] else ""
        asked = {"trace_id": context.run.about.trace_id, "today": today}
        return {**served, "pipeline": context.run.settings.as_json(), **asked}

    noted = await context.note("models", now)
    connected = await context.run.tools.connected_tools(context) if context.run.tools is not None else {}
    return Setting(
        served={name: value for name, value in noted.items() if name not in ("pipeline", "trace_id", "today")},
        settings=PipelineSettings.from_json(noted["pipeline"]),
        # Runs from before it was noted go by none.
        options=options.model_copy(update={"today": noted.get("today", "")}),
        mode=turn["mode"],
        history=tuple(turn["history"]),
        roster={
            name: spec.with_tools([tool.name for tool in connected.get(name, ())]).tuned_by(context.run.tuning_of(name))
            for name, spec in specs().items()
        },
        message_id=str(turn.get("message_id") or ""),
        is_temporary=bool(turn.get("is_temporary")),
        # Of the first try, as its copies have the note too. Runs from before it was noted: their own.
        trace_id=noted.get("trace_id", context.run.about.trace_id),
    )


async def _answer(
    context: AgentContext, question: str, setting: Setting, known: Recollection
) -> tuple[Answered, Route]:
    """Routes, and goes the way of the route."""
    route = await decide(
        context,
        question,
        mode=setting.mode,
        roster=setting.roster,
        # Where no model can be asked, words decide, however sure they are.
        routing_mode=setting.settings.routing_mode if setting.capable else RoutingMode.DETERMINISTIC,
        history=setting.history,
        options=setting.options,
    )
    clear = await _clarified(context, question, route, setting) if setting.capable else question
    if clear is None:
        await context.say(DECLINED)
        return Answered(DECLINED), route
    brief = _brief(context, clear, setting, known.profile)
    if route.kind == "direct":
        return await _direct(context, brief, route, setting), route
    return await _planned(context, brief, setting), route


async def _clarified(context: AgentContext, question: str, route: Route, setting: Setting) -> str | None:
    return await clarify.clarified(
        context,
        question,
        interactive=setting.options.interactive,
        guess=route,
        history_length=len(setting.history),
        attached=bool(setting.options.attachment_ids or setting.options.document_ids),
        options=setting.options,
    )


def _brief(context: AgentContext, question: str, setting: Setting, profile: dict[str, Any]) -> AgentInput:
    """What every agent of the run is told, whatever its own part is."""
    about = context.run.about
    return AgentInput(
        agent_id="",
        agent_name="",
        task=question,
        original_question=question,
        conversation_history=setting.history,
        long_term_memory=profile,
        metadata=Metadata(
            user_id=str(about.user_id) if about.user_id else None,
            # Of the first try: another try of the run asks for the same, or it would begin every agent anew.
            query_id=str(context.run.effects_root),
            session_id=str(about.conversation_id) if about.conversation_id else None,
            trace_id=setting.trace_id,
        ),
        capable=setting.capable,
        options=setting.options,
    )


async def _direct(context: AgentContext, brief: AgentInput, route: Route, setting: Setting) -> Answered:
    """One agent answers, and its text is what people watch. It may hand over to others."""
    spec = setting.roster[route.agent]
    task = brief.model_copy(
        update={
            "agent_id": plans.task_id(0, route.agent, brief.task),
            "agent_name": route.agent,
            "tools": spec.tools,
            "retry_config": retry_config(spec),
            "speaks": True,
            "skill": route.skill,
        }
    )
    ended = await context.outcome(
        await context.fork(
            route.agent, commission(task), task=title_from(brief.original_question), step_id=task.agent_id
        )
    )
    # Or whoever took over from it, of which it has the end.
    if ended.code == AgentStatus.DELETED:
        did = await carried_out.noted(context, ended.agent_id)
        told = f"{STOPPED} {carried_out.as_clause([quoted_tool(name) for name in did])}: {LOOK}" if did else STOPPED
        return Answered(await context.say(told))
    if ended.code == OUT_OF_BUDGET:
        await context.say(ended.message)
        return Answered(ended.message)
    if ended.status is not AgentStatus.COMPLETED:
        raise StepFailed(ended.code or "failed", ended.message, retryable=ended.retryable)
    output = AgentOutput.model_validate(ended.output)
    skipped = _skipped({output.agent_id: output}) if output.error in DECIDED_BY_PEOPLE else ()
    return Answered(
        output.result, output.metadata.sources, output.metadata.model_used, skipped=skipped, outputs=(output,)
    )


async def _planned(context: AgentContext, brief: AgentInput, setting: Setting) -> Answered:
    """A graph of agents works on it; what is missing is planned again; the composer answers from all of it."""
    plan = await _make_plan(context, brief, setting)
    if len(plan.tasks) == 1 and plan.origin == "single":
        only = plan.tasks[0]
        route = Route(kind="direct", agent=only.agent, reason=plan.notice or "One agent can do it alone.")
        return await _direct(context, brief, route, setting)
    agreed = await _agreed_to(context, plan, setting)
    if isinstance(agreed, NotAgreed):
        outputs = left_undone(context, plan, agreed)
        said = await context.say(agreed.nothing_done)
        return Answered(said, plan=_shown(context, plan, outputs), skipped=_skipped(outputs))
    return await _composed(context, *await _worked_through(context, agreed, brief, setting))


async def _agreed_to(
    context: AgentContext,
    plan: Plan,
    setting: Setting,
    *,
    earlier: Agreed | None = None,
    done: Mapping[str, AgentOutput] | None = None,
) -> Agreed | NotAgreed:
    return await asked_first(
        context,
        plan,
        options=setting.options,
        roster=setting.roster,
        limit_usd=setting.settings.plan_asks_above_usd,
        earlier=earlier,
        done=done or {},
    )


async def _worked_through(
    context: AgentContext, agreed: Agreed, brief: AgentInput, setting: Setting
) -> tuple[Plan, dict[str, AgentOutput], AgentInput]:
    """Dispatch, look, plan again what is missing, at most MAX_REPLANS times. What was done is kept.

    What is planned again is asked about like the first plan, as far as nobody has agreed to that yet. Without a yes the
    answer is made of what there is. What people say with their yes becomes part of the question in the brief.
    """
    plan, outputs, brief = agreed.plan, dict[str, AgentOutput](), _told_with(brief, agreed)
    for left in range(setting.settings.max_replans, -1, -1):
        outputs = await dispatch(context, plan, brief=brief, roster=setting.roster, done=outputs)
        verdict = UNCHECKED
        if setting.capable:
            verdict = await verified(
                context, brief.original_question, plan, outputs, history=setting.history, options=brief.options
            )
        if verdict.note:
            context.emit(Stage(name="verify", description=verdict.note, status=StageStatus.COMPLETED))
        if verdict.satisfied or not left:
            break
        kept = {task_id: output for task_id, output in outputs.items() if task_id not in verdict.redo}
        with stage(context, "replan", verdict.told or verdict.feedback):
            again = await _make_plan(context, brief, setting, before=plan, done=kept, feedback=verdict.feedback)
        if again.origin == "single":
            break
        onward = await _agreed_to(context, again, setting, earlier=agreed, done=kept)
        if isinstance(onward, NotAgreed):
            undone = left_undone(context, again, onward, done=kept)
            return told_beside(context, again, onward), {**outputs, **undone}, brief
        agreed, plan, brief = onward, onward.plan, _told_with(brief, onward)
        outputs = {task.id: kept[task.id] for task in plan.tasks if task.id in kept}
    return plan, outputs, brief


def _told_with(brief: AgentInput, agreed: Agreed) -> AgentInput:
    return brief.model_copy(update={"original_question": agreed.told_with(brief.original_question)})


async def _make_plan(
    context: AgentContext,
    brief: AgentInput,
    setting: Setting,
    *,
    before: Plan | None = None,
    done: Mapping[str, AgentOutput] | None = None,
    feedback: str = "",
) -> Plan:
    if not setting.capable:
        return await make_plan_by_words(context, brief.original_question, roster=setting.roster)
    return await make_plan(
        context,
        brief.original_question,
        history=setting.history,
        profile=brief.long_term_memory,
        roster=setting.roster,
        options=brief.options,
        before=before,
        done=done or {},
        revision_context=feedback,
    )


async def _composed(
    context: AgentContext, plan: Plan, outputs: Mapping[str, AgentOutput], brief: AgentInput
) -> Answered:
    value = {
        "question": brief.original_question,
        "plan": plan.model_dump(mode="json"),
        "outputs": {task_id: output.model_dump(mode="json") for task_id, output in outputs.items()},
        "profile": brief.long_term_memory,
        "history": list(brief.conversation_history),
        "capable": brief.capable,
        "options": brief.options.model_dump(mode="json"),
        "deleted": [task_id for task_id, output in outputs.items() if output.error == "deleted"],
        "notices": [plan.notice] if plan.notice else [],
    }
    composed = await _composed_by(context, value)
    sources = tuple(Source.model_validate(source) for source in composed["sources"])
    return Answered(
        composed["answer"],
        sources,
        composed["model"],
        _shown(context, plan, outputs),
        _skipped(outputs),
        outputs=tuple(outputs.values()),
    )


def _skipped(outputs: Mapping[str, AgentOutput]) -> tuple[dict[str, Any], ...]:
    """What was not done, as the API tells it: by whom, and why."""
    return tuple(
        {**output.partial_data, "agent_id": task_id, "agent_name": output.agent_name, "error": output.error}
        for task_id, output in outputs.items()
        if not output.task_done
    )


async def _composed_by(context: AgentContext, value: dict[str, Any]) -> Any:
    """The composer is an agent of its own; where the run may have no more of them, its work is done here."""
    try:
        handle = await context.fork(compose.NAME, value, task="Writes the answer")
    except StepFailed:
        return await compose.run(context, value)
    if (await context.outcome(handle)).code == AgentStatus.DELETED:
        return {"answer": await context.say(STOPPED), "sources": [], "model": None}
    return await context.wait(handle)


def _shown(context: AgentContext, plan: Plan, outputs: Mapping[str, AgentOutput]) -> dict[str, Any]:
    """The plan as the API gives it: every task with its stage and what became of it."""
    tasks = []
    for step in plans.planned_steps(plan):
        output = outputs.get(step.id)
        status = "pending" if output is None else state_of(output)
        tasks.append({**step.model_dump(mode="json"), "status": status, "error": output.error if output else None})
    return {
        "intent": plan.intent,
        "entities": plan.entities,
        "revision": plan.revision,
        "asks_about": sorted(plan.tools & needing_a_yes(context.run)),
        "notice": plan.notice,
        "tasks": tasks,
    }


def _served_by(models: LLMSettings, options: Options) -> dict[str, Any]:
    """What people are told of the models, and what the run decides by; recorded, so that a replay decides the same."""
    asked = _asked_first(models, options)
    return {
        "provider": asked.provider.name if asked else None,
        "model": asked.model if asked else None,
        "capable": not models.bundled_only,
        "titles": models.has_cheaper,
        "notice": BUNDLED_NOTICE if models.bundled_only else None,
    }


def _asked_first(models: LLMSettings, options: Options) -> Target | None:
    """Who answers, if nothing else was chosen for the agent at work; None where nobody serves models."""
    tier = Tier(options.tier) if options.tier else Tier.PRO
    try:
        found = targets(models, ModelRequest(tier=tier, messages=(), provider=options.provider, model=options.model))
    except ModelError:
        return None
    return found[0]
