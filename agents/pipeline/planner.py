"""Makes the plan of a question: by the planner's model, checked and amended, or by the patterns where there is none.
Shows it to a person before it runs, where there is a reason to.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from agents.craft.exchange import AgentOutput, Options
from agents.craft.stages import stage
from agents.engine.errors import StepFailed
from agents.engine.events import Stage, StageStatus
from agents.pipeline import protected
from agents.pipeline.clauses import readable
from agents.pipeline.deterministic import plan_by_patterns
from agents.pipeline.not_agreed import CANNOT_RUN, STAGE, NotAgreed
from agents.pipeline.patterns import CHAT, agent_of, classify, pieces_of
from agents.pipeline.plan_costs import NOTHING, PlanCost, reckoned, why_dear
from agents.pipeline.plans import (
    Plan,
    continued,
    faults_of,
    overview,
    single,
    with_tools,
    with_unique_ids,
)
from agents.pipeline.protected import needing_a_yes
from agents.pipeline.work import lacking
from agents.roles.planner import Proposed, amending, ask_planner, opening, plan_of, task_of
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from agents.tools import answers

AMENDMENTS: Final = 2
MAIL: Final = "mail"
REVIEWS: Final = 3
_NOTHING_DONE: Final[Mapping[str, AgentOutput]] = {}
_NO_OPTIONS: Final = Options()
_FAULTS_TOLD: Final = 3


async def make_plan(
    context: AgentContext,
    question: str,
    *,
    history: Sequence[Mapping[str, str]],
    profile: Mapping[str, Any],
    roster: Mapping[str, AgentSpec],
    options: Options = _NO_OPTIONS,
    before: Plan | None = None,
    done: Mapping[str, AgentOutput] = _NOTHING_DONE,
    revision_context: str = "",
) -> Plan:
    """A plan that can be run: its ids are unique in the run, and its tools are spelled out.

    `before`, `done`, `revision_context`: the plan that this one goes on from, what of it is finished and stays, and
    what is wrong with the rest. Where one agent can do it, or no plan came about, the plan's origin is "single".
    """
    revision = before.revision + 1 if before else 0
    with stage(context, STAGE, "Planning" if before is None else "Planning what is missing"):
        plan = await _asked(
            context,
            question,
            roster=roster,
            options=options,
            done=done,
            revision=revision,
            told={"history": history, "profile": profile, "done": done, "revision_context": revision_context},
        )
    if before is not None and plan.origin != "single":
        plan = continued(before, done, plan)
    return _ready(context, plan, roster)


async def make_plan_by_words(context: AgentContext, question: str, *, roster: Mapping[str, AgentSpec]) -> Plan:
    """The same where no model can be asked. Nothing is planned again then: nobody judges what the agents brought."""
    with stage(context, STAGE, "Planning"):
        plan = plan_by_patterns(question, roster) or single(question, await _only_agent(context, question, roster))
    return _ready(context, plan, roster)


def _ready(context: AgentContext, plan: Plan, roster: Mapping[str, AgentSpec]) -> Plan:
    """With its tools, and shown to people, or why there is none."""
    plan = with_tools(plan, roster)
    if plan.origin != "single":
        context.emit(overview(plan, asks_about=needing_a_yes(context.run)))
    elif plan.notice:
        context.emit(Stage(name=STAGE, description=plan.notice, status=StageStatus.FAILED))
    return plan


async def _asked(
    context: AgentContext,
    question: str,
    *,
    roster: Mapping[str, AgentSpec],
    options: Options,
    done: Mapping[str, AgentOutput],
    revision: int,
    told: Mapping[str, Any],
) -> Plan:
    """The planner's plan, amended until nothing is wrong with it; or the single-agent plan that says why not."""
    messages = opening(question, options=options, **told)
    faults: list[str] = []
    for attempt in range(AMENDMENTS + 1):
        try:
            answer = await ask_planner(context, messages, roster=roster, options=options)
        except StepFailed as error:
            return await _instead(context, question, roster, revision, error.message)
        plan = plan_of(answer, agents=roster, revision=revision)
        faults = faults_of(plan, agents=roster, done=done)
        if not faults:
            return _whole(plan, first=revision == 0)
        if attempt < AMENDMENTS:
            _tell(context, "The planner amends its plan", faults)
            messages = (*messages, *amending(answer, faults))
    return await _instead(context, question, roster, revision, f"What was wrong with it: {_in_words(faults)}.")


