"""What a client may say on a conversation's socket, checked once; and the frames that we send. Knows no socket."""

import json
import uuid
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agents.run_budget import RunBudget
from conversations.options import Depth, Scenario
from hyperagent.lib.client_ids import CLIENT_ID_CHARS
from hyperagent.lib.conf import ExecutionMode
from hyperagent.lib.json_numbers import NotANumber, read_json
from hyperagent.lib.refusals import Refused, error_object
from hyperagent.lib.text import clean_value
from hyperagent.lib.width import holds_more

MAX_CHARS = 1_000_000
# Each that is wrong is a fault to be told, in the loop that serves all sockets. What is looked at elsewhere is not
# counted.
MOST_VALUES = 5_000
MOST_VALUES_WITHIN = 100_000
_LOOKED_AT_ELSEWHERE = ("plan", "edited_arguments", "remember")
# Beyond this nobody means well: the socket is closed.
MAX_CHARS_BORNE = 8_000_000


class _Frame(BaseModel):
    # Fields of later versions do no harm.
    model_config = ConfigDict(frozen=True, extra="ignore")


class SayOptions(_Frame):
    # But a wish that nobody heeds does.
    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: Depth | None = None
    scenario: Scenario | None = None
    execution_mode: ExecutionMode | None = None
    show_plan: bool = False
    budget: RunBudget | None = None


class Say(_Frame):
    type: Literal["say"]
    text: str
    mode: str | None = None
    client_id: str | None = None
    attachment_ids: list[str] | None = None
    options: SayOptions | None = None
    edits: uuid.UUID | None = None
    after: uuid.UUID | None = None


class Cancel(_Frame):
    type: Literal["cancel"]
    execution_id: uuid.UUID


class Steer(_Frame):
    """A word to all agents of a run while they work: once, however often it is said under one `client_id`."""

    type: Literal["steer"]
    execution_id: uuid.UUID
    text: str
    client_id: str | None = None


class Intervene(_Frame):
    type: Literal["intervene"]
    agent_id: uuid.UUID
    user_comment: str | None = None
    user_content: str | None = None
    status: str | None = None
    client_id: str | None = None


class Respond(_Frame):
    """The answer to a request; what fits depends on its kind."""

    type: Literal["respond"]
    request_id: uuid.UUID
    decision: Literal["approved", "denied", "answered", "snoozed"]
    instructions: str | None = None
    choice: str | None = None
    text: str | None = None
    plan: dict[str, Any] | None = None
    edited_arguments: dict[str, Any] | None = None
    arguments_hash: str | None = None
    remember: dict[str, Any] | None = None
    snooze_until: AwareDatetime | None = None
    client_id: str | None = None


class Ack(_Frame):
    """The client has everything of this run up to `seq`."""

    type: Literal["ack"]
    execution_id: uuid.UUID
    seq: int = Field(ge=0)


class Ping(_Frame):
    type: Literal["ping"]


# What changes something: who says it is asked anew each time.
Verb = Say | Cancel | Steer | Intervene | Respond
ClientFrame = Annotated[Verb | Ack | Ping, Field(discriminator="type")]
_frames: TypeAdapter[ClientFrame] = TypeAdapter(ClientFrame)
_KNOWN = "say, cancel, steer, intervene, respond, ack, ping"


def parsed(text: str) -> dict[str, Any]:
    """What `checked` looks at. Raises Refused."""
    if len(text) > MAX_CHARS:
        raise Refused("message_too_long", f"A message may have {MAX_CHARS:,} characters; this one has {len(text):,}.")
    try:
        # The standard library's parser takes lone surrogates, which are cleaned; stricter ones refuse the whole
        # message.
        given = read_json(text)
        if holds_more(given, MOST_VALUES_WITHIN):
            raise _too_many(MOST_VALUES_WITHIN)
        said = clean_value(given)
    except NotANumber as found:
        raise Refused(
            "not_json", f"{found.shown} is no number that can be kept. Send a smaller one, or a text."
        ) from None
    except (ValueError, RecursionError):
        raise Refused("not_json", "This is not JSON. Send an object with a `type`.") from None
    if not isinstance(said, dict):
        raise Refused("not_json", "Send a JSON object with a `type`.")
    return said


def client_id_in(said: Mapping[str, Any]) -> dict[str, str]:
    """What a refusal is found by, even if nothing else in the message can be read; empty where it has none."""
    given = said.get("client_id")
    return {"client_id": given} if isinstance(given, str) and 0 < len(given) <= CLIENT_ID_CHARS else {}


def checked(said: Mapping[str, Any]) -> ClientFrame:
    """Raises Refused."""
    if holds_more(said, MOST_VALUES, but=_LOOKED_AT_ELSEWHERE):
        raise _too_many(MOST_VALUES)
    try:
        return _frames.validate_python(said)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"].startswith("union_tag"):
            raise Refused("unknown_type", f"Unknown message type. Known are: {_KNOWN}.") from None
        place = ".".join(str(part) for part in first["loc"][1:])
        raise Refused("invalid", f"{place}: {first['msg']}", fields={place: [first["msg"]]}) from None


def _too_many(most: int) -> Refused:
    return Refused("invalid", f"A message may have {most:,} values; this one has more. Send less at once.")


def numbers(text: str, *, name: str = "after") -> dict[str, int]:
    """The `after` of the address: `{execution_id: seq}`, or its `at`. Raises Refused."""
    try:
        given = json.loads(text)
        return {str(uuid.UUID(execution_id)): _number(seq) for execution_id, seq in given.items()}
    except (ValueError, AttributeError, TypeError, RecursionError):
        message = f'{name} has to be JSON such as {{"<execution id>": 12}}.'
        raise Refused(f"bad_{name}", message) from None


def _number(seq: Any) -> int:
    if type(seq) is not int or not 0 <= seq < 2**63:
        raise ValueError
    return seq


def event(body: str) -> str:
    """The body is the event's JSON already."""
    return f'{{"type":"event","event":{body}}}'


def frame(kind: str, **fields: Any) -> str:
    return orjson.dumps({"type": kind, **fields}).decode()


def error(refused: Refused, **context: Any) -> str:
    return frame("error", error=refused.as_error(), **context)


def failure(code: str, message: str, **context: Any) -> str:
    return frame("error", error=error_object(code, message), **context)
