"""The calls of tools that a question shows: whether they are what was asked about, and what a person made of their
arguments. Pure.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from hyperagent.lib import json_schemas
from hyperagent.lib.hashes import arguments_hash
from hyperagent.lib.languages import grouped

MAX_EDITED_CHARS: Final = 200_000
MAX_DEPTH: Final = 32
MAX_FAULTS: Final = 50
MAX_WHOLE: Final = 10**18 - 1
FIELD: Final = "edited_arguments"


def calls_of(question: Any) -> list[Mapping[str, Any]]:
    """Whatever of a question is a call; questions of other kinds have none."""
    calls = question.get("tool_calls") if isinstance(question, Mapping) else None
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def only_call(question: Any) -> Mapping[str, Any] | None:
    """The call, if the question is about exactly one."""
    found = calls_of(question)
    return found[0] if len(found) == 1 else None


def is_intact(question: Any, shown_hash: str) -> bool:
    """Whether the arguments of each call still hash to what was asked about, and that of a lone one to `shown_hash`."""
    hashes = [call.get("arguments_hash") for call in calls_of(question)]
    if not shown_hash and not any(hashes):
        return True
    if hashes != [_hash_of(call) for call in calls_of(question)]:
        return False
    return not shown_hash or hashes == [shown_hash]


def approved(question: Any, edited: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the run is told of an approved call: the hash of its final arguments, and these if they are others."""
    call = only_call(question)
    if call is None or not call.get("arguments_hash"):
        return {}
    if edited is None:
        return {"arguments_hash": call["arguments_hash"]}
    final = arguments_hash(str(call.get("tool", "")), edited)
    if final == call["arguments_hash"]:
        return {"arguments_hash": final}
    return {"arguments": dict(edited), "arguments_hash": final}


def faults_of(question: Any, edited: Any) -> dict[str, list[str]]:
    """Every fault of edited arguments under its place, such as `edited_arguments.to.0`; empty if the tool takes them.

    They have to be whole: what is left out is left out of the call.
    """
    call = only_call(question)
    if call is None or not call.get("arguments_hash"):
        return {
            FIELD: [_("Only a request about one call takes edited arguments. Leave this out, or deny with a reason.")]
        }
    schema = call.get("schema")
    if not isinstance(schema, Mapping):
        return {
            FIELD: [_("The form of these arguments is not known here. Deny with a reason that says what to change.")]
        }
    if fault := unfit(edited):
        return {FIELD: [fault]}
    found: dict[str, list[str]] = {}
    for place, words in _faults(edited, schema):
        said = found.setdefault(".".join([FIELD, *(part[:80] for part in place)]), [])
        said += [words] if words not in said else []
    return found


def unfit(edited: Any) -> str:
    """Why no schema is asked at all; empty if nothing is wrong."""
    if not isinstance(edited, Mapping):
        return _("Send an object with every argument of the call.")
    values = [(edited, 1)]
    while values:
        value, depth = values.pop()
        if depth > MAX_DEPTH:
            return _("This is nested more than {count} deep.").format(count=MAX_DEPTH)
        if isinstance(value, float) and not math.isfinite(value):
            return _("NaN and infinity are no numbers here.")
        if isinstance(value, int) and abs(value) > MAX_WHOLE:
            return _("A whole number has at most 18 digits here.")
        values += [(item, depth + 1) for item in _within(value)]
    size = len(json.dumps(edited, ensure_ascii=False))
    if size <= MAX_EDITED_CHARS:
        return ""
    told = _("This has {size} characters; at most {most} are allowed.")
    return told.format(size=grouped(size), most=grouped(MAX_EDITED_CHARS))


