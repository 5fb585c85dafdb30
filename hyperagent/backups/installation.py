"""What a backup takes of this installation, and how it is put back: database, stored files, the key."""

import hashlib
import hmac
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from django.core.files import File
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now

from agents.models import Execution, Runner
from agents.sandbox.models import EndedBecause, SandboxSession
from conversations.schedules import clock as schedules
from hyperagent.accounts.letter_models import Letter
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import record
from hyperagent.backups import server
from hyperagent.backups.archive import DATABASE, FILES, KEY, BadArchive, Manifest, Writer, checked, entries
from hyperagent.embedded import instance
from hyperagent.lib.outgoing_mails import WAITING
from hyperagent.notices.kinds import OPEN, DeliveryStatus
from hyperagent.notices.models import Delivery, Mail
from hyperagent.settings import CONFIG

ALIVE = timedelta(seconds=30)
"""A runner that was seen so lately works."""


MOST_PASSES = 3
"""Over the files, before the database is dumped: one that is being written all the while is taken in each."""
_Mark = tuple[int, int] | None
"""Size and time of a file on a disk."""

RESTORED = "It waited when the backup was taken that was restored since, and may have been sent meanwhile."


class NotDone(Exception):
    """Nothing was changed; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Restored:
    """`stopped`: runs that had not ended in the backup. `is_other_key`: what was sealed cannot be opened."""

    manifest: Manifest
    stopped: int
    is_other_key: bool


def take(path: Path) -> Manifest:
    """Writes a backup of the running installation. Files first, then the database, then the files that came or changed
    meanwhile: whatever the database names is there, and whole; but for what is stored in the moment between the last
    look and the dump, and deleted before the dump ends. Raises NotDone."""
    try:
        writer = Writer(path)
    except OSError as error:
        raise NotDone(f"{path} cannot be written ({error.strerror}). Name a file in a folder of yours.") from None
    try:
        manifest = _written(writer, beside=path.absolute().parent)
    except BaseException as error:
        writer.give_up()
        if isinstance(error, server.ServerRefused | OSError):
            raise NotDone(f"The backup could not be made: {error}") from None
        raise
    record(AuditKind.BACKUP_MADE, actor=None, details={"parts": len(manifest.parts)})
    return manifest


def _written(writer: Writer, *, beside: Path) -> Manifest:
    """`beside`: where there is room for a backup there is some for the dump that goes into it; below /tmp there may be
    a piece of the memory."""
    had: dict[str, _Mark] = {}
    # The first takes as long as there are files, and what came meanwhile may be gone again once the database is dumped.
    for _ in range(MOST_PASSES):
        if not _take_files(writer, had):
            break
    with tempfile.TemporaryDirectory(prefix=".hyperagent-backup-", dir=beside) as folder:
        dumped = Path(folder, DATABASE)
        server.dump(CONFIG.direct_database_url, dumped)
        with dumped.open("rb") as content:
            writer.add(DATABASE, content, dumped.stat().st_size)
    _take_files(writer, had)
    own_key = CONFIG.data_path / instance.KEY_FILE
    if own_key.exists():
        with own_key.open("rb") as content:
            writer.add(KEY, content, own_key.stat().st_size)
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        number = int(cursor.fetchone()[0])
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    return writer.finish(Manifest(made_at, number // 10_000, _migrations(), _mark_of_key()))


def restore(path: Path, *, lets_runs_go_on: bool, is_forced: bool) -> Restored:
    """Puts a backup in the place of all that this installation has. Everything that can be refused is refused before
    anything is changed. Files are only added, then the database is replaced in one transaction. Raises NotDone."""
    manifest = look(path)
    _refuse_newer(manifest)
    if not is_forced:
        _refuse_while_it_works()
    with _unpacked(path) as (dumped, files):
        _add_files(files)
        connection.close()
        try:
            server.replace(CONFIG.direct_database_url, dumped)
        except server.ServerRefused as error:
            raise NotDone(f"The database was left as it was: {error}") from None
    call_command("migrate", interactive=False, verbosity=0)
    Runner.objects.all().delete()
    # Boxes lived on the machine that the backup is of.
    SandboxSession.objects.filter(ended_at=None).update(ended_at=Now(), ended_because=EndedBecause.LOST)
    record(AuditKind.BACKUP_RESTORED, actor=None, details={"made_at": manifest.made_at})
    stopped = 0 if lets_runs_go_on else _stop_runs()
    if not lets_runs_go_on:
        _keep_back()
    return Restored(manifest, stopped, is_other_key=manifest.key != _mark_of_key())


def look(path: Path) -> Manifest:
    """What a backup says of itself, once all of it was read and found whole. Raises NotDone."""
    try:
        return checked(path)
    except (BadArchive, OSError) as error:
        raise NotDone(f"{path} is not a whole backup: {getattr(error, 'strerror', None) or error}.") from None


def key_in(path: Path) -> str:
    """The key that the installation had made itself; empty if its key came from the environment."""
    return next((content.read(1_000).decode().strip() for name, content in entries(path) if name == KEY), "")


def _refuse_newer(manifest: Manifest) -> None:
    known = MigrationLoader(None).disk_migrations
    newer = sorted(f"{app}.{name}" for app, name in manifest.migrations.items() if (app, name) not in known)
    if newer:
        raise NotDone(
            f"The backup is of a newer version: this one does not know {newer[0]}. Install the version that made it "
            f"({manifest.made_at}), or a newer one, and restore with that."
        )


def _refuse_while_it_works() -> None:
    if Runner._meta.db_table not in connection.introspection.table_names():
        return
    working = Runner.objects.filter(seen_at__gt=Now() - ALIVE).values_list("name", flat=True).first()
    if working:
        raise NotDone(
            f"The installation works: its runner {working} was seen within {ALIVE.seconds} seconds. Stop web and "
            "workers first, wait that long, and try again; or add --force if you know that nothing runs."
        )


def _stop_runs() -> int:
    """What they did after the backup is not in it, so none may do it again."""
    live = Execution.objects.live().filter(cancel_requested_at=None)
    return live.update(cancel_requested_at=Now(), woken_at=Now())


def _keep_back() -> None:
    """Most of what was to leave has left since, and whom it was about has gone on; what was due has been asked."""
    for mails in (Letter.objects, Mail.objects):
        mails.filter(WAITING).update(given_up_at=Now(), last_error=RESTORED)
    Delivery.objects.filter(status__in=OPEN).update(status=DeliveryStatus.GIVEN_UP, last_error=RESTORED)
    schedules.pass_over_due()


def _migrations() -> dict[str, str]:
    """The newest of each app that is applied."""
    loader = MigrationLoader(connection)
    applied: dict[str, str] = {}
    for app, name in sorted(loader.applied_migrations):
        applied[app] = name
    return applied


def _mark_of_key() -> str:
    """Tells one SECRET_KEY from another, and nothing of it."""
    key = CONFIG.secret_key.get_secret_value()
    return hmac.new(key.encode(), b"hyperagent backup", hashlib.sha256).hexdigest()[:16] if key else ""


def _stored_files(folder: str = "") -> Iterator[str]:
    try:
        folders, names = default_storage.listdir(folder or ".")
    except FileNotFoundError:
        return
    for name in sorted(names):
        yield f"{folder}/{name}" if folder else name
    for inner in sorted(folders):
        yield from _stored_files(f"{folder}/{inner}" if folder else inner)


def _take_files(writer: Writer, had: dict[str, _Mark]) -> int:
    """Those that are not as they were when they were taken before. How many."""
    taken = 0
    for name in _stored_files():
        # Looked at before it is read: what is written to it meanwhile is seen by the next pass.
        mark = _mark_of(name)
        if name not in had or had[name] != mark:
            _add_file(writer, name)
            had[name] = mark
            taken += 1
    return taken


def _mark_of(name: str) -> _Mark:
    """On a disk a file has its name while it is still being written. In a bucket it is there whole or not at all."""
    try:
        found = Path(default_storage.path(name)).stat()
    except (NotImplementedError, FileNotFoundError):
        return None
    return found.st_size, found.st_mtime_ns


def _add_file(writer: Writer, name: str) -> None:
    """One that is gone meanwhile was deleted by somebody."""
    try:
        content = default_storage.open(name, "rb")
    except FileNotFoundError:
        return
    with content:
        writer.add(f"{FILES}{name}", content, content.size)


@contextmanager
def _unpacked(path: Path) -> Iterator[tuple[Path, Path]]:
    """The dump, and the folder of the files; on the disk of this installation, where there has to be room for them."""
    CONFIG.data_path.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="restore-", dir=CONFIG.data_path) as folder:
        dumped, files = Path(folder, DATABASE), Path(folder, "files")
        files.mkdir()
        for name, content in entries(path):
            if name == DATABASE:
                _write(dumped, content)
            elif name.startswith(FILES):
                _write(files / name.removeprefix(FILES), content)
        yield dumped, files


def _write(path: Path, content: IO[bytes]) -> None:
    """In the place of what an earlier pass took under this name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(content, file)


def _add_files(folder: Path) -> None:
    """Files keep their names for good, so one that is there already is the same, unless somebody was killed amid it:
    then it is shorter. What no row names is swept later."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and _size_here(name) < path.stat().st_size:
            default_storage.delete(name)
            with path.open("rb") as content:
                default_storage.save(name, File(content))


def _size_here(name: str) -> int:
    """-1 where there is none."""
    try:
        return default_storage.size(name)
    except FileNotFoundError:
        return -1
