"""What is kept while people are away to sign in, and the proof that goes with them."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.sessions.backends.signed_cookies import SessionStore

from hyperagent.lib import oauth


def test_who_comes_back_does_so_once_soon_and_with_their_own_state() -> None:
    session = SessionStore()
    with time_machine.travel("2026-05-01T10:00:00+00:00", tick=False) as clock:
        oauth.keep(session, "going", "one", {"verifier": "v1"})
        oauth.keep(session, "going", "two", {"verifier": "v2"})

        assert oauth.taken(session, "going", "three") is None
        assert oauth.taken(session, "going", "one") == {"verifier": "v1"}
        assert oauth.taken(session, "going", "one") is None
        clock.shift(timedelta(seconds=oauth.AWAY_AT_MOST_S))
        assert oauth.taken(session, "going", "two") is None


def test_of_many_windows_the_newest_count() -> None:
    session = SessionStore()
    with time_machine.travel("2026-05-01T10:00:00+00:00", tick=False) as clock:
        for number in range(oauth.MOST_AWAY + 1):
            oauth.keep(session, "going", str(number), {"number": number})
            clock.shift(timedelta(seconds=1))

        found = [oauth.taken(session, "going", str(number)) for number in range(oauth.MOST_AWAY + 1)]

    assert found == [None, *({"number": number} for number in range(1, oauth.MOST_AWAY + 1))]


@pytest.mark.parametrize("older", [None, "text", {"one": "text"}, {"one": {"verifier": "v"}}])
def test_what_an_older_program_left_in_a_session_is_nothing(older: Any) -> None:
    session = SessionStore()
    session["going"] = older

    assert oauth.taken(session, "going", "one") is None


def test_the_challenge_is_that_of_the_standard() -> None:
    """By the example in RFC 7636, appendix B."""
    assert oauth.challenged("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == {
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "code_challenge_method": "S256",
    }
