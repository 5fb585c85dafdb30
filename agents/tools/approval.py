"""The gateway's link *approval*: what stands for a call is looked up, and a person is asked where that follows from it.

Who may decide and what a decision is, `hitl` knows. What was decided holds for exactly the arguments that were shown:
with any others the call is asked about anew.
"""

from typing import Any, Final, assert_never

from agents.craft.exchange import OnApproval
from agents.pipeline.effective_task import Intent
from agents.roles.intent import intent_of
from agents.runtime import attempts
from agents.runtime.context import AgentContext
from agents.tools import answers
from agents.tools.arguments import Refusal, fitted
from agents.tools.checks import Changed, Request, unapproved
from agents.tools.tool import Tool
from agents.tools.verdicts import CallAsked, looked_up, rule_of
from hitl.kinds import RequestKind
from hitl.policy import Verdict

ASKED_AT_MOST: Final = 5
VALUE_CHARS: Final = 200

_OTHER: Final = "What was approved are not the arguments of this call, so you are asked about these."
_NOT_USABLE: Final = "The arguments that were given in the place of these cannot be used: {why}"
_READ_AS: Final = "The arguments that were given are read like this, so you are asked about these."
_DO_WITHOUT: Final = (
    "Do not try it again or by another way: go on without it, and say in your answer what was not done."
)
_ALONE: Final = (
    "it needs a person's approval, and nobody can be asked in this way of asking. Ask on the chat page or through the "
    "streaming endpoint, or with on_approval set to wait"
)
# Without the names of what was read: a title is the text of others, too, and a model is told this.
_TAINTED: Final = "This run has read text that others wrote, so nothing that was allowed beforehand counts for it"
_RULE_IS_NO: Final = "it needs a person's approval, and this run was made with the rule that all such calls are denied"


async def approved(context: AgentContext, request: Request) -> Refusal | Changed | None:
    """None: it may be carried out as it is. Asks a person, and waits, where somebody has to say yes first."""
    lookups, tool = context.run.lookups, request.tool
    if lookups is None:
        return unapproved(tool) if tool.requires_approval else None
    asked = CallAsked.of(tool, request.arguments)
    noted = await looked_up(context, lookups, asked, call_id=request.call_id)
    found = Verdict.from_json(noted["verdict"])
    match found.kind:
        case "allow":
            return None
        case "deny":
            return refused_in_general(tool.name, found)
        case "ask":
            if noted["given"]:
                return None
            if noted["stopped"]:
                return refusal(tool.name, attempts.SWITCHED_OFF, noted["stopped"], noted["stopped"])
            because = _TAINTED if found.tainted_by else ""
            nobody = nobody_to_ask(tool.name, rule_of(context), because=because)
            return nobody or await _ask(context, asked, noted["question"])
        case _:
            assert_never(found.kind)


def nobody_to_ask(what: str, rule: OnApproval, *, because: str = "") -> Refusal | None:
    """Why a person is not asked, by the rule that the run was made with. `because`: why one would have to be asked,
    where that is not in the tool."""
    match rule:
        case OnApproval.ASK | OnApproval.WAIT:
            return None
        case OnApproval.SKIP:
            return _unasked(what, attempts.NOBODY_TO_ASK, _ALONE, because)
        case OnApproval.DENY:
            return _unasked(what, attempts.FORBIDDEN, _RULE_IS_NO, because)
        case _:
            assert_never(rule)


def _unasked(what: str, code: str, why: str, because: str) -> Refusal:
    reason = " ".join(filter(None, [f"This {why.removeprefix('it ')}.", because and f"{because}."]))
    return refusal(what, code, f"{why}. {because}" if because else why, reason)


def refused_in_general(what: str, found: Verdict) -> Refusal:
    """A rule is the person's own no, given beforehand; a policy is the administrator's."""
    code = attempts.DENIED if found.rule_id else attempts.FORBIDDEN
    return refusal(what, code, found.why, found.why)


