"""What the tests of accounts share: quick hashes, a mailbox, clients, and many hands at once."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from tests.at_once import elsewhere

PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Any) -> None:
    """Half a second of PBKDF2 for each login would only slow the tests down."""
    settings.PASSWORD_HASHERS = ["tests.accounts.hashers.CountingHasher"]


@pytest.fixture
def page() -> Client:
    return Client()


@pytest.fixture
def alices_page(alice: Any) -> Client:
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def charlies_page(charlie: Any) -> Client:
    client = Client()
    client.force_login(charlie)
    return client


@pytest.fixture
def api() -> Any:
    from rest_framework.test import APIClient  # reads the settings when it is imported

    return APIClient()


@pytest.fixture
def together(transactional_db: None) -> Callable[..., list[Any]]:
    """Runs a function many times at the same instant, each on a database connection of its own."""

    def run(function: Callable[[], Any], *, times: int) -> list[Any]:
        start = Barrier(times)

        def one(_: int) -> Any:
            start.wait(timeout=30)
            try:
                return function()
            finally:
                connection.close()

        with ThreadPoolExecutor(times) as pool:
            return list(pool.map(one, range(times)))

    return run


@pytest.fixture
def during(transactional_db: None) -> Callable[..., Any]:
    """Begins something elsewhere within a transaction of the test's own, which is committed once the other waits for
    one of its rows."""

    @contextmanager
    def run(other: Callable[[], Any]) -> Iterator[None]:
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                yield
                done = pool.submit(elsewhere, other)
                ends = time.monotonic() + 30
                while not done.done() and not _somebody_waits() and time.monotonic() < ends:
                    time.sleep(0.01)
            done.result(timeout=30)

    return run


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
        return bool(cursor.fetchone()[0])
