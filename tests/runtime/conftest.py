"""Fixtures for tests that drive runs."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from tests.scripted.fixtures import echo_server, scripted_server

__all__ = ["echo_server", "scripted_server"]


@pytest.fixture
async def make_runner(transactional_db: None) -> AsyncIterator[Any]:
    """Starts runners on the test's database (`tests.runtime.driving.Runners`) and stops them after the test."""
    from tests.runtime.driving import Runners

    runners = Runners()
    yield runners
    await runners.stop()
    await sync_to_async(connections.close_all)()
