"""What leaves a run's outbox, and what it says after it was told that nothing of it will be stored."""

import asyncio
import uuid
from dataclasses import replace

import pytest

from agents.engine.errors import LeaseLost
from agents.engine.states import StepKind
from agents.runtime.outbox import Outbox, lost
from tests.engine.contract import agent, said, step


def outbox() -> Outbox:
    return Outbox(uuid.uuid4(), epoch=1, group="run", wake_writer=lambda outbox, durable: None)


def test_the_next_token_of_a_run_that_was_lost_ends_it_also_while_a_frame_waits() -> None:
    speaker = uuid.uuid4()
    refused = outbox()
    refused.add_token(speaker, "answer", "waits ")

    refused.refuse(lost())

    with pytest.raises(LeaseLost):
        refused.add_token(speaker, "answer", "for nobody")


async def test_what_a_run_would_say_again_need_not_be_on_the_disk_unless_somebody_waits_for_it() -> None:
    root = agent()
    noted, forked = (replace(step(root, (n,)), kind=kind) for n, kind in enumerate((StepKind.NOTE, StepKind.FORK)))
    said_only, awaited = outbox(), outbox()
    for one in (said_only, awaited):
        one.write(root, said(root, "begun"), noted, forked)
        one.add_token(root.id, "answer", "one")
    waiting = asyncio.create_task(awaited.committed())
    await asyncio.sleep(0)

    assert said_only.take().may_be_lost
    assert not awaited.take().may_be_lost
    waiting.cancel()


def test_what_was_paid_for_is_on_the_disk_and_so_is_what_no_event_tells_of() -> None:
    """A driver learns that its last commit is gone by the event that is not there for the next one to follow."""
    root = agent()
    paid, untold = outbox(), outbox()
    paid.write(root, said(root, "begun"), step(root, (0,)))
    untold.write(root, replace(step(root, (0,)), kind=StepKind.NOTE))

    assert not paid.take().may_be_lost
    assert not untold.take().may_be_lost
