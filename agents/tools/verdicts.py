"""What stands for a call when it is made, as one recorded step: verdict, switch, an earlier yes, what is to be asked.

A replay finds all of it in the journal: it decides the same, and asks the same, whatever was changed meanwhile.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import structlog
from pydantic import BaseModel

from agents.craft.exchange import OnApproval, Options
from agents.engine.canonical import canonical
from agents.engine.context import Outcome
from agents.engine.journal import still_counting
from agents.engine.states import StepKind, StepStatus
from agents.runtime.attempts import DENIED, FORBIDDEN, SWITCHED_OFF
from agents.runtime.context import AgentContext
from agents.runtime.lookups import Lookups
from agents.tools import answers
from agents.tools.acting import acts_of, carries_out, shown_address
from agents.tools.diffing import diff_of
from agents.tools.previews import plain
from agents.tools.taint import CLEAN, Taint, taint_of
from agents.tools.tool import Tool
from hitl.conditions import Condition, Preapproved
from hitl.kinds import RequestKind, Risk, RuleEffect, Stage
from hitl.policy import Acts, Call, Standing, Verdict, denied, verdict
from hyperagent.lib.hashes import arguments_hash
from hyperagent.lib.text import clean_value

log = structlog.get_logger(__name__)

VERDICT: Final = "verdict"
RULES_TRIED: Final = 5
# Asked and kept in English; the pages say them in their reader's language (static/js/told.js, hitl/rows.py).
_QUESTIONS: Final = {"mail": "Send this mail?", "code": "Run this program?", "diff": "Make this change?"}


@dataclass(frozen=True, slots=True)
class CallAsked:
    """A call as it would be carried out, and the hash of exactly that."""

    tool: Tool
    values: BaseModel
    arguments: dict[str, Any]
    hash: str

    @classmethod
    def about(cls, tool: Tool, values: BaseModel) -> Self:
        arguments = values.model_dump(mode="json")
        return cls(tool, values, arguments, arguments_hash(tool.name, arguments))

    @classmethod
    def of(cls, tool: Tool, arguments: Mapping[str, Any]) -> Self:
        """Arguments that were validated before."""
        return cls.about(tool, tool.arguments.model_validate(arguments))

    def as_json(self, call_id: str, *, preview: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """For the question: all that a person has to know of the call. `preview`: where more than the arguments is in
        it."""
        return {
            "id": call_id,
            "tool": self.tool.name,
            "label": self.tool.label,
            "arguments": self.arguments,
            "arguments_hash": self.hash,
            "risk": risk_of(self.tool).value,
            "irreversible": self.tool.irreversible,
            "effect": self.tool.effect,
            "preview": self._preview() if preview is None else preview,
            "schema": self.tool.spec().parameters,
        }

    def asked_again(self, question: Mapping[str, Any], why: str) -> dict[str, Any]:
        """The question for these arguments, with why the answer to the one before does not do."""
        (call,) = question["tool_calls"]
        # What was looked at for the preview is not looked at again: here nothing would record it.
        preview = call["preview"] if call["arguments_hash"] == self.hash else None
        shown = self.as_json(call["id"], preview=preview)
        again: dict[str, Any] = clean_value({**question, "tool_calls": [shown], "why": why})
        return again

    def _preview(self) -> dict[str, Any]:
        try:
            return self.tool.preview(self.arguments)
        except Exception:
            # A table of the arguments says all that there is: no reason not to ask.
            log.exception("tool.preview_failed", tool=self.tool.name)
            return plain(self.arguments)


def risk_of(tool: Tool) -> Risk:
    if tool.irreversible:
        return Risk.HIGH
    return Risk.MEDIUM if tool.effect == "write" or tool.requires_approval else Risk.LOW


def rule_of(context: AgentContext) -> OnApproval:
    """What the run does where a person would have to be asked, as whoever made it chose. Never a silent yes."""
    options = _options(context)
    if options.on_approval is OnApproval.ASK and not options.interactive:
        return OnApproval.SKIP
    return options.on_approval


async def looked_up(context: AgentContext, lookups: Lookups, asked: CallAsked, *, call_id: str) -> Any:
    """`verdict`; `stopped`: the switch that was thrown, in words; `given`: where an earlier yes to the same call
    stands; `question`: for the person, if there is one to be asked.
    """
    name = asked.tool.name
    key = _call_key(context, asked)

    async def perform() -> Outcome:
        while True:
            is_tainted = bool(taint_of(context.run))
            found = await _verdict(context, lookups, asked, key)
            stopped = await thrown(context, lookups, name) if found.kind == "ask" else ""
            is_asked = found.kind == "ask" and not stopped
            preview = await diff_of(context, asked.tool, asked.arguments) if is_asked else None
            # In a branch beside this one a text of others may have come meanwhile: then what was found is of before it.
            if is_tainted or not taint_of(context.run):
                break
        # Nothing is awaited after this look: of two equal calls side by side only one takes an earlier yes.
        given = _given_before(context, asked) if found.kind == "ask" else ""
        asks = is_asked and not given
        question = _question(context, asked, found, asked.as_json(call_id, preview=preview)) if asks else None
        return Outcome(
            clean_value({"verdict": found.as_json(), "stopped": stopped, "given": given, "question": question})
        )

    return await context.step(StepKind.NOTE, VERDICT, {"tool": name}, perform)


def approvers_of(context: AgentContext, asked: CallAsked) -> dict[str, Any] | None:
    """Who was asked whether this very call may be carried out; None if nobody was."""
    steps = still_counting(context.run.steps_of(context.agent.id).values())
    for step in sorted(steps, key=lambda one: one.path, reverse=True):
        is_answer = step.kind is StepKind.ASK and step.name == RequestKind.APPROVAL
        if is_answer and step.status is StepStatus.FINISHED and step.response.get("arguments_hash") == asked.hash:
            found: dict[str, Any] | None = step.request.get("approvers")
            return found
    return None


async def standing_for(context: AgentContext, lookups: Lookups, tool: str, *, key: str) -> Standing:
    """With what the run itself brought along."""
    standing = await lookups.standing(user_id=context.run.about.user_id, tool=tool, call_key=key)
    preapproved = tuple(
        Preapproved(one.tool, tuple(Condition(said.path, said.op, said.value) for said in one.conditions))
        for one in _options(context).preapproved
    )
    return replace(standing, preapproved=preapproved)


def call_of(
    context: AgentContext, tool: Tool, arguments: Mapping[str, Any], *, acts: Acts = Acts.NOTHING, taint: Taint = CLEAN
) -> Call:
    about = context.run.about
    return Call(
        tool=tool.name,
        risk=risk_of(tool),
        irreversible=tool.irreversible,
        requires_approval=tool.requires_approval,
        agent_name=context.agent.name,
        arguments=arguments,
        execution_id=about.execution_id,
        user_id=about.user_id,
        conversation_id=about.conversation_id,
        acts=acts,
        tainted_by=taint.sources,
        tainted_more=taint.more,
    )


async def forbidden_by_now(context: AgentContext, lookups: Lookups, asked: CallAsked) -> tuple[str, str] | None:
    """Why the call may not be carried out at this moment after all, whoever agreed to it before: the code, and the
    words for people and models. None if it may. For a step, right before the call is carried out."""
    if why := await thrown(context, lookups, asked.tool.name):
        return SWITCHED_OFF, why
    standing = await standing_for(context, lookups, asked.tool.name, key=_call_key(context, asked))
    no = denied(call_of(context, asked.tool, asked.arguments), standing)
    return None if no is None else (DENIED if no.rule_id else FORBIDDEN, no.why)


async def thrown(context: AgentContext, lookups: Lookups, tool: str) -> str:
    return await lookups.thrown(user_id=context.run.about.user_id, agent_name=context.agent.name, tool=tool)


async def _verdict(context: AgentContext, lookups: Lookups, asked: CallAsked, key: str) -> Verdict:
    """The use of a rule is counted here. One that has no use left meanwhile allows nothing; a denial stands anyway."""
    taint = taint_of(context.run)
    acts = await acts_of(context, asked.tool, asked.arguments) if taint else Acts.NOTHING
    call = call_of(context, asked.tool, asked.arguments, acts=acts, taint=taint)
    standing = await standing_for(context, lookups, call.tool, key=key)
    for _ in range(RULES_TRIED):
        found = verdict(call, standing)
        if found.rule_id is None:
            return found
        counted = await lookups.use_rule(
            found.rule_id,
            call_key=key,
            execution_id=call.execution_id,
            agent_name=call.agent_name,
            tool=call.tool,
            arguments=asked.arguments,
            arguments_hash=asked.hash,
        )
        if counted or found.kind == "deny":
            return found
        standing = await standing_for(context, lookups, call.tool, key=key)
    denying = tuple(rule for rule in standing.rules if rule.effect is RuleEffect.DENY)
    return verdict(call, replace(standing, rules=denying))


def _call_key(context: AgentContext, asked: CallAsked) -> str:
    """Names this call in the counting of a rule's uses: the same on every replay, and for no other call."""
    place = [str(context.run.execution_id), context.agent.lineage, list(context.position), asked.hash]
    return hashlib.sha256(canonical(place).encode()).hexdigest()


