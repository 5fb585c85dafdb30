"""The environment of a process: completed by `.env`, and by the `manage.py up` that serves its DATA_DIR."""

import io
import json
import os
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path

import environ

from hyperagent.lib.conf.problems import BadConfig

BASE_DIR = Path(__file__).resolve().parent.parent.parent.parent
# What a running `manage.py up` leaves for the other commands: where its servers are, and its key. Mode 0600.
INSTANCE_FILE = Path("run") / "instance.json"
_SETTING = re.compile(r"(?:export )?[A-Za-z_0-9]+=.*")
# As systemd reads such a file.
_COMMENTS = ("#", ";")


def read_env_file(env: MutableMapping[str, str]) -> None:
    """Adds what `.env` says (or the file that ENV_FILE names); what the environment says already stays. Raises
    BadConfig where some of it cannot be read, and shows nothing of that: half of a value may be a secret."""
    named = env.get("ENV_FILE", "").strip()
    path = Path(named or BASE_DIR / ".env")
    if not named and not path.is_file():
        return
    try:
        lines = [line.lstrip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise BadConfig([f"{'ENV_FILE=' if named else ''}{path} cannot be read: {why}"]) from None
    if faults := list(_unread(path, lines)):
        raise BadConfig(faults)
    values: dict[str, str] = {}

    class _File(environ.Env):  # type: ignore[misc]
        ENVIRON = values

    _File.read_env(io.StringIO("\n".join(line for line in lines if _SETTING.fullmatch(line))))
    for name, value in values.items():
        env.setdefault(name, value)


def _unread(path: Path, lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if line and not line.startswith(_COMMENTS) and not _SETTING.fullmatch(line):
            yield f"line {number} of {path} is not NAME=value: a value on one line, no blank before its ="


def join_instance(env: MutableMapping[str, str]) -> None:
    """Adds the addresses of the `manage.py up` that serves this DATA_DIR, so that other commands reach its servers."""
    data_dir = Path(env.get("DATA_DIR") or "var")
    path = (data_dir if data_dir.is_absolute() else BASE_DIR / data_dir) / INSTANCE_FILE
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError):
        return
    for name, value in values.items() if isinstance(values, dict) else ():
        set_unless_given(env, str(name), str(value))


def set_unless_given(env: MutableMapping[str, str], name: str, value: str) -> None:
    """What stands there empty counts as not given."""
    if not env.get(name, "").strip():
        env[name] = value


def process_env() -> MutableMapping[str, str]:
    """This process's environment, completed by `.env` and by a running `manage.py up`."""
    read_env_file(os.environ)
    join_instance(os.environ)
    return os.environ
