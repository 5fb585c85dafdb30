"""What a run learns of its person, beside everything else: it waits for nothing, and nothing waits for it.

Read is only what the person wrote, never documents, tools, the web or answers. Where only the small bundled model
serves, or the model fails, plain patterns read it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import UUID

from django.db import DatabaseError

from agents.craft.exchange import Options
from agents.engine.context import Outcome
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.events import MemoryUsed
from agents.engine.states import StepKind
from agents.guardrails.questions import flagged
from agents.pipeline.recall import Recollection
from agents.roles.memory_extractor import extracted
from agents.runtime.context import AgentContext
from agents.runtime.driven import DrivenRun
from agents.tools.taint import is_of_others
from hyperagent.lib.text import json_text
from hyperagent.lib.threads import in_thread
from memory.remembering import reading
from memory.remembering.patterns import found_in, may_say_something, wishes_in
from memory.remembering.sameness import found_by, terms
from memory.remembering.storing import store
from memory.remembering.values import Finding, Learned, Said, Wishes

LEARNED: Final = "learned"
"""The action of the event that names what was learned, and the step that stores it."""
LIMIT_S: Final = 30.0
SHARED: Final = 0.5
"""Of the words of what a person wants to be remembered, in what the model found: then it is that, in other words."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where it was said: `run` is the first try of the run, `message_id` empty where no conversation has it."""

    run: str
    execution: UUID
    conversation: UUID | None = None
    message_id: str = ""

    def as_json(self) -> dict[str, Any]:
        conversation = None if self.conversation is None else str(self.conversation)
        return {
            "run": self.run,
            "execution": str(self.execution),
            "conversation": conversation,
            "message_id": self.message_id,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        conversation = value["conversation"]
        return cls(
            value["run"], UUID(value["execution"]), UUID(conversation) if conversation else None, value["message_id"]
        )


async def learn(
    context: AgentContext,
    question: str,
    known: Recollection,
    *,
    origin: Origin,
    options: Options | None,
) -> list[dict[str, Any]]:
    """What the question says of its person, written down. Gives what became of each finding, without texts. What fails
    here is no reason for the run to fail. `options`: which model reads it; None: only patterns do."""
    if not known.is_on:
        return []
    try:
        return list(
            await context.within(
                LIMIT_S,
                lambda inside: _learned(inside, question, known, origin=origin, options=options),
                name="learn",
            )
        )
    except StepFailed:
        return []


def may_learn(run: DrivenRun) -> bool:
    """Whether the question says anything of its person: not where somebody else wrote it, or may have written a part of
    it. Then there is nothing to remember, and nothing to forget."""
    return not flagged(run) and not is_of_others(run.turn)


async def write_receipts(context: AgentContext, known: Recollection) -> None:
    """A row for each memory that the run was told, once, whatever is replayed. What fails is no reason to fail."""
    about, lookups = context.run.about, context.run.lookups
    if not known.is_on or not known.told or lookups is None or about.user_id is None:
        return
    user_id = about.user_id
    told = json_text([{"id": str(one.id), "why": one.why, "score": one.score} for one in known.told])

    async def perform() -> Outcome:
        await lookups.read(
            lambda connection: reading.count_uses(
                connection, user_id, told, execution=about.execution_id, conversation=about.conversation_id
            )
        )
        return Outcome(len(known.told))

    with suppress(StepFailed):
        await context.step(StepKind.NOTE, "receipts", None, perform)


async def _learned(
    context: AgentContext, question: str, known: Recollection, *, origin: Origin, options: Options | None
) -> list[dict[str, Any]]:
    if not may_learn(context.run):
        return []
    wishes = wishes_in(question)
    if options is None:
        findings = _plainly_said(question, wishes)
    else:
        findings = await _read(context, question, known, wishes, options)
    if not findings and not wishes.forget:
        return []
    learned = await _stored(context, findings, wishes, origin)
    news = [one for one in learned if one["became"] != "known"]
    if news:
        context.emit(MemoryUsed(action=LEARNED, items=tuple(news)))
    return news


def _plainly_said(question: str, wishes: Wishes) -> list[Finding]:
    return _without_doubles([*wishes.remember, *found_in(question)])


async def _read(
    context: AgentContext, question: str, known: Recollection, wishes: Wishes, options: Options
) -> list[Finding]:
    """By a model; by patterns where it fails. A person's "remember that …" always holds, also where the model sees
    nothing in it, or only something else."""
    if not may_say_something(question):
        return []
    try:
        found = await extracted(context, question, known.told, options=options)
    except StepFailed:
        return _plainly_said(question, wishes)
    return [*found, *_left_out(wishes.remember, found)]


def _left_out(wishes: Sequence[Finding], found: Sequence[Finding]) -> list[Finding]:
    """Those of which most words stand in nothing that the model found, nor in what it took that from."""
    said = {term for one in found for term in found_by(one.text, one.evidence)}
    return [wish for wish in wishes if not said or not _stands_in(set(terms(wish.text)), said)]


def _stands_in(wanted: set[str], said: set[str]) -> bool:
    return len(wanted & said) >= SHARED * len(wanted)


def _without_doubles(findings: Sequence[Finding]) -> list[Finding]:
    return list({(finding.field, finding.text.lower()): finding for finding in findings}.values())


async def _stored(
    context: AgentContext, findings: Sequence[Finding], wishes: Wishes, origin: Origin
) -> list[dict[str, Any]]:
    user_id = context.run.about.user_id
    assert user_id is not None

    async def perform() -> Outcome:
        said = Said(
            # A copy of a run finds what the run that it comes from had stored.
            origin=origin.run,
            at=datetime.now(UTC),
            conversation=origin.conversation,
            execution=origin.execution,
            turn=origin.message_id,
        )
        learned: list[Learned] = await _store(user_id, findings, said, wishes)
        return Outcome([one.as_json() for one in learned])

    return list(await context.step(StepKind.NOTE, LEARNED, None, perform))


async def _store(user_id: UUID, findings: Sequence[Finding], said: Said, wishes: Wishes) -> list[Learned]:
    try:
        return await in_thread(store)(user_id, findings, said, forget=wishes.forget)
    except DatabaseError as error:
        raise OutsideError("not_remembered", f"What was learned could not be stored: {error}") from error