def _given_before(context: AgentContext, asked: CallAsked) -> str:
    """The place of a question at which a person approved exactly this call and only had something to say besides; one
    that no other call has taken. Empty if there is none.
    """
    steps = still_counting(context.run.steps_of(context.agent.id).values())
    taken = {step.response["given"] for step in steps if step.kind is StepKind.NOTE and step.name == VERDICT}
    for step in sorted(steps, key=lambda one: one.path):
        is_answer = step.kind is StepKind.ASK and step.name == RequestKind.APPROVAL
        if not is_answer or step.status is not StepStatus.FINISHED:
            continue
        meaning = answers.meaning_of(step.response, tool=asked.tool.name, hashed=asked.hash)
        place = ".".join(map(str, step.path))
        if isinstance(meaning, answers.Instructed) and place not in taken:
            return place
    return ""


def _question(context: AgentContext, asked: CallAsked, found: Verdict, call: Mapping[str, Any]) -> dict[str, Any]:
    task, tool = context.task_input, asked.tool
    return {
        "question": _QUESTIONS.get(call["preview"]["kind"], f"May the {context.agent.name} agent call {tool.name}?"),
        "task_description": task.task if task is not None else context.agent.task,
        "tool_names": [tool.name],
        "stage": Stage.TOOL.value,
        "tool_calls": [call],
        "risk": call["risk"],
        "why": found.why,
        "rules_allowed": found.rules_allowed,
        "approvers": found.approvers.as_json(),
        "timeout_seconds": context.run.settings.approval_timeout_s,
        **_tainted(context, asked, found),
    }


def _tainted(context: AgentContext, asked: CallAsked, found: Verdict) -> dict[str, Any]:
    """What a card shows besides, where text of others is why somebody is asked."""
    if not found.tainted_by:
        return {}
    told: dict[str, Any] = {
        "tainted_by": [one.as_json() for one in found.tainted_by],
        "tainted_more": found.tainted_more,
    }
    if carries_out(context, asked.tool, asked.arguments):
        told["address"] = shown_address(context, asked.tool, asked.arguments)
    return told


def _options(context: AgentContext) -> Options:
    task = context.task_input
    options: Options = task.options if task is not None else Options()
    return options
