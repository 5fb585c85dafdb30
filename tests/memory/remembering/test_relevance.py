"""Which memories a run is told: what fits, what is pinned, how the person wants things; bounded."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from memory.kinds import MemoryKind, ProfileField
from memory.remembering.relevance import CHARS, FITTING, Candidate, chosen, ranked

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def one(text: str, **more: Any) -> Candidate:
    age = timedelta(days=more.pop("days", 10))
    values = {"kind": MemoryKind.FACT, "field": None, "is_pinned": False, "said_at": NOW - age}
    return Candidate(uuid.uuid4(), text=text, **(values | more))


def told(*candidates: Candidate) -> dict[str, str]:
    return {found.text: found.why for found in chosen(candidates, now=NOW)}


def test_what_shares_words_with_the_question_is_told_and_the_rest_is_not() -> None:
    assert told(one("fits", words=4.0), one("does not")) == {"fits": "It fits your question."}


def test_a_memory_that_is_close_in_meaning_is_told_without_a_shared_word() -> None:
    assert list(told(one("close", closeness=0.6), one("far", closeness=0.1))) == ["close"]


def test_words_weigh_more_than_meaning() -> None:
    by_words, by_meaning = one("words", words=5.0, closeness=0.2), one("meaning", closeness=0.9)

    assert [candidate.text for candidate, _ in ranked([by_meaning, by_words], now=NOW)] == ["words", "meaning"]


def test_of_equals_the_newer_comes_first() -> None:
    old, new = one("old", words=3.0, days=400), one("new", words=3.0, days=1)

    assert [candidate.text for candidate, _ in ranked([old, new], now=NOW)] == ["new", "old"]


def test_pinned_memories_preferences_and_the_profile_are_always_told() -> None:
    found = told(
        one("Acme", field=ProfileField.COMPANY_NAME),
        one("pinned", is_pinned=True),
        one("metric units", kind=MemoryKind.PREFERENCE),
        one("something else"),
    )

    assert list(found) == ["Acme", "pinned", "metric units"]


def test_no_more_is_told_than_there_is_room_for() -> None:
    many = [one(f"memory {number}", words=9.0 - number / 10) for number in range(40)]
    long = [one("x" * (CHARS - 5), is_pinned=True), one("y" * 20, is_pinned=True, days=20), one("z" * 4, words=1.0)]

    assert len(told(*many)) == FITTING
    assert [len(text) for text in told(*long)] == [CHARS - 5, 4]
