"""The arithmetic of waiting, without a database."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperagent.accounts.limits import (
    LIMITS,
    Counter,
    Door,
    Limit,
    SubjectKind,
    address_subject,
    client_address,
    count,
    give_back,
    longest_memory_s,
    too_many_tries,
    wait_s,
)

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LIMIT = Limit(free=5, first_wait_s=30, longest_wait_s=900, forget_one_s=3600)


def after(tries: int, *, every_s: float = 0.1, limit: Limit = LIMIT) -> tuple[Counter, datetime]:
    counter, now = Counter(), NOON
    for _ in range(tries):
        now += timedelta(seconds=max(every_s, wait_s(counter, now)))
        counter = count(counter, limit, now)
    return counter, now


def test_the_free_tries_wait_for_nothing() -> None:
    counter, now = after(4)

    assert wait_s(counter, now) == 0


def test_each_try_after_the_free_ones_waits_twice_as_long_up_to_the_longest_wait() -> None:
    waits = [wait_s(*after(tries)) for tries in range(5, 14)]

    assert waits == [30, 60, 120, 240, 480, 900, 900, 900, 900]


def test_a_counter_is_forgotten_one_try_at_a_time() -> None:
    counter, now = after(5)

    counter = count(counter, LIMIT, now + timedelta(hours=2))

    assert 3.9 < counter.level < 4.1
    assert counter.blocked_until is None


def test_a_right_try_is_given_back_and_with_it_its_wait() -> None:
    counter, now = after(5)

    assert wait_s(give_back(counter, LIMIT), now) == 0


def test_giving_back_to_an_empty_counter_leaves_it_empty() -> None:
    assert give_back(Counter(), LIMIT) == Counter()


@pytest.mark.slow
@pytest.mark.threat("T26")
@given(
    st.sampled_from(sorted(LIMITS)),
    st.lists(st.floats(min_value=0, max_value=5000), min_size=1, max_size=300),
)
def test_whatever_the_rhythm_no_more_gets_through_than_the_limit_allows(
    key: tuple[Door, SubjectKind], pauses: list[float]
) -> None:
    limit = LIMITS[key]
    counter, now, admitted = Counter(), NOON, 0
    for pause in pauses:
        now += timedelta(seconds=pause)
        if wait_s(counter, now) == 0:
            counter = count(counter, limit, now)
            admitted += 1
        assert 0 <= wait_s(counter, now) <= limit.longest_wait_s
        assert 0 <= counter.level <= limit.highest_level

    elapsed_s = (now - NOON).total_seconds()
    # Each try beyond the free ones either was forgotten in the meantime or waited at least once.
    assert admitted <= limit.free + elapsed_s / limit.forget_one_s + elapsed_s / limit.first_wait_s + 1


@pytest.mark.slow
@given(st.sampled_from(sorted(LIMITS)), st.integers(min_value=1, max_value=100))
def test_after_the_longest_memory_every_counter_is_as_new(key: tuple[Door, SubjectKind], tries: int) -> None:
    counter, now = after(tries, limit=LIMITS[key])
    later = now + timedelta(seconds=longest_memory_s())

    assert wait_s(counter, later) == 0
    assert count(counter, LIMITS[key], later).level == 1


@pytest.mark.parametrize(
    ("forwarded_for", "trusted", "address"),
    [
        (None, 0, "10.0.0.1"),
        ("1.2.3.4", 0, "10.0.0.1"),
        ("1.2.3.4", 1, "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4", 1, "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4, 10.0.0.9", 2, "1.2.3.4"),
        ("1.2.3.4", 2, "10.0.0.1"),
        ("", 1, "10.0.0.1"),
        # As Azure's gateway and IIS write it.
        ("6.6.6.6, 1.2.3.4:50123", 1, "1.2.3.4"),
        ("[2001:db8::7]:50123", 1, "2001:db8::7"),
        ("[2001:db8::7]", 1, "2001:db8::7"),
        ("2001:db8::7", 1, "2001:db8::7"),
    ],
)
@pytest.mark.threat("T26")
def test_only_what_a_trusted_proxy_added_is_believed(forwarded_for: str | None, trusted: int, address: str) -> None:
    found = client_address(remote="10.0.0.1", forwarded_for=forwarded_for, trusted_proxies=trusted)

    assert found == address


@pytest.mark.parametrize(
    ("address", "subject"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::99", "2001:db8:1:2::/64"),
        ("not an address", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_an_address_is_counted_by_what_its_owner_cannot_change_at_will(address: str | None, subject: str) -> None:
    assert address_subject(address) == subject


@pytest.mark.parametrize(
    ("wait", "said"),
    [(1, "1 second,"), (30, "30 seconds,"), (90, "90 seconds,"), (91, "2 minutes,"), (900, "15 minutes,")],
)
def test_the_wait_is_said_in_words(wait: int, said: str) -> None:
    assert said in too_many_tries(wait)
