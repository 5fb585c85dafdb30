"""How much is looked at of what a server lists."""

import time
from typing import Any

from mcp_types import ListToolsResult, Tool

from agents.mcp.connecting import definitions_of
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
