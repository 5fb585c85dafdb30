"""What the tests of the audit log share: events to read, and what is in the log."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.faces.conftest import _quick_hashes, api_of, client_of, in_threads

__all__ = ["_quick_hashes", "api_of", "client_of", "in_threads"]


@pytest.fixture
def told(db: None) -> Callable[..., list[str]]:
    """The kinds in the log, in order, of these that begin so; sealed by now."""
    from hyperagent.audit import reading  # the models exist once Django is set up

    def kinds(beginning: str = "") -> list[str]:
        return [row.kind for row in reading.after(0) if row.kind.startswith(beginning)]

    return kinds


@pytest.fixture
def write(db: None) -> Callable[..., None]:
    """So many events of one person."""
    from hyperagent.audit.recording import Target, actor_of, record

    def some(person: Any, count: int = 1, *, kind: str = "sign_out", name: str = "") -> None:
        for number in range(count):
            record(kind, actor=actor_of(person), target=Target("thing", str(number), name), details={"n": number})

    return some
