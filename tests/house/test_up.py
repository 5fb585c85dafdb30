"""`manage.py up` from start to end, on real processes: what a person on a fresh machine gets, and keeps."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Self

import psutil
import psycopg
import pytest

from hyperagent.embedded import instance, postgres
from hyperagent.lib.conf import BASE_DIR
from tests import services
from tests.house.waiting import until

pytestmark = pytest.mark.timeout(900)
OURS = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "EMAIL_URL", "LOG_LEVEL", "DATA_DIR")
DEBIAN_POSTGRES = Path("/usr/lib/postgresql/15/bin")
START_TIMEOUT_S = 280.0
"""Half a minute on an idle machine; the tests' own share of a busy one is small."""


@dataclass
class Up:
    """`manage.py up` on one folder and port: running, ended, or started again."""

    data_dir: Path
    port: int = field(default_factory=instance.free_port)
    settings: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> Self:
        self._earlier = self.log_path.stat().st_size if self.log_path.exists() else 0
        with self.log_path.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", str(self.port)],
                cwd=BASE_DIR,
                env=environment(self.data_dir, self.settings),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    @property
    def log_path(self) -> Path:
        return self.data_dir.with_suffix(".log")

    @property
    def log(self) -> str:
        """Since the last start."""
        return self.log_path.read_bytes()[self._earlier :].decode(errors="replace")

    def readiness(self) -> int:
        """The status of /readyz; 0 if nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def wait_until_ready(self) -> None:
        try:
            until(lambda: self.readiness() == 200, what="/readyz", timeout_s=START_TIMEOUT_S)
        except AssertionError:
            print(self.log[-6000:])
            raise

    def wait_until_greeted(self) -> None:
        def greeted() -> bool:
            assert self.process.poll() is None, self.log
            return "Ctrl-C stops everything" in self.log

        until(greeted, what="the greeting", timeout_s=START_TIMEOUT_S)

    def pid_of(self, name: str) -> int:
        """Of a part by its name in the log; 0 while it is away."""
        if name in ("runner", "jobs", "embedder", "sandboxes"):
            with suppress(psutil.Error):
                for child in psutil.Process(self.pid_of("worker")).children():
                    if name in child.cmdline():
                        return int(child.pid)
            return 0
        entries = json.loads((self.data_dir / "run" / "processes.json").read_text())
        return next((int(entry["pid"]) for entry in entries if entry["name"] == name), 0)

    def all_processes(self) -> list[psutil.Process]:
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]


def environment(data_dir: Path, settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**inherited, "DATA_DIR": str(data_dir), "ENV_FILE": os.devnull, **settings}


def stop(up: Up) -> None:
    if up.process.poll() is None:
        processes = up.all_processes()
        up.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            up.process.wait(60)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    up.process.wait()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not below pytest's own folder, which other users may not enter: Postgres is started as one of them."""
    path = Path(tempfile.mkdtemp(prefix="hyperagent-up-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def _installed() -> Iterator[Up]:
    path = Path(tempfile.mkdtemp(prefix="hyperagent-up-"))
    up = Up(path / "var").start()
    try:
        yield up
    finally:
        stop(up)
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def running(_installed: Up) -> Up:
    """One for all tests of this file; who ends it need not start it again."""
    if _installed.process.poll() is not None:
        _installed.start()
    _installed.wait_until_greeted()
    return _installed


def manage(
    up: Up, *command: str, settings: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=BASE_DIR,
        env=environment(up.data_dir, settings),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.spec("B23")
def test_it_greets_with_address_login_and_model_and_keeps_its_files_private(running: Up) -> None:
    running.wait_until_ready()

    assert f"HyperAgent is ready: http://127.0.0.1:{running.port}" in running.log
    assert "Sign in as admin@localhost with the password " in running.log
    assert "Model: the bundled small model" in running.log
    assert "Degraded" not in running.log
    assert running.data_dir.stat().st_mode & 0o077 in (0, 0o011)
    for name in ("secret_key", "run/instance.json"):
        assert (running.data_dir / name).stat().st_mode & 0o077 == 0
    assert (running.data_dir / "run" / "pg").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_second_one_on_the_same_folder_is_refused_and_changes_nothing(running: Up) -> None:
    folders = (running.data_dir, running.data_dir / "run", running.data_dir / "run" / "pg")
    before = [folder.stat().st_mode for folder in folders]

    refused = manage(running, "up", "--port", str(instance.free_port()))

    assert refused.returncode == 1
    assert f"(process {running.process.pid})" in refused.stderr
    assert "DATA_DIR=" in refused.stderr
    assert "Traceback" not in refused.stderr
    # Postgres, which runs as another user, must still find its way when it starts again.
    assert [folder.stat().st_mode for folder in folders] == before


@pytest.mark.slow
def test_a_port_in_use_is_refused_with_a_way_out(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = Up(folder / "var", port).start()

        assert refused.process.wait(60) == 1

    assert f"port {port} of 127.0.0.1 is in use" in refused.log
    assert "PORT=" in refused.log


@pytest.mark.slow
def test_a_folder_that_cannot_be_used_is_refused_by_name() -> None:
    refused = subprocess.run(
        [sys.executable, "manage.py", "up", "--port", str(instance.free_port())],
        cwd=BASE_DIR,
        env=environment(Path("/proc/hyperagent"), {}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert refused.returncode == 2
    assert "DATA_DIR='/proc/hyperagent' cannot be used" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.slow
def test_a_folder_without_room_for_a_database_is_met_with_a_sentence(folder: Path) -> None:
    """As a full disk: the server's own program writes no file of more than 64 kB."""
    up = Up(folder / "var")
    limited = ["sh", "-c", 'ulimit -f 128; exec "$@"', "sh", sys.executable, "manage.py", "up", "--port", str(up.port)]
    ended = subprocess.run(
        limited,
        cwd=BASE_DIR,
        env={**environment(up.data_dir, {}), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert ended.returncode == 1
    assert "HyperAgent does not start: postgres cannot be prepared: Postgres could not make its folder" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


@pytest.mark.slow
def test_first_starts_that_end_before_they_are_ready_do_not_lose_the_password(folder: Path) -> None:
    up = Up(folder / "var")
    for ended_by in (signal.SIGTERM, signal.SIGKILL):
        up.start()
        until(lambda: '"administrator": ' in up.log, what="the administrator", timeout_s=START_TIMEOUT_S)
        up.process.send_signal(ended_by)
        up.process.wait(60)
        assert "Sign in as" not in up.log
    assert (folder / "var" / "first_login").exists()

    up.start()

    try:
        up.wait_until_greeted()
        assert up.log.count("Sign in as admin@localhost with the password ") == 1
        assert not (folder / "var" / "first_login").exists()
    finally:
        stop(up)


@pytest.mark.slow
def test_a_later_start_that_ends_before_it_is_ready_makes_no_password_up(running: Up) -> None:
    running.process.terminate()
    running.process.wait(60)
    running.start()
    until(lambda: running.pid_of("prepare"), what="prepare", timeout_s=START_TIMEOUT_S)
    running.process.terminate()
    running.process.wait(60)
    assert '"administrator": ' not in running.log

    running.start()
    running.wait_until_greeted()

    assert "Sign in as" not in running.log


@pytest.mark.slow
def test_a_setting_that_stands_empty_counts_as_not_set(folder: Path) -> None:
    """As a line of .env.example is whose sign of a comment was taken away."""
    names = ("SECRET_KEY", "SITE_URL", "DATABASE_URL", "REDIS_URL", "HYPERAGENT_ADMIN_PASSWORD")
    up = Up(folder / "var", settings=dict.fromkeys(names, "")).start()
    try:
        up.wait_until_greeted()
        assert f"HyperAgent is ready: http://127.0.0.1:{up.port}" in up.log
        assert len((folder / "var" / "secret_key").read_text()) >= 32
    finally:
        stop(up)


@pytest.mark.slow
def test_other_commands_find_the_running_servers_and_the_doctor_is_content(running: Up) -> None:
    running.wait_until_ready()

    report = manage(running, "doctor")

    assert report.returncode == 0, report.stdout + report.stderr
    assert "Everything that is needed is there." in report.stdout


@pytest.mark.slow
@pytest.mark.spec("B1")
@pytest.mark.parametrize(
    "name", ["redis", "postgres", "model", "web", "worker", "runner", "jobs", "embedder", "sandboxes"]
)
def test_a_killed_part_comes_back(running: Up, name: str) -> None:
    before = until(lambda: running.pid_of(name), what=name)

    os.kill(before, signal.SIGKILL)

    until(lambda: running.pid_of(name) not in (0, before), what=f"another {name}")
    running.wait_until_ready()
    assert running.process.poll() is None


@pytest.mark.slow
def test_sigterm_stops_everything_postgres_last_and_the_next_start_knows_its_data(running: Up) -> None:
    processes = running.all_processes()

    running.process.terminate()

    assert running.process.wait(60) == 0
    assert not any(process.is_running() for process in processes)
    assert not (running.data_dir / "run" / "instance.json").exists()
    assert running.log.rindex("database system is shut down") > running.log.rindex("stopping")

    running.start()
    running.wait_until_greeted()
    assert "Sign in as" not in running.log


@pytest.mark.slow
@pytest.mark.spec("B1")
@pytest.mark.parametrize("killed", ["up", "everything"])
def test_the_next_start_works_after_kill_9_of(running: Up, killed: str) -> None:
    processes = running.all_processes()

    for process in processes if killed == "everything" else processes[:1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    running.process.wait()
    running.start()

    running.wait_until_greeted()
    running.wait_until_ready()
    assert not any(process.is_running() for process in processes)


@pytest.mark.slow
def test_servers_of_ones_own_take_the_place_of_the_embedded_ones(folder: Path) -> None:
    redis_server = shutil.which("redis-server")
    if redis_server is None:
        pytest.skip("redis-server is not installed; deploy/apt.txt lists it")
    port, redis_port = instance.free_port(), instance.free_port()
    started = services.Services()
    server = postgres.prepare(started.folder / "pg", sockets=started.folder / "run", settings=services.FAST)
    listening = tuple("127.0.0.1" if part == "" else part for part in server.command())
    try:
        started.start((*listening, "-p", str(port)), lambda: _serves(port), user=server.user, stop=signal.SIGINT)
        command = (redis_server, "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "")
        started.start(command, lambda: _answers(redis_port), user=None, stop=signal.SIGTERM)
        with psycopg.connect(_url(port, "postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE theirs")

        settings = {
            "DATABASE_URL": _url(port, "theirs"),
            "REDIS_URL": f"redis://127.0.0.1:{redis_port}/3",
            "HYPERAGENT_ADMIN_PASSWORD": "a password of my own",
        }
        up = Up(folder / "var", settings=settings).start()
        try:
            up.wait_until_greeted()
            assert "password" not in up.log
            up.wait_until_ready()
            assert up.pid_of("postgres") == up.pid_of("redis") == 0
            assert not (folder / "var" / "postgres").exists()
        finally:
            stop(up)
    finally:
        started.stop()


@pytest.mark.slow
@pytest.mark.skipif(not DEBIAN_POSTGRES.exists(), reason="Debian's PostgreSQL 15 is not installed")
def test_a_database_without_pgvector_is_met_with_one_clear_sentence(folder: Path) -> None:
    port = instance.free_port()
    started = services.Services()
    data = started.folder / "pg15"
    user = postgres.SERVICE_USER if os.geteuid() == 0 else None
    if user is not None:
        postgres.account_of(user)
        started.folder.chmod(0o755)
        data.mkdir()
        shutil.chown(data, user, user)
    initdb = [str(DEBIAN_POSTGRES / "initdb"), "-D", str(data), "-U", postgres.SUPERUSER, "--auth=trust"]
    subprocess.run(initdb, user=user, group=user, cwd="/", check=True, capture_output=True)
    command = (str(DEBIAN_POSTGRES / "postgres"), "-D", str(data), "-k", str(data), "-p", str(port))
    try:
        started.start(command, lambda: _answers(port), user=user, stop=signal.SIGINT)
        mine = {"DATABASE_URL": _url(port, "postgres"), "REDIS_URL": "redis://127.0.0.1:1/0", "SECRET_KEY": "k" * 40}

        refused = Up(folder / "var", settings=mine).start()
        assert refused.process.wait(100) == 1
        report = manage(refused, "doctor", settings=mine)
    finally:
        started.stop()

    for text in (refused.log, report.stdout):
        assert f"The database at 127.0.0.1:{port}/postgres has no pgvector extension." in text
        assert "CREATE EXTENSION vector" in text
        assert "Traceback" not in text
    assert report.returncode == 1


def _url(port: int, database: str) -> str:
    return f"postgresql://{postgres.SUPERUSER}@127.0.0.1:{port}/{database}"


def _serves(port: int) -> bool:
    """It listens before it has started, and refuses."""
    try:
        psycopg.connect(_url(port, "postgres"), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
