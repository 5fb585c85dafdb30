"""A standing rule in words: exactly what it does, as it is shown before it is saved and kept with it. Pure."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, assert_never

from hitl.conditions import Condition
from hitl.kinds import Op, RuleEffect, RuleScope

# Written out: names of months depend on where a process runs.
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule that is to be made. `exception`: what is to be said where it covers what rules otherwise do not."""

    effect: RuleEffect
    scope: RuleScope
    tool: str
    agent_name: str
    arguments: Mapping[str, Any]
    conditions: Sequence[Condition] = ()
    until: datetime | None = None
    uses: int | None = None
    exception: str = ""


def words_of(draft: Draft) -> str:
    """Every argument that no condition names is said to be free: nobody is to find that out later."""
    allows = draft.effect is RuleEffect.ALLOW
    said = "Always allow" if allows else "Always deny"
    parts = [f"{said} {draft.tool} by the {draft.agent_name} agent {_joined(_fitting(draft), 'and')}".rstrip()]
    parts.append(_reach(draft))
    if draft.until is not None:
        parts.append(f"until {moment(draft.until)}")
    if draft.uses is not None:
        parts.append("once" if draft.uses == 1 else f"at most {draft.uses:,} times")
    return " ".join(filter(None, (f"{', '.join(parts)}.", _free(draft), draft.exception)))


def moment(time: datetime) -> str:
    time = time.astimezone(UTC)
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}, {time:%H:%M} UTC"


def visible(text: str) -> str:
    """Marks that cannot be seen, or that turn the direction of reading, are written out."""
    return "".join(
        f"\\u{ord(letter):04x}" if unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp") else letter
        for letter in text
    )


def quoted(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    return f"“{visible(value)}”"


def _reach(draft: Draft) -> str:
    match draft.scope:
        case RuleScope.RUN:
            return "in this run"
        case RuleScope.CONVERSATION:
            return "in this conversation"
        case RuleScope.RULE:
            return "in every run of yours"
        case _:
            assert_never(draft.scope)


def _fitting(draft: Draft) -> Iterable[str]:
    phrase = _allowed if draft.effect is RuleEffect.ALLOW else _denied
    return [phrase(condition) for condition in draft.conditions]


def _allowed(condition: Condition) -> str:
    path, value = visible(condition.path), condition.value
    match condition.op:
        case Op.EQUALS:
            return f"with {path} exactly {quoted(value)}"
        case Op.ONE_OF:
            return f"with {path} only {_joined(map(quoted, value), 'or')}"
        case Op.DOMAIN:
            return f"to addresses at {value} only" if path == "to" else f"with {path} at {value} only"
        case Op.STARTS_WITH:
            return f"with {path} beginning with {quoted(value)}"
        case Op.MATCHES:
            return f"with {path} like {quoted(value)} ({_WILDCARDS})"
        case Op.AT_MOST:
            return f"with {path} at most {value}"
        case _:
            assert_never(condition.op)


def _denied(condition: Condition) -> str:
    """In capitals or small letters; of a list, one item is enough."""
    path, value = visible(condition.path), condition.value
    match condition.op:
        case Op.EQUALS:
            return f"if any {path} is {quoted(value)}"
        case Op.ONE_OF:
            return f"if any {path} is {_joined(map(quoted, value), 'or')}"
        case Op.DOMAIN:
            return f"if any {path} is at {value}"
        case Op.STARTS_WITH:
            return f"if any {path} begins with {quoted(value)}"
        case Op.MATCHES:
            return f"if any {path} is like {quoted(value)} ({_WILDCARDS})"
        case Op.AT_MOST:
            return f"if any {path} is at most {value}"
        case _:
            assert_never(condition.op)


_WILDCARDS: Final = "* is anything without a slash, ** anything, ? one character"


def _free(draft: Draft) -> str:
    paths = [condition.path for condition in draft.conditions]
    free = [name for name in draft.arguments if not any(path.partition(".")[0] == name for path in paths)]
    within = dict.fromkeys(
        path.partition(".")[0] for path in paths if "." in path and path.partition(".")[0] not in paths
    )
    names = [*(visible(name) for name in free), *(f"the rest of {visible(name)}" for name in within)]
    if not names:
        return ""
    if draft.effect is RuleEffect.ALLOW:
        return f"Its {_joined(names, 'and')} may be anything."
    return f"Whatever its {_joined(names, 'and')} {'is' if len(names) == 1 else 'are'}."


def _joined(items: Iterable[str], last: str) -> str:
    some = list(items)
    return f" {last} ".join(filter(None, (", ".join(some[:-1]), some[-1]))) if some else ""