def _whole(plan: Plan, *, first: bool) -> Plan:
    """A first plan of one task is no plan: its agent answers the question itself, and people watch it write."""
    plan = with_unique_ids(plan)
    return plan.model_copy(update={"origin": "single"}) if first and len(plan.tasks) == 1 else plan


async def _instead(
    context: AgentContext, question: str, roster: Mapping[str, AgentSpec], revision: int, why: str
) -> Plan:
    agent = await _only_agent(context, question, roster)
    notice = f"No plan could be made, so the {agent} agent works on it alone. {why}"
    if revision:
        notice = f"No more could be planned, so the answer says what there is. {why}"
    return single(question, agent, notice=notice, revision=revision)


async def _only_agent(context: AgentContext, question: str, roster: Mapping[str, AgentSpec]) -> str:
    """Whom the patterns would ask if there were only one to ask; chat where that one is not to be had."""
    agent = _likeliest(question)
    if agent in roster and not await lacking(context, roster[agent]):
        return agent
    return CHAT if CHAT in roster else min(roster)


def _likeliest(question: str) -> str:
    """The clearest agent. Mail only where all of it is for the mailbox: what others find first it could not send."""
    text = readable(question)
    found = [agent_of(text), *(agent_of(piece.text) for piece in pieces_of(text))]
    if classify(question).agent == MAIL:
        return found[0]
    return next((agent for agent in found if agent != MAIL), CHAT)


def _tell(context: AgentContext, what: str, faults: Sequence[str]) -> None:
    context.emit(Stage(name=STAGE, description=f"{what}: {_in_words(faults)}", status=StageStatus.RUNNING))


def _in_words(faults: Sequence[str]) -> str:
    shown = "; ".join(faults[:_FAULTS_TOLD])
    more = len(faults) - _FAULTS_TOLD
    return f"{shown}; and {more} more" if more > 0 else shown


# --- the plan is shown before it runs


class _Edited(BaseModel):
    """The tasks as a person wants them. What a task has besides, the page's own fields, is left out."""

    tasks: list[Proposed]


@dataclass(frozen=True, slots=True)
class Agreed:
    """A plan that may run. `grave`: the tools whose effect cannot be undone, of all plans of the run until now; `cost`:
    what those are reckoned at as they were proposed, where that is looked at."""

    plan: Plan
    grave: frozenset[str] = frozenset()
    cost: PlanCost = NOTHING
    said: str = ""
    """What the person said when they agreed, for all who work on it."""

    def told_with(self, question: str) -> str:
        """The question with that."""
        return f"{question}\n\nThe person agreed to a plan for this, and said: {self.said}" if self.said else question


@dataclass(frozen=True, slots=True)
class _Why:
    """What a person is told of a plan besides its tasks. `limit_usd`: 0 where nobody looks at what it costs."""

    grave: tuple[str, ...]
    cost: PlanCost
    limit_usd: Decimal
    is_dear: bool
    goes_on: bool
    """Whether it plans what another has left."""


async def asked_first(
    context: AgentContext,
    plan: Plan,
    *,
    options: Options,
    roster: Mapping[str, AgentSpec],
    limit_usd: float = 0,
    earlier: Agreed | None = None,
    done: Collection[str] = (),
    irreversible: Collection[str] | None = None,
) -> Agreed | NotAgreed:
    """The plan that a person agreed to (B13): as it is, or as they changed it; or why it shall not run.

    Asked if it is wanted, if the plan uses a tool whose effect cannot be undone (those that say so of themselves,
    unless `irreversible` names them), or if it is reckoned to cost more than `limit_usd` (0: however much). A plan that
    goes on from `earlier`, of which `done` is finished, is asked about if it brings in such a tool that no plan before
    it had, or if it is the first with which the run's plans are above the limit. A changed plan that cannot be run
    comes back with its faults, three times at most.
    """
    if not options.interactive:
        return Agreed(plan)
    left = _without(plan, done)
    before = earlier or Agreed(plan)
    irreversible = protected.irreversible(context.run) if irreversible is None else set(irreversible)
    cost = await _cost(context, left, before.cost, options=options, roster=roster) if limit_usd else NOTHING
    limit = Decimal(str(limit_usd))
    why = _Why(
        grave=tuple(sorted(left.tools & irreversible)),
        cost=cost,
        limit_usd=limit,
        is_dear=bool(limit) and before.cost.usd <= limit < cost.usd,
        goes_on=earlier is not None,
    )
    is_wanted = options.show_plan and earlier is None
    said = ""
    if is_wanted or set(why.grave) - before.grave or why.is_dear:
        shown = await _reviewed(context, left, why, roster=roster, done=done)
        if isinstance(shown, NotAgreed):
            return shown
        said = shown.said
        if shown.plan != left:
            plan = _changed(context, shown.plan, plan, roster, done)
    return Agreed(plan, before.grave | (plan.tools & irreversible), cost, said)


