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
