"""What a model was asked, as it is stored: written once, and what Postgres cannot take is taken out."""

import json
from typing import Any

import pytest
from django.db import connection

from agents.engine.canonical import Written
from agents.models import Step
from agents.runtime import store
from agents.runtime.context import written
from hyperagent.lib.llm.types import Message, ModelRequest, Role, Tier, ToolSpec
from hyperagent.lib.text import json_text
from tests.runtime.driving import ended, start


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["plain", "ü 漢 🙂", "a\x00b", "\\u0000", "lone \ud800 half", ""])
def test_every_text_is_stored_as_a_value_of_it_is(text: str) -> None:
    value = {"messages": [{"role": "user", "content": text}], "temperature": 0.0, "n": 10**18}

    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::json::text", [json_text(store._as_json(Written.of(value)))])
        (stored,) = cursor.fetchone()

    assert json.loads(stored) == json.loads(json_text(value))


@pytest.mark.parametrize("content", ["", "ü 漢 🙂", '"quoted" \\ and\nmore', "1e+16", "lone \ud800 half"])
@pytest.mark.parametrize("most", [1, 1e16, -0.0, 10**18])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_request_is_written_as_its_whole_value_is(content: str, most: float, count: int) -> None:
    tools = [
        ToolSpec(name=f"t{number}", description="d", parameters={"z": most, "a": {"b": [number, content[:6], None]}})
        for number in range(count)
    ]
    request = ModelRequest(
        tier=Tier.PRO,
        messages=(Message(role=Role.USER, content=content),),
        tools=(*tools, *tools),
        temperature=0.7,
        response_schema={"zz": 1},
        agent="chat",
    )

    assert written(request) == written(request.model_copy()) == Written.of(request.model_dump(mode="json"))


@pytest.mark.spec("S66")
@pytest.mark.django_db(transaction=True)
async def test_a_models_call_is_stored_with_all_that_it_was_told_and_the_names_of_its_tools(
    alice: Any, echo_server: Any, make_runner: Any
) -> None:
    await make_runner(echo_server.url)
    id_ = await start(alice, "say 3 tokens 漢")
    await ended(id_)

    step = await Step.objects.filter(agent__execution_id=id_, kind="model", name="agent").afirst()
    assert step is not None
    [body] = [call.body for call in echo_server.calls if "tools" in call.body]
    sent = body["messages"]
    asked = step.request["messages"]
    assert [(one["role"], one["content"]) for one in asked] == [(one["role"], one["content"]) for one in sent]
    assert any("漢" in one["content"] for one in asked)
    assert step.request["tools"] == [one["function"]["name"] for one in body["tools"]]
    assert "parameters" not in str(step.request)
