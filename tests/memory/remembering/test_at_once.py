"""What several do at once to the memories of one person: nobody is refused because of it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import transaction

from hyperagent.accounts.models import User
from hyperagent.lib.refusals import NotThere
from memory.embedding import waiting
from memory.embedding.model import LOCAL
from memory.kinds import MemoryStatus, ProfileField
from memory.models import Memory
from memory.remembering import actions
from tests.at_once import elsewhere, how_many_wait, somebody_waits
from tests.house.waiting import until
from tests.memory.giving import make_vectors
from tests.memory.remembering.knowing import field, known, learned

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spec("B18")
def test_the_embedder_holds_no_memory_while_it_waits_for_another(alice: Any) -> None:
    for text in ("Alice likes tea.", "Alice lives in Rome."):
        known(alice, text)
    first, second = waiting.memories(LOCAL)

    with ThreadPoolExecutor(1) as embedder:
        with transaction.atomic():
            Memory.objects.select_for_update().get(pk=second.id)
            stored = embedder.submit(elsewhere, make_vectors)
            until(somebody_waits, what="the embedder to wait")
            Memory.objects.select_for_update(nowait=True).get(pk=first.id)
        stored.result(20)

    assert Memory.objects.filter(embedded_by=LOCAL).count() == 2


@pytest.mark.spec("B18")
@pytest.mark.parametrize(
    "verb",
    [
        lambda user, memory: actions.correct(user, memory.pk, "Alice likes coffee."),
        lambda user, memory: actions.accept(user, memory.pk),
        lambda user, memory: actions.forget(user, memory.pk),
        lambda user, memory: actions.forget_everything(user),
    ],
    ids=["correct", "accept", "forget", "forget everything"],
)
def test_whoever_changes_memories_holds_none_while_others_store_some(
    verb: Callable[[User, Memory], Any], alice: Any
) -> None:
    memory = known(alice, "Alice likes tea.", status=MemoryStatus.QUARANTINED)

    with ThreadPoolExecutor(1) as page:
        with transaction.atomic():
            User.objects.hold(alice.pk)
            done = page.submit(elsewhere, lambda: verb(alice, memory))
            until(somebody_waits, what="the page to wait")
            Memory.objects.select_for_update(nowait=True).get(pk=memory.pk)
        done.result(20)

    memory.refresh_from_db()
    assert (memory.status, memory.text) != (MemoryStatus.QUARANTINED, "Alice likes tea.")


@pytest.mark.spec("B18")
@pytest.mark.parametrize(
    ("verb", "refused"),
    [
        (lambda user, memory: actions.pin(user, memory.pk, pinned=True), NotThere),
        (lambda user, _: actions.turn(user, on=False), None),
    ],
    ids=["pin", "turn off"],
)
def test_nothing_is_stored_by_what_was_known_before_its_owner_said_otherwise(
    verb: Callable[[User, Memory], Any], refused: type[Exception] | None, alice: Any
) -> None:
    memory = known(alice, "Acme", field=ProfileField.COMPANY_NAME)

    with ThreadPoolExecutor(2) as others:
        try:
            with transaction.atomic():
                # Whoever stores has looked already when it comes to this key, and waits for its end.
                known(alice, "In between", origin_key="a run:0")
                finding = field(ProfileField.COMPANY_NAME, "Globex")
                stored = others.submit(elsewhere, lambda: learned(alice, finding, origin="a run"))
                until(somebody_waits, what="the run to wait")
                said = others.submit(elsewhere, lambda: verb(alice, memory))
                until(lambda: said.done() or how_many_wait() > 1, what="the page to wait")
                was_told = said.done()
                raise InterruptedError
        except InterruptedError:
            became = stored.result(20)

    memory.refresh_from_db()
    assert not was_told
    assert (became[0].became, memory.status) == ("replaced", MemoryStatus.SUPERSEDED)
    assert type(said.exception(20)) is (refused or type(None))
