"""All that is kept of a person as one file, or several where one job has no time for all: asked for, made by the queue,
fetched by its owner, gone after a week.

The row is the truth and a job a hint. Whoever makes a file holds the row for longer than the queue lets a job run, so
a lease that is over belonged to somebody who is gone.
"""

import errno
import tempfile
import time
import uuid
from contextlib import suppress
from datetime import timedelta
from typing import IO, Any, Final

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
from hyperagent.accounts.archive import Archive, OutOfTime, Written
from hyperagent.accounts.letter_models import LetterKind
from hyperagent.accounts.models import DataExport, ExportState, User
from hyperagent.accounts.personal import parts
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib import queue
from hyperagent.lib.languages import speaking
from hyperagent.lib.outage import StorageAway
from hyperagent.lib.outgoing_mails import mails_leave
from hyperagent.lib.refusals import Conflict, NotThere

log = structlog.get_logger(__name__)

FOLDER: Final = "exports"
MAKE: Final = "hyperagent.accounts.tasks.make_export"
KEPT: Final = timedelta(days=7)
# The queue ends a job after 300 s: it stops by itself before, and the next one makes another file.
WORK_S: Final = 200.0
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


def files_of(export: DataExport) -> list[tuple[str, int]]:
    """Where they lie, and their sizes. One that was made at once has one."""
    if export.files:
        return [(stored_as, size_bytes) for stored_as, size_bytes in export.files]
    return [(export.stored_as, export.size_bytes)] if export.stored_as else []


def opened(user: User, export_id: uuid.UUID, number: int = 1) -> tuple[DataExport, IO[bytes], int]:
    """One of its files, and how large that is. Raises NotThere for what is another's, not ready, or over."""
    own = DataExport.objects.filter(user=user, state=ExportState.READY, ends_at__gt=Now())
    export = own.filter(pk=export_id).first()
    files = [] if export is None else files_of(export)
    if export is None or not 1 <= number <= len(files):
        raise NotThere
    stored_as, size_bytes = files[number - 1]
    try:
        content = default_storage.open(stored_as, "rb")
    except FileNotFoundError:
        raise NotThere from None
    record(AuditKind.EXPORT_TAKEN, actor=actor_of(user), target=Target("data_export", str(export.pk)))
    return export, content, size_bytes


def make(export_id: uuid.UUID, *, work_s: float = WORK_S) -> None:
    """Goes on where the job before it stopped. Nothing for one that is made, or that somebody is just making."""
    export = _taken(export_id)
    if export is None:
        return
    if export.tries > MOST_TRIES:
        with speaking(export.user.spoken):
            _failed(export, _("It could not be finished in time."))
        return
    try:
        is_whole = _write_next(export, until=time.monotonic() + work_s)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        with speaking(export.user.spoken):
            _failed(export, _("There was no room left for it. Ask an administrator to make some."))
        return
    if is_whole:
        _ready(export)
    else:
        _go_on_later(export)


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
    """Its files go, and then what says where they are."""
    _remove_files(export)
    DataExport.objects.filter(pk=export.pk).update(state=ExportState.ENDED, stored_as="", files=None)


def erase(user_id: uuid.UUID) -> int:
    """All of this person's. How many."""
    gone = list(DataExport.objects.filter(user=user_id))
    for export in gone:
        _remove_files(export)
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


def _write_next(export: DataExport, *, until: float) -> bool:
    """The next of its files, in its owner's language, onto this machine's disk first: a storage takes only what is
    whole. Says in `export` what there is then. Whether that is all."""
    is_whole = True
    written = Written(**(export.place or {}))
    with tempfile.TemporaryFile(prefix="export-") as file, speaking(export.user.spoken):
        archive = Archive(file, written=written, is_over=lambda: time.monotonic() > until or queue.is_stopping())
        try:
            archive.text("README.txt", _readme(export))
            for part in parts():
                part.write(export.user_id, archive)
        except OutOfTime:
            is_whole = False
        archive.close()
        if not archive.is_empty:
            size_bytes = file.tell()
            file.seek(0)
            written.files += 1
            name = f"{FOLDER}/{export.user_id}/{export.pk}-{written.files}-{export.tries}.zip"
            export.files = [*files_of(export), (default_storage.save(name, File(file)), size_bytes)]
    export.place = written.as_json()
    return is_whole


def _readme(export: DataExport) -> str:
    return render_to_string("accounts/export_readme.txt", {"user": export.user, "made": timezone.now()})


def _ready(export: DataExport) -> None:
    """Only while it is still ours, with the mail that says so. The time of the one before is over, for nobody needs
    two: its files go as those of all others (`go_on`)."""
    values = {"finished_at": Now(), "told_at": Now(), "ends_at": Now() + KEPT, "place": None}
    with transaction.atomic():
        if not _keep(export, state=ExportState.READY, lease_until=None, **values):
            return
        before = DataExport.objects.filter(user=export.user_id, state=ExportState.READY).exclude(pk=export.pk)
        before.update(ends_at=Now())
        letters.write(LetterKind.EXPORT_READY, export.user)


def _go_on_later(export: DataExport) -> None:
    """It came further, so no try counts."""
    with transaction.atomic():
        if _keep(export, place=export.place, lease_until=None, tries=0):
            queue.enqueue(MAKE, export.pk)


def _keep(export: DataExport, **values: Any) -> bool:
    """Writes down what files there are, only while it is still ours: else the last of them goes."""
    files = files_of(export)
    mine = DataExport.objects.filter(
        pk=export.pk, state=ExportState.WAITING, lease_until=export.lease_until, user__is_active=True
    )
    size_bytes = sum(size for _name, size in files)
    values |= {"stored_as": files[0][0] if files else "", "files": files if len(files) > 1 else None}
    if mine.update(size_bytes=size_bytes, **values):
        return True
    before = DataExport.objects.filter(pk=export.pk).first()
    known = {name for name, _size in files_of(before)} if before else set()
    for name, _size in files:
        if name not in known:
            _remove(name)
    return False


def _failed(export: DataExport, problem: str) -> None:
    """What there is of it goes."""
    _remove_files(export)
    nothing = {"stored_as": "", "files": None, "size_bytes": 0, "place": None}
    DataExport.objects.filter(pk=export.pk).update(
        state=ExportState.FAILED, problem=problem, finished_at=Now(), lease_until=None, **nothing
    )


def _remove_files(export: DataExport) -> None:
    for stored_as, _size in files_of(export):
        _remove(stored_as)


def _remove(stored_as: str) -> None:
    if stored_as:
        default_storage.delete(stored_as)
