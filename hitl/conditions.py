"""Conditions on the arguments of a call, and whether they fit. Pure: knows no table, no rule and no person.

Whoever wants to get past them is the model, with arguments of its choice. So what allows is strict (every item of a
list, to the letter, and nothing that reads two ways), and what denies is loose (any item, however it is spelt).
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, assert_never
from urllib.parse import unquote

from hitl.globs import glob_fits
from hitl.kinds import Op, RuleScope
from hyperagent.lib.domains import ascii_domain

MAX_COMPARED_CHARS: Final = 100_000
# Within a bare address none of these means itself: names around it, lists, comments, and old ways of saying a route.
_NOT_IN_AN_ADDRESS: Final = frozenset('<>"(),;:[]\\%!')
_NOTHING: Final = dict.fromkeys(range(32))
_BETWEEN_ADDRESSES: Final = '<>"(),;:[]\\'


@dataclass(frozen=True, slots=True)
class Condition:
    """`path`: the name of an argument, or dotted for what is within one. `value` fits the op (`hitl.remembering`)."""

    path: str
    op: Op
    value: Any

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "op": self.op.value, "value": self.value}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Condition":
        return cls(str(stored["path"]), Op(stored["op"]), stored["value"])


@dataclass(frozen=True, slots=True)
class Preapproved:
    """What the maker of a run allowed beforehand: calls of this tool to which all conditions fit."""

    tool: str
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Remember:
    """What a person wants to be remembered of a decision. `words`: the rule as they were shown it; "" if not."""

    scope: RuleScope
    conditions: tuple[Condition, ...] = ()
    until: datetime | None = None
    uses: int | None = None
    words: str = ""


def covers(conditions: Sequence[Condition], arguments: Mapping[str, Any]) -> bool:
    """Whether every condition holds for every item that it is about. For what allows; none: whatever the arguments."""
    return all(_covered(condition, arguments) for condition in conditions)


def touches(conditions: Sequence[Condition], arguments: Mapping[str, Any]) -> bool:
    """Whether every condition holds for one item at least, however it is spelt. For what denies."""
    return all(_touched(condition, arguments) for condition in conditions)


def _covered(condition: Condition, arguments: Mapping[str, Any]) -> bool:
    if not _is_usable(condition):
        return False
    items, is_whole = items_at(arguments, condition.path)
    if not items and condition.op is not Op.DOMAIN:
        # No recipient is at no other domain; but no id at all may mean every one.
        return False
    return is_whole and all(_fits_exactly(condition, item) for item in items)


def _touched(condition: Condition, arguments: Mapping[str, Any]) -> bool:
    items, _ = items_at(arguments, condition.path)
    return _is_usable(condition) and any(_fits_somehow(condition, item) for item in items)


def _is_usable(condition: Condition) -> bool:
    """Not everything comes here by `hitl.remembering`; what means nothing fits nothing."""
    match condition.op:
        case Op.DOMAIN | Op.STARTS_WITH | Op.MATCHES:
            return isinstance(condition.value, str) and condition.value != ""
        case Op.ONE_OF:
            return isinstance(condition.value, list | tuple)
        case Op.AT_MOST:
            return is_number(condition.value)
        case Op.EQUALS:
            return True
        case _:
            assert_never(condition.op)


def items_at(arguments: Mapping[str, Any], path: str) -> tuple[list[Any], bool]:
    """What stands at the path, one by one if it is a list; and whether it is nowhere missing or null."""
    found: list[Any] = [arguments]
    is_whole = True
    for name in path.split("."):
        below = [value.get(name) if isinstance(value, Mapping) else None for value in found]
        found = [item for inner in below for item in _flat(inner)]
        is_whole = is_whole and None not in below and None not in found
        found = [item for item in found if item is not None]
    return found, is_whole


def _flat(value: Any) -> list[Any]:
    """Lists within lists too, however deep a model nests them."""
    found, left = [], [value]
    while left:
        item = left.pop()
        if isinstance(item, list | tuple):
            left.extend(item)
        else:
            found.append(item)
    return found


def _fits_exactly(condition: Condition, item: Any) -> bool:
    value = condition.value
    match condition.op:
        case Op.EQUALS:
            return _same(item, value)
        case Op.ONE_OF:
            return any(_same(item, one) for one in value)
        case Op.DOMAIN:
            return isinstance(item, str) and domain_of(item) == domain_key(value)
        case Op.STARTS_WITH:
            return isinstance(item, str) and item.startswith(value) and not climbs(item)
        case Op.MATCHES:
            return isinstance(item, str) and not _escapes(item) and glob_fits(value, item)
        case Op.AT_MOST:
            return is_number(item) and bool(item <= value)
        case _:
            assert_never(condition.op)


def _fits_somehow(condition: Condition, item: Any) -> bool:
    value = condition.value
    match condition.op:
        case Op.EQUALS:
            return _alike(item, value)
        case Op.ONE_OF:
            return any(_alike(item, one) for one in value)
        case Op.DOMAIN:
            return isinstance(item, str) and not _spellings(value).isdisjoint(_domains_in(item))
        case Op.STARTS_WITH:
            return isinstance(item, str) and (climbs(item) or _folded(item).startswith(_folded(value)))
        case Op.MATCHES:
            return isinstance(item, str) and (_escapes(item) or glob_fits(_folded(value), _folded(item)))
        case Op.AT_MOST:
            return is_number(item) and bool(item <= value)
        case _:
            assert_never(condition.op)


def _escapes(item: str) -> bool:
    """What cannot be matched for certain is not let past a rule that denies."""
    return len(item) > MAX_COMPARED_CHARS or climbs(item)


def domain_of(address: str) -> str:
    """The domain of a text that is one bare mail address and nothing else, in small letters; "" for anything else.

    Letters that another program might read as others (full-width ones, say) make it something else.
    """
    if unicodedata.normalize("NFKC", address) != address or not _NOT_IN_AN_ADDRESS.isdisjoint(address):
        return ""
    if any(unicodedata.category(letter)[0] in "CZ" for letter in address):
        return ""
    local, at, domain = address.partition("@")
    return domain_key(domain) if local and at and "@" not in domain else ""


def domain_key(domain: str) -> str:
    """One spelling for a domain. Small letters, not folded: that would make strasse.de of straße.de, another's."""
    return unicodedata.normalize("NFKC", domain).lower()


