"""Where the work that is being done was asked for: the address, the browser's short name. Set at the door (by a
middleware and by the sockets) and read where an event is written, so that no verb between them has to carry it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Origin:
    address: str = ""
    browser: str = ""


NOWHERE: Final = Origin()
_current: ContextVar[Origin] = ContextVar("hyperagent_audit_origin", default=NOWHERE)


def current() -> Origin:
    return _current.get()


@contextmanager
def coming_from(origin: Origin) -> Iterator[None]:
    token = _current.set(origin)
    try:
        yield
    finally:
        _current.reset(token)
