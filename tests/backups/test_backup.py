"""A backup is taken while the installation runs, and put back whole or not at all."""

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import time_machine
from django.utils import timezone

from agents.models import Runner
from agents.sandbox.base import BoxType
from agents.sandbox.models import SandboxSession
from conversations import actions
from hyperagent.accounts import letters
from hyperagent.accounts.letter_models import LetterKind
from hyperagent.backups import installation, server
from hyperagent.backups.archive import BadArchive, Manifest, Writer, checked
from hyperagent.embedded import instance, postgres
from hyperagent.notices.actions import tell_people
from hyperagent.notices.kinds import EventType, MailKind
from hyperagent.notices.models import Delivery, Endpoint
from tests import services
from tests.faces.web import ROOT, database_url
from tests.house.waiting import until
from tests.schedules.making import falls_due, made

_MAILS = (
    "SELECT kind FROM (SELECT kind, given_up_at FROM notices_mail UNION ALL SELECT kind, given_up_at FROM"
    " accounts_letter) mails"
)
_DUE = "SELECT count(*) FROM conversations_schedule WHERE next_due_at <= now()"
_WAITS = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'conversations_schedule'::regclass)"
NOW, LATER = "2026-11-22T12:00:00+00:00", "2026-11-23T12:00:00+00:00"
DEBIANS, ITS_DATA = Path("/usr/lib/postgresql/15"), Path("/usr/share/postgresql/15")


@pytest.fixture
def empty_database() -> Iterator[str]:
    """The address of a database with nothing in it."""
    name = f"restored_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def oldest() -> Iterator[str]:
    """The address of a database of Postgres 15: Debian's, elsewhere, where it finds an extension called as pgvector."""
    started, port = services.Services(), instance.free_port()
    programs, shared, data = (started.folder / name for name in ("lib/postgresql/15", "share/postgresql/15", "data"))
    (programs / "bin").mkdir(parents=True)
    (shared / "extension").mkdir(parents=True)
    for name in ("initdb", "postgres"):
        shutil.copy(DEBIANS / "bin" / name, programs / "bin")
    (programs / "lib").symlink_to(DEBIANS / "lib")
    for path in (*ITS_DATA.iterdir(), *(ITS_DATA / "extension").iterdir()):
        if path.name != "extension":
            (shared / path.relative_to(ITS_DATA)).symlink_to(path)
    (shared / "extension" / "vector.control").write_text("default_version = '1'\nrelocatable = true\n")
    (shared / "extension" / "vector--1.sql").write_text("")
    user = postgres.SERVICE_USER if os.geteuid() == 0 else None
    started.folder.chmod(0o755)
    data.mkdir()
    if user is not None:
        postgres.account_of(user)
        shutil.chown(data, user, user)
    url = f"postgresql://{postgres.SUPERUSER}@127.0.0.1:{port}/postgres"
    try:
        initdb = [str(programs / "bin" / "initdb"), "-D", str(data), "-U", postgres.SUPERUSER, "--auth=trust"]
        subprocess.run(initdb, user=user, group=user, cwd="/", check=True, capture_output=True)
        command = (str(programs / "bin" / "postgres"), "-D", str(data), "-k", str(data), "-p", str(port))
        started.start(command, lambda: answers(url), user=user, stop=signal.SIGINT)
        yield url
    finally:
        started.stop()


def answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def manage(*command: str, url: str, data: Path) -> str:
    env = {**os.environ, "DATABASE_URL": url, "DATA_DIR": str(data)}
    done = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_everything_comes_back_and_runs_that_had_not_ended_are_stopped(
    alice: Any, empty_database: str, tmp_path: Path
) -> None:
    said = actions.say_in_new(alice, actions.Question("Alice's question"))
    letters.write(LetterKind.SECURITY_NEWS, alice, what="mfa.added", kind="totp")
    tell_people([alice.pk], MailKind.REQUEST_WAITING, subject_id="r1", title="Decide", path="/inbox/r1")
    endpoint = Endpoint.objects.create(user=alice, url="https://example.org/hook", events=[EventType.RUN_COMPLETED])
    Delivery.objects.create(endpoint=endpoint, event_id="evt_1", type=EventType.RUN_COMPLETED, payload={})
    falls_due(made(alice))
    SandboxSession.objects.create(
        user=alice, task_id=uuid.uuid4(), sandbox_type=BoxType.CODE, key="k", provider="local", host="the old machine"
    )
    old, new, backup = tmp_path / "old", tmp_path / "new", tmp_path / "it.tar"
    stored = Path("media", "documents", "a b.pdf")
    (old / stored).parent.mkdir(parents=True)
    (old / stored).write_bytes(b"bytes")

    told = manage("backup", str(backup), url=database_url(), data=old)
    restored = manage("restore", str(backup), "--yes", url=empty_database, data=new)
    with psycopg.connect(empty_database) as connection:
        question = connection.execute("SELECT text FROM conversations_message WHERE role = 'user'").fetchall()
        run = connection.execute("SELECT id, cancel_requested_at IS NULL FROM agents_execution").fetchall()
        mails = connection.execute(f"{_MAILS} WHERE given_up_at IS NULL").fetchall()
        deliveries = connection.execute("SELECT status, last_error FROM notices_delivery").fetchall()
        due = connection.execute(_DUE).fetchone()
        passed_over = connection.execute("SELECT skipped_why FROM conversations_scheduledrun").fetchall()
        boxes = connection.execute("SELECT ended_because FROM agents_sandboxsession").fetchall()
        audit = connection.execute("SELECT kind FROM audit_event WHERE kind LIKE 'backup.%'").fetchall()
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("UPDATE audit_event SET kind = ''")
        connection.execute("UPDATE conversations_message SET text = 'changed'")
        connection.execute("CREATE TABLE of_another_version (a int)")
    manage("restore", str(backup), "--yes", "--move", url=empty_database, data=new)
    with psycopg.connect(empty_database) as connection:
        again = connection.execute("SELECT text FROM conversations_message WHERE role = 'user'").fetchall()
        waiting = connection.execute(f"{_MAILS} WHERE given_up_at IS NULL").fetchall()
        goes_on = connection.execute("SELECT cancel_requested_at IS NULL FROM agents_execution").fetchall()
        open_ones = connection.execute("SELECT status FROM notices_delivery").fetchall()
        still_due = connection.execute(_DUE).fetchone()
        other = connection.execute("SELECT to_regclass('of_another_version')").fetchall()

    assert ("1 files" in told, "without a key" in told) == (True, True)
    assert backup.stat().st_mode & 0o077 == 0
    assert "1 runs had not ended" in restored
    assert audit == [("backup.restored",)]
    assert (question, run) == ([("Alice's question",)], [(said.execution.id, False)])
    assert (mails, sorted(waiting)) == ([], [("request_waiting",), ("security_news",)])
    assert (deliveries, due, passed_over) == ([("given_up", installation.RESTORED)], (0,), [("restored",)])
    assert boxes == [("lost",)], "nothing of them is left on the new machine, and they are counted no more"
    assert (open_ones, still_due) == ([("pending",)], (1,))
    assert (again, goes_on, other) == ([("Alice's question",)], [(True,)], [(None,)])
    assert (new / stored).read_bytes() == b"bytes"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_file_that_was_half_there_at_first_comes_back_whole(empty_database: str, tmp_path: Path) -> None:
    old, new, backup = tmp_path / "old", tmp_path / "new", tmp_path / "it.tar"
    half = stored(old, "documents/alice/d", b"one half, ")

    with while_it_dumps(old, backup), half.open("ab") as upload:
        upload.write(b"and the other")
    told = manage("backup", "--check", str(backup), url=database_url(), data=old)
    manage("restore", str(backup), "--yes", url=empty_database, data=new)

    assert "1 files" in told
    assert (new / "media/documents/alice/d").read_bytes() == b"one half, and the other"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_file_is_there_that_came_while_others_were_copied_and_went_while_the_database_was(tmp_path: Path) -> None:
    """As snapshots of sandboxes come and go: the database names it at the moment of which the backup is."""
    old, backup = tmp_path / "old", tmp_path / "it.tar"
    first = stored(old, "sandboxes/alice/1.tar", os.urandom(100_000))
    # Whoever opens it to read waits until it is opened to be written to.
    door = stored(old, "z/before", b"").with_name("door")
    os.mkfifo(door)

    def comes() -> None:
        being_written = backup.with_name(f"{backup.name}.part")
        until(lambda: being_written.exists() and being_written.stat().st_size > 50_000, what="the first to be copied")
        first.with_name("2.tar").write_bytes(b"two")
        door.open("wb").close()

    with while_it_dumps(old, backup, before=comes):
        first.with_name("2.tar").unlink()

    assert "files/sandboxes/alice/2.tar" in checked(backup).parts


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_dump_lies_beside_the_backup_where_there_is_room_and_nothing_of_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, backup = tmp_path / "small", tmp_path / "backups" / "it.tar"
    small.mkdir()
    backup.parent.mkdir()
    monkeypatch.setenv("TMPDIR", str(small))

    with while_it_dumps(tmp_path / "old", backup):
        meanwhile = [path.name for path in (tmp_path / "small").rglob("*.dump")]
        beside = [path.name for path in backup.parent.rglob("*.dump")]

    assert (meanwhile, beside) == ([], ["database.dump"])
    assert [path.name for path in backup.parent.iterdir()] == ["it.tar"]


