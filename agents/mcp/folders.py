"""Where the programs of servers are installed, and how one of them is called within its box. Pure but for the paths."""

import re
from pathlib import Path
from typing import Final

from django.conf import settings

from agents.mcp.values import ServerConfig

INSIDE: Final = "/opt/mcp"
"""Where a box sees the folder of all installed programs, read-only."""
NAME: Final = re.compile(r"^[a-z0-9][a-z0-9._-]{0,59}$")


def programs_folder() -> Path:
    folder: Path = settings.CONFIG.data_path / "mcp"
    return folder


def installed() -> list[str]:
    """The names of what `mcp_install` put there."""
    folder = programs_folder()
    return (
        sorted(one.name for one in folder.iterdir() if one.is_dir() and NAME.match(one.name)) if folder.is_dir() else []
    )


def program_words(config: ServerConfig) -> list[str]:
    return [config.command, *config.args]


def program_env(config: ServerConfig) -> dict[str, str]:
    """Of the box; what the program is made of stands first among what Python imports."""
    always = {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**always, "PYTHONPATH": f"{INSIDE}/{config.folder}"} if config.folder else always