def climbs(text: str) -> bool:
    """Whether it has a step upwards (`..` between slashes, in any spelling): it then is not where it begins."""
    # Readers of addresses leave out line ends and tabs.
    decoded = text.translate(_NOTHING)
    for _ in range(3):
        decoded = unquote(decoded)
    steps = unicodedata.normalize("NFKC", decoded).replace("\\", "/").split("/")
    return len(steps) > 1 and any(step.partition(";")[0].strip() == ".." for step in steps)


def is_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _same(item: Any, value: Any) -> bool:
    """Equal and of one kind: true is not 1, "1" is not 1."""
    if is_number(item) and is_number(value):
        return bool(item == value)
    return type(item) is type(value) and bool(item == value)


def _alike(item: Any, value: Any) -> bool:
    return _same(item, value) or _folded(item) == _folded(value)


def _folded(value: Any) -> str:
    text = str(value)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip()


def _domains_in(text: str) -> set[str]:
    """Every domain that some reader of the text might take it to be addressed to."""
    for mark in _BETWEEN_ADDRESSES:
        text = text.replace(mark, " ")
    parts = [part for word in unicodedata.normalize("NFKC", text).split() for part in word.split("@")[1:]]
    return {spelling for part in parts for spelling in _spellings(part)}


def _spellings(domain: str) -> set[str]:
    """As it is written, as mail servers know it, and as readers of older rules (IDNA 2003) take it."""
    folded = _folded(domain).strip(" .'")
    found = {folded}
    with suppress(UnicodeError):
        found.add(folded.encode("idna").decode("ascii"))
    with suppress(UnicodeError):
        found.add(ascii_domain(domain_key(domain).strip(" .'")))
    return found
