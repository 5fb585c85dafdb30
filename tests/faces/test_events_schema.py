"""The schema of the events, for programs that read them: it holds for what is stored and sent."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from agents.log.event_schema import Resync
from agents.models import Event
from tests.runtime.driving import Runners, ended, start
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

RECORDED = Path(__file__).parents[1] / "page" / "logs.json"


@pytest.fixture
def schema(client: Client) -> dict[str, Any]:
    told: dict[str, Any] = client.get("/api/schema/events/").json()
    Draft202012Validator.check_schema(told)
    return told


@pytest.mark.spec("S141")
def test_programs_can_read_what_each_event_carries(schema: dict[str, Any]) -> None:
    kinds = schema["discriminator"]["mapping"]

    assert set(kinds) > {"token", "complete", "error", "tool_call", "hitl_required", "resync"}
    assert {"$ref": kinds["token"]} in schema["oneOf"]
    assert set(schema["$defs"]["Token"]["required"]) == {
        "type", "seq", "execution_id", "agent_id", "timestamp", "content",
    }  # fmt: skip


@pytest.mark.spec("S141")
async def test_every_event_that_a_run_stores_is_as_the_schema_says(
    alice: Any, schema: dict[str, Any], scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(thinking="Let me see.", text="Hello Alice."))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Hi", mode="chat"))

    stored = [json.loads(event.body) async for event in Event.objects.filter(execution=run)]
    assert {"config", "agent_state", "token", "usage", "complete"} <= {event["type"] for event in stored}
    assert _faults(schema, stored) == []


def test_runs_that_were_recorded_with_plans_and_tools_are_as_the_schema_says(schema: dict[str, Any]) -> None:
    stored = [event for log in json.loads(RECORDED.read_text(encoding="utf-8")) for event in log["events"]]

    assert {"plan_overview", "tool_call", "tool_result"} <= {event["type"] for event in stored}
    assert _faults(schema, stored) == []


def test_the_word_that_a_log_lost_its_end_is_described_and_nothing_else_is_let_in(schema: dict[str, Any]) -> None:
    word = json.loads(Resync(execution_id=uuid.uuid4()).model_dump_json())

    assert _faults(schema, [word]) == []
    assert _faults(schema, [{**word, "surprise": 1}, {**word, "type": "surprise"}]) != []


def _faults(schema: dict[str, Any], events: list[dict[str, Any]]) -> list[str]:
    """Each event is looked at as the type that it says, so that a fault names its field."""
    found = []
    for event in events:
        reference = schema["discriminator"]["mapping"].get(event["type"])
        if reference is None:
            found.append(f"{event['type']}: not described")
            continue
        validator = Draft202012Validator({"$ref": reference, "$defs": schema["$defs"]})
        found += [f"{event['type']}: {fault.message}" for fault in validator.iter_errors(event)]
    return found
