"""The database is away while a call is under way: that is no fault of a tool, and nothing to ask a person about."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError

from agents.runtime.context import AgentContext
from agents.tools.checks import Request
from agents.tools.gateway import CHECKS
from agents.tools.tool import ANY_AGENT, Call, composite, tool
from hitl.kinds import PolicyAction
from hitl.policy import PolicyFacts
from tests.codeact.driving import CoroutineScripts, scripted
from tests.doubles.lookups import MemoryLookups
from tests.tools.driving import case_of, gateway_of, seen

pytestmark = pytest.mark.spec("B1", "B2")

AWAY = "server closed the connection unexpectedly"


async def test_whether_a_change_happened_is_looked_up_again_once_the_database_is_back_and_no_person_is_asked() -> None:
    probes: list[str] = []

    async def happened(call: Call) -> bool:
        probes.append(call.key)
        if len(probes) == 1:
            raise OperationalError(AWAY)
        return True

    @tool(agents=ANY_AGENT, effect="write", probe=happened)
    async def change(call: Call) -> str:
        """Changes something."""
        raise OperationalError(AWAY)

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("change", {}))

    case = case_of(program, gateway_of(change))

    with pytest.raises(OperationalError):
        await case.drive()
    end = await case.drive()

    assert (end.how, end.value["is_error"]) == ("completed", False)
    assert len(probes) == 2
    assert case.open_requests == []


async def test_what_is_away_within_a_tool_of_several_calls_is_no_fault_of_that_tool() -> None:
    noted: list[str] = []

    @composite(agents=ANY_AGENT)
    async def do_several(context: AgentContext) -> str:
        """Makes calls of its own."""
        await context.note("first", lambda: noted.append("first"))
        if len(noted) == 1:
            noted.append("away")
            raise OperationalError(AWAY)
        return "All of it."

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("do_several", {}))

    case = case_of(program, gateway_of(do_several))

    with pytest.raises(OperationalError):
        await case.drive()
    end = await case.drive()

    assert end.value["content"] == "All of it."
    assert noted == ["first", "away"]


async def test_a_script_in_the_midst_of_which_the_database_is_away_runs_again_and_does_nothing_twice() -> None:
    looked: list[str] = []

    async def away_once(context: AgentContext, request: Request) -> None:
        looked.append(str(request.arguments.get("text", "")))
        if looked.count("two") == 1 and looked[-1] == "two":
            raise OperationalError(AWAY)

    async def body(call: Any) -> Any:
        await call("write_note", text="one")
        return await call("write_note", text="two")

    lookups = MemoryLookups(policies=(PolicyFacts("Anything goes", action=PolicyAction.ALLOW),))
    checks = replace(CHECKS, scanners=(away_once,))
    case = scripted("…", scripts=CoroutineScripts(body=body), checks=checks, lookups=lookups)

    with pytest.raises(OperationalError):
        await case.case.drive()
    given = await case.done()

    assert given["is_error"] is False
    assert case.notes.texts == ["one", "two"]
    assert case.scripts.again == [False, True]