def refusal(what: str, code: str, told: str, reason: str) -> Refusal:
    sentence = f"{what} was not carried out: {told.rstrip('.')}."
    return Refusal(code, f"{sentence} {_DO_WITHOUT}", {"told": sentence, "reason": reason, "tools": [what]})


# --- asking


async def _ask(context: AgentContext, asked: CallAsked, question: dict[str, Any]) -> Refusal | Changed | None:
    """Until there is an answer to exactly what would be carried out. `first`: the call as the agent made it. `said`:
    what came with arguments that had to be shown once more."""
    first, said = asked, ""
    context.run.was_asked.add(asked.hash)
    # A yes is for one carrying out. The ledger finds an effect that was approved, also after a cut of the journal; what
    # is in no ledger would be carried out once more for the same yes, so a cut forgets that one.
    ask = context.ask if asked.tool.effect == "write" else context.ask_anew
    for _ in range(ASKED_AT_MOST):
        answer = await ask(RequestKind.APPROVAL, question)
        meaning = answers.meaning_of(answer, tool=asked.tool.name, hashed=asked.hash)
        match meaning:
            case answers.Approved():
                return None if asked is first else _changed(first, asked, said)
            case answers.Refused():
                return refusal(asked.tool.name, meaning.code, meaning.told, meaning.reason)
            case answers.Instructed():
                return await _instructed(context, asked.tool, meaning.instructions)
            case answers.Edited():
                edited = fitted(meaning.arguments, asked.tool.arguments, tool=asked.tool.name)
                if isinstance(edited, Refusal):
                    question = asked.asked_again(question, _NOT_USABLE.format(why=edited.message))
                    continue
                asked = CallAsked.about(asked.tool, edited)
                context.run.was_asked.add(asked.hash)
                if asked.hash == meaning.hash:
                    return _changed(first, asked, meaning.instructions)
                said = meaning.instructions
                question = asked.asked_again(question, _READ_AS)
            case answers.OtherCall():
                question = asked.asked_again(question, _OTHER)
            case _:
                assert_never(meaning)
    told = f"its approval was asked for {ASKED_AT_MOST} times, and no answer was to this call"
    return refusal(asked.tool.name, attempts.WITHDRAWN, told, f"Not approved: {told}.")


async def _instructed(context: AgentContext, tool: Tool, instructions: str) -> Refusal:
    """Not carried out yet: what the person wants is not in the call. A call that follows it is asked about anew."""
    task = context.task_input
    intent = await intent_of(context, task.task if task is not None else tool.description, instructions, by=task)
    wish = "instead of what was asked for" if intent is Intent.OVERRIDE else "besides what was asked for"
    told = f"{tool.name} was approved with instructions ({wish}): {instructions}"
    message = (
        f"{told}\nSo it was not carried out yet. Follow the instructions, and call it again with arguments that do; if "
        "these arguments already do, make exactly the same call again, which needs no second approval."
    )
    details = {"told": told, "reason": instructions, "tools": [tool.name]}
    return Refusal(attempts.INSTRUCTED, message, {**details, "instructions": instructions, "intent": intent.value})


def _changed(first: CallAsked, asked: CallAsked, instructions: str) -> Changed:
    return Changed(asked.values, _what_was_changed(first, asked, instructions), instructions)


def _what_was_changed(before: CallAsked, after: CallAsked, instructions: str) -> str:
    names = sorted(before.arguments.keys() | after.arguments.keys())
    changed = [
        f"- {name}: {_short(before.arguments.get(name))} became {_short(after.arguments.get(name))}"
        for name in names
        if before.arguments.get(name) != after.arguments.get(name)
    ]
    said = f" They said: {instructions}" if instructions else ""
    return "\n".join([f"A person changed these arguments before they approved the call:{said}", *changed])


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= VALUE_CHARS else f"{text[:VALUE_CHARS]}…"
