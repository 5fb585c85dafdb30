"""The skill that makes images: the wish worked out first, or drawn as it stands."""

import json
from typing import Any

import pytest

from agents.craft.exchange import AgentInput
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from agents.skills.base import SkillError
from agents.skills.registry import invoke
from tests.loop.driving import Refused
from tests.scripted.fixtures import scripted_server
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone
from tests.skills.conftest import alone

__all__ = ["alone", "scripted_server"]

TASK = AgentInput(agent_id="chat-1", agent_name="chat", task="Draw", speaks=True)
DESCRIBED = {"prompt": "A red bicycle on a beach, wide shot.", "shape": "landscape", "alt": "A bicycle"}


def making(**params: Any) -> Any:
    async def program(context: AgentContext, value: Any) -> Any:
        try:
            return (await invoke(context, TASK, "image_generation", params)).model_dump(mode="json")
        except SkillError as error:
            return {"error": error.message}

    return program


def generate_image(arguments: dict[str, Any]) -> ToolReply:
    made = {"path": "images/a.png", "alt": arguments["prompt"], "width": 1536, "height": 1024}
    return ToolReply("The image was stored.", data=made)


@pytest.mark.spec("S194")
async def test_a_wish_is_worked_out_and_drawn(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(json.dumps(DESCRIBED), model="scripted-flash")
    case = alone(making(prompt="a red bicycle", style="watercolour"), {"generate_image": generate_image})

    end = await case.drive()

    assert case.door is not None
    assert case.door.performed == [("generate_image", {"prompt": DESCRIBED["prompt"], "shape": "landscape"})]
    assert end.value["output"] == {
        **DESCRIBED, "path": "images/a.png", "media_type": "image/png", "width": 1536, "height": 1024
    }  # fmt: skip
    assert end.value["text"] == "The image was stored as images/a.png; the user sees it."
    assert scripted_server.calls[0].last_user == "a red bicycle\n\nStyle: watercolour"


async def test_what_the_person_chose_goes_before_what_the_model_proposes(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(json.dumps(DESCRIBED))
    case = alone(making(prompt="a red bicycle", shape="portrait"), {"generate_image": generate_image})

    await case.drive()

    assert case.door is not None
    assert case.door.performed[0][1]["shape"] == "portrait"


@pytest.mark.parametrize("failing", [True, False])
async def test_the_wish_is_drawn_as_it_stands_where_it_is_not_to_be_improved_or_cannot_be(
    alone: Alone, scripted_server: ScriptedServer, failing: bool
) -> None:
    if failing:
        scripted_server.script(Script(status=401))
    case = alone(making(prompt=" a red bicycle ", improve=failing), {"generate_image": generate_image})

    await case.drive()

    assert case.door is not None
    assert case.door.performed == [("generate_image", {"prompt": "a red bicycle", "shape": "square"})]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "prompt"),
        ({"prompt": " "}, "prompt"),
        ({"prompt": "x" * 4_001}, "prompt"),
        ({"prompt": "x", "shape": "round"}, "shape"),
        ({"prompt": "x", "size": "1024x1024"}, "size"),
    ],
)
async def test_wrong_parameters_are_told(alone: Alone, params: dict[str, Any], said: str) -> None:
    end = await alone(making(**params)).drive()

    assert "The parameters of the skill 'image_generation' are wrong" in end.value["error"]
    assert said in end.value["error"]


async def test_an_image_that_is_refused_is_told(alone: Alone) -> None:
    def refuse(_: dict[str, Any]) -> str:
        raise Refused("the model refused to make this image.")

    end = await alone(making(prompt="x", improve=False), {"generate_image": refuse}).drive()

    assert end.value == {"error": "the model refused to make this image."}
