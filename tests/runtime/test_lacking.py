"""What a person has none of, as a claim finds it; and that who has anything is never said to have none."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.contrib.auth.models import Group

from agents import actions
from agents.mcp.models import McpServer
from agents.pipeline.recall import Recollection, _recalled
from agents.runtime import leases
from agents.runtime.lacking import HOLDS_S, Lack, Lacks
from agents.runtime.lookups import Lookups
from memory.kinds import Visibility
from memory.models import MemorySwitch, Project
from tests.memory.giving import uploaded
from tests.memory.remembering.knowing import known
from tests.runtime.driving import database_dsn

pytestmark = pytest.mark.django_db(transaction=True)
EVERYTHING = {Lack.SERVERS, Lack.MEMORIES, Lack.DOCUMENTS}


def lacked_by(user: Any) -> set[str]:
    """As the claim of a run of theirs says."""
    run = actions.start(user=user, conversation_id=None, question="q")

    async def claimed() -> dict[UUID, set[str]]:
        async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as connection:
            claims = await leases.claim(connection, runner="r", limit=9, lease_s=60, suspects=False)
            return {claim.id: set(claim.lacks) for claim in claims}

    return asyncio.run(claimed())[run.id]


def serve(owner: Any) -> None:
    McpServer.objects.create(owner=owner, name="Weather", kind="http", url="https://example.org/mcp", enabled=True)


def share_with_a_group(bob: Any, alice: Any) -> None:
    group = Group.objects.create(name="Kitchen")
    bob.groups.add(group)
    alice.groups.add(group)
    uploaded(bob, "A handbook.", groups=[group])


def share_in_a_project(bob: Any, alice: Any) -> None:
    project = Project.objects.create(owner=bob, name="Kitchen")
    project.members.add(bob, alice)
    project.documents.add(uploaded(bob, "A handbook."))


HAVING: dict[str, tuple[Callable[[Any, Any], object], Lack]] = {
    "a server": (lambda alice, bob: serve(alice), Lack.SERVERS),
    "a server for all": (lambda alice, bob: serve(None), Lack.SERVERS),
    "a memory": (lambda alice, bob: known(alice, "She likes tea."), Lack.MEMORIES),
    "is not remembered": (lambda alice, bob: MemorySwitch.objects.create(user=alice, is_on=False), Lack.MEMORIES),
    "a document": (lambda alice, bob: uploaded(alice, "A handbook."), Lack.DOCUMENTS),
    "one for all": (lambda alice, bob: uploaded(bob, "A book.", visibility=Visibility.EVERYONE), Lack.DOCUMENTS),
    "one of a group": (lambda alice, bob: share_with_a_group(bob, alice), Lack.DOCUMENTS),
    "one of a project": (lambda alice, bob: share_in_a_project(bob, alice), Lack.DOCUMENTS),
}


@pytest.mark.parametrize("name", HAVING)
def test_who_has_something_does_not_lack_it(alice: Any, bob: Any, name: str) -> None:
    have, lack = HAVING[name]

    have(alice, bob)

    assert lacked_by(alice) == EVERYTHING - {lack}


def test_what_others_have_for_themselves_one_lacks(alice: Any, bob: Any) -> None:
    serve(bob)
    known(bob, "He likes coffee.")
    MemorySwitch.objects.create(user=bob, is_on=True)
    uploaded(bob, "A handbook.")

    assert lacked_by(alice) == EVERYTHING


def test_soon_after_the_claim_it_is_looked_up_again() -> None:
    now_s = 100.0
    lacks = Lacks([Lack.SERVERS], clock=lambda: now_s)

    assert [lack in lacks for lack in Lack] == [True, False, False]
    now_s += HOLDS_S

    assert Lack.SERVERS not in lacks


def test_who_has_no_memories_is_remembered_all_the_same() -> None:
    def lend() -> Any:
        raise AssertionError("nothing is looked up")

    lookups = Lookups(lend, Lacks([Lack.MEMORIES]))

    assert asyncio.run(_recalled(lookups, UUID(int=1), "Who am I?")) == Recollection(is_on=True)
