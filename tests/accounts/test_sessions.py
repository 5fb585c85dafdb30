"""How long a session lasts, whether it is used or not."""

from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from conversations import handshake
from hyperagent.accounts.sessions import use
from tests.accounts.conftest import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.threat("T25")]

LOGIN = "/accounts/login/"
PAGE = "/settings/profile/"


@pytest.fixture(autouse=True)
def _two_days_and_five_unused(settings: Any) -> None:
    settings.SESSION_COOKIE_AGE = 48 * 3600
    settings.CONFIG = settings.CONFIG.model_copy(update={"session_idle_minutes": 5 * 60})


def signed_in(user: Any) -> Client:
    page = Client()
    page.post(LOGIN, {"email": user.email, "password": PASSWORD})
    return page


def is_in(page: Client) -> bool:
    return page.get(PAGE).status_code == 200


def kept_until(page: Client) -> datetime:
    return Session.objects.get(pk=page.cookies["sessionid"].value).expire_date


@pytest.mark.slow
def test_a_session_that_nobody_uses_ends(alice: Any) -> None:
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        page = signed_in(alice)
        clock.shift(timedelta(hours=4, minutes=59))
        assert is_in(page)
        clock.shift(timedelta(hours=4, minutes=59))
        assert is_in(page), "it was used in between"
        clock.shift(timedelta(hours=5, minutes=1))

        assert not is_in(page)
        assert handshake.identify(handshake.Credentials(session_key=page.cookies["sessionid"].value)) is None


@pytest.mark.slow
def test_a_session_ends_however_much_it_is_used(alice: Any) -> None:
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        page = signed_in(alice)
        cookie = page.cookies["sessionid"]
        assert abs(int(cookie["max-age"]) - 48 * 3600) <= 1
        for _ in range(47):
            clock.shift(timedelta(hours=1))
            assert is_in(page)
        # A page that writes into the session does not put off its end either.
        page.post("/settings/language/", {"language": "de"})
        session = page.session
        session["written"] = True
        session.save()
        assert kept_until(page) <= start + timedelta(hours=48, seconds=1)

        clock.shift(timedelta(hours=1, minutes=1))

        assert not is_in(page)


def test_a_new_sign_in_begins_anew(alice: Any) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        page = signed_in(alice)
        clock.shift(timedelta(hours=4))
        page.post("/accounts/logout/")
        page.post(LOGIN, {"email": alice.email, "password": PASSWORD})

        assert page.session["signed_in_at"] == timezone.now().timestamp()


def test_a_use_is_written_down_seldom(alice: Any) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        page = signed_in(alice)
        page.get(PAGE)
        first = kept_until(page)

        clock.shift(timedelta(minutes=14))
        page.get(PAGE)
        assert kept_until(page) == first
        clock.shift(timedelta(minutes=2))
        page.get(PAGE)

        assert kept_until(page) == first + timedelta(minutes=16)


def test_what_is_said_over_a_socket_is_a_use_too(alice: Any) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        page = signed_in(alice)
        shown = handshake.Credentials(session_key=page.cookies["sessionid"].value)
        for _ in range(4):
            clock.shift(timedelta(hours=4))
            assert handshake.identify(shown) is not None

        clock.shift(timedelta(hours=4))
        caller = handshake.identify(shown)
        assert caller is not None
        clock.shift(timedelta(hours=6))

        assert handshake.still_let_in([caller]) == set()


def test_a_use_brings_back_no_session_that_was_ended_meanwhile(alice: Any) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        page = signed_in(alice)
        session = page.session
        clock.shift(timedelta(hours=2))
        assert session.get("signed_in_at")
        Session.objects.all().delete()

        use(session)

        assert not Session.objects.exists()


def test_a_session_may_lie_unused_where_that_is_set(alice: Any, settings: Any) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"session_idle_minutes": 0})
    with time_machine.travel(timezone.now(), tick=False) as clock:
        page = signed_in(alice)
        clock.shift(timedelta(hours=47))

        assert is_in(page)


def test_whoever_leaves_has_nothing_left_in_the_browser(alice: Any) -> None:
    for door in ("/accounts/logout/", "/admin/logout/"):
        alice.is_staff = True
        alice.save()

        answer = signed_in(alice).post(door)

        assert answer["Clear-Site-Data"] == '"storage"', door
        assert not Session.objects.exists()
