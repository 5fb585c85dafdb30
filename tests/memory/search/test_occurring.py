"""Before a question is searched for in the documents: whether its words stand anywhere that its asker may see."""

import asyncio
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import Group

from agents.pipeline.own_documents import _named
from agents.runtime.lookups import Lookups
from memory.kinds import Visibility
from memory.retrieval import occurring
from memory.retrieval.occurring import MOST_OF_OTHERS
from tests.memory.giving import given
from tests.runtime.driving import database_dsn

pytestmark = pytest.mark.django_db(transaction=True)
WARRANTY = "# Warranty\n\nThe warranty of the espresso machine lasts three years.\n\n## How often to clean?\n\nDaily.\n"


def words_found(user: Any, terms: Iterable[str]) -> set[str] | None:
    async def look() -> set[str] | None:
        async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
            return await occurring.occurring(connection, user.pk, terms)

    return asyncio.run(look())


def named(user: Any, question: str) -> str:
    async def look() -> str:
        async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
            return await _named(Lookups(lambda: _Lent(connection)), user.pk, question)

    return asyncio.run(look())


class _Lent:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def __aenter__(self) -> Any:
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        return None


def test_words_of_ones_own_text_and_of_its_name_are_found(alice: Any) -> None:
    given(alice, WARRANTY, filename="machine handbook.md")

    assert words_found(alice, ["warranti", "handbook", "unicorn"]) == {"warranti", "handbook"}


def test_words_of_others_are_found_as_far_as_they_are_shared(alice: Any, bob: Any, charlie: Any) -> None:
    group = Group.objects.create(name="Kitchen")
    alice.groups.add(group)
    bob.groups.add(group)
    given(alice, WARRANTY, groups=[group])
    given(alice, "The password of the safe is a flamingo.", filename="safe.md")

    assert words_found(bob, ["warranti", "flamingo"]) == {"warranti"}
    assert words_found(charlie, ["warranti", "flamingo"]) == set()


def test_with_very_many_documents_of_others_it_says_that_it_has_not_looked(
    alice: Any, bob: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(occurring, "MOST_OF_OTHERS", 1)
    for number in range(2):
        given(alice, f"{WARRANTY}{number}", filename=f"{number}.md", visibility=Visibility.EVERYONE)

    assert MOST_OF_OTHERS > 1
    assert words_found(bob, ["unicorn"]) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("How long is the warranty of the espresso machine?", "handbook.md"),
        ("Which warranties do espresso machines have?", "handbook.md"),
        ("How long is the warranty?", ""),
        ("How often is it cleaned?", "handbook.md"),
        ("How long is the warranty of my car?", ""),
        ("Tell me about espresso", ""),
        ("Write a limerick about an espresso", ""),
        ("Hello!", ""),
        ("?", ""),
    ],
)
def test_a_question_goes_to_the_documents_only_if_one_speaks_of_it(question: str, document: str, alice: Any) -> None:
    given(alice, WARRANTY, filename="handbook.md")

    assert named(alice, question) == document
