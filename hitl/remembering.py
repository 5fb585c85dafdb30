"""What a person asks to be remembered, read and checked as they sent it. Pure; what becomes of it: `hitl.rules`."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from django.utils.translation import gettext as _

from hitl.conditions import Condition, Preapproved, Remember, domain_key, domain_of, is_number
from hitl.globs import tokens_of
from hitl.kinds import ONCE, Op, RuleScope
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import Refused
from hyperagent.lib.text import clean_text

MAX_CONDITIONS: Final = 10
MAX_CHOICES: Final = 100
MAX_PATH_CHARS: Final = 200
MAX_VALUE_CHARS: Final = 2_000
MAX_PATTERN_CHARS: Final = 200
MAX_USES: Final = 1_000_000
MAX_AHEAD: Final = timedelta(days=3660)
MAX_PREAPPROVED: Final = 20
FIELD: Final = "remember"

Faults = dict[str, list[str]]


class Unfit(Exception):
    """A part that cannot be used; the text says why and what could."""


def remember_from(value: Any, *, now: datetime) -> Remember:
    """Raises Refused with every fault under its place, such as `remember.conditions.0.value`."""
    faults: Faults = {}
    if not isinstance(value, Mapping):
        raise Refused.at(FIELD, _('Send an object: {"scope": "run", "conditions": [], "until": null, "uses": null}.'))
    for name in sorted(set(map(str, value)) - {"scope", "conditions", "until", "uses", "text"}):
        faults[f"{FIELD}.{name[:40]}"] = [_("There is no such field. Use scope, conditions, until, uses, text.")]
    scope = _part(faults, f"{FIELD}.scope", partial(_word, RuleScope), value.get("scope"))
    conditions = _conditions(faults, f"{FIELD}.conditions", value.get("conditions"))
    until = _part(faults, f"{FIELD}.until", partial(_until, now), value.get("until"))
    uses = _part(faults, f"{FIELD}.uses", _uses, value.get("uses"))
    words = _part(faults, f"{FIELD}.text", _words, value.get("text"))
    if faults:
        raise Refused.of(faults)
    return Remember(scope=scope, conditions=conditions, until=until, uses=uses, words=words)


def rule_from(value: Any, *, now: datetime) -> Remember | None:
    """None for `{"scope": "once"}`, which makes no rule and so has no other part. Raises Refused."""
    if not isinstance(value, Mapping) or value.get("scope") != ONCE:
        return remember_from(value, now=now)
    parts = [str(name)[:40] for name, part in value.items() if name != "scope" and part not in (None, "", [])]
    if parts:
        raise Refused.of({f"{FIELD}.{name}": [_("'once' makes no rule. Leave this out.")] for name in sorted(parts)})
    return None


def preapproved_from(value: Any, *, field: str = "preapproved") -> tuple[Preapproved, ...]:
    """`[{"tool", "conditions": [{"path", "op", "value"}, …]}, …]`: each tool with one condition at least, so that
    nothing is allowed without saying towards whom or what. Raises Refused, naming every fault.
    """
    faults: Faults = {}
    if not isinstance(value, list | tuple) or len(value) > MAX_PREAPPROVED:
        words = _('Send a list of at most {limit} objects {{"tool", "conditions"}}.').format(limit=MAX_PREAPPROVED)
        raise Refused.at(field, words)
    found = []
    for number, one in enumerate(value):
        place = f"{field}.{number}"
        tool = one.get("tool") if isinstance(one, Mapping) else None
        if not isinstance(tool, str) or not 0 < len(tool) <= 120:
            faults[f"{place}.tool"] = [_("Name the tool.")]
            continue
        conditions = _conditions(faults, f"{place}.conditions", one.get("conditions"))
        if not one.get("conditions"):
            faults[f"{place}.conditions"] = [_('Say for which calls: [{"path": "to", "op": "domain", "value": "…"}].')]
        found.append(Preapproved(clean_text(tool), conditions))
    if faults:
        raise Refused.of(faults)
    return tuple(found)


def _part(faults: Faults, place: str, read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except Unfit as unfit:
        faults[place] = [str(unfit)]
        return None


def _word(words: Any, value: Any) -> Any:
    if isinstance(value, str) and value in set(words):
        return words(value)
    raise Unfit(_("'{value}' is not known. Use one of: {names}.").format(value=str(value)[:40], names=", ".join(words)))


def _until(now: datetime, value: Any) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        until = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        until = None
    if not isinstance(until, datetime) or until.tzinfo is None:
        raise Unfit(_("Write a time with its zone, such as 2026-12-01T00:00:00Z."))
    try:
        until = until.astimezone(UTC)
    except OverflowError:
        raise Unfit(_("This is no time that can be kept.")) from None
    if not now < until <= now + MAX_AHEAD:
        raise Unfit(_("Choose a time that is still to come, within ten years, or leave it out: then there is no end."))
    return until


def _uses(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_USES:
        raise Unfit(
            _("Give a whole number from 1 to {limit}, or leave it out: then there is no limit.").format(
                limit=grouped(MAX_USES)
            )
        )
    return value


def _words(value: Any) -> str:
    if value is None or isinstance(value, str):
        return clean_text(value or "")
    raise Unfit(_("This is the rule in words, as it was shown. Leave it out if it was not."))


def _conditions(faults: Faults, place: str, value: Any) -> tuple[Condition, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MAX_CONDITIONS:
        faults[place] = [
            _('Send a list of at most {limit} objects {{"path", "op", "value"}}.').format(limit=MAX_CONDITIONS)
        ]
        return ()
    found = []
    for number, one in enumerate(value):
        at = f"{place}.{number}"
        if not isinstance(one, Mapping) or set(one) != {"path", "op", "value"}:
            faults[at] = [_('A condition is {"path": "to", "op": "domain", "value": "example.org"}.')]
            continue
        path = _part(faults, f"{at}.path", _path, one["path"])
        op = _part(faults, f"{at}.op", partial(_word, Op), one["op"])
        if op is not None:
            compared = _part(faults, f"{at}.value", _VALUES[op], one["value"])
            found.append(Condition(path or "", op, compared))
    return tuple(found)


def _path(value: Any) -> str:
    if isinstance(value, str) and len(value) <= MAX_PATH_CHARS and value.strip() and all(value.split(".")):
        return clean_text(value)
    raise Unfit(_("Name an argument of the tool, such as to, or options.folder for what is within one."))


def _scalar(value: Any) -> Any:
    if isinstance(value, bool) or _is_plain_number(value):
        return value
    if isinstance(value, str) and len(value) <= MAX_VALUE_CHARS:
        return clean_text(value)
    raise Unfit(
        _("Give a text of at most {limit} characters, a number, or true or false.").format(
            limit=grouped(MAX_VALUE_CHARS)
        )
    )


def _several(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MAX_CHOICES:
        raise Unfit(_("Give a list of one to {limit} values.").format(limit=MAX_CHOICES))
    return [_scalar(one) for one in value]


def _domain(value: Any) -> str:
    key = domain_key(value.strip().removeprefix("@").removesuffix(".")) if isinstance(value, str) else ""
    labels = key.split(".")
    if not key or len(key) > 253 or not all(labels) or "*" in key or domain_of(f"a@{key}") != key or "/" in key:
        raise Unfit(_("Give the part of the addresses behind the @, such as example.org. It stands for itself only."))
    return key


def _beginning(value: Any) -> str:
    text = _text(value, limit=MAX_VALUE_CHARS)
    return _whole_host(text, text)


def _pattern(value: Any) -> str:
    text = _text(value, limit=MAX_PATTERN_CHARS)
    if all(token in ("*", "**") for token in tokens_of(text)):
        raise Unfit(_("This fits everything. Leave the condition out."))
    wild = min((text.index(mark) for mark in "*?" if mark in text), default=len(text))
    return _whole_host(text, text[:wild])


def _text(value: Any, *, limit: int) -> str:
    if isinstance(value, str) and 0 < len(value) <= limit:
        return clean_text(value)
    raise Unfit(_("Give a text of one to {limit} characters.").format(limit=grouped(limit)))


def _whole_host(text: str, literal: str) -> str:
    """`https://example.org` would fit `https://example.org.evil.example` too."""
    scheme, between, rest = literal.partition("://")
    host, slash, _path = rest.partition("/")
    if "://" in text and not (scheme and between and slash and host and "@" not in host and "\\" not in host):
        raise Unfit(_("In an address write out the host and the slash after it, such as https://example.org/."))
    return text


def _number(value: Any) -> int | float:
    if _is_plain_number(value):
        number: int | float = value
        return number
    raise Unfit(_("Give a number, such as 100."))


def _is_plain_number(value: Any) -> bool:
    """Without those that JSON or a database cannot hold."""
    return is_number(value) and bool(abs(value) < 1e300)


_VALUES: Final[Mapping[Op, Callable[[Any], Any]]] = {
    Op.EQUALS: _scalar,
    Op.ONE_OF: _several,
    Op.DOMAIN: _domain,
    Op.STARTS_WITH: _beginning,
    Op.MATCHES: _pattern,
    Op.AT_MOST: _number,
}
