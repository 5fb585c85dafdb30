"""The one door into the audit log: `record` writes a row in the caller's transaction. Knows neither what the kinds mean
nor how the chain is made; no writer waits for another.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

import structlog
from django.http import HttpRequest

from hyperagent.audit import origin
from hyperagent.audit.chain import names_digest
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.models import NAME_CHARS, AuditEvent
from hyperagent.lib.text import clean_text, clean_value

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
SALT_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it. The name is the e-mail address, as everywhere where people are told apart."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class Target:
    """What it was done to. `type` is one word such as "user" or "api_token"; `name` never what somebody wrote to an
    agent, a title or a file's content: auditors may read it without the permission to read content."""

    type: str
    id: str
    name: str = ""


def actor_of(person: object) -> Actor | None:
    """For `request.user` and the like; None for a stranger."""
    id_ = getattr(person, "pk", None)
    return Actor(id_, str(person)) if isinstance(id_, UUID) else None


def record(
    kind: AuditKind | str,
    *,
    actor: Actor | None,
    target: Target | None = None,
    details: Mapping[str, JSON] = {},
    request: HttpRequest | None = None,
) -> None:
    """One row, in the caller's transaction: what is rolled back leaves none. `details` holds ids, numbers and words of
    ours: no secrets, no names of people, nothing that people wrote. Raises ValueError for a kind that is not known.
    """
    came = getattr(request, "audit_origin", None) or origin.current()
    actor_name = _short(actor.name, NAME_CHARS) if actor else ""
    target_name = _short(target.name, NAME_CHARS) if target else ""
    address = _short(came.address, 64)
    actor_salt, target_salt = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(SALT_BYTES)
    AuditEvent.objects.create(
        kind=AuditKind(kind).value,
        actor_id=actor.id if actor else None,
        actor_name=actor_name,
        target_type=_short(target.type, 60) if target else "",
        target_id=_short(target.id, 200) if target else "",
        target_name=target_name,
        address=address,
        browser=_short(came.browser, 60),
        request_id=_short(str(structlog.contextvars.get_contextvars().get("request_id", "")), 64),
        details=clean_value(dict(details)),
        actor_salt=actor_salt,
        actor_digest=names_digest(actor_salt, actor_name, address),
        target_salt=target_salt,
        target_digest=names_digest(target_salt, target_name),
    )


def _short(text: str, chars: int) -> str:
    return clean_text(text)[:chars]
