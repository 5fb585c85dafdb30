"""How values look on admin pages: moments, states, long texts, JSON, small tables. All of it is escaped here; what a
value means is not known here.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from hyperagent.lib import labels, languages
from hyperagent.lib.clipping import one_line

EMPTY = "—"
# What is longer is folded away, and nothing longer than this is sent at all.
FOLDED_FROM_CHARS = 400
FOLDED_FROM_LINES = 12
MOST_CHARS = 20_000
_PREVIEW_CHARS = 120

# Which mark a word has, of every table: one glance tells what went wrong, what waits and what is done.
_TONES = {
    "bad": ("failed", "denied", "refused", "lost", "given_up", "needs_sign_in", "high", "irreversible"),
    "warn": ("in_doubt", "timed_out", "expired", "quarantined", "medium", "changed"),
    "wait": ("pending", "awaiting_user", "queued", "waiting", "new", "started", "snoozed", "reminded"),
    "going": ("running", "reading", "embedding", "open"),
    "good": ("completed", "finished", "approved", "answered", "ready", "delivered", "connected", "ok", "on", "allow"),
}
TONE_OF = {word: tone for tone, words in _TONES.items() for word in words}


def state(word: object, more: str = "", *, called: object = "") -> SafeString | str:
    """A word with its mark, and what else is to be said of it. The word says it too: nothing depends on the colour.
    `called`: what it is called, where that is not the word itself."""
    text = str(word or "")
    if not text:
        return EMPTY
    told = f"{called or labels.said(text)}{more}"
    return format_html('<span class="state state-{}">{}</span>', TONE_OF.get(text, "plain"), told)


def ago(moment: datetime | None) -> SafeString | str:
    """How long ago, with the moment itself for whoever points at it."""
    if moment is None:
        return EMPTY
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exactly(moment), _relative(moment)
    )


def moment(at: datetime | None) -> SafeString | str:
    """The moment itself, and how long ago: where there is room for both."""
    if at is None:
        return EMPTY
    return format_html(
        '<time datetime="{}">{}</time> <span class="quiet">{}</span>', at.isoformat(), exactly(at), _relative(at)
    )


def exactly(at: datetime) -> str:
    return str(date_format(timezone.localtime(at), _("Y-m-d H:i:s T")))


def _relative(at: datetime) -> str:
    now = timezone.now()
    passed = (now - at).total_seconds()
    if abs(passed) < 60:
        return _("just now")
    if passed < 0:
        return _("in {time}").format(time=timesince(now, at, depth=1))
    return _("{time} ago").format(time=timesince(at, now, depth=1))


def end_of_id(id_: object) -> str:
    """What tells rows apart: ids that are ordered by time begin alike."""
    return str(id_)[-8:]


def short_id(id_: object) -> SafeString | str:
    """The end of an id; all of it for whoever points at it."""
    return format_html('<span class="id" title="{}">{}</span>', id_, end_of_id(id_)) if id_ else EMPTY


def dollars(usd: Decimal | None) -> str:
    """As the rest of the site writes it."""
    return EMPTY if usd is None else languages.dollars(usd)


def waited(since: datetime, now: datetime | None = None) -> str:
    """How long something waits by now, in one word and its number."""
    now = now or timezone.now()
    return timesince(since, now, depth=1) if now - since >= timedelta(minutes=1) else _("under a minute")


def long_text(text: object) -> SafeString | str:
    """As it was written. Long ones begin folded; of very long ones the end is left out, and that is said."""
    return _shown(str(text), "") if text not in (None, "") else EMPTY


def as_json(value: Any) -> SafeString | str:
    if value is None:
        return EMPTY
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except (ValueError, RecursionError):
        return _("(nested too deeply to be shown)")
    return _shown(text, "json")


def _shown(text: str, kind: str) -> SafeString:
    kept = text[:MOST_CHARS]
    left = len(text) - len(kept)
    told = _("{count} more characters are not shown.").format(count=languages.grouped(left)) if left else ""
    more = format_html('<p class="quiet">{}</p>', told) if told else ""
    written = format_html('<pre class="text {}">{}</pre>{}', kind, kept, more)
    if len(text) <= FOLDED_FROM_CHARS and text.count("\n") < FOLDED_FROM_LINES:
        return written
    first = one_line(text[: 2 * _PREVIEW_CHARS])[:_PREVIEW_CHARS]
    size = _("{count} characters").format(count=languages.grouped(len(text)))
    return format_html(
        '<details class="fold"><summary><span class="fold-first">{}…</span> <span class="quiet">{}</span></summary>'
        "{}</details>",
        first,
        size,
        written,
    )


def table(headings: Sequence[object], rows: list[tuple[Any, ...]], more: SafeString | str = "") -> SafeString:
    """A small table; every cell is escaped."""
    head = format_html_join("", '<th scope="col">{}</th>', ((heading,) for heading in headings))
    cells = (format_html_join("", "<td>{}</td>", ((cell,) for cell in row)) for row in rows)
    body = format_html_join("", "<tr>{}</tr>", ((row,) for row in cells))
    return format_html(
        '<div class="inner-table"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>{}', head, body, more
    )
