"""The chain: how the hash of an event is made from it and the hash before, and what is wrong with a chain that was
changed. Pure.

Names and addresses are not in the hash but a digest of them with a salt is, one for the actor and one for the target.
When an account ends, salt and name go and the digest stays: the chain holds, and leads back to nobody.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

GENESIS: Final = bytes(32)
VERSION: Final = 1
_FORGOTTEN: Final = re.compile("(deleted user [0-9a-f]{4,32})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An event as the chain sees it."""

    number: int
    at: datetime
    kind: str
    actor_id: UUID | None
    actor_name: str
    target_type: str
    target_id: str
    target_name: str
    address: str
    browser: str
    request_id: str
    details: dict[str, Any]
    actor_salt: bytes | None
    actor_digest: bytes
    target_salt: bytes | None
    target_digest: bytes
    hash: bytes | None


@dataclass(frozen=True, slots=True)
class Fault:
    number: int
    what: str


def names_digest(salt: bytes, *names: str) -> bytes:
    return hashlib.sha256(salt + _canonical(names)).digest()


def hash_of(link: Link, *, before: bytes) -> bytes:
    """32 bytes over all that may never change."""
    content = [
        VERSION,
        link.number,
        link.at.astimezone(UTC).isoformat(timespec="microseconds"),
        link.kind,
        str(link.actor_id) if link.actor_id else None,
        link.actor_digest.hex(),
        link.target_type,
        link.target_id,
        link.target_digest.hex(),
        link.browser,
        link.request_id,
        link.details,
    ]
    return hashlib.sha256(before + _canonical(content)).digest()


def faults(links: Iterable[Link], *, number: int, before: bytes) -> Iterator[Fault]:
    """What is wrong with the events that follow `number`, whose hash is `before`; at most one fault an event, and after
    a change the chain goes on from the hash that stands there, so that one change is one fault.
    """
    for link in links:
        if link.number != number + 1:
            yield Fault(number + 1, f"is missing; the next one is {link.number}")
        elif link.hash != hash_of(link, before=before):
            yield Fault(link.number, "was changed after it was written, or the one before was")
        elif problem := _names_fault(link):
            yield Fault(link.number, problem)
        number, before = link.number, link.hash or b""


def _names_fault(link: Link) -> str:
    if link.actor_salt is None:
        if not _FORGOTTEN.fullmatch(link.actor_name):
            return "the name of who did it was changed"
    elif link.actor_digest != names_digest(link.actor_salt, link.actor_name, link.address):
        return "the name or the address of who did it was changed"
    if link.target_salt is None:
        return "" if _FORGOTTEN.fullmatch(link.target_name) else "the name of what it was done to was changed"
    if link.target_digest != names_digest(link.target_salt, link.target_name):
        return "the name of what it was done to was changed"
    return ""


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()