def test_of_two_that_write_the_same_file_the_first_does_not_take_the_second_s_for_its_own(tmp_path: Path) -> None:
    """A backup that takes longer than until the next one is begun: half of that stood under the name of a whole one."""
    path = tmp_path / "it.tar"
    written(path)
    first, second = Writer(path), Writer(path)
    for writer in (first, second):
        writer.add("database.dump", io.BytesIO(b"the dump"), 8)

    with pytest.raises(OSError, match="another one began"):
        first.finish(Manifest(NOW, 18, {}, ""))
    first.give_up()

    assert checked(path).made_at == NOW
    second.finish(Manifest(LATER, 18, {}, ""))
    assert checked(path).made_at == LATER
    assert [found.name for found in tmp_path.iterdir()] == ["it.tar"]


@pytest.mark.django_db
def test_what_must_not_be_restored_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    newer, working = tmp_path / "newer.tar", tmp_path / "working.tar"
    written(newer, migrations={"agents": "9999_of_tomorrow"})
    written(working)
    Runner.objects.create(name="one", host="h", pid=1, started_at=timezone.now(), seen_at=timezone.now())

    def refused(path: Path) -> str:
        with pytest.raises(installation.NotDone) as refusal:
            installation.restore(path, lets_runs_go_on=False, is_forced=False)
        return str(refusal.value)

    assert "does not know agents.9999_of_tomorrow" in refused(newer)
    assert "its runner one was seen" in refused(working)
    assert "No such file" in refused(tmp_path / "missing.tar")


@pytest.mark.django_db
def test_a_machine_with_a_wrong_clock_restores_nothing_over_who_works(tmp_path: Path) -> None:
    now = timezone.now()
    Runner.objects.create(name="one", host="h", pid=1, started_at=now, seen_at=now)
    written(tmp_path / "it.tar")

    with time_machine.travel(now + timedelta(minutes=10)), pytest.raises(installation.NotDone, match="runner one was"):
        installation.restore(tmp_path / "it.tar", lets_runs_go_on=False, is_forced=False)


