"""When a schedule comes due: cron expressions, pauses and single moments, and what a change of the clocks does."""

from datetime import UTC, datetime, time, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.schedules.cron import BadCron, parsed
from conversations.schedules.times import Cron, Every, Once, count_between, moments, next_after, next_times
from conversations.schedules.words import (
    Frequency,
    Picked,
    cron_of,
    in_words,
    parts_of,
    pause_of,
    picked_from,
)

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


def shown(expression: str, zone: str, after: str, count: int = 3) -> list[str]:
    """The next times as a clock in the zone shows them, with its distance from UTC."""
    rhythm = Cron(parsed(expression), ZoneInfo(zone))
    begin = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone))
    found = next_times(rhythm, begin, until=None, count=count)
    return [f"{one.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M %z}" for one in found]


@pytest.mark.spec("B27")
@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("30 8 * * *", "2026-11-22 08:29", ["2026-11-22 08:30", "2026-11-23 08:30", "2026-11-24 08:30"]),
        ("30 8 * * *", "2026-11-22 08:30", ["2026-11-23 08:30", "2026-11-24 08:30", "2026-11-25 08:30"]),
        ("0 9 * * 1-5", "2026-11-20 10:00", ["2026-11-23 09:00", "2026-11-24 09:00", "2026-11-25 09:00"]),
        ("0 9 * * mon,FRI", "2026-11-22 00:00", ["2026-11-23 09:00", "2026-11-27 09:00", "2026-11-30 09:00"]),
        ("0 9 * * 0", "2026-11-22 09:00", ["2026-11-29 09:00", "2026-12-06 09:00", "2026-12-13 09:00"]),
        ("0 9 * * 7", "2026-11-22 09:00", ["2026-11-29 09:00", "2026-12-06 09:00", "2026-12-13 09:00"]),
        ("0 0 31 * *", "2026-11-22 00:00", ["2026-12-31 00:00", "2027-01-31 00:00", "2027-03-31 00:00"]),
        ("0 0 L * *", "2027-12-31 12:00", ["2028-01-31 00:00", "2028-02-29 00:00", "2028-03-31 00:00"]),
        ("0 0 1,L 2 *", "2027-01-01 00:00", ["2027-02-01 00:00", "2027-02-28 00:00", "2028-02-01 00:00"]),
        ("0 12 29 2 *", "2026-11-22 00:00", ["2028-02-29 12:00", "2032-02-29 12:00", "2036-02-29 12:00"]),
        ("0 12 29 feb *", "2096-03-01 00:00", ["2104-02-29 12:00", "2108-02-29 12:00", "2112-02-29 12:00"]),
        # Both kinds of days are named: either will do. A star, even with a step, names none.
        ("0 0 13 * 5", "2026-11-11 00:00", ["2026-11-13 00:00", "2026-11-20 00:00", "2026-11-27 00:00"]),
        ("0 0 */10 * 1", "2026-11-01 00:00", ["2026-12-21 00:00", "2027-01-11 00:00", "2027-02-01 00:00"]),
        ("*/15 9-10 * * *", "2026-11-22 09:50", ["2026-11-22 10:00", "2026-11-22 10:15", "2026-11-22 10:30"]),
        ("5/20 0 * * *", "2026-11-22 00:06", ["2026-11-22 00:25", "2026-11-22 00:45", "2026-11-23 00:05"]),
        ("0 0 1 jan-mar/2 *", "2026-11-22 00:00", ["2027-01-01 00:00", "2027-03-01 00:00", "2028-01-01 00:00"]),
        ("@weekly", "2026-11-22 00:00", ["2026-11-29 00:00", "2026-12-06 00:00", "2026-12-13 00:00"]),
        ("@hourly", "2026-12-31 23:00", ["2027-01-01 00:00", "2027-01-01 01:00", "2027-01-01 02:00"]),
    ],
)
def test_an_expression_names_these_times(expression: str, after: str, expected: list[str]) -> None:
    assert shown(expression, "UTC", after) == [f"{one} +0000" for one in expected]


