"""Everything that changes a connector for a person. Page and endpoints call these verbs; looking: `looking`."""

import time
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from hyperagent.accounts.models import User
from hyperagent.lib.languages import grouped
from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.queue import enqueue
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused
from hyperagent.lib.stored_faults import fault_in_our_words
from hyperagent.lib.text import clean_text
from memory.connecting.folders import folder_fault
from memory.connecting.items import drop
from memory.kinds import ConnectorKind
from memory.models import Connector

LOOK: Final = "memory.connecting.tasks.look"
LEAVE: Final = "memory.connecting.tasks.leave"
AT_ONCE: Final = 50
"""Documents that are deleted in one transaction."""
WORK_S: Final = 40.0
"""As a look; what is left then goes within the next minutes (`tasks.look_around`)."""
LEASE: Final = timedelta(seconds=120)
LEAST_EVERY_S: Final = {ConnectorKind.FOLDER: 60, ConnectorKind.PAGE: 900, ConnectorKind.SITEMAP: 3_600}
MOST_EVERY_S: Final = 2_592_000
MAX_CONNECTORS: Final = 50
FOLDER_CHARS: Final = 500


def add(user: User, *, kind: ConnectorKind, location: str, every_s: int = 3_600) -> Connector:
    """It is looked at within moments. A folder by administrators only."""
    place = _folder(user, location) if kind is ConnectorKind.FOLDER else _address(location)
    _check_pause(kind, every_s)
    with transaction.atomic():
        User.objects.hold(user.pk)
        own = Connector.objects.of(user)
        if own.count() >= MAX_CONNECTORS:
            raise Refused(
                "too_many_connectors", _("You have {limit} connectors. Delete one first.").format(limit=MAX_CONNECTORS)
            )
        if Connector.objects.filter(owner=user, kind=kind, location=place, is_leaving=True).exists():
            message = _("Your former connector to this place is still being deleted. Try again in a minute.")
            raise Conflict.at("location", message, code="still_leaving")
        if own.filter(kind=kind, location=place).exists():
            raise Conflict.at("location", _("You have a connector to this place already."), code="already_there")
        connector = Connector.objects.create(owner=user, kind=kind, location=place, every_s=every_s)
        enqueue(LOOK, connector.pk)
    return connector


def change(user: User, connector_id: uuid.UUID, *, every_s: int | None = None, is_on: bool | None = None) -> Connector:
    """What is None stays."""
    with transaction.atomic():
        connector = _own(user, connector_id)
        if every_s is not None:
            _check_pause(ConnectorKind(connector.kind), every_s)
            connector.every_s = every_s
            connector.pause_s = min(connector.pause_s, every_s)
        if is_on is not None:
            connector.is_on = is_on
        connector.save(update_fields=["every_s", "pause_s", "is_on"])
    return connector


def look_now(user: User, connector_id: uuid.UUID) -> Connector:
    """Within moments, at all of it; after the look that goes on, where one does. One that is off is refused."""
    with transaction.atomic():
        connector = _own(user, connector_id)
        if not connector.is_on:
            raise Conflict("is_off", _("This connector is off. Switch it on first."))
        connector.pause_s, connector.round_began_at = 0, None
        connector.save(update_fields=["pause_s", "round_began_at"])
        enqueue(LOOK, connector.pk)
    return connector


def delete(user: User, connector_id: uuid.UUID, *, with_documents: bool) -> int:
    """Its documents stay, or go with it; those that its owner gave themselves, or that another connector has as well,
    stay in any case. Returns how many go: more than a few do so lot by lot in the background, and from now on nobody
    sees the connector.

    A look that is just going on stops at its next file.
    """
    with transaction.atomic():
        connector = _own(user, connector_id)
        connector.items.all().delete()
        count = connector.documents.count() if with_documents else 0
        if count > AT_ONCE:
            connector.is_leaving, connector.is_on, connector.looking_until = True, False, None
            connector.save(update_fields=["is_leaving", "is_on", "looking_until"])
            enqueue(LEAVE, connector.pk)
            return count
        gone = sum(drop(connector, document) for document in connector.documents.all()) if count else 0
        connector.delete()
    return gone


def leave(connector_id: uuid.UUID, *, work_s: float = WORK_S) -> None:
    """Goes on with one that is being deleted, lot by lot, while the time lasts; unless somebody else does."""
    if not _leaving().filter(pk=connector_id).update(looking_until=Now() + LEASE):
        return
    until = time.monotonic() + work_s
    while _dropped_some(connector_id):
        if time.monotonic() > until:
            break
    Connector.objects.filter(pk=connector_id, is_leaving=True).update(looking_until=None)


def leaving() -> list[uuid.UUID]:
    """Those that nobody is at."""
    return list(_leaving().values_list("pk", flat=True))


def _leaving() -> QuerySet[Connector]:
    return Connector.objects.filter(Q(looking_until=None) | Q(looking_until__lt=Now()), is_leaving=True)


def _dropped_some(connector_id: uuid.UUID) -> bool:
    """Whether there may be more."""
    with transaction.atomic():
        connector = Connector.objects.select_for_update().filter(pk=connector_id, is_leaving=True).first()
        if connector is None:
            return False
        lot = list(connector.documents.all()[:AT_ONCE])
        for document in lot:
            drop(connector, document)
        if not lot:
            connector.delete()
    return bool(lot)


def _own(user: User, connector_id: uuid.UUID) -> Connector:
    found = Connector.objects.of(user).select_for_update().filter(pk=connector_id).first()
    if found is None:
        raise NotThere
    return found


def _folder(user: User, location: str) -> str:
    if not user.is_staff:
        raise NotAllowed("administrators_only", _("Only administrators may have folders of the server watched."))
    typed = clean_text(location).strip()
    fault = fault_in_our_words(folder_fault(typed, settings.CONFIG.watch_roots))
    real = "" if fault else str(Path(typed).resolve())
    if len(real) > FOLDER_CHARS:
        fault = _("The folder's path may have {limit} characters.").format(limit=FOLDER_CHARS)
    if fault:
        raise Refused.at("location", fault, code="bad_folder")
    return real


def _address(location: str) -> str:
    try:
        return canonical(location.strip(), allow_private=settings.CONFIG.connector_allow_private).url
    except BadAddress as error:
        raise Refused.at("location", fault_in_our_words(str(error)), code="bad_url") from None


def _check_pause(kind: ConnectorKind, every_s: int) -> None:
    least = LEAST_EVERY_S[kind]
    if not least <= every_s <= MOST_EVERY_S:
        message = _("A {kind} can be looked at every {least} to {limit} seconds; {every_s} is not among them.").format(
            kind=kind, least=grouped(least), limit=grouped(MOST_EVERY_S), every_s=grouped(every_s)
        )
        raise Refused.at("every_s", message, code="bad_pause")
