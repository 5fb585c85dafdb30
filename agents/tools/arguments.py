"""From what a model wrote to arguments that a tool can be called with, or words that tell it what was wrong. Pure."""

import difflib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from agents.engine.canonical import plain
from agents.tools.clip import clip_value
from agents.tools.schema import parameters_of
from hyperagent.lib.text import clean_value

LIMIT_CHARS: Final = 200_000
DEPTH: Final = 40
# Of a double (RFC 7493): what is beyond is another number where a browser shows it to whoever has to approve it.
LARGEST_INTEGER: Final = 2**53 - 1
SHOWN_CHARS: Final = 20_000
_FAULTS_SHOWN: Final = 20
_SECRET: Final = re.compile(
    r"(password|passwd|pwd|passphrase|secret|token|api_?key|private_?key|authorization|cookie|credentials?)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not carried out. `message` is for the model: what is wrong, and what it can do.

    `details`: for programs; among them `told`, the same in words for people.
    """

    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


def parsed(given: Any, *, tool: str) -> dict[str, Any] | Refusal:
    """The arguments as a JSON object, cleaned of what cannot be stored. `given`: a mapping, or JSON text."""
    value = _from_text(given, tool) if isinstance(given, str) else given
    if isinstance(value, Refusal):
        return value
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        return _bad(tool, f'they must be one JSON object such as {{"name": "value"}}, and are a {kind}')
    if _is_deeper(value, DEPTH):
        return _bad(tool, f"they are nested more than {DEPTH} deep")
    if (number := _inexact(value)) is not None:
        return _bad(
            tool, f"{str(number)[:40]} is beyond {LARGEST_INTEGER}, where numbers are not exact. Give it as text."
        )
    try:
        arguments: dict[str, Any] = plain(clean_value(dict(value)))
    except (ValueError, TypeError) as error:
        return _bad(tool, f"they are not JSON: {error}")
    return arguments


def fitted(arguments: dict[str, Any], model: type[BaseModel], *, tool: str) -> BaseModel | Refusal:
    """The arguments as the tool's signature wants them, or all that is wrong with them at once."""
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        described = parameters_of(model)
        names, required = list(described["properties"]), described.get("required", ())
        problems = error.errors(include_url=False)
        lines = [f"- {_fault(problem, names)}" for problem in problems[:_FAULTS_SHOWN]]
        if len(problems) > _FAULTS_SHOWN:
            lines.append(f"- and {len(problems) - _FAULTS_SHOWN} more")
        allowed = ", ".join(f"{name} (required)" if name in required else name for name in names)
        return _bad(tool, "\n" + "\n".join(lines) + f"\nIts arguments are: {allowed or 'none'}.")


def shown(arguments: dict[str, Any] | Refusal) -> dict[str, Any]:
    """The arguments as people may see them in events: long texts cut, secrets masked."""
    if isinstance(arguments, Refusal):
        return {}
    clipped = clip_value(_masked(arguments), SHOWN_CHARS)
    return clipped if isinstance(clipped, dict) else {}


def closest(name: str, names: Collection[str]) -> str:
    """The one of `names` that was probably meant; empty if none is near."""
    return next(iter(difflib.get_close_matches(name[:100], sorted(names), n=1)), "")


def _bad(tool: str, why: str) -> Refusal:
    return Refusal("bad_arguments", f"the arguments of {tool} cannot be used: {why}")


def _from_text(text: str, tool: str) -> Any:
    if len(text) > LIMIT_CHARS:
        return _bad(tool, f"they have {len(text):,} characters, and {LIMIT_CHARS:,} are allowed")
    try:
        return json.loads(text.strip() or "{}", parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        hint = " Write JSON: names and texts in double quotes." if "'" in text or "None" in text else ""
        return _bad(tool, f"they are not JSON: {error.msg} (line {error.lineno}, column {error.colno}).{hint}")
    except ValueError as error:
        return _bad(tool, f"they are not JSON: {error}")
    except RecursionError:
        return _bad(tool, f"they are nested more than {DEPTH} deep")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _is_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, Mapping) else outer if isinstance(outer, list) else ())
        ]
        if not level:
            return False
    return True


def _inexact(value: Any) -> int | None:
    """A whole number in it that not every program reads as the same."""
    match value:
        case int() if abs(value) > LARGEST_INTEGER:
            return value
        case Mapping():
            return next((found for item in value.values() if (found := _inexact(item)) is not None), None)
        case list():
            return next((found for item in value if (found := _inexact(item)) is not None), None)
        case _:
            return None


def _fault(problem: Any, names: list[str]) -> str:
    place = ".".join(map(str, problem["loc"]))[:80] or "arguments"
    if problem["type"] == "missing":
        return f"{place}: is missing"
    if problem["type"] == "extra_forbidden":
        near = closest(place, names) if len(problem["loc"]) == 1 else ""
        return f"{place}: there is no such argument" + (f"; did you mean {near}?" if near else "")
    was = json.dumps(problem["input"], ensure_ascii=False, default=str)
    return f"{place}: {problem['msg']}, not {was[:80]}"


def _masked(value: Any) -> Any:
    match value:
        case dict():
            return {key: "***" if _SECRET.search(key) and item else _masked(item) for key, item in value.items()}
        case list():
            return [_masked(item) for item in value]
        case _:
            return value