def restored_by_command(backup: Path, data_dir: Path) -> subprocess.CompletedProcess[str]:
    """Into the installation of this folder, with servers of its own."""
    env = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "SECRET_KEY")}
    return subprocess.run(
        [sys.executable, "manage.py", "restore", str(backup), "--yes"],
        cwd=ROOT, env={**env, "DATA_DIR": str(data_dir), "ENV_FILE": os.devnull}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_restore_that_is_refused_leaves_the_key_that_is_here(tmp_path: Path) -> None:
    newer, here = tmp_path / "newer.tar", tmp_path / "here"
    written(newer, migrations={"agents": "9999_of_tomorrow"}, key=b"the key of the backup, of which nobody has a use")
    here.mkdir()
    (here / "secret_key").write_text("the key that is here, with which all was sealed")

    done = restored_by_command(newer, here)

    assert (done.returncode, "of a newer version" in done.stderr) == (1, True), done.stderr[-2000:]
    assert (here / "secret_key").read_text() == "the key that is here, with which all was sealed"


@pytest.mark.slow
def test_the_note_of_an_installation_that_was_killed_does_not_lead_a_restore_astray(tmp_path: Path) -> None:
    backup, here = tmp_path / "it.tar", tmp_path / "here"
    written(backup)
    (here / "run").mkdir(parents=True)
    (here / "run" / "instance.json").write_text('{"DATABASE_URL": "postgresql://u@/db?host=/nowhere"}')

    done = restored_by_command(backup, here)

    # It came as far as to the database of this folder, which it started: what is in this file is no dump.
    assert "The database was left as it was: pg_restore" in done.stderr, done.stderr[-2000:]
    assert "Traceback" not in done.stderr


def test_a_database_that_cannot_be_put_back_leaves_what_is_there(empty_database: str, tmp_path: Path) -> None:
    dump = tmp_path / "database.dump"
    dump.write_bytes(b"PGDMP, or not")
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE TABLE kept (a int)")

    with pytest.raises(server.ServerRefused, match="pg_restore"):
        server.replace(empty_database, dump)

    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT to_regclass('kept') IS NOT NULL").fetchone() == (True,)


@pytest.mark.skipif(not DEBIANS.exists(), reason="Debian's PostgreSQL 15 is not installed")
def test_a_dump_is_put_back_into_the_oldest_postgres_that_is_supported(oldest: str, tmp_path: Path) -> None:
    """The programs that come with us are of a newer one, and write what that one understands."""
    with psycopg.connect(oldest) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE kept AS SELECT 1 AS a")
    server.dump(oldest, tmp_path / "database.dump")
    with psycopg.connect(oldest) as connection:
        connection.execute("UPDATE kept SET a = 2")

    server.replace(oldest, tmp_path / "database.dump")

    with psycopg.connect(oldest) as connection:
        assert connection.execute("SELECT a FROM kept").fetchall() == [(1,)]


def test_a_dump_is_put_back_where_the_extension_lies_in_a_schema_of_its_own(
    empty_database: str, tmp_path: Path
) -> None:
    """As hosts of databases have it."""
    with psycopg.connect(empty_database) as connection:
        connection.execute("CREATE SCHEMA extensions")
        connection.execute("CREATE EXTENSION vector SCHEMA extensions")
        connection.execute("CREATE TABLE kept AS SELECT '[1,2]'::extensions.vector(2) AS a")
    server.dump(empty_database, tmp_path / "database.dump")

    server.replace(empty_database, tmp_path / "database.dump")

    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT a::text FROM kept").fetchall() == [("[1,2]",)]


@pytest.mark.threat("T36")
def test_a_damaged_or_hostile_archive_is_no_backup(tmp_path: Path) -> None:
    whole = tmp_path / "whole.tar"
    written(whole)
    content = whole.read_bytes()
    cut, changed, empty = tmp_path / "cut.tar", tmp_path / "changed.tar", tmp_path / "empty.tar"
    cut.write_bytes(content[:1_200])
    changed.write_bytes(content.replace(b"the dump", b"The dump"))
    empty.write_bytes(b"")

    assert checked(whole).made_at == NOW
    for path, why in ((cut, "read|manifest"), (changed, "database.dump is not what was written"), (empty, "read")):
        with pytest.raises(BadArchive, match=why):
            checked(path)
    for entry in ("files/../../etc/passwd", "/etc/passwd", "files/a\\..\\b", "files/", "elsewhere"):
        with pytest.raises(BadArchive, match="which no backup has"):
            checked(hostile(tmp_path, tarfile.TarInfo(entry)))
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
        link = tarfile.TarInfo("files/a")
        link.type, link.linkname = kind, "/etc/passwd"
        with pytest.raises(BadArchive, match="which no backup has"):
            checked(hostile(tmp_path, link))


def test_a_restore_that_was_killed_amid_a_file_puts_it_back_whole_the_next_time(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "here/media"
    half, same = stored(tmp_path / "here", "a", b"one half, "), stored(tmp_path / "here", "b", b"as it was")
    longer = stored(tmp_path / "here", "e", b"of which an older backup has a part only")
    when = same.stat().st_mtime_ns
    for name, content in (("a", b"one half, and the other"), ("b", b"as it was"), ("c/d", b"gone"), ("e", b"of")):
        stored(tmp_path / "unpacked", name, content)

    installation._add_files(tmp_path / "unpacked/media")

    assert half.read_bytes() == b"one half, and the other"
    assert same.stat().st_mtime_ns == when
    assert half.with_name("c").joinpath("d").read_bytes() == b"gone"
    assert longer.read_bytes() == b"of which an older backup has a part only"
    assert sorted(path.name for path in half.parent.rglob("*")) == ["a", "b", "c", "d", "e"]


def stored(data: Path, name: str, content: bytes) -> Path:
    """As Django's file storage keeps it on the disk of an installation."""
    path = data / "media" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@contextmanager
def while_it_dumps(data: Path, backup: Path, *, before: Callable[[], None] = lambda: None) -> Iterator[None]:
    """`before` is done once the backup is being written. What is done within comes after the moment that the dump is
    of, and before its end: it waits for a table."""
    with ThreadPoolExecutor(1) as pool, psycopg.connect(database_url()) as other:
        other.execute("LOCK TABLE conversations_schedule IN ACCESS EXCLUSIVE MODE")
        taken = pool.submit(manage, "backup", str(backup), url=database_url(), data=data)
        before()
        until(lambda: taken.done() or other.execute(_WAITS).fetchone() == (True,), what="the dump to wait")
        yield
        other.commit()
        taken.result()


def written(path: Path, *, migrations: dict[str, str] | None = None, key: bytes = b"") -> None:
    writer = Writer(path)
    writer.add("database.dump", io.BytesIO(b"the dump"), 8)
    if key:
        writer.add("secret_key", io.BytesIO(key), len(key))
    writer.finish(Manifest(NOW, 18, migrations or {}, ""))


def hostile(folder: Path, entry: tarfile.TarInfo) -> Path:
    path = folder / "hostile.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(entry)
    return path
