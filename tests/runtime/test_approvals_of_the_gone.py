"""What a run still does when the person in whose name it acts was deactivated."""

from typing import Any

import pytest

from hitl.policy_sql import OWNER_GONE
from hyperagent.accounts.models import User
from tests.runtime.approving import Board, pins, programs
from tests.runtime.driving import Runners, ended, start
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer


@pytest.mark.spec("B17")
async def test_nothing_more_is_done_in_the_name_of_who_was_deactivated(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    board = Board()
    scripted_server.script(pins("Hello"), Script(text="It was not pinned."))
    id_ = await start(alice, "Pin hello", pipeline="asks")

    # By no verb of ours, so that nothing stops the run itself.
    await User.objects.filter(pk=alice.pk).aupdate(is_active=False)
    await make_runner(scripted_server.url, extra=programs(), tools=board.tools(requires_approval=False))
    run = await ended(id_)

    assert board.pinned == []
    assert run.result["output"]["error"] == "switched_off"
    assert OWNER_GONE in scripted_server.calls[-1].messages[-1]["content"]
