"""Memories as the tests of remembering need them."""

import uuid
from datetime import UTC, datetime
from typing import Any

from memory.kinds import MemoryKind, ProfileField
from memory.models import Memory
from memory.remembering.sameness import terms
from memory.remembering.storing import store
from memory.remembering.values import Finding, Learned, Said

SAID_AT = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


def fact(text: str, **more: Any) -> Finding:
    return Finding(MemoryKind.FACT, text, **more)


def field(name: ProfileField, value: str, **more: Any) -> Finding:
    return Finding(MemoryKind.FACT, value, field=name, **more)


def learned(user: Any, *findings: Finding, origin: str | None = None, forget: Any = (), **said: Any) -> list[Learned]:
    """Stores the findings as a run would; `origin` repeats an earlier one."""
    source = Said(origin=origin or uuid.uuid4().hex, at=said.pop("at", SAID_AT), **said)
    return store(user.pk, findings, source, forget=forget)


def known(user: Any, text: str, **fields: Any) -> Memory:
    values = {"kind": MemoryKind.FACT, "said_at": SAID_AT, "origin_key": uuid.uuid4().hex, "terms": terms(text)}
    return Memory.objects.create(user=user, text=text, **(values | fields))


def active(user: Any) -> list[str]:
    return sorted(Memory.objects.of(user).active().values_list("text", flat=True))
