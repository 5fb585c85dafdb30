"""Writes the snapshot of the events' schema: `python -m tests.engine.write_schema`, after a wanted change."""

import json
from pathlib import Path

from agents.engine.events import body_adapter

SNAPSHOT = Path(__file__).with_name("events.schema.json")


def schema_text() -> str:
    return json.dumps(body_adapter.json_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SNAPSHOT.write_text(schema_text(), encoding="utf-8")
