"""What the page of memories says of one is in the reader's language, though it is stored in English."""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from memory.kinds import MemoryKind, MemoryStatus, ProfileField
from memory.models import MemoryUse
from memory.remembering.orders import _COMPILED, reads_like_an_order
from memory.remembering.relevance import Candidate, chosen
from memory.remembering.storing_rules import decide
from memory.remembering.values import Finding, Known
from tests.memory.remembering.knowing import known

NOW = datetime(2026, 11, 28, tzinfo=UTC)
NAME = ProfileField.USER_NAME


def why_it_waits() -> set[str]:
    of_owner = [
        decide(
            Finding(MemoryKind.FACT, "Bob", NAME),
            [Known(uuid.uuid4(), MemoryKind.FACT, "Ann", NAME, is_pinned=is_pinned, is_corrected=True)],
        )
        for is_pinned in (True, False)
    ]
    hidden = reads_like_an_order("a\u200bb")
    return {why for why, _ in _COMPILED} | {decided.reason for decided in of_owner} | {hidden}  # type: ignore[union-attr]


def why_it_is_told() -> set[str]:
    some = [
        Candidate(uuid.uuid4(), kind, "x", field, is_pinned, NOW, words=1.0)
        for kind, field, is_pinned in (
            (MemoryKind.FACT, NAME, False),
            (MemoryKind.FACT, None, True),
            (MemoryKind.PREFERENCE, None, False),
            (MemoryKind.FACT, None, False),
        )
    ]
    return {one.why for one in chosen(some, now=NOW)}


@pytest.mark.django_db
@pytest.mark.spec("B18", "B29")
def test_why_a_memory_waits_or_was_told_is_said_in_the_readers_language(alice: Any, client: Client) -> None:
    waits, told = why_it_waits(), why_it_is_told()
    for reason in waits:
        known(alice, reason[::-1], status=MemoryStatus.QUARANTINED, reason=reason)
    for why in told:
        MemoryUse.objects.create(memory=known(alice, why[::-1]), execution=uuid.uuid4(), why=why)
    client.force_login(alice)

    english = client.get("/memory/", headers={"accept-language": "en"}).content.decode().replace("&#x27;", "'")
    german = client.get("/memory/", headers={"accept-language": "de"}).content.decode().replace("&#x27;", "'")

    assert (len(waits), len(told)) == (12, 4)
    assert {said for said in waits | told if said not in english} == set()
    assert {said for said in waits | told if said in german} == set()
