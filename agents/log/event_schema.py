"""The JSON schema of events as they are stored and sent: what each type says (`agents.engine.events`) under the head
that all of them have, and the one word of a stream that is no event. Pure.
"""

from functools import cache
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from agents.engine.events import body_adapter

Json = dict[str, Any]


class Head(BaseModel):
    """What stands before whatever an event says."""

    seq: int = Field(ge=1, description="Its number in the run: from 1, without gaps.")
    execution_id: UUID
    agent_id: UUID | None = Field(description="Whose it is; null: of the run, before it has an agent.")
    timestamp: int = Field(description="In milliseconds since 1970, UTC.")


class Resync(BaseModel):
    """No event of the log, and only in streams: the log has lost what the reader has (a database that died), or never
    had it. Forget the run; it follows from number 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["resync"] = "resync"
    seq: Literal[0] = 0
    execution_id: UUID


@cache
def sent_schema() -> Json:
    """One of all types, told apart by `type`. Do not change what comes back."""
    schema = body_adapter.json_schema()
    kinds: dict[str, str] = schema["discriminator"]["mapping"]
    head = Head.model_json_schema()
    for reference in kinds.values():
        _put_under(head, schema["$defs"][reference.rsplit("/", 1)[1]])
    kinds["resync"] = "#/$defs/Resync"
    schema["oneOf"].append({"$ref": kinds["resync"]})
    schema["$defs"]["Resync"] = _with_required(Resync.model_json_schema(), ["type", "seq"])
    return schema


def _put_under(head: Json, body: Json) -> None:
    body["properties"] = {"type": body["properties"]["type"], **head["properties"], **body["properties"]}
    _with_required(body, ["type", *head["required"]])


def _with_required(schema: Json, names: list[str]) -> Json:
    schema["required"] = [*names, *schema.get("required", ())]
    return schema
