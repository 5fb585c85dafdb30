"""What a server says of its tools, made fit to be shown, stored and called: cleaned, bounded, pinned by a hash. Pure.

All of it is the text of strangers. What is invisible is taken out, for it can only be meant for models; what would let
a stranger's schema do harm here (patterns that take for ever, references that lead elsewhere) is taken out as well.
"""

import difflib
import hashlib
import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from agents.engine.canonical import canonical
from hyperagent.lib import json_schemas
from hyperagent.lib.clipping import beginning
from hyperagent.lib.text import clean_text

DESCRIPTION_CHARS: Final = 2_000
FIELD_CHARS: Final = 500
SCHEMA_CHARS: Final = 20_000
NODES: Final = 2_000
DEPTH: Final = 20
NAME_CHARS: Final = 128
CONNECTED: Final = "mcp_"
"""How the names of all servers' tools begin, and of no others."""
OWN: Final = "my"
SLUG: Final = r"^[a-z][a-z0-9]{0,19}$"
"""Of a server: without `_`, so that no two servers can give their tools the same names."""
_CALLED_CHARS: Final = 63
_SHOWN: Final = ("description", "title")
# Values, in which whatever looks like a keyword is none.
_LITERAL: Final = ("default", "enum", "const", "examples")
# A pattern of a stranger's can take for ever on the right text, and an anchor is only there to be referred to.
_LEFT_OUT: Final = ("pattern", "patternProperties", "propertyNames", "$schema", "$id", "$anchor", "$comment", "$defs",
                    "definitions", "$dynamicAnchor", "$vocabulary", "$ref", "$dynamicRef")  # fmt: skip
_HIDDEN: Final = ("Cc", "Cf", "Co", "Cs", "Cn")


class Risk(StrEnum):
    """What a tool does to the world, as a person judged it."""

    READ = "read"
    WRITE = "write"
    IRREVERSIBLE = "irreversible"


class BadDefinition(ValueError):
    """It cannot be offered to anybody; the message is a sentence for people."""


class Definition(BaseModel):
    """A tool as its server describes it, made fit. The hints are claims, by which a reviewer's form is preset."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    name: str
    title: str = ""
    description: str = ""
    parameters: dict[str, Any]
    read_only: bool | None = None
    destructive: bool | None = None

    @property
    def pin(self) -> str:
        """Changes with whatever a model or a reviewer is told of it."""
        return hashlib.sha256(canonical(self.model_dump(mode="json")).encode()).hexdigest()

    @property
    def risk(self) -> Risk:
        """What it says of itself, for a form to begin with."""
        if self.read_only:
            return Risk.READ
        return Risk.IRREVERSIBLE if self.destructive else Risk.WRITE


@dataclass(frozen=True, slots=True)
class Change:
    """One part of a definition, as lines of a difference: each begins with `+`, `-` or a space."""

    what: str
    lines: tuple[str, ...]


def definition(
    name: str,
    *,
    title: str | None,
    description: str | None,
    parameters: Any,
    read_only: bool | None,
    destructive: bool | None,
) -> Definition:
    """Raises BadDefinition."""
    if not name or len(name) > NAME_CHARS or visible(name) != name:
        raise BadDefinition(f"A tool's name is not usable: {visible(name)[:80]!r}.")
    return Definition(
        name=name,
        title=visible(title or "")[:FIELD_CHARS],
        description=beginning(visible(description or ""), DESCRIPTION_CHARS),
        parameters=usable_schema(parameters, tool=name),
        read_only=read_only,
        destructive=destructive,
    )


def called(slug: str, name: str, *, own: bool, taken: Collection[str]) -> str:
    """The tool's name here: `mcp_<server>_<tool>`, `mcp_my_<server>_<tool>` where the server is a person's own."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "tool"
    whole = CONNECTED + "_".join([*([OWN] if own else []), slug, plain])
    if len(whole) <= _CALLED_CHARS and whole not in taken:
        return whole
    mark = hashlib.sha256(name.encode()).hexdigest()[:6]
    return f"{whole[: _CALLED_CHARS - 7].rstrip('_')}_{mark}"


