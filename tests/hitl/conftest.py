"""Fixtures for tests of the inbox's rules: clients of people, and connections as runners have them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from tests.faces.conftest import _quick_hashes, api_of, client_of, in_threads

__all__ = ["_quick_hashes", "api_of", "client_of", "in_threads"]


@pytest.fixture
async def connect(transactional_db: None) -> AsyncIterator[Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]]:
    """Opens connections to the test's database like those of a runner's pool."""
    from tests.runtime.driving import database_dsn  # the models exist once Django is set up

    async with AsyncExitStack() as opened:

        async def open_one() -> psycopg.AsyncConnection[Any]:
            made = await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True)
            opened.push_async_callback(made.close)
            return made

        yield open_one
    await sync_to_async(connections.close_all)()
