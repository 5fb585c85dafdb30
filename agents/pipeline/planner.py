"""Makes the plan of a question: by the planner's model, checked and amended, or by the patterns where there is none."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from agents.engine.errors import StepFailed
from agents.engine.events import Stage, StageStatus
from agents.exchange import AgentOutput, Options
from agents.pipeline.clauses import readable
from agents.pipeline.deterministic import plan_by_patterns
from agents.pipeline.patterns import CHAT, agent_of
from agents.pipeline.plans import (
    Plan,
    continued,
    faults_of,
    overview,
    single,
    with_tools,
    with_unique_ids,
)
from agents.roles.planner import Proposed, amending, ask_planner, opening, plan_of, task_of
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from agents.stages import stage
from agents.tools.registry import tools

STAGE: Final = "plan"
AMENDMENTS: Final = 2
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
    capable: bool,
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
        if capable:
            plan = await _asked(
                context,
                question,
                roster=roster,
                options=options,
                done=done,
                revision=revision,
                told={
                    "history": history,
                    "profile": profile,
                    "done": done,
                    "revision_context": revision_context,
                },
            )
        else:
            plan = plan_by_patterns(question, roster) or single(question, _only_agent(question, roster))
    if before is not None and plan.origin != "single":
        plan = continued(before, done, plan)
    plan = with_tools(plan, roster)
    if plan.origin != "single":
        context.emit(overview(plan, asks_about=tools_that_need_a_yes()))
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
    messages = opening(question, **told)
    faults: list[str] = []
    for attempt in range(AMENDMENTS + 1):
        try:
            answer = await ask_planner(context, messages, roster=roster, options=options)
        except StepFailed as error:
            return _instead(question, roster, revision, error.message)
        plan = plan_of(answer, agents=roster, revision=revision)
        faults = faults_of(plan, agents=roster, done=done)
        if not faults:
            return _whole(plan, first=revision == 0)
        if attempt < AMENDMENTS:
            _tell(context, "The planner amends its plan", faults)
            messages = (*messages, *amending(answer, faults))
    return _instead(question, roster, revision, f"What was wrong with it: {_in_words(faults)}.")


def _whole(plan: Plan, *, first: bool) -> Plan:
    """A first plan of one task is no plan: its agent answers the question itself, and people watch it write."""
    plan = with_unique_ids(plan)
    return plan.model_copy(update={"origin": "single"}) if first and len(plan.tasks) == 1 else plan


def _instead(question: str, roster: Mapping[str, AgentSpec], revision: int, why: str) -> Plan:
    agent = _only_agent(question, roster)
    notice = f"No plan could be made, so the {agent} agent works on it alone. {why}"
    if revision:
        notice = f"No more could be planned, so the answer says what there is. {why}"
    return single(question, agent, notice=notice, revision=revision)


def _only_agent(question: str, roster: Mapping[str, AgentSpec]) -> str:
    """Whom the patterns would ask if there were only one to ask."""
    agent = agent_of(readable(question))
    if agent in roster:
        return agent
    return CHAT if CHAT in roster else min(roster)


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


async def asked_first(
    context: AgentContext,
    plan: Plan,
    *,
    wanted: bool,
    interactive: bool,
    roster: Mapping[str, AgentSpec],
    irreversible: Collection[str] | None = None,
) -> Plan | None:
    """The plan that a person agreed to (B13): as it is, or as they changed it. None: it shall not run.

    Asked if it is `wanted`, or if the plan uses a tool whose effect cannot be undone: those that say so of themselves,
    unless `irreversible` names them. A changed plan that cannot be run comes back with its faults, three times at most.
    """
    if irreversible is None:
        irreversible = {name for name, tool in tools().items() if tool.irreversible}
    grave = sorted({tool for task in plan.tasks for tool in task.tools} & set(irreversible))
    if not interactive or not (wanted or grave):
        return plan
    shown = plan
    faults: list[str] = []
    for _ in range(REVIEWS):
        answer = await context.ask("plan", _question(shown, grave, faults))
        status = answer.get("status") if isinstance(answer, dict) else None
        if status not in ("approved", "answered"):
            return None
        edited = _as_edited(answer["plan"], plan, roster) if answer.get("plan") else shown
        if isinstance(edited, Plan):
            shown, faults = edited, faults_of(edited, agents=roster)
        else:
            faults = edited
        if not faults:
            return plan if shown == plan else _agreed(context, shown, plan, roster)
        _tell(context, "The changed plan cannot be run", faults)
    return None


def tools_that_need_a_yes() -> set[str]:
    return {name for name, tool in tools().items() if tool.requires_approval}


def _question(plan: Plan, grave: Sequence[str], faults: Sequence[str]) -> dict[str, Any]:
    """What the person is asked; `tasks` have the names that `_Edited` reads back."""
    words = ["This is the plan. Accept it, change it, or reject it."]
    if grave:
        words.append(f"It may do what cannot be undone: {', '.join(grave)}.")
    if faults:
        words.append(f"It cannot be run as you changed it: {'; '.join(faults)}.")
    tasks = [task.model_dump(mode="json") for task in plan.tasks]
    return {"question": " ".join(words), "tasks": tasks, "asks_about": list(grave), "faults": list(faults)}


def _as_edited(said: Any, plan: Plan, roster: Mapping[str, AgentSpec]) -> Plan | list[str]:
    """The plan as somebody changed it, or why it cannot be read."""
    try:
        edited = _Edited.model_validate({"tasks": said} if isinstance(said, list) else said)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        return [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems]
    tasks = tuple(task_of(task, agents=roster) for task in edited.tasks)
    return plan.model_copy(update={"tasks": tasks})


def _agreed(context: AgentContext, edited: Plan, plan: Plan, roster: Mapping[str, AgentSpec]) -> Plan:
    """The changed plan, ready to run, shown in the place of the one that was proposed."""
    edited = edited.model_copy(update={"revision": plan.revision + 1})
    edited = with_tools(with_unique_ids(edited, keep=plan.ids), roster)
    context.emit(overview(edited, asks_about=tools_that_need_a_yes()))
    return edited
