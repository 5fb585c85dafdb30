"""What becomes of a yes in a copy of the run in which it was given: it was for one call, once."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents import actions
from agents.models import Step
from hitl import switches
from hitl.kinds import SwitchScope
from tests.runtime.approving import Board, open_requests, pins, programs, respond, the_request
from tests.runtime.driving import Runners, ended, start
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

fork_from = sync_to_async(actions.fork_from)


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def asks(alice: Any, board: Board, scripted_server: ScriptedServer, make_runner: Runners) -> Callable[..., Any]:
    """Starts a run whose model says these lines."""

    async def begin(*lines: Script, flags: Any = None) -> UUID:
        scripted_server.script(*lines)
        await make_runner(scripted_server.url, extra=programs(), tools=board.tools(**(flags or {})))
        id_: UUID = await start(alice, "Pin hello", pipeline="asks")
        return id_

    return begin


async def the_call(id_: UUID) -> tuple[UUID, str]:
    """The agent that called the tool, and its step."""
    step = await Step.objects.aget(agent__execution=id_, kind="tool", name="pin", cut_at=None)
    return step.agent_id, ".".join(map(str, step.path))


@pytest.mark.slow
@pytest.mark.spec("B5", "B14")
@pytest.mark.threat("T19")
@pytest.mark.parametrize("flags", [{}, {"effect": "read", "probe": None}])
async def test_a_yes_that_came_to_nothing_is_no_yes_for_a_copy_of_the_run(
    flags: Any, alice: Any, admin_user: Any, board: Board, asks: Any
) -> None:
    first = await asks(pins("Hello"), Script(text="It was stopped."), Script(text="It is pinned."), flags=flags)
    request = await the_request(first)
    thrown = await sync_to_async(switches.throw)(admin_user, scope=SwitchScope.INSTALLATION, reason="An audit.")
    await respond(alice, request, "approved")
    await ended(first)
    await sync_to_async(switches.lift)(admin_user, thrown.pk)
    agent_id, step = await the_call(first)

    second = await fork_from(first, by=alice, agent_id=agent_id, step=step)
    asked = await the_request(second.id)

    assert board.pinned == []
    assert asked.arguments_hash == request.arguments_hash
    await respond(alice, asked, "approved")
    await ended(second.id)
    assert board.pinned == ["Hello"]


@pytest.mark.spec("B14")
async def test_what_was_carried_out_is_not_asked_about_again_in_a_copy(alice: Any, board: Board, asks: Any) -> None:
    first = await asks(pins("Hello"), Script(text="It is pinned."), Script(text="It was pinned before."))
    await respond(alice, await the_request(first), "approved")
    await ended(first)
    agent_id, step = await the_call(first)

    second = await fork_from(first, by=alice, agent_id=agent_id, step=step)
    run = await ended(second.id)

    assert (run.answer, board.pinned) == ("It was pinned before.", ["Hello"])
    assert await open_requests(second.id) == []
