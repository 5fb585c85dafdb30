"""The schema of the events, for programs that read them."""

from typing import Any

import pytest
from django.test import Client

from agents.engine.events import body_adapter


@pytest.mark.spec("S141")
def test_programs_can_read_what_each_event_carries(client: Client) -> None:
    schema: dict[str, Any] = client.get("/api/schema/events/").json()

    assert schema == body_adapter.json_schema()
    assert set(schema["discriminator"]["mapping"]) > {"token", "complete", "error", "tool_call", "hitl_required"}
