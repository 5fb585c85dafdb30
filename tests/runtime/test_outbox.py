"""What a run says after it was told that nothing of it will be stored."""

import uuid

import pytest

from agents.engine.errors import LeaseLost
from agents.runtime.outbox import Outbox, lost


def test_the_next_token_of_a_run_that_was_lost_ends_it_also_while_a_frame_waits() -> None:
    agent = uuid.uuid4()
    outbox = Outbox(uuid.uuid4(), epoch=1, group="run", wake_writer=lambda outbox, durable: None)
    outbox.add_token(agent, "answer", "waits ")

    outbox.refuse(lost())

    with pytest.raises(LeaseLost):
        outbox.add_token(agent, "answer", "for nobody")
