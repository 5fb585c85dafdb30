"""The servers that tests and `manage.py up` bring: Postgres with pgvector, and a Valkey without harmful commands."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis
from django.core.cache import cache
from django.db import connection

from hyperagent.embedded import files, postgres, valkey
from hyperagent.embedded.installation import most_connections
from hyperagent.lib.cache import Cache, JsonSerializer
from tests import services


@pytest.fixture(scope="module")
def started() -> Iterator[services.Services]:
    started = services.Services()
    yield started
    started.stop()


@pytest.mark.django_db
def test_the_database_knows_vectors() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        cursor.execute("SELECT '[1,2]'::vector <-> '[1,4]'::vector")

        assert cursor.fetchone() == (2.0,)


@pytest.mark.parametrize("command", ["CONFIG GET *", "FLUSHALL", "DEBUG SLEEP 0", "EVAL return(1) 0", "ACL LIST"])
def test_the_embedded_redis_refuses_what_harms(started: services.Services, command: str) -> None:
    client = redis.Redis.from_url(started.start_valkey() if not started.processes else _url_of(started))

    with pytest.raises(redis.ResponseError):
        client.execute_command(*command.split())  # type: ignore[no-untyped-call]
    assert client.set("k", "v")
    client.close()


def _url_of(started: services.Services) -> str:
    return valkey.Valkey(started.folder / "valkey").url()


def test_the_sockets_are_open_to_nobody_else(started: services.Services) -> None:
    if not started.processes:
        started.start_valkey()

    socket = valkey.Valkey(started.folder / "valkey").socket

    assert socket.stat().st_mode & 0o077 == 0
    assert socket.parent.stat().st_mode & 0o077 == 0


def test_a_long_data_folder_gets_a_short_private_socket_folder(tmp_path: Path) -> None:
    wanted = tmp_path / ("long" * 30)

    folder = files.socket_folder(wanted, longest_name=postgres.SOCKET_NAME)

    try:
        assert len(str(folder / postgres.SOCKET_NAME)) <= files.MAX_SOCKET_PATH
        assert folder.stat().st_mode & 0o077 == 0
        assert folder == files.socket_folder(wanted, longest_name=postgres.SOCKET_NAME)
    finally:
        folder.rmdir()


def another_kind(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("")


@pytest.mark.parametrize(
    ("prepared", "why"),
    [
        (lambda folder: folder.chmod(0o755), "is open to others (its mode is 755)"),
        (lambda folder: folder.chmod(0o770), "is open to others (its mode is 770)"),
        (another_kind, "is not a folder"),
        pytest.param(
            lambda folder: os.chown(folder, 65_534, 65_534),
            "belongs to somebody else (the user with the number 65534)",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away"),
        ),
    ],
)
def test_a_socket_folder_that_others_can_get_at_is_refused_with_the_way_out(
    tmp_path: Path, prepared: Callable[[Path], None], why: str
) -> None:
    wanted = tmp_path / ("long" * 30)
    folder = files.socket_folder(wanted, longest_name=postgres.SOCKET_NAME)
    prepared(folder)

    try:
        with pytest.raises(PermissionError) as refused:
            files.socket_folder(wanted, longest_name=postgres.SOCKET_NAME)
    finally:
        folder.unlink() if folder.is_file() else folder.rmdir()

    assert str(refused.value) == f"{folder} {why}. Remove it, or choose a shorter DATA_DIR"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_socket_folder_that_is_the_servers_own_is_taken_again(tmp_path: Path) -> None:
    wanted = tmp_path / ("long" * 30)
    folder = files.socket_folder(wanted, longest_name=postgres.SOCKET_NAME, server=65_534)
    os.chown(folder, 65_534, 65_534)

    try:
        assert files.socket_folder(wanted, longest_name=postgres.SOCKET_NAME, server=65_534) == folder
    finally:
        folder.rmdir()


@pytest.mark.slow
def test_an_initialisation_that_was_killed_is_begun_anew() -> None:
    started = services.Services()
    half = started.folder / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("half made")
    try:
        url = started.start_postgres()

        with psycopg.connect(url) as database:
            assert database.execute("SELECT extname FROM pg_extension WHERE extname = 'vector'").fetchone()
    finally:
        started.stop()
    assert not half.exists()


def test_the_cache_holds_json_and_never_unpickles() -> None:
    serializer = JsonSerializer()

    assert serializer.loads(b'{"a": [1, "x"]}') == {"a": [1, "x"]}
    assert serializer.loads(b"\x80\x04cos\nsystem\n.") is None
    with pytest.raises(TypeError):
        serializer.dumps(object())


def test_the_cache_counts_and_keeps() -> None:
    cache.set("people", ["Alice", "Bob"], 60)
    cache.set("tries", 1, 60)

    assert cache.get("people") == ["Alice", "Bob"]
    assert cache.incr("tries") == 2
    cache.delete_many(["people", "tries"])
    assert cache.get("people") is None


def test_a_cache_that_is_away_is_an_empty_one() -> None:
    away = Cache("redis://127.0.0.1:1/0", {"OPTIONS": {"serializer": JsonSerializer(), "socket_connect_timeout": 1}})

    away.set("k", 1)

    assert away.get("k", "nothing") == "nothing"
    assert away.add("k", 1)
    assert away.get_many(["k"]) == {}
    assert not away.delete("k")


@pytest.mark.slow
@pytest.mark.parametrize(
    "refusing",
    [
        pytest.param(("--replicaof", "127.0.0.1", "1"), id="replica"),
        pytest.param(("--maxmemory", "1", "--maxmemory-policy", "noeviction"), id="full"),
    ],
)
def test_so_is_one_that_takes_nothing(refusing: tuple[str, ...]) -> None:
    started = services.Services()
    server = valkey.prepare(started.folder / "valkey")
    try:
        started.start((*server.command(), *refusing), server.is_ready, user=None, stop=signal.SIGTERM)
        told = Cache(server.url(), {"OPTIONS": {"serializer": JsonSerializer()}})

        told.set("k", 1)

        assert told.get("k", "nothing") == "nothing"
        assert told.add("k", 1)
        assert not told.delete("k")
        with redis.Redis.from_url(server.url()) as client, pytest.raises(redis.ResponseError):
            client.set("k", 1)
    finally:
        started.stop()


def test_tests_see_no_key_of_the_machine() -> None:
    assert not [name for name in os.environ if name.endswith("_API_KEY")]


@pytest.mark.parametrize(
    "setting", [{"runners": 14, "pool_size": 16}, {"runners": 1, "pool_size": 200}], ids=("many", "large")
)
def test_the_embedded_postgres_takes_as_many_connections_as_its_processes_may_hold(setting: dict[str, int]) -> None:
    """With a hundred for all of them the thirteenth runner of a large machine had none, and died again and again."""
    runners, pool = setting["runners"], setting["pool_size"]

    taken = most_connections(**setting)

    # As docs/operating.md counts them.
    assert taken > pool + runners * (7 + 1 + pool)
    assert most_connections(1, 16) == 100
