"""What the tests of notices share: receivers of webhooks, people with clients, and time that moves by the rows."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from tests.faces.conftest import _quick_hashes, api_of, client_of
from tests.notices.receiver import Receiver

__all__ = ["_quick_hashes", "api_of", "client_of"]


@pytest.fixture(autouse=True)
def _private_addresses_may_be_reached(settings: Any) -> None:
    """The receivers are on this machine. Tests of the guard take it back."""
    settings.WEBHOOK_ALLOW_PRIVATE = True


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.stop()


@pytest.fixture
def add(db: None) -> Callable[..., tuple[Any, str]]:
    """An endpoint of this person (None: the installation's) that hears everything, and its secret."""
    from hyperagent.notices import actions  # the models exist once Django is set up
    from hyperagent.notices.kinds import CHOOSABLE

    def add_it(user: Any, url: str, events: Any = CHOOSABLE) -> tuple[Any, str]:
        return actions.add_endpoint(user, url=url, events=events)

    return add_it


def later(seconds: float) -> None:
    """As if so much time had passed for everything that is to be sent: by the database's clock, in the rows."""
    with connection.cursor() as cursor:
        for table, column in (
            ("notices_delivery", "next_attempt_at"),
            ("notices_endpoint", "resting_until"),
            ("notices_endpoint", "failing_since"),
            ("notices_mail", "next_attempt_at"),
        ):
            cursor.execute(f"UPDATE {table} SET {column} = {column} - %s * interval '1 second'", [seconds])


@pytest.fixture
def page_of(client_of: Callable[[Any], Client]) -> Callable[[Any], Client]:
    return client_of
