"""One search over everything that a person has: asks each kind, and puts what they found into one order."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Final

from django.utils import timezone

from conversations.searching import full_text, others, words
from conversations.searching.indexing import index_of
from conversations.searching.values import MOST_AT_ONCE, MOST_PAGES, Asked, Kind, Result, Results, Within
from hyperagent.accounts.models import User
from hyperagent.lib.text import clean_text

_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER: Final = datetime(9000, 1, 1, tzinfo=UTC)
_BY_NAME: Final[dict[Kind, Callable[[Within], list[Result]]]] = {
    Kind.CONVERSATION: full_text.conversations,
    Kind.DOCUMENT: others.documents,
    Kind.FILE: others.files,
    Kind.MEMORY: others.memories,
    Kind.PROJECT: others.projects,
}


def find(user: User, asked: Asked) -> Results:
    """What this person may see, best first. Nothing for a query that has no word, or a single Latin letter."""
    sought = words.sought(clean_text(asked.query))
    if not words.says_something(sought):
        return Results()
    index_of(user)
    since, until = _period(asked)
    within = Within(user, asked.query, sought, since, until, now=timezone.now())
    hits = full_text.messages(within)
    found = {kind: look(within) for kind, look in _BY_NAME.items()}
    counts = {kind: len(hits.hits) if kind is Kind.MESSAGE else len(found[kind]) for kind in Kind}
    first, last = _slice(asked)
    if asked.kind is Kind.MESSAGE:
        # Their texts are read for what is shown, and no more.
        page, more = full_text.shown(user, hits.hits[first:last], sought), len(hits.hits) > last
    else:
        some = found[asked.kind] if asked.kind else _of_all(user, found, hits, sought, most=last + 1)
        ordered = sorted(some, key=lambda one: one.score, reverse=True)
        page, more = ordered[first:last], len(ordered) > last
    shown = tuple(_marked(one, sought) for one in page)
    return Results(shown, more, counts, hits.has_all_words)


def _of_all(
    user: User, found: dict[Kind, list[Result]], hits: full_text.Hits, sought: words.Sought, *, most: int
) -> list[Result]:
    named = {one.id for one in found[Kind.CONVERSATION]}
    messages = full_text.shown(user, full_text.few_of_each(hits.hits)[:most], sought)
    messages = [one for one in messages if not (one.is_the_title and one.conversation_id in named)]
    return [*messages, *(one for results in found.values() for one in results)]


def _slice(asked: Asked) -> tuple[int, int]:
    limit = min(max(asked.limit, 1), MOST_AT_ONCE)
    page = min(max(asked.page, 1), MOST_PAGES) if asked.kind else 1
    return (page - 1) * limit, page * limit


def _period(asked: Asked) -> tuple[datetime, datetime]:
    """Days are those of whoever reads the page; to programs, of UTC."""
    zone = timezone.get_current_timezone()
    since = datetime.combine(asked.since, time(), zone) if asked.since else _EVER
    if asked.until is None or asked.until >= _NEVER.date():
        # After the last day that a calendar has there is none.
        return since, _NEVER
    return since, datetime.combine(asked.until + timedelta(days=1), time(), zone)


def _marked(one: Result, sought: words.Sought) -> Result:
    return replace(one, title_pieces=tuple(words.marked(one.title, words.places(one.title, sought))))
