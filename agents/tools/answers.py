"""What a person's answer to an approval means for the call that it was asked about. Pure; fails closed.

A yes counts for exactly the arguments whose hash it carries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.runtime import attempts
from hitl.kinds import RequestStatus
from hyperagent.lib.hashes import arguments_hash

NO_REASON: Final = "no reason was given"


@dataclass(frozen=True, slots=True)
class Approved:
    """To exactly these arguments."""


@dataclass(frozen=True, slots=True)
class Edited:
    """To these arguments in the place of the call's own. `instructions`: what was said besides; "" for nothing."""

    arguments: dict[str, Any]
    hash: str
    instructions: str


@dataclass(frozen=True, slots=True)
class Instructed:
    """Yes, but with something that the call as it is does not say yet."""

    instructions: str


@dataclass(frozen=True, slots=True)
class Refused:
    """`code`: one of `attempts.BLOCKED`. `told`: for people, the end of a sentence. `reason`: what was said."""

    code: str
    told: str
    reason: str


@dataclass(frozen=True, slots=True)
class OtherCall:
    """A yes to other arguments than those of this call: it counts for nothing here."""


MeaningForAgent = Approved | Instructed | Refused
Meaning = Approved | Edited | Instructed | Refused | OtherCall


def meaning_of(answer: Any, *, tool: str, hashed: str) -> Meaning:
    """`hashed`: of the tool and the arguments that the call is going to be carried out with."""
    said = answer if isinstance(answer, Mapping) else {}
    return _yes_to_call(said, tool, hashed) if said.get("status") == RequestStatus.APPROVED else _no(said)


def meaning_for_agent(answer: Any) -> MeaningForAgent:
    """Of a request about an agent that is to begin; it has no arguments."""
    said = answer if isinstance(answer, Mapping) else {}
    return _yes(said) if said.get("status") == RequestStatus.APPROVED else _no(said)


def _no(said: Mapping[str, Any]) -> Refused:
    match said.get("status"):
        case RequestStatus.DENIED:
            reason = words(said) or NO_REASON
            return Refused(attempts.DENIED, f"its approval was declined: {reason}", reason)
        case RequestStatus.CANCELLED:
            return Refused(attempts.WITHDRAWN, "the request for its approval was withdrawn", "It was withdrawn.")
        case _:
            told = "nobody answered the request for its approval in time"
            return Refused(attempts.TIMED_OUT, told, "Nobody answered in time.")


def _yes(said: Mapping[str, Any]) -> Approved | Instructed:
    return Instructed(words(said)) if words(said) else Approved()


def _yes_to_call(said: Mapping[str, Any], tool: str, hashed: str) -> Meaning:
    approved = said.get("arguments_hash")
    edited = said.get("arguments")
    if edited is not None:
        if not isinstance(edited, Mapping) or arguments_hash(tool, edited) != approved:
            return OtherCall()
        if approved != hashed:
            return Edited(dict(edited), str(approved), words(said))
    return _yes(said) if approved == hashed else OtherCall()


def words(answer: Mapping[str, Any]) -> str:
    """What somebody said with a decision: instructions, or the reason of a no."""
    return str(answer.get("instructions") or "").strip()
