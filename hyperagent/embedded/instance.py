"""One running `manage.py up` on one DATA_DIR: its lock, its key, its port, and the note that other commands read."""

import fcntl
import json
import os
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path

from hyperagent.embedded import files
from hyperagent.lib.conf import INSTANCE_FILE

FIRST_LOGIN = "first_login"
KEY_FILE = "secret_key"


class AlreadyRunning(Exception):
    """Another `manage.py up` serves this folder."""


class BadDataDir(Exception):
    """DATA_DIR names a folder that cannot be made or written."""


class PortInUse(Exception):
    """Somebody else listens on the port."""


def make_data_dir(path: Path) -> Path:
    """Private. Where the servers run as a user of their own, that user must pass through it, though not look around.

    Another `up` may be at work in it, so what is there already must not change. Raises BadDataDir.
    """
    mode = 0o711 if os.geteuid() == 0 else 0o700
    try:
        files.make_private(path, mode=mode)
        files.make_private(path / "run", mode=mode)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise BadDataDir(
            f"DATA_DIR='{path}' cannot be used ({why}); allowed: a directory that this user may write"
        ) from None
    return path


def lock(data_dir: Path) -> int:
    """Holds the folder until this process ends, however it ends. Returns the descriptor, which must stay open."""
    descriptor = os.open(data_dir / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.read(descriptor, 32).decode().strip() or "unknown"
        os.close(descriptor)
        raise AlreadyRunning(
            f"HyperAgent already runs on {data_dir} (process {pid}). Stop it, or start a second one with a folder"
            " and a port of its own: DATA_DIR=var2 PORT=8001"
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def secret_key(data_dir: Path) -> str:
    """Made once. Sessions and queued jobs are signed with it, so it stays."""
    path = data_dir / KEY_FILE
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        fresh = secrets.token_urlsafe(48)
        write_private(path, fresh)
        return fresh


def first_password(data_dir: Path) -> tuple[str, bool]:
    """For an administrator who may have to be made; and whether an earlier start has made one whom nobody was told."""
    try:
        return (data_dir / FIRST_LOGIN).read_text().strip(), True
    except FileNotFoundError:
        return secrets.token_urlsafe(12), False


def keep_first_password(data_dir: Path, password: str) -> None:
    """Until it was told. By who makes the administrator, just before: where there is one there is nothing to tell."""
    write_private(data_dir / FIRST_LOGIN, password)


def forget_first_password(data_dir: Path) -> None:
    (data_dir / FIRST_LOGIN).unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, and readable for nobody else at any moment."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    fresh.replace(path)


def leave_note(data_dir: Path, values: Mapping[str, str]) -> None:
    write_private(data_dir / INSTANCE_FILE, json.dumps(dict(values)))


def remove_note(data_dir: Path) -> None:
    (data_dir / INSTANCE_FILE).unlink(missing_ok=True)


def claim_port(port: int) -> None:
    """Raises PortInUse when the port of 127.0.0.1 is taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the web server does: a port that was left a moment ago is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise PortInUse(
                f"port {port} of 127.0.0.1 is in use or forbidden ({error.strerror}); take another: PORT={port + 1}"
            ) from None


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
