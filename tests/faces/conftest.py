"""What the tests of the faces share: people with tokens, clients, runners, and the web server as a process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from threading import Barrier
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import Client

from hyperagent.lib.threads import THREADS
from hyperagent.lib.threads import pool as in_thread_pool
from tests.runtime.conftest import make_runner
from tests.scripted.fixtures import echo_server, scripted_server

__all__ = ["echo_server", "make_runner", "scripted_server"]


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def client_of() -> Callable[[Any], Client]:
    """A browser in which this person is signed in."""

    def signed_in(user: Any) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return signed_in


@pytest.fixture
def api_of() -> Callable[..., Any]:
    """A program that holds a token of this person."""
    from rest_framework.test import APIClient  # reads the settings when it is imported

    def with_token(user: Any, **options: Any) -> Any:
        return APIClient(headers={"authorization": f"Bearer {token_of(user, **options)}"})

    return with_token


def token_of(user: Any, **options: Any) -> str:
    from hyperagent.accounts import actions  # the models exist once Django is set up

    return actions.make_token(user, **options)[1]


@pytest.fixture
async def in_threads(transactional_db: None) -> AsyncIterator[None]:
    """For tests whose code reads the database in threads of its own: they see what is committed only."""
    yield
    await sync_to_async(connections.close_all)()
    # Channels' test client switches off, for all threads, what gives connections back.
    together = Barrier(THREADS)

    def close() -> None:
        together.wait(10)
        connections.close_all()

    await asyncio.gather(*(asyncio.wrap_future(in_thread_pool.submit(close)) for _ in range(THREADS)))


@pytest.fixture(scope="module")
def _web(django_db_setup: None) -> Iterator[Any]:
    from tests.faces.web import Web

    server = Web()
    yield server
    server.stop()


@pytest.fixture
def web(_web: Any, transactional_db: None) -> Any:
    """The web server as a process on the test's database; one for a file, started again where it was killed."""
    if not _web.is_running:
        _web.start()
    return _web
