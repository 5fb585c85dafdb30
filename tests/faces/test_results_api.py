"""The whole of a tool's result, of which the log has the beginning: by number of its event, to whom the run belongs."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.models import Execution
from agents.runtime.context import AgentContext
from agents.workspace import OwnFiles
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.faces.conftest import in_threads
from tests.faces.test_query import Program, api, program_of
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners, ended, events, start
from tests.tools.doubles import fake_providers

__all__ = ["api", "in_threads", "make_runner"]
pytestmark = pytest.mark.usefixtures("in_threads")
NO_MODEL = "http://127.0.0.1:9"
LONG = {name: "\n".join(f"{name} {number}" for number in range(400)) for name in ("first", "second")}


async def reads(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """Two long files at once, and a short one after them."""

    def reading(name: str) -> Any:
        return lambda branch: branch.tool("read_file", {"path": name, "scope": "user"}, call_id=f"read-{name}")

    await context.all(*[reading(name) for name in LONG])
    await context.tool("read_file", {"path": "short", "scope": "user"}, call_id="read-short")
    return {"answer": "Read.", "sources": []}


def result_of(run: Execution, seq: int) -> str:
    return f"/api/v1/executions/{run.id}/events/{seq}/result"


@pytest.mark.spec("B10")
async def test_each_result_is_read_whole_by_its_number(
    alice: Any, charlie: Any, api: Program, make_runner: Runners
) -> None:
    place = Place(Scope.USER, alice.pk)
    for name, text in {**LONG, "short": "Only this."}.items():
        await sync_to_async(files.write)(alice.pk, place, name, text.encode())
    await make_runner(NO_MODEL, extra={"reads": reads}, providers=fake_providers(workspace=OwnFiles()))
    run = await ended(await start(alice, "?", pipeline="reads"))

    told = {one["id"]: one for one in await events(run.id) if one["type"] == "tool_result"}
    whole = {
        name: (await api.get(result_of(run, told[f"read-{name}"]["seq"]))).json()
        for name in ("first", "second", "short")
    }
    (call,) = [one for one in await events(run.id) if one["type"] == "tool_call" and one["id"] == "read-short"]
    no_result = await api.get(result_of(run, call["seq"]))
    none = await api.get(result_of(run, 10_000))
    beyond = await api.get(result_of(run, 10**30))
    charlies = await (await program_of(charlie)).get(result_of(run, told["read-first"]["seq"]))
    await sync_to_async(Execution.objects.filter(id=run.id).update)(log_dropped_at=run.ended_at)
    gone = await api.get(result_of(run, told["read-first"]["seq"]))

    assert told["read-first"]["clipped"] is True
    for name, text in LONG.items():
        assert text in whole[name]["content"]
        assert (whole[name]["tool"], whole[name]["chars"]) == ("read_file", len(whole[name]["content"]))
    assert whole["short"]["content"] == told["read-short"]["content"]
    assert {answer.status_code for answer in (no_result, none, beyond, charlies)} == {404}
    assert (gone.status_code, gone.json()["error"]["code"]) == (410, "log_not_kept")
