"""Tries are counted in Postgres, exactly, whoever tries and however many at once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from hyperagent.accounts import attempts
from hyperagent.accounts.attempts import TooManyTries, Try
from hyperagent.accounts.limits import LIMITS, Door, SubjectKind, longest_memory_s
from hyperagent.accounts.models import LoginAttempt
from hyperagent.accounts.tasks import prune_attempts

FREE_FOR_AN_ACCOUNT = LIMITS[Door.LOGIN, SubjectKind.ACCOUNT].free
FREE_FOR_AN_ADDRESS = LIMITS[Door.LOGIN, SubjectKind.ADDRESS].free


def let_pass(seconds: float) -> None:
    """Moves every counter into the past, which is the same as waiting."""
    span = timedelta(seconds=seconds)
    LoginAttempt.objects.update(counted_at=F("counted_at") - span, blocked_until=F("blocked_until") - span)


def knock(email: str, *, address: str = "192.0.2.1", door: Door = Door.LOGIN) -> bool:
    try:
        attempts.take(Try(door, email, address))
    except TooManyTries:
        return False
    return True


@pytest.mark.slow
@pytest.mark.threat("T26")
def test_of_forty_tries_at_the_same_instant_only_the_free_ones_get_through(
    together: Callable[..., list[bool]],
) -> None:
    let_through = together(lambda: knock("alice@example.org"), times=40)

    assert sum(let_through) == FREE_FOR_AN_ACCOUNT


@pytest.mark.slow
@pytest.mark.threat("T26")
def test_tries_that_share_an_account_or_an_address_never_stand_in_each_others_way_for_ever(
    together: Callable[..., list[bool]],
) -> None:
    pairs = iter([(f"p{n % 3}@example.org", f"192.0.2.{n % 2}") for n in range(30)])

    def one_knock() -> bool:
        email, address = next(pairs)
        return knock(email, address=address)

    let_through = together(one_knock, times=30)

    assert sum(let_through) == 3 * FREE_FOR_AN_ACCOUNT
    assert LoginAttempt.objects.count() == 3 + 2


@pytest.mark.slow
@pytest.mark.threat("T26")
@pytest.mark.django_db
def test_a_thousand_names_from_one_address_are_held_up_by_the_address() -> None:
    let_through = [knock(f"person{number}@example.org") for number in range(200)]

    assert sum(let_through) == FREE_FOR_AN_ADDRESS


@pytest.mark.slow
@pytest.mark.threat("T26")
@pytest.mark.django_db
def test_a_hundred_addresses_that_try_one_account_are_held_up_by_the_account() -> None:
    let_through = [knock("alice@example.org", address=f"192.0.2.{number}") for number in range(100)]

    assert sum(let_through) == FREE_FOR_AN_ACCOUNT


@pytest.mark.django_db
def test_another_spelling_of_the_address_is_the_same_account() -> None:
    let_through = [knock(email) for email in ["alice@example.org", "ALICE@example.org", " Alice@Example.Org "] * 4]

    assert sum(let_through) == FREE_FOR_AN_ACCOUNT


@pytest.mark.django_db
def test_a_refused_try_is_not_counted_so_the_wait_ends_when_it_said() -> None:
    for _ in range(FREE_FOR_AN_ACCOUNT):
        knock("alice@example.org")
    for _ in range(50):
        assert not knock("alice@example.org")

    let_pass(LIMITS[Door.LOGIN, SubjectKind.ACCOUNT].first_wait_s + 1)

    assert knock("alice@example.org")
    assert not knock("alice@example.org")


@pytest.mark.django_db
def test_a_right_password_frees_the_account_but_not_the_address_that_failed_on_others() -> None:
    for number in range(FREE_FOR_AN_ADDRESS - 1):
        knock(f"person{number}@example.org")
    own = Try(Door.LOGIN, "mallory@example.org", "192.0.2.1")

    attempts.take(own)
    attempts.succeeded(own)

    assert not LoginAttempt.objects.filter(subject="mallory@example.org").exists()
    assert knock("alice@example.org")
    assert not knock("bob@example.org")


@pytest.mark.django_db
def test_doors_are_counted_apart() -> None:
    for _ in range(20):
        knock("alice@example.org")

    assert knock("alice@example.org", door=Door.RESET)


@pytest.mark.django_db
def test_old_counters_are_pruned_and_young_ones_stay() -> None:
    knock("old@example.org", address="192.0.2.1")
    let_pass(longest_memory_s() + 60)
    knock("young@example.org", address="192.0.2.2")

    prune_attempts()

    subjects = set(LoginAttempt.objects.values_list("subject", flat=True))
    assert subjects == {"young@example.org", "192.0.2.2"}


@pytest.mark.threat("T26")
def test_a_lost_redis_lifts_no_limit(alice: Any, page: Client, settings: Any) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1"}
    }
    for _ in range(FREE_FOR_AN_ACCOUNT):
        page.post("/accounts/login/", {"email": alice.email, "password": "wrong"})

    assert page.post("/accounts/login/", {"email": alice.email, "password": "wrong"}).status_code == 429


@pytest.mark.django_db
def test_counting_a_try_takes_five_queries_and_its_savepoint(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(7):
        knock("alice@example.org")
