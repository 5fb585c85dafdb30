"""`manage.py mcp_install NAME PACKAGE…`: what a server that is a program is made of, for the sandbox to run.

It lies below DATA_DIR/mcp, for the Python that boxes have, and boxes see it read-only. To be run on each machine.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.mcp.folders import NAME, programs_folder
from agents.sandbox.local.runtime import INSTALLED, SYSTEM_PYTHON, installed_for


class Command(BaseCommand):
    help = "Installs Python packages for a server of the Model Context Protocol that runs in the sandbox."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what it is called on the page of MCP servers, such as time")
        parser.add_argument("packages", nargs="+", help="as pip takes them, such as mcp-server-time==2026.10.1")

    def handle(self, *, name: str, packages: list[str], **_: Any) -> None:
        if not NAME.match(name):
            raise CommandError(f"'{name}' is no name: small letters, digits, '.', '_' and '-', at most 60.")
        if any(package.startswith("-") for package in packages):
            raise CommandError("Name packages only: options of pip are not handed on.")
        folder = programs_folder()
        # The account that boxes run under has to read it.
        os.umask(0o022)
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f".{name}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        if subprocess.run([*_installer(), "--target", str(fresh), *packages], check=False).returncode:
            shutil.rmtree(fresh, ignore_errors=True)
            raise CommandError("It could not be installed; see above. What was there before is still there.")
        shutil.rmtree(folder / name, ignore_errors=True)
        fresh.rename(folder / name)
        self.stdout.write(f"Installed in {folder / name}. Connect it at /settings/mcp/program/, as '{name}'.")


def _installer() -> list[str]:
    """pip, or uv where the environment has none: ready-made packages only, as nothing of theirs is to run here."""
    python = str(_interpreter())
    wheels = ["--only-binary", ":all:"]
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
        return [*pip, "install", "--no-input", "--compile", *wheels]
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        raise CommandError("Neither pip nor uv is there to install it with.")
    return [uv, "pip", "install", "--python", python, "--compile-bytecode", *wheels]


def _interpreter() -> Path:
    """The Python that boxes have."""
    own = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    wanted = [installed_for(INSTALLED), SYSTEM_PYTHON, own]
    return next((path for path in wanted if path is not None and path.exists()), own)
