"""Snapshots of boxes (S204): kept in Django's file storage under a row, found again, forgotten. Database code.

What is in a snapshot was written by programs: it is bytes here, and unpacked inside a box only.
"""

import hashlib
import json
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from agents.sandbox.base import APP, HOME, OUTPUTS, SandboxError
from agents.sandbox.models import CloseWanted, SandboxSession, SandboxSnapshot
from agents.sandbox.records import Owner
from hyperagent.lib.outage import StorageAway, or_undo
from hyperagent.lib.storage import lacks

log = structlog.get_logger(__name__)

FOLDER: Final = "sandboxes"
# The app lies in the home folder: it is packed with it.
FOLDERS: Final = tuple(
    folder for folder in (HOME, OUTPUTS, APP) if not any(folder.startswith(f"{other}/") for other in (HOME, OUTPUTS))
)
# No archive begins like that.
_NAMED: Final = b"\0names\0"
# A file whose row is not committed yet is none of the sweep's business.
GRACE: Final = timedelta(hours=1)
_MISSING: Final = "its snapshot is gone from the file storage."
_CHANGED: Final = "its snapshot is not what was kept any more."


class SnapshotLost(SandboxError):
    """What was kept cannot be had any more."""


def keep(owner: Owner, archive: bytes, *, session_id: UUID) -> None:
    """Takes the place of the one before. Where its box is to be forgotten meanwhile, or was given up so that another
    has taken its place, nothing is kept. Raises OSError where the storage has no room; then the one before stays."""
    name = f"{FOLDER}/{owner.user_id}/{uuid.uuid4()}.tar"
    stored_as = default_storage.save(name, ContentFile(archive))
    with or_undo(lambda: default_storage.delete(stored_as)):
        left = _kept(owner, archive, stored_as, session_id)
    if left:
        _remove(left)


def find(owner: Owner) -> bytes | None:
    """None where there is none. Raises SnapshotLost, and StorageAway where it cannot be read just now: it is there, and
    a box that opened without it would take its place."""
    row = _of(owner).first()
    if row is None:
        return None
    try:
        with default_storage.open(row.stored_as, "rb") as stored:
            archive: bytes = stored.read()
    except OSError as error:
        log.warning("snapshot.unreadable", snapshot=str(row.id), why=str(error))
        if isinstance(error, FileNotFoundError) and lacks(row.stored_as):
            raise SnapshotLost(_MISSING) from error
        raise StorageAway(error.errno, "the snapshot cannot be read") from error
    if hashlib.sha256(archive).hexdigest() != row.sha256:
        log.error("snapshot.changed", snapshot=str(row.id))
        raise SnapshotLost(_CHANGED)
    return archive


def with_names(archive: bytes, names: Sequence[str]) -> bytes:
    """What to keep of a box: its archive, and what its host remembered of the workspace's files in it."""
    told = json.dumps(sorted(names)).encode()
    return _NAMED + len(told).to_bytes(4) + told + archive


def parted(kept: bytes) -> tuple[list[str], bytes]:
    """The names and the archive. One that an earlier version kept has no names."""
    if not kept.startswith(_NAMED):
        return [], kept
    start = len(_NAMED) + 4
    end = start + int.from_bytes(kept[len(_NAMED) : start])
    return [str(name) for name in json.loads(kept[start:end])], kept[end:]


def forget(owner: Owner) -> None:
    _forget(_of(owner))


def forget_task(user_id: UUID, task_id: UUID) -> None:
    """Those of all kinds of boxes."""
    _forget(SandboxSnapshot.objects.filter(user_id=user_id, task_id=task_id))


def forget_user(user_id: UUID) -> None:
    _forget(SandboxSnapshot.objects.filter(user_id=user_id))


def sweep(*, retention_hours: float) -> None:
    """Forgets what is too old, what belonged to people who are gone, and files without a row."""
    too_old = Now() - timedelta(hours=retention_hours)
    of_nobody = Q(user=None) | Q(user__is_active=False)
    _forget(SandboxSnapshot.objects.filter(Q(made_at__lt=too_old) | of_nobody))
    _remove_strays()


def _of(owner: Owner) -> QuerySet[SandboxSnapshot]:
    rows = SandboxSnapshot.objects.filter(task_id=owner.task_id, sandbox_type=owner.kept_as.value)
    return rows.filter(user_id=owner.user_id) if owner.user_id else rows.none()


def _kept(owner: Owner, archive: bytes, stored_as: str, session_id: UUID) -> str:
    """Where what has no row any more lies: the one before, or this one; empty if there is nothing."""
    with transaction.atomic():
        # Held to the end: who wants it forgotten from now on waits, and finds the snapshot then.
        session = SandboxSession.objects.select_for_update().filter(pk=session_id, ended_at=None).first()
        if session is None or session.close_wanted == CloseWanted.REMOVE:
            return stored_as
        before = _of(owner).select_for_update().first()
        assert owner.user_id is not None
        SandboxSnapshot.objects.update_or_create(
            user_id=owner.user_id,
            task_id=owner.task_id,
            sandbox_type=owner.kept_as.value,
            defaults={
                "stored_as": stored_as,
                "sha256": hashlib.sha256(archive).hexdigest(),
                "size_bytes": len(archive),
                "made_at": Now(),
            },
        )
    return before.stored_as if before is not None else ""


def _forget(rows: QuerySet[SandboxSnapshot]) -> None:
    """The row first: a file that is left is found by the sweep. Each is looked at again with its row held: another
    snapshot may just be taking its place."""
    for row_id in list(rows.values_list("pk", flat=True)):
        with transaction.atomic():
            row = rows.select_for_update(of=("self",)).filter(pk=row_id).first()
            if row is None:
                continue
            row.delete()
        _remove(row.stored_as)


def _remove(stored_as: str) -> None:
    try:
        default_storage.delete(stored_as)
    except OSError as error:
        log.warning("snapshot.not_removed", stored_as=stored_as, why=str(error))


def _remove_strays() -> None:
    known = set(SandboxSnapshot.objects.values_list("stored_as", flat=True))
    try:
        owners, _ = default_storage.listdir(FOLDER)
    except (OSError, NotImplementedError):
        return
    for owner in owners:
        for name in default_storage.listdir(f"{FOLDER}/{owner}")[1]:
            path = f"{FOLDER}/{owner}/{name}"
            if path not in known and default_storage.get_modified_time(path) < timezone.now() - GRACE:
                _remove(path)
