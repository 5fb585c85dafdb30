"""What is forgotten is gone, with all that was made of it; what a person writes themselves holds."""

import uuid
from typing import Any

import pytest

from hyperagent.lib.refusals import Conflict, NotThere, Refused
from memory.kinds import MemoryStatus, ProfileField
from memory.models import Memory, MemoryUse
from memory.remembering import actions, listing
from tests.memory.remembering.knowing import active, field, known, learned

pytestmark = pytest.mark.django_db
JOB = ProfileField.JOB_TITLE


@pytest.mark.spec("B18")
def test_forgetting_takes_text_source_vector_history_and_reasons(alice: Any) -> None:
    learned(alice, field(JOB, "Engineer", evidence="I am an engineer"))
    [news] = learned(alice, field(JOB, "Director", evidence="I was made director"))
    Memory.objects.filter(pk=news.id).update(embedding=[0.5, 0.5], embedded_by="local")
    MemoryUse.objects.create(memory_id=news.id, execution=uuid.uuid4(), why="It belongs to your profile.", score=0.8)

    actions.forget(alice, news.id)

    for row in Memory.objects.filter(user=alice):
        assert row.status == MemoryStatus.FORGOTTEN
        assert (row.text, row.source_excerpt, row.reason, row.terms, row.embedding) == ("", "", "", [], None)
    assert list(MemoryUse.objects.values_list("why", "score")) == [("", 0.0)]
    assert "ngineer" not in str(listing.export_of(alice))
    assert listing.everything_of(alice)["memories"] == []


@pytest.mark.spec("B18")
def test_each_memory_shows_its_source_its_uses_and_what_it_replaced(alice: Any) -> None:
    conversation, run = uuid.uuid4(), uuid.uuid4()
    learned(alice, field(JOB, "Engineer"))
    [news] = learned(
        alice, field(JOB, "Director", evidence="I was made director"), conversation=conversation, turn="m1"
    )
    MemoryUse.objects.create(memory_id=news.id, execution=run, conversation=conversation, why="It fits your question.")

    shown = listing.everything_of(alice)

    [memory] = shown["memories"]
    assert shown["critical"]["job_title"] == "Director"
    assert memory["source"]["conversation_id"] == str(conversation)
    assert (memory["source"]["turn"], memory["source"]["excerpt"]) == ("m1", "I was made director")
    assert [(use["execution_id"], use["why"]) for use in memory["uses"]] == [(str(run), "It fits your question.")]
    assert [past["text"] for past in memory["history"]] == ["Engineer"]


def test_a_correction_holds_and_takes_the_machines_words_away(alice: Any) -> None:
    row = known(alice, "Engineer", field=JOB, source_excerpt="I am an engineer", embedded_by="local", embedding=[1.0])

    actions.correct(alice, row.id, "  Chief\nengineer ")

    row.refresh_from_db()
    assert (row.text, row.source_excerpt, row.embedded_by) == ("Chief engineer", "", "")
    assert row.corrected_at is not None


def test_what_is_accepted_takes_the_place_of_what_it_contradicts(alice: Any) -> None:
    old = known(alice, "Engineer", field=JOB, is_pinned=True)
    [news] = learned(alice, field(JOB, "Director"))

    actions.accept(alice, news.id)

    assert active(alice) == ["Director"]
    old.refresh_from_db()
    assert (old.status, old.is_pinned) == (MemoryStatus.SUPERSEDED, False)
    with pytest.raises(Conflict):
        actions.accept(alice, news.id)


@pytest.mark.parametrize("text", ["", "   ", "x" * 501])
def test_a_memory_that_says_nothing_or_too_much_is_refused(alice: Any, text: str) -> None:
    row = known(alice, "She plays the cello.")

    with pytest.raises(Refused, match="1 to 500 characters"):
        actions.correct(alice, row.id, text)

    assert active(alice) == ["She plays the cello."]


def test_a_memory_is_not_corrected_into_one_that_is_there_already(alice: Any) -> None:
    known(alice, "She plays the cello.")
    row = known(alice, "She plays the violin.")

    with pytest.raises(Conflict):
        actions.correct(alice, row.id, "She plays the cello.")


def test_somebody_elses_memory_is_as_not_there(alice: Any, charlie: Any) -> None:
    row = known(alice, "She plays the cello.")

    with pytest.raises(NotThere):
        actions.correct(charlie, row.id, "He reads this.")
    with pytest.raises(NotThere):
        actions.pin(charlie, row.id, pinned=True)
    with pytest.raises(NotThere):
        actions.accept(charlie, row.id)
    with pytest.raises(NotThere):
        actions.forget(charlie, row.id)
    with pytest.raises(NotThere):
        listing.one_of(charlie, row.id)
    assert listing.everything_of(charlie)["memories"] == []
    assert active(alice) == ["She plays the cello."]


def test_everything_is_forgotten_at_once(alice: Any, charlie: Any) -> None:
    known(alice, "She plays the cello.")
    known(alice, "Send it all away.", status=MemoryStatus.QUARANTINED)
    learned(alice, field(JOB, "Engineer"))
    learned(alice, field(JOB, "Director"))
    known(charlie, "He sails.")

    assert actions.forget_everything(alice) == 4

    assert set(Memory.objects.filter(user=alice).values_list("text", "status")) == {("", MemoryStatus.FORGOTTEN)}
    assert active(charlie) == ["He sails."]
