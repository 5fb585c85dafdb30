"""`make bench-size` at a size of seconds: the rows go in, everything that is measured answers, and the table says what
was seen. How long things take is nothing for a test.
"""

import dataclasses
import uuid
from collections.abc import Iterator

import pytest
from django.db import connection

from agents.models import AgentExecution, Event, Execution, Step
from benchmarks import size, size_report
from benchmarks.size_measures import House, inside
from benchmarks.size_report import Churned, Line, Took
from benchmarks.size_rows import HOUSE, crowd
from conversations.models import Conversation, Message
from hitl.models import Request
from memory.models import Chunk, Document
from tests import migrated

NO_RUN = uuid.UUID(int=0)
TINY = crowd(events=2_000, steps=200, chunks=100)


@pytest.fixture
def database_url(transactional_db: None) -> Iterator[str]:
    """A database of its own, and Django in it: it is copied, so nobody else may be there, and in that of the tests
    sessions of earlier ones may still be."""
    name = f"{connection.settings_dict['NAME']}_measured"
    with migrated.copied(name) as url, inside(House(NO_RUN, url)):
        yield url


@pytest.mark.slow
def test_a_small_installation_is_filled_and_measured_nearly_empty_and_full(database_url: str) -> None:
    kept = size.measure(database_url, TINY, times=1, lives=20)

    runs = HOUSE.runs + TINY.runs
    assert Conversation.objects.count() == HOUSE.conversations + TINY.conversations
    assert Message.objects.count() == 2 * runs
    asked = Execution.objects.exclude(conversation_id=None)
    assert asked.count() == runs
    assert AgentExecution.objects.filter(execution__in=asked).count() == 2 * runs
    assert Step.objects.filter(agent__execution__in=asked).count() == HOUSE.runs * 5 + 200
    assert Event.objects.filter(execution__in=asked).count() == HOUSE.runs * HOUSE.events_a_run + 2_000
    assert Request.objects.count() == runs // 10
    assert (Document.objects.count(), Chunk.objects.count()) == (HOUSE.documents + 2, HOUSE.documents * 50 + 100)
    assert {str(run.id)[14] for run in asked} == {"7"}, "ids of runs begin with their time"
    names = [line["name"] for line in kept["lines"]]
    for part in ("the inbox, page", "the claim of one run", "search in everything, API"):
        assert part in names
    assert any(name.startswith("agents: fold_logs") for name in names)
    churned = {one["table"]: one for one in kept["churn"]["full"]}
    # Claimed, renewed three times, written to four times, summed up: of each run the row changes.
    assert churned["agents_execution"]["updated"] >= 20 * 9
    assert not Execution.objects.filter(status="pending").exists()


def test_rows_that_do_not_fit_on_the_disk_are_refused_with_both_sizes() -> None:
    lot = crowd(events=10_000_000, steps=1_000_000, chunks=1_000_000)

    with pytest.raises(size.NoRoom, match=r"take about \d\d GB and 3 GB are free .* --events, --steps and --chunks"):
        size.check_room(lot, free_bytes=3 * 2**30)
    size.check_room(lot, free_bytes=60 * 2**30)


@pytest.mark.parametrize("wanted", [{"steps": 19}, {"chunks": 49}, {"events": 100}])
def test_numbers_that_make_no_installation_are_refused(wanted: dict[str, int]) -> None:
    numbers = {"events": 2_000, "steps": 200, "chunks": 100} | wanted

    with pytest.raises(ValueError, match="make no installation: at least 20 steps"):
        crowd(**numbers)


def test_the_table_marks_what_takes_more_than_twice_as_long() -> None:
    page = Line(
        Took("a page", (10.0, 12.0, 11.0), (3.0, 3.0, 3.0)), Took("a page", (20.0, 21.0, 19.0), (9.0, 9.0, 9.0))
    )
    claim = Line(Took("a claim", (4.0, 4.0)), Took("a claim", (8.1, 8.1)))

    assert [row.is_met for row in (page, claim)] == [True, False]
    assert str(page).split()[2:] == ["11.0", "12.0", "20.0", "21.0", "1.82", "×", "1.90", "×", "3.0", "→", "9.0"]
    assert str(claim).endswith("over")
    assert size_report.verdict([page, claim]) == "over 2 ×: a claim"
    assert size_report.verdict([page]) == "all 1 within 2 × of nearly empty"


def test_two_times_that_are_nothing_have_no_ratio() -> None:
    row = Line(Took("a look", (0.1, 0.1)), Took("a look", (0.9, 0.9)))

    assert row.ratio == 1.0


def test_the_share_of_updates_in_place_is_told() -> None:
    some = Churned(
        "agents_execution", updated=200, hot=50, dead=150, vacuum_s=0.5, bytes_before=2**20, bytes_after=3 * 2**20
    )

    assert some.hot_share == 0.25
    assert dataclasses.replace(some, updated=0, hot=0).hot_share is None
    assert size_report.churn_table([some]).splitlines()[1].split() == (
        ["agents_execution", "200", "25%", "150", "0.50", "s", "1", "MB", "+2.0", "MB"]
    )