@pytest.mark.spec("B27")
@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        # Nine o'clock stays nine o'clock.
        ("0 9 * * *", "Europe/Berlin", "2026-03-28 10:00", ["2026-03-29 09:00 +0200", "2026-03-30 09:00 +0200"]),
        ("0 9 * * *", "Europe/Berlin", "2026-10-24 08:00", ["2026-10-24 09:00 +0200", "2026-10-25 09:00 +0100"]),
        # What is left out comes an hour later, on that day only.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28 03:00", ["2026-03-29 03:30 +0200", "2026-03-30 02:30 +0200"]),
        # Two that fall together are one.
        ("0 2,3 * * *", "Europe/Berlin", "2026-03-28 12:00", ["2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200"]),
        # What comes twice is the first of the two.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", ["2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"]),
        ("30 1 * * *", "America/New_York", "2026-10-31 12:00", ["2026-11-01 01:30 -0400", "2026-11-02 01:30 -0500"]),
        # Every hour is every hour that passes.
        (
            "30 * * * *", "America/New_York", "2026-11-01 00:00",
            ["2026-11-01 00:30 -0400", "2026-11-01 01:30 -0400", "2026-11-01 01:30 -0500", "2026-11-01 02:30 -0500"],
        ),
        ("30 * * * *", "America/New_York", "2026-03-08 01:00", ["2026-03-08 01:30 -0500", "2026-03-08 03:30 -0400"]),
        # Clocks that are put forward at midnight; by half an hour; and a day that was left out.
        ("0 0 * * *", "Asia/Beirut", "2026-03-28 12:00", ["2026-03-29 01:00 +0300", "2026-03-30 00:00 +0300"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", ["2026-10-04 02:45 +1100", "2026-10-05 02:15 +1100"]),
        ("0 12 * * *", "Pacific/Apia", "2011-12-29 13:00", ["2011-12-31 12:00 +1400", "2012-01-01 12:00 +1400"]),
        ("0 9 * * *", "Asia/Kathmandu", "2026-11-22 10:00", ["2026-11-23 09:00 +0545"]),
    ],
)  # fmt: skip
def test_a_change_of_the_clocks_neither_doubles_nor_drops_a_time(
    expression: str, zone: str, after: str, expected: list[str]
) -> None:
    assert shown(expression, zone, after, len(expected)) == expected


def test_between_two_times_of_an_expression_no_day_is_missed_in_any_zone() -> None:
    for zone in ("Europe/Berlin", "America/New_York", "Asia/Beirut", "Australia/Lord_Howe", "America/Santiago", "UTC"):
        for hour in range(24):
            rhythm = Cron(parsed(f"30 {hour} * * *"), ZoneInfo(zone))
            found = list(islice(moments(rhythm, datetime(2026, 1, 1, tzinfo=UTC)), 380))

            days = [one.astimezone(ZoneInfo(zone)).date() for one in found]
            assert {later - earlier for earlier, later in pairwise(days)} == {timedelta(days=1)}, (zone, hour)


fields = st.tuples(
    st.sampled_from(["0", "30", "*/5", "*/20", "7,41"]),
    st.sampled_from(["*", "*/6", "2", "1-3", "0,23"]),
    st.sampled_from(["*", "1", "L", "29-31", "*/9"]),
    st.sampled_from(["*", "2", "3,10,11"]),
    st.sampled_from(["*", "0", "1-5", "6,7"]),
)


