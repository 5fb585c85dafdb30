"""Fixtures for whoever needs a model: `scripted_server` (strict, verified at the end) and `echo_server`."""

from collections.abc import Iterator

import pytest

from tests.scripted.server import ScriptedServer


@pytest.fixture
def scripted_server() -> Iterator[ScriptedServer]:
    """Strict: at the end of the test, a call without a line and a line without a call both fail it."""
    server = ScriptedServer().start()
    try:
        yield server
        server.verify()
    finally:
        server.stop()


@pytest.fixture
def echo_server() -> Iterator[ScriptedServer]:
    """Answers every call from its own words; `say 200 tokens at 50/s` is obeyed."""
    server = ScriptedServer(echo=True).start()
    try:
        yield server
    finally:
        server.stop()
