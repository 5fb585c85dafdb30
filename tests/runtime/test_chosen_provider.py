"""Where a person chose a provider, what they asked is shown to no other: all roles of their turn ask that one."""

import json
from typing import Any

import pytest

from tests.runtime.driving import Runners, ended, events, start
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

UNSURE = "Proofread the spreadsheet"
UNCLEAR = "Fix the file"


def two_providers(url: str) -> dict[str, str]:
    """The first is that of the house, and is asked where nobody chose one."""
    providers = [
        {
            "name": name,
            "base_url": f"{url}/v1",
            "api_key": "k",
            "tier_models": {"pro": f"{name}-pro", "flash": f"{name}-flash"},
        }
        for name in ("house", "mine")
    ]
    return {"OPENAI_COMPATIBLE_PROVIDERS": json.dumps(providers)}


@pytest.mark.spec("S4", "S96")
@pytest.mark.parametrize("question", [UNSURE, UNCLEAR])
async def test_what_was_asked_of_a_chosen_provider_is_shown_to_no_other(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners, question: str
) -> None:
    scripted_server.script(
        Script(match="What seems to be missing", text=json.dumps({"needs_clarification": False}), times=0),
        Script(match="What the person wrote", text=json.dumps({"found": False}), times=0),
        Script(match="## Question", text=json.dumps({"agent": "chat", "confidence": 0.9}), times=0),
        Script(match=question, text="Done.", times=0),
    )
    await make_runner(scripted_server.url, env=two_providers(scripted_server.url))

    run = await ended(await start(alice, question, options={"provider": "mine"}))

    assert run.status == "completed", run.error_message
    routing = next(event for event in await events(run.id) if event["type"] == "routing")
    assert question != UNSURE or routing["method"] == "model"
    assert {call.model for call in scripted_server.calls} == {"mine-flash", "mine-pro"}


@pytest.mark.slow
@pytest.mark.spec("S134", "S188")
@pytest.mark.parametrize(
    ("env", "options", "told"),
    [
        ({}, {}, ("house", "house-pro")),
        ({"PRO_MODEL": "mine/mine-flash"}, {}, ("mine", "mine-flash")),
        ({"PRO_MODEL_PROVIDER": "mine"}, {}, ("mine", "mine-pro")),
        ({}, {"provider": "mine"}, ("mine", "mine-pro")),
        ({}, {"model": "mine/mine-flash"}, ("mine", "mine-flash")),
        ({"PRO_MODEL_PROVIDER": "mine"}, {"tier": "flash"}, ("house", "house-flash")),
    ],
    ids=["nothing", "a model for the tier", "a provider for the tier", "a provider", "a model", "a tier"],
)
async def test_people_are_told_at_once_which_model_answers(
    alice: Any,
    scripted_server: ScriptedServer,
    make_runner: Runners,
    env: dict[str, str],
    options: dict[str, str],
    told: tuple[str, str],
) -> None:
    scripted_server.script(Script(text="Hello.", times=0))
    await make_runner(scripted_server.url, env={**two_providers(scripted_server.url), **env})

    run = await ended(await start(alice, "Hi", options=options))

    said = await events(run.id)
    (config,) = [event["values"] for event in said if event["type"] == "config"]
    assert (config["provider"], config["model"]) == told
    answered = [event for event in said if event["type"] == "usage" and event["agent_id"] != said[0]["agent_id"]]
    assert {(event["provider"], event["model"]) for event in answered} == {told}


@pytest.mark.spec("B10", "S184")
async def test_the_end_of_a_run_says_which_model_wrote_the_answer_as_its_row_does(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Hello.", times=0))
    env = {**two_providers(scripted_server.url), "CHAT_MODEL": "mine/mine-flash"}
    await make_runner(scripted_server.url, env=env)

    run = await ended(await start(alice, "Hi"))

    last = (await events(run.id))[-1]
    assert (last["type"], last["model"]) == ("complete", "mine-flash")
    assert run.result is not None
    assert run.result["model"] == last["model"]
