"""Somebody who is deactivated while a program of theirs waits for an answer: it gets none, by whatever door it came."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.engine.events import Complete
from agents.models import Execution
from conversations.mcp import tools as mcp
from hyperagent.accounts import people
from hyperagent.lib.refusals import NotAllowed
from tests.faces.runs import tell
from tests.faces.test_query import QUERY, Program, post, program_of
from tests.runtime.driving import until

pytestmark = [pytest.mark.threat("T25"), pytest.mark.usefixtures("in_threads")]

SECRET = "The vault is under the stairs."
HI = [{"role": "user", "content": "Hi"}]
MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}
SENT = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": MESSAGE}}


@pytest.fixture
async def api(alice: Any) -> Program:
    return await program_of(alice)


async def shut_out(user: Any) -> None:
    """And the run that they asked for ends with an answer all the same."""
    run = await until(Execution.objects.select_related("user").afirst)
    await sync_to_async(people.deactivate)(None, user.pk)
    await sync_to_async(tell)(run, Complete(answer=SECRET))


@pytest.mark.parametrize(
    ("url", "body"),
    [(QUERY, {"query": "Hi"}), ("/v1/chat/completions", {"model": "hyperagent", "messages": HI}), ("/a2a", SENT)],
    ids=["query", "completions", "a2a"],
)
async def test_an_answer_that_was_waited_for_is_refused(alice: Any, api: Program, url: str, body: Any) -> None:
    asking = asyncio.create_task(post(api, url, body))
    await shut_out(alice)

    answer = await asking

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "deactivated")
    assert SECRET not in answer.content.decode()


@pytest.mark.parametrize("wait_s", [30.0, 0.0], ids=["waiting", "looking"])
async def test_an_agent_of_another_program_is_refused_it_by_mcp(alice: Any, wait_s: float) -> None:
    asking = asyncio.create_task(mcp.ask(alice, mcp.Ask(question="Hi", wait_s=30)))
    await shut_out(alice)
    run = await Execution.objects.aget()

    with pytest.raises(NotAllowed):
        await asking
    with pytest.raises(NotAllowed):
        await mcp.get_run(alice, mcp.GetRun(execution_id=run.id, wait_s=wait_s))
