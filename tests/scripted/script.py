"""What the scripted server is told, and what it remembers. Values only."""

import json
import re
import string
import time
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

_TOKEN = re.compile(r"\S+\s*|\s+")
_SAY = re.compile(r"say (?P<count>\d+) tokens?(?: at (?P<rate>[\d.]+)/s)?(?P<stamped> stamped)?", re.IGNORECASE)


class ScriptedCall(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    arguments: str = "{}"
    """JSON text; sent as it stands, broken or not."""
    id: str | None = None


class ScriptedUsage(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prompt_tokens: int = 11
    completion_tokens: int | None = None
    """None: the number of tokens sent."""
    cached_tokens: int = 0


class Script(BaseModel):
    """One line of the script: which call it is for, what is answered, and how it goes wrong."""

    model_config = ConfigDict(extra="forbid")

    match: str | None = None
    """Only for a call whose last user message has this in it."""
    model: str | None = None
    """Only for a call to this model."""
    times: int = Field(default=1, ge=0)
    """How many calls it answers; 0: any number, none of them owed."""

    text: str = ""
    thinking: str | None = None
    thinking_signature: str | None = None
    tool_calls: list[ScriptedCall] = []
    image: str | None = None
    """Base64 of the image that is made, where one is asked for; without it, an answer that has only an address."""
    finish_reason: str | None = None
    """OpenAI's word; translated for the others. None: what fits the answer."""
    usage: ScriptedUsage = ScriptedUsage()
    cost_usd: float | None = None

    first_delay_s: float = 0.0
    tokens_per_s: float | None = None
    """None: as fast as they can be sent."""
    whole: bool = False
    """Answers a request for a stream with one JSON body, as some servers do."""
    stamped: bool = False
    """Each token is the machine's monotonic clock in ns at which it was sent, as a word (`stamped_word`)."""

    status: int = 200
    retry_after: str | None = None
    error_code: str | None = None
    error_message: str = "scripted fault"
    refuse: bool = False
    """The connection is closed without an answer."""
    cut_after: int | None = None
    """The connection breaks after so many tokens; so below."""
    silence_after: int | None = None
    kept_open_after: int | None = None
    """As with silence, but for the signs of life that providers send while they are busy, over and over."""
    held_after: int | None = None
    """Goes on at `ScriptedServer.release`."""
    malformed_after: int | None = None
    error_after: int | None = None
    """An error within the stream."""
    drip_bytes: int | None = None
    """Everything is sent in pieces of so many bytes, wherever they cut."""

    def tokens(self) -> list[str]:
        return _TOKEN.findall(self.text)


@dataclass
class Call:
    """One request that came in, and how far its answer got."""

    protocol: str
    path: str
    model: str
    last_user: str
    stream: bool
    headers: dict[str, str]
    body: dict[str, Any] = field(repr=False)
    tokens_sent: int = 0
    finished: bool = False
    disconnected: bool = False
    """The client left before the end."""
    expected: bool = True
    came_ns: int = field(default_factory=time.monotonic_ns)
    ended_ns: int = 0
    """When the request came and its answer ended, by the machine's monotonic clock; 0 while it goes on."""
    peer: str = ""
    """Address and port that the request came from: the same for requests on one connection."""

    @property
    def over(self) -> bool:
        return self.finished or self.disconnected

    @property
    def messages(self) -> list[dict[str, Any]]:
        found = self.body.get("messages", [])
        return found if isinstance(found, list) else []


_LETTERS = string.ascii_letters
# No language begins a word so.
_STAMP, _STAMP_LETTERS, _US = "qZ", 6, 1_000
_TURN = len(_LETTERS) ** _STAMP_LETTERS
"""After five and a half hours the words come again."""
_STAMPED = re.compile(rf"\b{_STAMP}([A-Za-z]{{{_STAMP_LETTERS}}})\b")


def stamped_word(ns: int) -> str:
    """A time as a word, to the microsecond; `stamps_in` reads it. No longer than most: whoever looks at words, such as
    the search of what was said, would have more to do with long ones that come only once."""
    left, letters = ns // _US % _TURN, []
    for _ in range(_STAMP_LETTERS):
        left, at = divmod(left, len(_LETTERS))
        letters.append(_LETTERS[at])
    return _STAMP + "".join(letters)


def stamps_in(text: str) -> list[int]:
    """The times of all stamped words in it, in ns: the last at which each could have been written."""
    now = time.monotonic_ns() // _US
    return [(now - (now - _read(word)) % _TURN) * _US for word in _STAMPED.findall(text)]


def _read(word: str) -> int:
    return sum(_LETTERS.index(letter) * len(_LETTERS) ** place for place, letter in enumerate(word))


def echo_of(last_user: str, schema: dict[str, Any] | None) -> Script:
    """A deterministic answer: `say 200 tokens at 50/s` gives w0 to w199 at that pace, a schema its smallest instance,
    everything else its own words."""
    if schema is not None:
        return Script(text=json.dumps(example_of(schema, schema)))
    asked = _SAY.search(last_user)
    if asked is None:
        return Script(text=f"You said: {last_user[:2000]}")
    rate = asked["rate"]
    return Script(
        text=" ".join(f"w{number}" for number in range(int(asked["count"]))),
        tokens_per_s=float(rate) if rate else None,
        stamped=bool(asked["stamped"]),
    )


def example_of(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """The smallest value that a JSON schema of Pydantic's kind allows."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return example_of((root.get("$defs") or root.get("definitions") or {})[name], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for options in ("anyOf", "oneOf", "allOf"):
        if schema.get(options):
            return example_of(schema[options][0], root)
    kind = schema.get("type", "object")
    if kind == "object":
        wanted = schema.get("required", [])
        return {name: example_of(schema["properties"][name], root) for name in wanted}
    if kind == "array":
        return [example_of(schema.get("items", {}), root)] * int(schema.get("minItems", 0))
    number = schema.get("minimum", 0)
    return {"string": "x" * int(schema.get("minLength", 1)), "boolean": False, "null": None}.get(kind, number)