async def _cost(
    context: AgentContext, left: Plan, before: PlanCost, *, options: Options, roster: Mapping[str, AgentSpec]
) -> PlanCost:
    """Of all that the run has planned until now."""
    return before.plus(await reckoned(context, left.tasks, roster=roster, options=options))


async def _reviewed(
    context: AgentContext, proposed: Plan, why: _Why, *, roster: Mapping[str, AgentSpec], done: Collection[str]
) -> Agreed | NotAgreed:
    """What a person makes of the plan: itself where they accept it."""
    shown = proposed
    faults: list[str] = []
    for _ in range(REVIEWS):
        asks_about = shown.tools & needing_a_yes(context.run)
        answer = await context.ask("plan", _question(shown, why, faults, asks_about=asks_about))
        status = answer.get("status") if isinstance(answer, dict) else None
        if status not in ("approved", "answered"):
            return _not_agreed(answer)
        edited = _as_edited(answer["plan"], proposed, roster) if answer.get("plan") else shown
        if isinstance(edited, Plan):
            shown, faults = edited, faults_of(edited, agents=roster, done=done)
        else:
            faults = edited
        if not faults:
            return Agreed(shown, said=answers.words(answer))
        _tell(context, "The changed plan cannot be run", faults)
    return NotAgreed(CANNOT_RUN, _in_words(faults))


def _not_agreed(answer: Any) -> NotAgreed:
    """A no, or a question that came to its end without one: never taken for each other."""
    refused = answers.meaning_for_agent(answer)
    assert isinstance(refused, answers.Refused)  # whoever calls this has looked for a yes
    return NotAgreed(refused.code, refused.reason)


def _question(plan: Plan, why: _Why, faults: Sequence[str], *, asks_about: Collection[str]) -> dict[str, Any]:
    """What the person is asked; `tasks` have the names that `_Edited` reads back."""
    words = ["This is the plan for what is missing." if why.goes_on else "This is the plan."]
    words.append("Accept it, change it, or reject it.")
    if why.grave:
        words.append(f"It may do what cannot be undone: {', '.join(why.grave)}.")
    if why.is_dear:
        words += why_dear(why.cost, why.limit_usd, goes_on=why.goes_on)
    if faults:
        words.append(f"It cannot be run as you changed it: {'; '.join(faults)}.")
    tasks = [task.model_dump(mode="json") for task in plan.tasks]
    told_about = sorted({*asks_about, *why.grave})
    asked = {"question": " ".join(words), "tasks": tasks, "asks_about": told_about, "faults": list(faults)}
    return {**asked, "cost": _told_cost(why)} if why.limit_usd else asked


def _told_cost(why: _Why) -> dict[str, Any]:
    return {
        "reckoned_usd": None if why.cost.unpriced else float(why.cost.usd),
        "known_usd": float(why.cost.usd),
        "limit_usd": float(why.limit_usd),
        "unpriced_models": list(why.cost.unpriced),
    }


def _without(plan: Plan, done: Collection[str]) -> Plan:
    """What of it is still to be done."""
    return plan.model_copy(update={"tasks": tuple(task for task in plan.tasks if task.id not in done)})


def _as_edited(said: Any, plan: Plan, roster: Mapping[str, AgentSpec]) -> Plan | list[str]:
    """The plan as somebody changed it, or why it cannot be read."""
    try:
        edited = _Edited.model_validate({"tasks": said} if isinstance(said, list) else said)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        return [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems]
    tasks = tuple(task_of(task, agents=roster) for task in edited.tasks)
    return plan.model_copy(update={"tasks": tasks})


def _changed(
    context: AgentContext, edited: Plan, plan: Plan, roster: Mapping[str, AgentSpec], done: Collection[str]
) -> Plan:
    """The changed plan, ready to run, shown in the place of the one that was proposed. What is done stays in it."""
    edited = edited.model_copy(update={"revision": plan.revision + 1})
    edited = with_tools(continued(plan, done, with_unique_ids(edited, keep=plan.ids)), roster)
    context.emit(overview(edited, asks_about=needing_a_yes(context.run)))
    return edited
