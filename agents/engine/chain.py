"""The hash chain of an execution's events: each hash covers the one before, so a later change anywhere shows."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

GENESIS = bytes(32)


def link(previous: bytes, body: str) -> bytes:
    """SHA-256 over the hash before (32 bytes; GENESIS for the first) and the event's exact JSON text."""
    return hashlib.sha256(previous + body.encode()).digest()


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at a number of the log."""

    seq: int
    what: str


def faults(rows: Iterable[tuple[int, str, bytes | None]]) -> Iterator[Fault]:
    """Checks (seq, body, hash) rows in order from the first: numbering without gaps or doubles, and each hash.

    Without a hash, as in a fold, the next row that has one vouches for both.
    """
    previous, expected = GENESIS, 1
    for seq, body, stored in rows:
        if seq != expected:
            what = f"number {expected} is missing" if seq > expected else f"number {seq} stands twice"
            yield Fault(seq, what)
        linked = link(previous, body)
        if stored is not None and linked != bytes(stored):
            yield Fault(seq, "the text or the order was changed after it was written")
        previous, expected = linked if stored is None else bytes(stored), seq + 1
