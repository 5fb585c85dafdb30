"""What people's decisions make of an agent's task: the gate before it begins, and what its output says afterwards.

Single calls are decided at the gateway (`agents.tools.approval`); here is what follows for the agent as a whole.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from agents.craft.exchange import AgentInput, OnApproval, Work
from agents.engine.context import Outcome
from agents.engine.events import Stage as StageShown
from agents.engine.events import StageStatus
from agents.engine.states import StepKind
from agents.mcp.definitions import CONNECTED
from agents.pipeline.effective_task import Intent, effective_task
from agents.roles.intent import intent_of
from agents.runtime import attempts
from agents.runtime.attempts import Attempt
from agents.runtime.context import AgentContext
from agents.runtime.lookups import Lookups
from agents.spec import AgentSpec
from agents.tools import answers
from agents.tools.approval import nobody_to_ask, refusal, refused_in_general
from agents.tools.arguments import Refusal
from agents.tools.checks import Instructed
from agents.tools.tool import Tool
from agents.tools.verdicts import VERDICT, call_of, risk_of, rule_of, standing_for, thrown
from hitl.kinds import RequestKind, Risk, RuleEffect, Stage
from hitl.policy import Call, Standing, Verdict, verdict
from hyperagent.lib.text import clean_value

BEFORE_AGENT: Final = "before_agent"
_RISKS: Final = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


async def let_in(context: AgentContext, spec: AgentSpec, task: AgentInput) -> AgentInput | Work:
    """The task as the agent is to begin it, with what a person said; or, if it is not to begin, what became of it.

    A person is asked first where the agent's spec says so. Where nobody can be asked, an agent whose task names a
    protected tool is left out before it has done anything.
    """
    lookups = context.run.lookups
    if spec.approval == BEFORE_AGENT:
        return not_done(_nowhere_to_ask(spec)) if lookups is None else await _asked(context, lookups, spec, task)
    if lookups is None:
        return task
    if rule_of(context) is OnApproval.SKIP and (named := _named(context, spec, task)):
        left: list[str] = await _left_out(context, lookups, named)
        if left:
            return not_done(_skipped(left))
    return task


def with_instructions(task: AgentInput, instructions: str, intent: Intent, **more: Any) -> AgentInput:
    """The task with what a person said when approving it (S128, S130)."""
    said = {"instructions": instructions, "intent": intent.value, "original_task": task.task, **more}
    return task.model_copy(
        update={"task": effective_task(task.task, instructions, intent), "hitl_context": {"status": "approved", **said}}
    )


def as_instructed(task: AgentInput, said: Instructed) -> AgentInput:
    """The task of an agent whose own code made a call that was approved with instructions."""
    details = said.refusal.details
    return with_instructions(task, details["instructions"], Intent(details["intent"]), tool=said.tool)


def as_worked_on(task: AgentInput, made: Sequence[Attempt]) -> AgentInput:
    """The task with what people said while its calls were approved: its output tells it like that (S129)."""
    for one in attempts.instructed(made):
        task = with_instructions(task, one.instructions, Intent(one.intent), tool=one.tool)
    return task


def told(done: Work, made: Sequence[Attempt]) -> Work:
    """The agent's work; not done where a call that it needed was not let through (S122-S124)."""
    blocked = attempts.blocked(made)
    if not blocked:
        return done
    names = list(dict.fromkeys(one.tool for one in blocked))
    partial = {**done.data, **done.partial_data, "reason": attempts.reasons(blocked), "tools": names}
    return done.model_copy(update={"done": False, "error": blocked[-1].refusal, "partial_data": partial, "data": {}})


def not_done(why: Refusal) -> Work:
    """Of an agent that did not begin, or did not come to what was wanted."""
    partial = {name: why.details[name] for name in ("reason", "tools")}
    return Work(result=why.details["told"], done=False, error=why.code, partial_data=partial, confidence=0)


# --- the gate


async def _asked(context: AgentContext, lookups: Lookups, spec: AgentSpec, task: AgentInput) -> AgentInput | Work:
    noted = await _looked_up(context, lookups, spec, task)
    if noted["verdict"]["kind"] == "allow":
        return task
    what = f"The {spec.name} agent"
    why = _shut_out(what, noted, rule_of(context))
    if why is None:
        answer = await context.ask(RequestKind.APPROVAL, noted["question"])
        match answers.meaning_for_agent(answer):
            case answers.Approved():
                return task
            case answers.Instructed(instructions):
                intent = await intent_of(context, task.task, instructions, by=task)
                return with_instructions(task, instructions, intent, decided_by=answer.get("decided_by"))
            case answers.Refused(code, told_why, reason):
                why = refusal(what, code, told_why, reason)
    # The tools that the agent would have used, in the place of its name.
    return not_done(replace(why, details={**why.details, "tools": noted["question"]["tool_names"]}))