def differences(before: Definition, after: Definition) -> tuple[Change, ...]:
    """What a reviewer has to look at, in the order in which it matters."""
    sides = [
        ("Description", before.description, after.description),
        ("Title", before.title, after.title),
        ("Arguments", _pretty(before.parameters), _pretty(after.parameters)),
        ("Says that it only reads", str(before.read_only), str(after.read_only)),
        ("Says that it destroys", str(before.destructive), str(after.destructive)),
    ]
    return tuple(Change(what, _lines(was, now)) for what, was, now in sides if was != now)


def visible(text: str) -> str:
    """Without what nobody sees: control characters, direction marks, zero-width and tag characters."""
    return _seen(text).strip()


def _seen(text: str) -> str:
    return "".join(one for one in clean_text(text) if one in "\n\t" or unicodedata.category(one) not in _HIDDEN)


def _all_seen(value: Any) -> Any:
    """The same of every string in a JSON value, keys included; a blank at an end of one may mean something."""
    match value:
        case str():
            return _seen(value)
        case Mapping():
            return {_seen(str(key)): _all_seen(item) for key, item in value.items()}
        case list() | tuple():
            return [_all_seen(item) for item in value]
        case _:
            return value


def usable_schema(given: Any, *, tool: str) -> dict[str, Any]:
    """The JSON schema of an object without references, patterns and hidden text. Raises BadDefinition."""
    if not isinstance(given, Mapping) or given.get("type", "object") != "object":
        raise BadDefinition(f"The arguments of '{visible(tool)[:80]}' are not described as an object.")
    tidy = _Tidy(given, tool)
    schema = tidy.node(given, depth=0, within=())
    schema = {**schema, "type": "object", "properties": schema.get("properties", {})}
    if len(json.dumps(schema)) > SCHEMA_CHARS:
        raise tidy.bad(f"are described in more than {SCHEMA_CHARS:,} characters")
    try:
        json_schemas.check(schema)
    except json_schemas.NoSchema as error:
        raise tidy.bad("are described by what is no JSON schema") from error
    return schema


class _Tidy:
    """Writes references out, counting on the way: a small schema can stand for an endless one."""

    def __init__(self, root: Mapping[str, Any], tool: str) -> None:
        self._root = root
        self._tool = tool
        self._nodes = 0

    def node(self, given: Any, *, depth: int, within: tuple[str, ...]) -> Any:
        self._nodes += 1
        if self._nodes > NODES or depth > DEPTH:
            raise self.bad("are described at too great a length")
        if isinstance(given, list):
            return [self.node(item, depth=depth + 1, within=within) for item in given]
        if not isinstance(given, Mapping):
            # What is required is named as the properties are.
            return visible(given) if isinstance(given, str) else given
        if "$ref" in given or "$dynamicRef" in given:
            return self._referred(given, depth=depth, within=within)
        tidy: dict[str, Any] = {}
        for named, value in given.items():
            if (key := visible(str(named))) in _LEFT_OUT:
                continue
            if key == "properties" and isinstance(value, Mapping):
                tidy[key] = {
                    visible(str(name)): self.node(sub, depth=depth + 1, within=within) for name, sub in value.items()
                }
            elif key in _SHOWN:
                tidy[key] = beginning(visible(str(value)), FIELD_CHARS)
            else:
                tidy[key] = _all_seen(value) if key in _LITERAL else self.node(value, depth=depth + 1, within=within)
        if isinstance(given.get("pattern"), str):
            tidy["description"] = f"{tidy.get('description', '')} (Its form: {visible(given['pattern'])[:100]})".strip()
        return tidy

    def _referred(self, given: Mapping[str, Any], *, depth: int, within: tuple[str, ...]) -> Any:
        """What a reference stands for; within itself, anything."""
        place = given.get("$ref")
        if not isinstance(place, str) or not place.startswith("#/"):
            raise self.bad("are described by a reference to elsewhere")
        if place in within:
            return {}
        found: Any = self._root
        for part in place[2:].split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            raise self.bad("are described by a reference to what is not there")
        around = {key: value for key, value in given.items() if key != "$ref"}
        return self.node({**found, **around}, depth=depth + 1, within=(*within, place))

    def bad(self, why: str) -> BadDefinition:
        return BadDefinition(f"The arguments of '{visible(self._tool)[:80]}' {why}.")


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)


def _lines(was: str, now: str) -> tuple[str, ...]:
    lines: Sequence[str] = list(difflib.unified_diff(was.splitlines(), now.splitlines(), lineterm="", n=2))
    return tuple(line for line in lines[2:] if not line.startswith("@@"))
