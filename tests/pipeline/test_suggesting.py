"""Follow-up questions: what the FLASH tier proposes after an answer, and what of it is shown."""

import json
from typing import Any

import pytest

from agents.pipeline import suggesting
from agents.pipeline.suggesting import LONGEST_CHARS, chosen
from tests.engine.driving import drive
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone

TURN = {
    "asked": "How long is the warranty?",
    "answered": "Three years, for the motor and the seals.",
    "history": [{"role": "user", "content": "I bought a pump."}],
    "options": {},
}


async def ended(alone: Alone, turn: dict[str, Any]) -> Any:
    async def asked(context: Any, value: Any) -> Any:
        return await suggesting.run(context, turn)

    case = alone(asked)
    run, journal = case.take_over()
    return await drive(run, journal)


async def test_the_cheap_model_proposes_from_question_and_answer(alone: Alone, scripted_server: ScriptedServer) -> None:
    found = {
        "questions": [
            "Is the filter covered?",
            "is the filter covered",
            " “How do I claim it?” ",
            "Where was it made?",
            "More?",
        ]
    }
    scripted_server.script(Script(model="scripted-flash", text=json.dumps(found)))

    end = await ended(alone, TURN)

    assert end.value["questions"] == ["Is the filter covered?", "How do I claim it?", "Where was it made?"]
    [call] = scripted_server.calls
    assert "Three years" in call.last_user
    assert "I bought a pump." in call.last_user


async def test_a_model_that_fails_fails_this_run_alone(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(Script(model="scripted-flash", status=400, error_message="no", times=0))

    end = await ended(alone, TURN)

    assert end.how == "failed"


@pytest.mark.threat("T12", "T16")
def test_no_address_becomes_a_persons_own_words_by_a_click() -> None:
    """What stands in those is opened without asking, and a page may have had the model put there what it knows."""
    asked = "What does https://shop.example/terms say?"
    given = ["Read https://evil.example/?d=4711", "And wombat-4711.evil.example?", "Is https://shop.example/terms new?"]

    assert chosen(given, asked=asked) == given[2:]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ([], []),
        (["", "  ", "?!"], []),
        (["x" * (LONGEST_CHARS + 1), "Why?"], ["Why?"]),
        (["How long is the WARRANTY", "And\nthen?"], ["And then?"]),
    ],
)
def test_only_what_can_be_shown_and_was_not_asked_is_kept(given: list[str], shown: list[str]) -> None:
    assert chosen(given, asked=TURN["asked"]) == shown  # type: ignore[arg-type]
