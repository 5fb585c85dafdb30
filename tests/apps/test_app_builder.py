"""The skill that builds apps, and its tools: which model is asked what, and what becomes of a server that fails."""

import json
from typing import Any, cast

import pytest

from agents.apps.starters import STARTERS
from agents.craft.exchange import AgentInput
from agents.runtime.context import AgentContext
from agents.skills.base import SkillError
from agents.skills.registry import invoke
from agents.tools.gateway import Gateway
from tests.loop.driving import Door
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone
from tests.tools.doubles import APPROVE_ALL, FakeApps, fake_providers

PLAN = {
    "title": "Till",
    "template": "flask",
    "files": [{"path": "app.py", "purpose": "the routes"}],
    "done": "Open it.",
}
CODE = {"files": [{"path": "app.py", "content": "print(1)"}]}


def building(apps: FakeApps, alone: Alone, *, capable: bool = True, **params: Any) -> Any:
    task = AgentInput(agent_id="chat-1", agent_name="chat", task="App", speaks=True, capable=capable)

    async def program(context: AgentContext, value: Any) -> Any:
        try:
            return (await invoke(context, task, "app_builder", params)).model_dump(mode="json")
        except SkillError as error:
            return {"error": error.message}

    case = alone(program)
    case.door = cast("Door", Gateway(fake_providers(apps=apps), checks=APPROVE_ALL))
    return case


@pytest.mark.spec("S191", "S194", "S197")
async def test_it_is_planned_by_the_best_model_written_by_a_good_one_and_started(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    apps = FakeApps()
    scripted_server.say(json.dumps(PLAN), model="scripted-max")
    scripted_server.say(json.dumps(CODE), model="scripted-pro")

    end = await building(apps, alone, prompt="A till for the canteen").drive()

    assert end.value["output"] == {
        "title": "Till",
        "template": "flask",
        "files": ["app.py"],
        "url": "/previews/1/",
        "port": 5173,
    }
    assert apps.files == {"app.py": "print(1)"}
    assert apps.commands == [STARTERS["flask"].command]
    assert [call.model for call in scripted_server.calls] == ["scripted-max", "scripted-pro"]


async def test_a_server_that_does_not_come_up_is_mended_by_what_it_wrote_and_given_up_after_three_tries(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(json.dumps(PLAN), model="scripted-max", times=2)
    scripted_server.say(json.dumps(CODE), model="scripted-pro", times=5)

    mended = await building(FakeApps(failures=1), alone, prompt="A till").drive()
    given_up = await building(FakeApps(failures=9), alone, prompt="A till").drive()

    assert mended.value["output"]["title"] == "Till"
    assert "SyntaxError: line 3\n</untrusted>" in scripted_server.calls[2].last_user
    assert "its server does not come up: The server ended." in given_up.value["error"]
    assert len(scripted_server.calls) == 7


async def test_what_is_not_installed_and_a_model_that_cannot_are_told_with_the_way_out(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(json.dumps({**PLAN, "template": "express"}), model="scripted-max")

    not_installed = await building(FakeApps(), alone, prompt="With Express").drive()
    small = await building(FakeApps(), alone, prompt="A till", capable=False).drive()

    assert not_installed.value["error"] == "express needs packages that are not here."
    # The planner is told of what is there only, and can choose nothing else.
    asked = json.dumps(scripted_server.calls[0].messages)
    assert "`flask`: " in asked
    assert "`express`: " not in asked
    assert "sets a provider's key" in small.value["error"]


@pytest.mark.spec("S194", "S197")
async def test_packages_that_the_plan_names_are_asked_for_and_the_writer_is_told_what_became_of_them(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    planned = json.dumps({**PLAN, "packages": ["pandas"]})
    scripted_server.say(planned, model="scripted-max")
    scripted_server.say(json.dumps(CODE), model="scripted-pro")

    end = await building(FakeApps(), alone, prompt="A till with statistics").drive()

    assert end.value["output"]["title"] == "Till"
    told = scripted_server.calls[1].last_user
    assert "pandas could not be installed." in told
    assert "getaddrinfo failed\n</untrusted>" in told


async def test_an_app_that_only_a_browser_reads_asks_for_no_packages(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    planned = json.dumps({**PLAN, "template": "react", "packages": ["react"]})
    scripted_server.say(planned, model="scripted-max")
    scripted_server.say(json.dumps(CODE), model="scripted-pro")

    end = await building(FakeApps(), alone, prompt="A till").drive()

    assert end.value["output"]["template"] == "react"
    assert "What became of its packages" not in scripted_server.calls[1].last_user