def _shut_out(what: str, noted: Any, rule: OnApproval) -> Refusal | None:
    """Why nobody is asked at all."""
    found = Verdict.from_json(noted["verdict"])
    if found.kind == "deny":
        return refused_in_general(what, found)
    if noted["stopped"]:
        return refusal(what, attempts.SWITCHED_OFF, noted["stopped"], noted["stopped"])
    return nobody_to_ask(what, rule)


async def _looked_up(context: AgentContext, lookups: Lookups, spec: AgentSpec, task: AgentInput) -> Any:
    async def perform() -> Outcome:
        found = verdict(_call_of(context, spec, task), await standing_for(context, lookups, "", key=""))
        stopped = await thrown(context, lookups, "") if found.kind == "ask" else ""
        question = _question(context, spec, task, found)
        return Outcome(clean_value({"verdict": found.as_json(), "stopped": stopped, "given": "", "question": question}))

    return await context.step(StepKind.NOTE, VERDICT, {"agent": spec.name}, perform)


def _call_of(context: AgentContext, spec: AgentSpec, task: AgentInput) -> Call:
    """The agent's beginning as a call: of no tool, and as grave as the gravest that it may make."""
    about = context.run.about
    guarded = _guarded(context, spec, task)
    return Call(
        tool="",
        risk=max((risk_of(tool) for tool in guarded), key=_RISKS.index, default=Risk.MEDIUM),
        irreversible=any(tool.irreversible for tool in guarded),
        requires_approval=True,
        agent_name=spec.name,
        arguments={},
        execution_id=about.execution_id,
        user_id=about.user_id,
        conversation_id=about.conversation_id,
    )


def _question(context: AgentContext, spec: AgentSpec, task: AgentInput, found: Verdict) -> dict[str, Any]:
    guarded = _guarded(context, spec, task)
    return {
        "question": f"May the {spec.name} agent begin?",
        "task_description": task.task,
        "tool_names": [tool.name for tool in guarded],
        "stage": Stage.AGENT.value,
        "tool_calls": [],
        "risk": _call_of(context, spec, task).risk.value,
        "why": f"The {spec.name} agent begins only when a person agrees.",
        "rules_allowed": False,
        "approvers": found.approvers.as_json(),
        "timeout_seconds": context.run.settings.approval_timeout_s,
    }


def _guarded(context: AgentContext, spec: AgentSpec, task: AgentInput) -> Sequence[Tool]:
    """The agent's tools that need a yes, as far as its task has them; those of connected servers, too."""
    door = context.run.tools
    names = task.tools or (*spec.tools, *context.connected)
    connected = [context.connected[name] for name in names if name in context.connected]
    return () if door is None else (*door.protected(names), *(tool for tool in connected if tool.requires_approval))


# --- nobody to ask


def _nowhere_to_ask(spec: AgentSpec) -> Refusal:
    told = "approvals are not set up here"
    return refusal(f"The {spec.name} agent", "approval_unavailable", told, "Approvals are not set up here.")


def _named(context: AgentContext, spec: AgentSpec, task: AgentInput) -> Sequence[Tool]:
    """The protected tools that a plan gave the task. All that the agent has were given by nobody."""
    if not task.tools or {name for name in task.tools if not name.startswith(CONNECTED)} == set(spec.tools):
        return ()
    return _guarded(context, spec, task)


async def _left_out(context: AgentContext, lookups: Lookups, named: Sequence[Tool]) -> list[str]:
    """Those of them that nothing may allow without a question. Noted: rules come and go."""
    door = context.run.tools

    async def perform() -> Outcome:
        found = []
        for tool in named:
            is_there = door is None or not await door.lacks_for(context.run.about, tool.needs)
            if is_there and not _may_be_allowed(context, tool, await standing_for(context, lookups, tool.name, key="")):
                found.append(tool.name)
        return Outcome(found)

    left: list[str] = await context.step(StepKind.NOTE, "left_out", {"tools": [one.name for one in named]}, perform)
    if left:
        told_why = f"Left out, because nobody can be asked: {', '.join(left)}"
        context.emit(StageShown(name="approval", description=told_why, status=StageStatus.FAILED))
    return left


def _may_be_allowed(context: AgentContext, tool: Tool, standing: Standing) -> bool:
    """Whether a call of the tool might do without a question; with which arguments, the gateway looks."""
    if any(one.tool == tool.name for one in standing.preapproved):
        return True
    if any(rule.effect is RuleEffect.ALLOW for rule in standing.rules):
        return True
    return verdict(call_of(context, tool, {}), standing).kind == "allow"


def _skipped(names: Sequence[str]) -> Refusal:
    why = nobody_to_ask(", ".join(names), OnApproval.SKIP)
    assert why is not None
    return replace(why, details={**why.details, "tools": list(names)})
