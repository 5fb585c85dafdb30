"""The bytes and rows of files, kept together: what is stored, what counts for a quota, what goes. Asks nobody who may.

All but `stored` happens within a transaction that holds `lock`.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import Refused
from hyperagent.lib.text import clean_text
from memory.ingestion import files as storage
from memory.ingestion.files import Kept, TooBig
from memory.models import FileVersion, StoredBytes, WorkspaceFile
from memory.workspaces.overview import held_bytes
from memory.workspaces.places import Holder

FOLDER: Final = "workspaces"
KEPT_VERSIONS: Final = 20
BY_CHARS: Final = 100
_AT_ONCE: Final = 100
# The first number of the locks of files; no other code takes one with it.
_LOCK_CLASS: Final = 0x66696C65


class QuotaUsedUp(Refused):
    status = 507

    def __init__(self, used: int, quota: int) -> None:
        message = _(
            "There is no room: {used} of {quota} bytes are taken. Delete files, or ask an administrator for a higher "
            "WORKSPACE_QUOTA_BYTES."
        ).format(used=grouped(used), quota=grouped(quota))
        super().__init__("quota_used_up", message, used_bytes=used, quota_bytes=quota)


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the person, and if it is not done by hand, the agent or program, its run, and the key of its call."""

    user_id: UUID
    by: str = ""
    execution_id: UUID | None = None
    effect_key: str = ""


def check_size(size_bytes: int) -> None:
    """Raises TooBig."""
    if size_bytes > settings.CONFIG.workspace_file_max_bytes:
        raise TooBig(settings.CONFIG.workspace_file_max_bytes, setting="WORKSPACE_FILE_MAX_BYTES")


def stored(holder: Holder, content: IO[bytes]) -> Kept:
    limit = settings.CONFIG.workspace_file_max_bytes
    try:
        return storage.keep(content, name=f"{FOLDER}/{holder.id}/{uuid.uuid4()}", limit_bytes=limit)
    except TooBig:
        raise TooBig(limit, setting="WORKSPACE_FILE_MAX_BYTES") from None


def bytes_of(holder: Holder, kept: Kept, file: WorkspaceFile) -> StoredBytes:
    found = StoredBytes.objects.filter(sha256=kept.sha256, **holder.fields).first()
    if found is None:
        make_room(holder, kept.size_bytes, sparing=file)
        return StoredBytes.objects.create(
            sha256=kept.sha256, size_bytes=kept.size_bytes, stored_as=kept.stored_as, **holder.fields
        )
    if not storage.exists(found.stored_as):
        # The first copy was lost.
        found.stored_as = kept.stored_as
        found.save(update_fields=["stored_as"])
    return found


def stand(file: WorkspaceFile, bytes_: StoredBytes, writer: Writer, *, media_type: str) -> None:
    """Makes these bytes the newest version of the file, and lets the oldest go."""
    file.version += 1
    file.sha256, file.size_bytes, file.media_type = bytes_.sha256, bytes_.size_bytes, media_type
    file.changed_at, file.deleted_at = timezone.now(), None
    file.save()
    FileVersion.objects.create(
        file=file,
        number=file.version,
        bytes=bytes_,
        media_type=media_type,
        by=clean_text(writer.by)[:BY_CHARS],
        by_execution=writer.execution_id,
        effect_key=writer.effect_key,
        written_by_id=writer.user_id,
        written_at=file.changed_at,
    )
    drop(file.versions.filter(number__lte=file.version - KEPT_VERSIONS))


def take_over(file: WorkspaceFile, binned: WorkspaceFile) -> None:
    """Makes the versions of one in the bin, whose path the file is about to get, its oldest. Its own number is for the
    caller to save."""
    # Below zero for a moment, for no two may have the same number.
    file.versions.update(number=-F("number") - binned.version)
    file.versions.update(number=-F("number"))
    binned.versions.update(file=file)
    WorkspaceFile.objects.filter(pk=binned.pk).delete()
    file.version += binned.version


def make_room(holder: Holder, wanted: int, *, sparing: WorkspaceFile) -> None:
    """The bin is emptied for it, and then the oldest versions go. Raises QuotaUsedUp, and the transaction undoes it."""
    quota = settings.CONFIG.workspace_quota_bytes
    if held_bytes(holder) + wanted <= quota:
        return
    mine = WorkspaceFile.objects.filter(**holder.fields)
    purge(list(mine.exclude(deleted_at=None).exclude(pk=sparing.pk)))
    older = FileVersion.objects.filter(file__in=mine).exclude(number=F("file__version"))
    while (used := held_bytes(holder)) + wanted > quota:
        oldest = list(older.order_by("written_at", "pk").values_list("pk", flat=True)[:_AT_ONCE])
        if not oldest:
            raise QuotaUsedUp(used, quota)
        drop(FileVersion.objects.filter(pk__in=oldest))


def purge(files: Sequence[WorkspaceFile]) -> None:
    """For good, with all versions."""
    ids = [file.pk for file in files]
    drop(FileVersion.objects.filter(file__in=ids))
    WorkspaceFile.objects.filter(pk__in=ids).delete()


def drop(gone: "QuerySet[FileVersion]") -> None:
    """Deletes these versions, and after commit the bytes that nothing else has."""
    found = dict(gone.values_list("pk", "bytes_id"))
    if not found:
        return
    FileVersion.objects.filter(pk__in=found).delete()
    unused = list(StoredBytes.objects.filter(pk__in=set(found.values()), versions=None))
    StoredBytes.objects.filter(pk__in=[row.pk for row in unused]).delete()
    for row in unused:
        transaction.on_commit(partial(storage.remove, row.stored_as))


def lock(holder: Holder) -> None:
    """Whatever changes the files of one person or project happens one after the other, until commit."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_CLASS, str(holder.id)])
