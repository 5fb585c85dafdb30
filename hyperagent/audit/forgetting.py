"""The end of an account in the audit log: what was done stays, the name goes. Its salt goes with it, so that the digest
in the chain leads back to nobody; the address is cut to its network.
"""

import ipaddress
from collections.abc import Iterable
from typing import Final
from uuid import UUID

from django.db.models import Q

from hyperagent.audit.models import AuditEvent
from hyperagent.audit.sealing import seal
from hyperagent.audit.sql import changed

AT_ONCE: Final = 500


def forget(person_id: UUID, *, name: str, invitations: Iterable[UUID] = (), limit: int = AT_ONCE) -> int:
    """Up to `limit` events lose the person's name, for `name` such as "deleted user 3f2a", and how they called what
    was theirs. `invitations`: those by which they came, which name them too. Returns how many were left to change when
    it began, at most `limit`; 0: nothing names them."""
    seal()  # the indexes are over what is sealed
    by_them = Q(actor_id=person_id, actor_salt__isnull=False)
    of_theirs = Q(actor_id=person_id, target_salt__isnull=False) & ~Q(target_type="user")
    asked_in = Q(target_type="invitation", target_id__in=[str(one) for one in invitations])
    to_them = (Q(target_id=str(person_id), target_type="user") | asked_in) & Q(target_salt__isnull=False)
    done = 0
    for which in (by_them, of_theirs, to_them):
        rows = AuditEvent.objects.sealed().filter(which).order_by("number")[: limit - done]
        if which is by_them:
            done += _forget_actor([(row.id, network_of(row.address)) for row in rows], name)
        else:
            done += _forget_target([row.id for row in rows], name if which is to_them else "")
    return done


def network_of(address: str) -> str:
    """Such as 203.0.113.0/24; empty for what is no address. Pure."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    bits = 24 if found.version == 4 else 48
    return str(ipaddress.ip_network(f"{found}/{bits}", strict=False))


def _forget_actor(rows: list[tuple[int, str]], name: str) -> int:
    if not rows:
        return 0
    ids, networks = (list(column) for column in zip(*rows, strict=True))
    return changed(
        "UPDATE audit_event e SET actor_name = %s, actor_salt = NULL, address = n.network"
        " FROM unnest(%s::bigint[], %s::text[]) AS n (id, network) WHERE e.id = n.id",
        [name, ids, networks],
    )


def _forget_target(ids: list[int], name: str) -> int:
    """Of what they named themselves (a token, a webhook) no name is left."""
    return AuditEvent.objects.filter(id__in=ids).update(target_salt=None, target_name=name) if ids else 0
