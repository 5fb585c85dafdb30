"""The environment of a process: completed by `.env`, and by the `manage.py up` that serves its DATA_DIR."""

import json
import os
from collections.abc import MutableMapping
from pathlib import Path

import environ

BASE_DIR = Path(__file__).resolve().parent.parent.parent.parent
# What a running `manage.py up` leaves for the other commands: where its servers are, and its key. Mode 0600.
INSTANCE_FILE = Path("run") / "instance.json"


def read_env_file(env: MutableMapping[str, str]) -> None:
    """Adds what `.env` says (or the file that ENV_FILE names); what the environment says already stays."""
    path = Path(env.get("ENV_FILE") or BASE_DIR / ".env")
    if path.is_file():
        values: dict[str, str] = {}

        class _File(environ.Env):  # type: ignore[misc]
            ENVIRON = values

        _File.read_env(str(path))
        for name, value in values.items():
            env.setdefault(name, value)


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
