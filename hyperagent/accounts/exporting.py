"""All that is kept of a person as one file: asked for, made by the queue, fetched by its owner, gone after a week.

The row is the truth and a job a hint. Whoever makes the file holds the row for longer than the queue lets a job run, so
a lease that is over belonged to somebody who is gone.
"""

import errno
import tempfile
import uuid
from contextlib import suppress
from datetime import timedelta
from typing import IO, Final

import structlog
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.accounts import letters
from hyperagent.accounts.archive import Archive
from hyperagent.accounts.letter_models import LetterKind
from hyperagent.accounts.models import DataExport, ExportState, User
from hyperagent.accounts.personal import parts
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib import queue
from hyperagent.lib.languages import speaking
from hyperagent.lib.outage import StorageAway
from hyperagent.lib.outbox import mails_leave
from hyperagent.lib.refusals import Conflict, NotThere

log = structlog.get_logger(__name__)

FOLDER: Final = "exports"
MAKE: Final = "hyperagent.accounts.tasks.make_export"
KEPT: Final = timedelta(days=7)
# The queue ends a job after 300 s.
LEASE: Final = timedelta(seconds=400)
MOST_TRIES: Final = 3
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def ask(user: User) -> DataExport:
    """Raises Conflict while one is being made."""
    try:
        with transaction.atomic():
            export = DataExport.objects.create(user=user)
            queue.enqueue(MAKE, export.pk)
            record(AuditKind.EXPORT_ASKED, actor=actor_of(user), target=Target("data_export", str(export.pk)))
    except IntegrityError:
        told = _("Your export is being made already. You are told by mail when it is ready.")
        untold = _("Your export is being made already. It is here when it is ready.")
        raise Conflict("export_waits", told if mails_leave() else untold) from None
    return export


def being_made() -> str:
    """For its owner, while it is not ready."""
    if mails_leave():
        return _("Your export is being made. You are told by mail when it is ready.")
    return _("Your export is being made. It is here when it is ready.")


def newest(user: User) -> DataExport | None:
    return DataExport.objects.filter(user=user).first()


def opened(user: User, export_id: uuid.UUID) -> tuple[DataExport, IO[bytes]]:
    """Raises NotThere for what is another's, not ready, or over."""
    own = DataExport.objects.filter(user=user, state=ExportState.READY, ends_at__gt=Now())
    export = own.filter(pk=export_id).first()
    if export is None:
        raise NotThere
    try:
        content = default_storage.open(export.stored_as, "rb")
    except FileNotFoundError:
        raise NotThere from None
    record(AuditKind.EXPORT_TAKEN, actor=actor_of(user), target=Target("data_export", str(export.pk)))
    return export, content


def make(export_id: uuid.UUID) -> None:
    """Nothing for one that is made, or that somebody is just making."""
    export = _taken(export_id)
    if export is None:
        return
    if export.tries > MOST_TRIES:
        with speaking(export.user.language):
            _failed(export, _("It could not be finished in time."))
        return
    try:
        stored_as, size_bytes = _stored(export)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        with speaking(export.user.language):
            _failed(export, _("There was no room left for it. Ask an administrator to make some."))
        return
    _ready(export, stored_as, size_bytes)
    tell(export.pk)


def tell(export_id: uuid.UUID) -> None:
    """Writes to its owner that it is ready; once."""
    untold = DataExport.objects.filter(pk=export_id, state=ExportState.READY, told_at=None, user__is_active=True)
    with transaction.atomic():
        if untold.update(told_at=Now()):
            letters.write(LetterKind.EXPORT_READY, DataExport.objects.select_related("user").get(pk=export_id).user)


def go_on() -> None:
    """What a lost job left, and files whose time is over. Raises StorageAway, for then none can go."""
    lost = DataExport.objects.filter(Q(lease_until__lt=Now()) | Q(lease_until=None), state=ExportState.WAITING)
    for export_id in lost.filter(asked_at__lt=Now() - timedelta(minutes=1)).values_list("pk", flat=True):
        queue.enqueue(MAKE, export_id)
    for export in DataExport.objects.filter(state=ExportState.READY, ends_at__lte=Now()):
        try:
            end(export)
        except StorageAway:
            raise
        except OSError as error:
            # It opens for nobody any more, and is tried again the next time.
            log.warning("export.file_not_removed", export=str(export.pk), error=str(error))


def end(export: DataExport) -> None:
    """Its file goes, and then what says where it is."""
    _remove(export.stored_as)
    DataExport.objects.filter(pk=export.pk).update(state=ExportState.ENDED, stored_as="")


def erase(user_id: uuid.UUID) -> int:
    """All of this person's. How many."""
    gone = list(DataExport.objects.filter(user=user_id))
    for export in gone:
        _remove(export.stored_as)
        export.delete()
    # What a job that was killed had stored before it could say so.
    folder = f"{FOLDER}/{user_id}"
    with suppress(FileNotFoundError):
        for name in default_storage.listdir(folder)[1]:
            _remove(f"{folder}/{name}")
    return len(gone)


def _taken(export_id: uuid.UUID) -> DataExport | None:
    free = DataExport.objects.filter(Q(lease_until__lt=Now()) | Q(lease_until=None), state=ExportState.WAITING)
    mine = free.filter(pk=export_id, user__is_active=True)
    if not mine.update(lease_until=Now() + LEASE, tries=F("tries") + 1):
        return None
    return DataExport.objects.select_related("user").get(pk=export_id)


def _stored(export: DataExport) -> tuple[str, int]:
    """Where the file lies, and its size; in its owner's language. Written on this machine's disk first: a storage takes
    only what is whole."""
    with tempfile.TemporaryFile(prefix="export-") as file, speaking(export.user.language):
        archive = Archive(file)
        archive.text("README.txt", _readme(export))
        for part in parts():
            part.write(export.user_id, archive)
        archive.close()
        size_bytes = file.tell()
        file.seek(0)
        name = f"{FOLDER}/{export.user_id}/{export.pk}-{export.tries}.zip"
        return default_storage.save(name, File(file)), size_bytes


def _readme(export: DataExport) -> str:
    return render_to_string("accounts/export_readme.txt", {"user": export.user, "made": timezone.now()})


def _ready(export: DataExport, stored_as: str, size_bytes: int) -> None:
    """Only while it is still ours. The one before goes: nobody needs two."""
    mine = DataExport.objects.filter(pk=export.pk, state=ExportState.WAITING, tries=export.tries, user__is_active=True)
    values = {"stored_as": stored_as, "size_bytes": size_bytes, "finished_at": Now(), "ends_at": Now() + KEPT}
    if not mine.update(state=ExportState.READY, lease_until=None, **values):
        _remove(stored_as)
        return
    for before in DataExport.objects.filter(user=export.user_id, state=ExportState.READY).exclude(pk=export.pk):
        end(before)


def _failed(export: DataExport, problem: str) -> None:
    DataExport.objects.filter(pk=export.pk).update(
        state=ExportState.FAILED, problem=problem, finished_at=Now(), lease_until=None
    )


def _remove(stored_as: str) -> None:
    if stored_as:
        default_storage.delete(stored_as)
