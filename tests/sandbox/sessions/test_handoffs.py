"""Files that go along with a handoff, as the pipeline gives them along and puts them back (S47)."""

from typing import Any

import pytest

from agents.craft.exchange import AgentInput, HandoffInfo
from agents.pipeline.artifacts import clear_away, given_along, put_back
from agents.pipeline.handoffs import handoff_context
from agents.registry import specs
from agents.runtime.context import AgentContext
from agents.tools.gateway import Gateway
from tests.tools.doubles import APPROVE_ALL, FakeSandbox, fake_providers
from tests.tools.driving import case_of

HANDOFF = HandoffInfo(source_agent="code", target_agent="data", task_description="Plot it", artifacts=("named.md",))


@pytest.mark.spec("S47")
async def test_what_an_agents_programs_made_goes_along_and_the_next_agent_is_told() -> None:
    sandbox = FakeSandbox(files={"table.csv": "a,b", "plot.py": "print()"})
    gateway = Gateway(fake_providers(sandbox=sandbox), checks=APPROVE_ALL)

    async def program(context: AgentContext) -> Any:
        without = await given_along(context, HANDOFF)
        await context.tool("execute_code", {"code": "print(1)"})
        given = await given_along(context, HANDOFF)
        task = AgentInput(agent_id="data-1", agent_name="data", task="Plot it", handoffs=(given,))
        await put_back(context, task, specs()["data"])
        await put_back(context, task, specs()["writing"])
        return {"without": without.artifacts, "given": given.model_dump(mode="json")}

    case = case_of(program, gateway, agent="code")
    end = await case.drive()

    assert end.how == "completed", end
    given = HandoffInfo.model_validate(end.value["given"])
    assert end.value["without"] == ("named.md",)
    assert given.artifacts == ("named.md", "table.csv", "plot.py")
    assert "Files that code gives along: named.md, table.csv, plot.py" in handoff_context((given,))
    told = [(event["target_agent"], event["artifacts"]) for event in case.events("handoff")]
    assert told == [("data", ["named.md"]), ("data", ["named.md", "table.csv", "plot.py"])]
    calls = [(event["tool"], event["args"].get("only_look", False)) for event in case.events("tool_call")]
    assert calls == [
        ("execute_code", False),
        ("collect_artifacts", False),
        ("restore_artifacts", True),
        ("restore_artifacts", False),
    ]


@pytest.mark.spec("S48")
async def test_what_was_put_there_for_an_agent_is_cleared_away_and_what_lay_there_stays() -> None:
    sandbox = FakeSandbox(files={"named.md": "It was here."}, kept={"table.csv": "a,b", "named.md": "It was here."})
    gateway = Gateway(fake_providers(sandbox=sandbox), checks=APPROVE_ALL)
    given = HANDOFF.model_copy(update={"artifacts": ("named.md", "table.csv", "gone.txt")})

    async def program(context: AgentContext) -> Any:
        task = AgentInput(agent_id="data-1", agent_name="data", task="Plot it", handoffs=(given,))
        put = await put_back(context, task, specs()["data"])
        there = sorted(sandbox.files)
        await clear_away(context, put)
        await clear_away(context, ())
        return {"put": put, "there": there}

    case = case_of(program, gateway, agent="data")
    end = await case.drive()

    assert end.how == "completed", end
    assert (tuple(end.value["put"]), end.value["there"]) == (("table.csv",), ["named.md", "table.csv"])
    assert sandbox.files == {"named.md": "It was here."}
    called = [(event["tool"], event["args"]["paths"]) for event in case.events("tool_call")]
    assert called == [
        ("restore_artifacts", ["named.md", "table.csv", "gone.txt"]),
        ("restore_artifacts", ["table.csv", "gone.txt"]),
        ("cleanup_artifacts", ["table.csv"]),
    ]