@settings(max_examples=60, deadline=None)
@given(
    fields,
    st.sampled_from([BERLIN, NEW_YORK, ZoneInfo("Asia/Beirut")]),
    st.datetimes(datetime(2025, 1, 1), datetime(2029, 1, 1)),
)
def test_times_only_go_forward_and_the_next_is_found_from_wherever_one_looks(
    parts: tuple[str, ...], zone: ZoneInfo, begin: datetime
) -> None:
    rhythm = Cron(parsed(" ".join(parts)), zone)
    after = begin.replace(tzinfo=UTC)

    found = next_times(rhythm, after, until=None, count=6)

    assert all(earlier < later for earlier, later in pairwise([after, *found]))
    for earlier, later in pairwise(found):
        assert next_after(rhythm, earlier) == later
        assert next_after(rhythm, later - timedelta(microseconds=1)) == later


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "has five fields"),
        ("0 9 * *", "this has 4"),
        ("0 9 * * * *", "this has 6"),
        ("60 9 * * *", "“60” is no minute: use 0 to 59"),
        ("0 24 * * *", "“24” is no hour"),
        ("0 9 0 * *", "“0” is no day of the month: use 1 to 31"),
        ("0 9 * 13 *", "“13” is no month"),
        ("0 9 * * 8", "“8” is no day of the week"),
        ("0 9 * * fri-mon", "“fri-mon” (day of the week) begins after its end"),
        ("*/0 9 * * *", "a step is 1 or more"),
        ("0 9 * * 5L", "“5l” is no day of the week"),
        ("*-5 9 * * *", "“*-5” is no minute"),
        ("0 9 ? * 1", "“?” is no day of the month"),
        ("0 9 , * *", "“” is no day of the month"),
        ("٣ 9 * * *", "is no minute"),
        ("@reboot", "this has 1"),
        ("0 " * 100, "at most 100 characters"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place_and_the_way_out(expression: str, said: str) -> None:
    with pytest.raises(BadCron) as refused:
        parsed(expression)

    assert said in str(refused.value)


def test_a_day_that_never_comes_has_no_next_time() -> None:
    assert next_after(Cron(parsed("0 0 30 2 *"), BERLIN), datetime(2026, 1, 1, tzinfo=UTC)) is None
    assert shown("0 0 29 2 *", "UTC", "2096-03-01 00:00", 1) == ["2104-02-29 00:00 +0000"]


@pytest.mark.parametrize(
    ("expression", "minutes"),
    [
        ("* * * * *", 1),
        ("*/5 * * * *", 5),
        ("0 9 * * *", 1_440),
        ("0,3 9 * * *", 3),
        ("58 * * * *", 60),
        ("0,58 * * * *", 2),
        ("59,0 0,23 * * *", 1),
        # The days do not follow each other, so its nights are long.
        ("59,0 0,23 * * 1", 59),
    ],
)
def test_how_close_two_times_of_an_expression_come(expression: str, minutes: int) -> None:
    assert parsed(expression).closest_minutes == minutes


def test_a_pause_goes_by_time_that_passes_and_keeps_its_beat_whatever_was_missed() -> None:
    begin = datetime(2026, 3, 28, 12, tzinfo=BERLIN).astimezone(UTC)
    rhythm = Every(begin, pause_of(6, "hours"))

    in_order = next_times(rhythm, begin, until=None, count=4)
    later = next_after(rhythm, begin + timedelta(days=100, hours=1))

    assert [one.astimezone(BERLIN).hour for one in in_order] == [18, 0, 7, 13]
    assert next_after(rhythm, begin - timedelta(days=9)) == in_order[0]
    assert next_after(rhythm, in_order[0]) == in_order[1]
    assert later == begin + timedelta(days=100, hours=6)


def test_one_moment_comes_once() -> None:
    at = datetime(2026, 12, 24, 9, tzinfo=BERLIN)

    assert next_times(Once(at), at - timedelta(days=1), until=None) == [at]
    assert next_after(Once(at), at) is None


def test_times_end_with_the_end_and_what_was_missed_is_counted_up_to_a_bound() -> None:
    rhythm = Cron(parsed("0 9 * * *"), BERLIN)
    begin = datetime(2026, 11, 22, 9, tzinfo=BERLIN)

    assert len(next_times(rhythm, begin, until=begin + timedelta(days=2))) == 2
    assert count_between(rhythm, begin, begin + timedelta(days=3, hours=1), most=100) == 3
    assert count_between(rhythm, begin, begin + timedelta(days=300), most=100) == 100
    assert count_between(rhythm, begin, begin, most=100) == 0


@pytest.mark.parametrize(
    ("picked", "cron", "words"),
    [
        (Picked(Frequency.DAILY, time(8, 5)), "5 8 * * *", "Every day at 08:05"),
        (Picked(Frequency.WORKDAYS, time(9)), "0 9 * * 1-5", "Monday to Friday at 09:00"),
        (Picked(Frequency.WEEKLY, time(17), (0, 1)), "0 17 * * 0,1", "Every Monday and Sunday at 17:00"),
        (Picked(Frequency.MONTHLY, time(7), day="15"), "0 7 15 * *", "On day 15 of each month at 07:00"),
        (Picked(Frequency.MONTHLY, time(7), day="L"), "0 7 L * *", "On the last day of each month at 07:00"),
    ],
)
def test_what_people_pick_is_an_expression_and_is_shown_as_they_picked_it(
    picked: Picked, cron: str, words: str
) -> None:
    assert cron_of(picked) == cron
    assert picked_from(cron) == picked
    assert in_words(Cron(parsed(cron), BERLIN), cron=cron, zone=BERLIN) == words


def test_other_times_are_told_in_words_too() -> None:
    now = datetime(2026, 11, 22, 8, tzinfo=UTC)

    assert in_words(Every(now, 21_600), cron="", zone=BERLIN) == "Every 6 hours"
    assert in_words(Every(now, 3_600), cron="", zone=BERLIN) == "Every hour"
    assert in_words(Every(now, 86_400), cron="", zone=BERLIN) == "Every 24 hours"
    assert parts_of(5_400) == (90, "minutes")
    assert in_words(Once(now), cron="", zone=BERLIN) == "Once, on 22 Nov 2026 09:00 CET"
    assert picked_from("*/5 9 * * *") == Picked(Frequency.CRON)
    assert in_words(Cron(parsed("*/5  9 * * *"), BERLIN), cron="*/5  9 * * *", zone=BERLIN) == "By cron: */5 9 * * *"
