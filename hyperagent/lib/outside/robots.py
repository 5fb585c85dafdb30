"""What a site asks of programs that read it (RFC 9309), as pure rules on the text of its robots.txt."""

import re
from dataclasses import dataclass
from typing import Final

MAX_BYTES: Final = 512_000
_NAME: Final = "hyperagent"


@dataclass(frozen=True, slots=True)
class Rule:
    allows: bool
    pattern: str


def may_read(text: str, path: str) -> bool:
    """Whether `path` (with its query) may be read: the longest rule that fits decides, and of two as long the one that
    allows. The group that names us counts, else that for all."""
    rules = _rules_for_us(text)
    fitting = [rule for rule in rules if _fits(rule.pattern, path)]
    if not fitting or path == "/robots.txt":
        return True
    return max(fitting, key=lambda rule: (len(rule.pattern), rule.allows)).allows


def _rules_for_us(text: str) -> list[Rule]:
    groups: dict[str, list[Rule]] = {}
    names: list[str] = []
    in_rules = False
    for line in text.splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            names = [value.lower()] if in_rules else [*names, value.lower()]
            in_rules = False
            for name in names:
                groups.setdefault(name, [])
        elif key in ("allow", "disallow"):
            in_rules = True
            if value:
                for name in names:
                    groups[name].append(Rule(key == "allow", value))
    return groups[_NAME] if _NAME in groups else groups.get("*", [])


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
