"""How much is looked at of what a server lists."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import anyio
import pytest
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import ListToolsResult, Tool, jsonrpc_message_adapter

from agents.mcp.connecting import definitions_of
from agents.mcp.sessions import Session
from agents.mcp.values import ServerConfig
from tests.mcp.servers import ChangingTools
from tests.pauses import with_longest_pause_s


class Listing:
    """A server's list, one page as it gives it; the same again and again where it says so."""

    def __init__(self, tools: list[Tool], *, goes_on: bool = False) -> None:
        self.tools = tools
        self.asked = 0
        self._next = "more" if goes_on else None

    async def list_tools(self, *, cursor: str | None) -> ListToolsResult:
        self.asked += 1
        return ListToolsResult(tools=self.tools, next_cursor=self._next)


def listed(number: int, **parameters: Any) -> Tool:
    return Tool(name=f"tool{number}", description="Does it.", input_schema={"type": "object", **parameters})


@pytest.mark.slow
async def test_a_list_without_an_end_is_looked_at_up_to_its_bounds_and_others_go_on_meanwhile() -> None:
    properties = {f"p{number}": {"type": "string", "description": "y" * 100} for number in range(100)}
    server: Any = Listing([listed(number, properties=properties) for number in range(900)])
    began = time.monotonic()

    (tools, faults), paused_s = await with_longest_pause_s(definitions_of(server))

    assert 20 < len(tools) < 60
    assert faults == ("It describes its tools in more than the 500,000 characters that are looked at.",)
    assert paused_s < (time.monotonic() - began) / 2


async def test_a_server_that_lists_the_same_for_ever_is_left_after_as_many_as_are_looked_at() -> None:
    server: Any = Listing([listed(number) for number in range(100)], goes_on=True)

    tools, faults = await definitions_of(server)

    assert (len(tools), server.asked) == (100, 4)
    assert faults[-1] == "It has more tools than the 300 that are looked at."
    assert "There are two tools called 'tool0'." in faults


class Changing:
    """A server that says that its tools changed before it lists them for the first time, and lists what there was. Its
    `Transports` too."""

    def __init__(self) -> None:
        self._tools = ChangingTools()

    @asynccontextmanager
    async def program(self, _: Any) -> AsyncIterator[Any]:
        async with create_client_server_memory_streams() as (client, (hears, says)), anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve, hears, says)
            yield client
            tasks.cancel_scope.cancel()

    async def _serve(self, hears: Any, says: Any) -> None:
        async def say(told: dict[str, Any]) -> None:
            text = json.dumps({"jsonrpc": "2.0", **told})
            await says.send(SessionMessage(jsonrpc_message_adapter.validate_json(text)))

        async for heard in hears:
            asked = heard.message.model_dump(by_alias=True)
            if "id" in asked:
                answer = self._tools.answer(asked["method"], asked["params"])
                if asked["method"] == "tools/list" and self._tools.listed == 1:
                    await say({"method": "notifications/tools/list_changed"})
                await say({"id": asked["id"], **answer})

    def auth(self, _: Any) -> None:
        return None


async def test_what_a_server_changes_while_it_lists_is_asked_for_by_whoever_comes_next() -> None:
    server = Changing()
    session = Session(ServerConfig(uuid4(), "changing", "stdio"), server)
    session.start()

    seen = [[one.name for one in (await session.listing()).tools] for _ in range(3)]

    session.close()
    assert session.task is not None
    await session.task
    assert seen == [["tool0"], ["tool0", "tool1"], ["tool0", "tool1"]]
