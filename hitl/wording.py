"""A standing rule in words: exactly what it does, as it is shown before it is saved and kept with it. Pure."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, assert_never

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext, pgettext

from hitl.conditions import Condition
from hitl.kinds import Op, RuleEffect, RuleScope
from hyperagent.lib.languages import LANGUAGES, grouped, speaking
from hyperagent.lib.tool_labels import quoted_tool


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule that is to be made. `agent_name`: empty for whichever agent calls. `exception`: what is to be said where
    it covers what rules otherwise do not.
    """

    effect: RuleEffect
    scope: RuleScope
    tool: str
    agent_name: str
    arguments: Mapping[str, Any]
    conditions: Sequence[Condition] = ()
    until: datetime | None = None
    uses: int | None = None
    exception: str | Promise = ""


def words_of(draft: Draft) -> str:
    """In the language of who reads it. Every argument that no condition names is said to be free: nobody is to find
    that out later."""
    parts = [" ".join(filter(None, (_deed(draft), _joined_by_and(_fitting(draft))))), _reach(draft)]
    if draft.until is not None:
        parts.append(_("until {when}").format(when=moment(draft.until)))
    if draft.uses is not None:
        parts.append(_times(draft.uses))
    return " ".join(filter(None, (f"{', '.join(parts)}.", _free(draft), str(draft.exception))))


def in_each_language(draft: Draft) -> frozenset[str]:
    """The same words as each of our readers may have been shown them."""
    found = set()
    for code in LANGUAGES:
        with speaking(code):
            found.add(words_of(draft))
    return frozenset(found)


def moment(time: datetime) -> str:
    written = formats.date_format(time.astimezone(UTC), pgettext("format of a time", "j M Y, H:i"))
    return f"{written} UTC"


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
    return _("“{text}”").format(text=visible(value))


def _deed(draft: Draft) -> str:
    if not draft.agent_name:
        allows = draft.effect is RuleEffect.ALLOW
        words = _("Always allow {tool} by any agent") if allows else _("Always deny {tool} by any agent")
        return words.format(tool=quoted_tool(draft.tool))
    words = (
        _("Always allow {tool} by the {agent} agent")
        if draft.effect is RuleEffect.ALLOW
        else _("Always deny {tool} by the {agent} agent")
    )
    return words.format(tool=quoted_tool(draft.tool), agent=draft.agent_name)


def _reach(draft: Draft) -> str:
    match draft.scope:
        case RuleScope.RUN:
            return _("in this run")
        case RuleScope.CONVERSATION:
            return _("in this conversation")
        case RuleScope.RULE:
            return _("in every run of yours")
        case _:
            assert_never(draft.scope)


def _times(uses: int) -> str:
    if uses == 1:
        return pgettext("how often", "once")
    return ngettext("at most {count} time", "at most {count} times", uses).format(count=grouped(uses))


def _fitting(draft: Draft) -> list[str]:
    phrase = _allowed if draft.effect is RuleEffect.ALLOW else _denied
    return [phrase(condition) for condition in draft.conditions]


# By the operator: what follows "always allow" and the tool.
_ALLOWED: Final[Mapping[Op, str]] = {
    Op.EQUALS: gettext_noop("with {path} exactly {value}"),
    Op.ONE_OF: gettext_noop("with {path} only {value}"),
    Op.DOMAIN: gettext_noop("with {path} at {value} only"),
    Op.STARTS_WITH: gettext_noop("with {path} beginning with {value}"),
    Op.MATCHES: gettext_noop("with {path} like {value} (* is anything without a slash, ** anything, ? one character)"),
    Op.AT_MOST: gettext_noop("with {path} at most {value}"),
}
# The same for what denies: in capitals or small letters; of a list, one item is enough.
_DENIED: Final[Mapping[Op, str]] = {
    Op.EQUALS: gettext_noop("if any {path} is {value}"),
    Op.ONE_OF: gettext_noop("if any {path} is {value}"),
    Op.DOMAIN: gettext_noop("if any {path} is at {value}"),
    Op.STARTS_WITH: gettext_noop("if any {path} begins with {value}"),
    Op.MATCHES: gettext_noop(
        "if any {path} is like {value} (* is anything without a slash, ** anything, ? one character)"
    ),
    Op.AT_MOST: gettext_noop("if any {path} is at most {value}"),
}


def _allowed(condition: Condition) -> str:
    if condition.op is Op.DOMAIN and condition.path == "to":
        return _("to addresses at {domain} only").format(domain=condition.value)
    return _said(_ALLOWED[condition.op], condition)


def _denied(condition: Condition) -> str:
    return _said(_DENIED[condition.op], condition)


def _said(words: str, condition: Condition) -> str:
    return _(words).format(path=visible(condition.path), value=_compared(condition))


def _compared(condition: Condition) -> str:
    match condition.op:
        case Op.EQUALS | Op.STARTS_WITH | Op.MATCHES:
            return quoted(condition.value)
        case Op.ONE_OF:
            return _joined_by_or([quoted(one) for one in condition.value])
        case Op.DOMAIN | Op.AT_MOST:
            return str(condition.value)
        case _:
            assert_never(condition.op)


def _free(draft: Draft) -> str:
    paths = [condition.path for condition in draft.conditions]
    free = [name for name in draft.arguments if not any(path.partition(".")[0] == name for path in paths)]
    within = dict.fromkeys(
        path.partition(".")[0] for path in paths if "." in path and path.partition(".")[0] not in paths
    )
    names = [visible(name) for name in free]
    names += [_("the rest of {name}").format(name=visible(name)) for name in within]
    if not names:
        return ""
    if draft.effect is RuleEffect.ALLOW:
        return _("Its {names} may be anything.").format(names=_joined_by_and(names))
    words = ngettext("Whatever its {names} is.", "Whatever its {names} are.", len(names))
    return words.format(names=_joined_by_and(names))


def _joined_by_and(items: Sequence[str]) -> str:
    return _listed(items, _("{items} and {last}"))


def _joined_by_or(items: Sequence[str]) -> str:
    return _listed(items, _("{items} or {last}"))


def _listed(items: Sequence[str], words: str) -> str:
    if len(items) < 2:
        return "".join(items)
    return words.format(items=", ".join(items[:-1]), last=items[-1])