def changes(before: Mapping[str, Any], after: Mapping[str, Any], *, within: str = "") -> list[dict[str, Any]]:
    """What was changed, one entry for each place: `{"path", "before"?, "after"?}`. Lists are compared whole."""
    found: list[dict[str, Any]] = []
    for name in [*before, *(name for name in after if name not in before)]:
        path = f"{within}.{name}" if within else name
        was, now = before.get(name), after.get(name)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            found += changes(was, now, within=path)
        elif (name in before) != (name in after) or not _is_same(was, now):
            sides = {"before": was} if name in before else {}
            found.append({"path": path, **sides, **({"after": now} if name in after else {})})
    return found


def _is_same(was: Any, now: Any) -> bool:
    """As the hash sees it: 1.0 is 1, and true is not."""
    return arguments_hash("", {"": was}) == arguments_hash("", {"": now})


def _hash_of(call: Mapping[str, Any]) -> str:
    arguments = call.get("arguments")
    return arguments_hash(str(call.get("tool", "")), arguments) if isinstance(arguments, Mapping) else ""


def _within(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _faults(edited: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
    known = schema.get("properties")
    known = known if isinstance(known, Mapping) else {}
    yield from (([name], _("The tool has no such argument.")) for name in edited if name not in known)
    try:
        for misfit in islice(json_schemas.misfits(edited, {**schema, "additionalProperties": True}), MAX_FAULTS):
            yield from _told(misfit)
    except json_schemas.Uncheckable:
        yield [], _("The form of these arguments cannot be read. Deny with a reason that says what to change.")


def _told(error: Any) -> Iterator[tuple[list[str], str]]:
    place = [str(part) for part in error.absolute_path]
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        yield from (([*place, name], _("This is missing.")) for name in missing)
    elif error.validator == "additionalProperties":
        extra = sorted(set(error.instance) - set(error.schema.get("properties", ())))
        yield from (([*place, name], _("There is no such field.")) for name in extra)
    elif error.validator == "type":
        yield place, _("This has to be {what}.").format(what=_either(error.validator_value))
    elif error.validator in ("anyOf", "oneOf") and all("type" in one for one in error.validator_value):
        types = _either([one["type"] for one in error.validator_value])
        yield place, _("This has to be {what}, as the tool describes it.").format(what=types)
    else:
        yield place, _limit_fault(str(error.validator), str(error.validator_value)[:200])


_LIMITS: Final = {
    "enum": gettext_noop("This has to be one of: {limit}."),
    "const": gettext_noop("This has to be {limit}."),
    "minLength": gettext_noop("This is too short: it has to have at least {limit} characters."),
    "maxLength": gettext_noop("This is too long: it may have at most {limit} characters."),
    "minItems": gettext_noop("These are too few: there have to be at least {limit}."),
    "maxItems": gettext_noop("These are too many: there may be at most {limit}."),
    "uniqueItems": gettext_noop("Something stands here twice."),
    "minimum": gettext_noop("This has to be at least {limit}."),
    "maximum": gettext_noop("This may be at most {limit}."),
    "exclusiveMinimum": gettext_noop("This has to be more than {limit}."),
    "exclusiveMaximum": gettext_noop("This has to be less than {limit}."),
    "multipleOf": gettext_noop("This has to be a multiple of {limit}."),
    "pattern": gettext_noop("This does not fit the pattern {limit}."),
}


def _limit_fault(name: str, limit: str) -> str:
    if name in _LIMITS:
        return _(_LIMITS[name]).format(limit=limit)
    return _("This does not fit {name}: {limit}.").format(name=name, limit=limit)


_TYPES: Final = {
    "string": gettext_noop("a text"),
    "array": gettext_noop("a list"),
    "object": gettext_noop("an object"),
    "integer": gettext_noop("a whole number"),
    "number": gettext_noop("a number"),
    "boolean": gettext_noop("true or false"),
}


def _either(types: Any) -> str:
    names = types if isinstance(types, list) else [types]
    return _(" or ").join(dict.fromkeys(_(_TYPES[name]) if name in _TYPES else str(name) for name in map(str, names)))
