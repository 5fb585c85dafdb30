"""Ids that carry the time at which they were made: UUIDs of version 7 (RFC 9562). Their order is that of time, so what
is stored under them lies together, and a table can be cut by months.
"""

import secrets
from datetime import UTC, datetime, timedelta
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_RANDOM_BITS = 80


def new_id(moment: datetime | None = None) -> UUID:
    """One that nobody else has, of this moment, else of now."""
    begins = _milliseconds(moment or datetime.now(UTC)) << _RANDOM_BITS | 7 << 76 | 0b10 << 62
    return UUID(int=begins | secrets.randbits(12) << 64 | secrets.randbits(62))


def earliest(moment: datetime) -> UUID:
    """The smallest id of a moment (aware): every `new_id` from then on is greater, every earlier one smaller."""
    return UUID(int=_milliseconds(moment) << _RANDOM_BITS)


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND
