"""Ids of a run's agents: they begin as its own does, so that its events and its journal lie in the same month."""

import secrets
from uuid import UUID

_OWN_BITS = 76
"""After 48 bits of time and four of the version, where the id carries a time at all."""


def sibling_id(other: UUID) -> UUID:
    """One that nobody else has, with the time of the other; of an id without a time, with what stands in its place."""
    begins = other.int >> _OWN_BITS << _OWN_BITS | 0b10 << 62
    return UUID(int=begins | secrets.randbits(12) << 64 | secrets.randbits(62))
