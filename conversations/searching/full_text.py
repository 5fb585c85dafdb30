"""Conversations by their titles, and messages by their words: SQL over what one person said and was answered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log2
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from conversations.models import Conversation, Message, Role
from conversations.searching import words
from conversations.searching.folded import having
from conversations.searching.values import Kind, Result, Within, freshness
from conversations.searching.words import Sought
from conversations.shapes import text_of
from hyperagent.accounts.models import User
from hyperagent.lib.text import title_from

MOST_MESSAGES: Final = 1_000
"""The newest of those that match; beyond them more words help more than more pages."""
MOST_OF_A_WORD: Final = 300
MOST_TITLES: Final = 500
OF_ONE_CONVERSATION: Final = 3
Row = tuple[UUID, UUID, datetime]
"""A message, its conversation, and when it was said."""
_WHOLE_WORDS: Final = 1.0
_BEGINNINGS: Final = 0.75
_SOME_WORDS: Final = 0.4
_TITLE: Final = 1.2

_HITS: Final = """
    SELECT w.message_id, w.conversation_id, w.said_at
      FROM conversations_messagewords w
     WHERE w.user_id = %(user)s AND w.words @@ %(words)s::tsquery
       AND w.said_at >= %(since)s AND w.said_at < %(until)s
     ORDER BY w.said_at DESC, w.message_id LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Hit:
    message_id: UUID
    conversation_id: UUID
    said_at: datetime
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """Best first. `has_all_words`: false where none had, and these have some."""

    hits: tuple[Hit, ...] = ()
    has_all_words: bool = True


def messages(within: Within) -> Hits:
    """A few statements, each on this person's stretch of the index."""
    user, sought, now = within.user, within.sought, within.now
    if not sought.words:
        return Hits()
    with transaction.atomic(), connection.cursor() as cursor:
        # There is no other way to these rows than their words; what the planner guesses of them is of no use.
        cursor.execute("SET LOCAL enable_seqscan = off")

        def found(query: str, limit: int) -> list[Row]:
            period = {"since": within.since, "until": within.until}
            cursor.execute(_HITS, {"user": user.pk, "words": query, "limit": limit, **period})
            return list(cursor.fetchall())

        as_written = found(words.whole(sought, user.pk), MOST_MESSAGES)
        if len(as_written) == MOST_MESSAGES:
            return Hits(_ranked(as_written, dict.fromkeys((row[0] for row in as_written), _WHOLE_WORDS), now))
        rows = found(words.all_of(sought, user.pk), MOST_MESSAGES)
        if not rows and len(sought.words) > 1:
            by_word = [found(query, MOST_OF_A_WORD) for query in words.each_of(sought, user.pk)]
            return Hits(_with_some(by_word, now), has_all_words=False)
    together = {row[0]: row for row in [*rows, *as_written]}
    shares = dict.fromkeys(together, _BEGINNINGS) | dict.fromkeys((row[0] for row in as_written), _WHOLE_WORDS)
    return Hits(_ranked(together.values(), shares, now))


def _with_some(by_word: Sequence[Sequence[Row]], now: datetime) -> tuple[Hit, ...]:
    """A message counts by the words that it has, and a word by how few messages have it."""
    weights = [1 / log2(2 + len(rows)) if rows else 0.0 for rows in by_word]
    shares: dict[UUID, float] = {}
    for weight, rows in zip(weights, by_word, strict=True):
        for row in rows:
            shares[row[0]] = shares.get(row[0], 0.0) + _SOME_WORDS * weight / sum(weights)
    return _ranked({row[0]: row for rows in by_word for row in rows}.values(), shares, now)


def _ranked(rows: Iterable[Row], shares: Mapping[UUID, float], now: datetime) -> tuple[Hit, ...]:
    hits = [Hit(id_, conversation, at, shares[id_] * freshness(at, now)) for id_, conversation, at in rows]
    return tuple(sorted(hits, key=lambda hit: hit.score, reverse=True))


def few_of_each(hits: Sequence[Hit]) -> list[Hit]:
    """Not more than some of one conversation, so that a long one hides no other."""
    counted: dict[UUID, int] = {}
    kept = []
    for hit in hits:
        counted[hit.conversation_id] = counted.get(hit.conversation_id, 0) + 1
        if counted[hit.conversation_id] <= OF_ONE_CONVERSATION:
            kept.append(hit)
    return kept


def shown(user: User, hits: Sequence[Hit], sought: Sought) -> list[Result]:
    """With their texts, as far as they are this person's and still there. One query."""
    rows = Message.objects.select_related("conversation", "execution").filter(
        pk__in=[hit.message_id for hit in hits],
        conversation__user=user,
        conversation__deleted_at=None,
        conversation__is_temporary=False,
    )
    fields = ("role", "text", "created_at", "conversation__title", "execution__answer")
    found = {message.pk: message for message in rows.only(*fields)}
    return [_result(found[hit.message_id], hit, sought) for hit in hits if hit.message_id in found]


def _result(message: Message, hit: Hit, sought: Sought) -> Result:
    text, title = text_of(message), message.conversation.title
    return Result(
        kind=Kind.MESSAGE,
        id=message.pk,
        title=title,
        excerpt=tuple(words.excerpt(words.plain(text), sought)),
        url=f"/c/{message.conversation_id}/#m-{message.pk}",
        at=message.created_at,
        score=hit.score,
        role=message.role,
        conversation_id=message.conversation_id,
        is_the_title=message.role == Role.USER and title_from(text) == title,
    )


def conversations(within: Within) -> list[Result]:
    """By title, the latest first. One query, which reads through this person's titles."""
    rows = Conversation.objects.of(within.user).filter(
        is_temporary=False, updated_at__gte=within.since, updated_at__lt=within.until
    )
    found = having(rows, ["title"], within.sought.said).order_by("-updated_at", "-id")[:MOST_TITLES]
    return [
        Result(
            kind=Kind.CONVERSATION,
            id=id_,
            title=title,
            excerpt=(),
            url=f"/c/{id_}/",
            at=at,
            score=_TITLE * within.fresh(at),
            conversation_id=id_,
        )
        for id_, title, at in found.values_list("id", "title", "updated_at")
    ]
