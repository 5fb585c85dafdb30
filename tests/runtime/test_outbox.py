"""What a run says after it was told that nothing of it will be stored, and what of it waits for the disk."""

import asyncio
import uuid

import pytest

from agents.engine.errors import LeaseLost
from agents.engine.records import StepRecord
from agents.engine.states import StepKind, StepStatus
from agents.runtime.outbox import Outbox, lost


def test_the_next_token_of_a_run_that_was_lost_ends_it_also_while_a_frame_waits() -> None:
    agent = uuid.uuid4()
    outbox = Outbox(uuid.uuid4(), epoch=1, group="run", wake_writer=lambda outbox, durable: None)
    outbox.add_token(agent, "answer", "waits ")

    outbox.refuse(lost())

    with pytest.raises(LeaseLost):
        outbox.add_token(agent, "answer", "for nobody")


def outbox_of(agent: uuid.UUID) -> Outbox:
    outbox = Outbox(uuid.uuid4(), epoch=1, group="run", wake_writer=lambda outbox, at_once: None)
    outbox.write(step(agent, StepKind.NOTE))
    return outbox


def step(agent: uuid.UUID, kind: StepKind) -> StepRecord:
    return StepRecord(agent, (0,), kind, "n", None, b"", StepStatus.FINISHED)


def test_notes_wait_for_the_disk_unless_they_are_lost_with_the_words_beside_them() -> None:
    agent = uuid.uuid4()
    alone, beside_words, beside_a_call = (outbox_of(agent) for _ in range(3))
    beside_words.add_token(agent, "answer", "words")
    beside_a_call.add_token(agent, "answer", "words")
    beside_a_call.write(step(agent, StepKind.MODEL))

    assert [one.take().must_last for one in (alone, beside_words, beside_a_call)] == [True, False, True]


async def test_whoever_waits_for_what_is_stored_waits_for_the_disk() -> None:
    agent = uuid.uuid4()
    outbox = outbox_of(agent)
    outbox.add_token(agent, "answer", "words")
    outbox.stored(outbox.take(), lasts=False)
    waiting = asyncio.create_task(outbox.committed())
    await asyncio.sleep(0)
    assert not waiting.done()

    parcel = outbox.take()

    assert parcel.must_last
    outbox.stored(parcel, lasts=True)
    await waiting


async def test_also_where_it_began_to_wait_while_that_was_being_stored() -> None:
    agent = uuid.uuid4()
    outbox = outbox_of(agent)
    outbox.add_token(agent, "answer", "words")
    parcel = outbox.take()
    waiting = asyncio.create_task(outbox.committed())
    await asyncio.sleep(0)

    outbox.stored(parcel, lasts=False)
    await asyncio.sleep(0)

    assert not waiting.done()
    outbox.stored(outbox.take(), lasts=True)
    await waiting
