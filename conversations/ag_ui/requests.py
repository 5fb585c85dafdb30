"""What an AG-UI front end sends, read into a question or into answers to what waited. Pure. Imports ag_ui: late."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from conversations.history import Said, quotation
from conversations.models import Role
from hitl.actions import MAX_AT_ONCE
from hyperagent.lib.refusals import Refused
from hyperagent.lib.text import clean_value
from hyperagent.lib.width import holds_more

MOST_NAME_CHARS = 100
_INSTRUCTING = ("system", "developer")
# Of messages, tools and context; to tell what is wrong with each of more would take seconds.
MOST_VALUES = 20_000
_ANYTHING = ("state", "forwardedProps", "forwarded_props", "parameters", "payload", "metadata")


@dataclass(frozen=True, slots=True)
class Asked:
    """`answers`: what a person said to requests, as `POST /hitl/respond` takes it; the run that waited goes on then,
    and nothing is asked. `tools`: of the front end, which are not called."""

    thread_id: str
    run_id: str
    question: str
    told: Sequence[Said]
    mode: str | None
    answers: tuple[Mapping[str, Any], ...]
    tools: tuple[str, ...]


def read(body: Any) -> Asked:
    """Raises Refused with the first fault."""
    given = _given(body)
    answers = _answers(given.resume or ())
    last = given.messages[-1] if given.messages else None
    if not answers:
        _check_asks(last)
    asked = _said(last) if last is not None else None
    props = given.forwarded_props if isinstance(given.forwarded_props, Mapping) else {}
    return Asked(
        thread_id=given.thread_id,
        run_id=given.run_id,
        question=asked["content"] if asked is not None else "",
        told=_told(given),
        mode=str(props["mode"]) if props.get("mode") else None,
        answers=answers,
        tools=tuple(tool.name for tool in given.tools or ()),
    )


def _given(body: Any) -> RunAgentInput:
    if holds_more(body, MOST_VALUES, but=_ANYTHING):
        raise Refused.at("body", f"There are more than {MOST_VALUES:,} values in it. Send less at once.")
    try:
        given = RunAgentInput.model_validate(clean_value(body))
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "body"
        raise Refused("invalid", f"{place}: {fault['msg']}", fields={place: [fault["msg"]]}) from None
    for name, value in (("threadId", given.thread_id), ("runId", given.run_id)):
        if not value.strip() or len(value) > MOST_NAME_CHARS or not value.isprintable():
            raise Refused.at(name, f"{name} has to be 1 to {MOST_NAME_CHARS} printable characters.")
    return given


def _answers(resume: Sequence[Any]) -> tuple[Mapping[str, Any], ...]:
    if len(resume) > MAX_AT_ONCE:
        raise Refused.at("resume", f"At most {MAX_AT_ONCE} interrupts are answered at once.")
    return tuple(_answered(entry.interrupt_id, entry.status, entry.payload) for entry in resume)


def _check_asks(last: Any) -> None:
    # By its own role: what a tool gave is told in the person's name, too, and is no question of theirs.
    if last is None or last.role != "user":
        raise Refused.at("messages", "The last message has to be the user's: that is what is answered.")
    if _has_more_than_text(last):
        words = "Pictures and files are not taken here. Add them with POST /api/v1/documents, and ask in words."
        raise Refused.at("messages", words)


def _told(given: RunAgentInput) -> list[Said]:
    # Instructions come last, and what stands on the screen: of a long history agents hear the newest messages only.
    earlier = sorted(given.messages[:-1], key=lambda message: message.role in _INSTRUCTING)
    said = [_said(message) for message in earlier]
    told = [one for one in said if one is not None and one["content"].strip()]
    known = [f"{one.description}: {one.value}" for one in given.context or ()]
    return [*told, *_context(known)]


def _context(known: Sequence[str]) -> list[Said]:
    """What stands on the screen, say: anybody may have written it."""
    lines = "\n".join(f"- {one}" for one in known)
    return [quotation("the front end, about where the person is", lines)] if known else []


def _said(message: Any) -> Said | None:
    """None for what activities and thoughts are told by: the front end keeps those for itself."""
    content = getattr(message, "content", None)
    text = content if isinstance(content, str) else "\n".join(getattr(part, "text", "") for part in content or ())
    match message.role:
        case "user" | "system" | "developer":
            return Said(role=Role.USER, content=text)
        case "assistant":
            return Said(role=Role.ASSISTANT, content=text)
        case "tool" if text.strip():
            return quotation("a tool of the front end", text)
    return None


def _has_more_than_text(message: Any) -> bool:
    """Unread, a picture would be asked about all the same."""
    content = getattr(message, "content", None)
    return not isinstance(content, str) and any(part.type != "text" for part in content or ())


def _answered(interrupt_id: str, status: str, payload: Any) -> dict[str, Any]:
    """An interrupt that is cancelled is a no."""
    given = {"decision": "denied"} if status == "cancelled" else payload
    if not isinstance(given, Mapping):
        raise Refused.at("resume", "The payload has to be an object with a decision: approved, denied or answered.")
    return {**given, "request_id": interrupt_id}
