"""What a site asks of programs that read it (RFC 9309): its robots.txt, read by the door of whoever wants to know, and
pure rules on its text.
"""

import re
from dataclasses import dataclass
from string import ascii_letters, digits
from typing import Final, Protocol
from urllib.parse import quote

from hyperagent.lib.outside.fetching import Fault, Fetched, NotFetched

MAX_BYTES: Final = 512_000
_NAME: Final = "hyperagent"
_ALL: Final = "*"
_ESCAPED: Final = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset(f"{ascii_letters}{digits}-._~")


class NotAsked(Exception):
    """A site that cannot be asked allows nothing for now. The message is a sentence for people. `why`: the same for
    models, without the name of the site."""

    def __init__(self, origin: str, why: str, *, for_models: str = "") -> None:
        super().__init__(f"{origin} could not be read: {why}")
        self.why = for_models or why


class Reads(Protocol):
    async def __call__(self, url: str, *, max_bytes: int) -> Fetched:
        """Raises NotFetched."""


@dataclass(frozen=True, slots=True)
class Rule:
    allows: bool
    pattern: str


async def robots_of(origin: str, read: Reads) -> str:
    """The text of its robots.txt; empty where there is none, which allows everything. Raises NotAsked."""
    try:
        found = await read(f"{origin}/robots.txt", max_bytes=MAX_BYTES)
    except NotFetched as error:
        if error.fault is Fault.TOO_BIG:
            raise NotAsked(origin, "its robots.txt is too long to be read.") from None
        raise NotAsked(origin, str(error), for_models=error.for_models) from None
    if 400 <= found.status < 500:
        return ""
    if found.status >= 300:
        raise NotAsked(origin, f"it answered {found.status} for its robots.txt.")
    return found.body.decode("utf-8", errors="replace")


def may_read(text: str, path: str) -> bool:
    """Whether `path` (with its query) may be read: the longest rule that fits decides, and of two as long the one that
    allows. The group that names us counts, else that for all."""
    rules = _rules_for_us(text)
    asked = _as_sent(path)
    fitting = [rule for rule in rules if _fits(rule.pattern, asked)]
    if not fitting or path == "/robots.txt":
        return True
    return max(fitting, key=lambda rule: (len(rule.pattern), rule.allows)).allows


def _rules_for_us(text: str) -> list[Rule]:
    """Groups that name neither us nor all are passed over: a text may name very many programs before very many rules,
    and to keep each rule for each of them took minutes and gigabytes."""
    groups: dict[str, list[Rule]] = {}
    names: frozenset[str] = frozenset()
    in_rules = False
    for line in text.removeprefix("\ufeff").splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            named = {value.lower()} & {_NAME, _ALL}
            names = frozenset(named) if in_rules else names | named
            in_rules = False
            for name in named:
                groups.setdefault(name, [])
        elif key in ("allow", "disallow"):
            in_rules = True
            if value:
                for name in names:
                    groups[name].append(Rule(key == "allow", _as_sent(value)))
    return groups[_NAME] if _NAME in groups else groups.get(_ALL, [])


def _as_sent(path: str) -> str:
    """In the one way in which paths are compared: letters beyond ASCII escaped, those that need it not as they are."""
    escaped = path if path.isascii() else "".join(one if one.isascii() else quote(one) for one in path)
    return _ESCAPED.sub(_plain, escaped)


def _plain(escaped: re.Match[str]) -> str:
    meant = chr(int(escaped[1], 16))
    return meant if meant in _UNRESERVED else escaped[0].upper()


def _fits(pattern: str, path: str) -> bool:
    """`*` stands for anything, `$` at the end for the end. Walks along the path once: no pattern takes for ever."""
    ends = pattern.endswith("$")
    first, *rest = re.sub(r"\*+", "*", pattern.removesuffix("$")).split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    if not rest:
        return not ends or place == len(path)
    for part in rest[:-1]:
        found = path.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    last = rest[-1]
    if ends:
        return path.endswith(last) and len(path) - len(last) >= place
    return path.find(last, place) >= 0
