"""`manage.py app_install PACKAGE…`: packages of npm for the web apps that agents build, which run without a network.

They lie below DATA_DIR/apps, with the versions in its package-lock.json, and boxes see them read-only. What was
installed before stays. To be run on each machine.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents.apps.packages import installed, packages_folder
from agents.apps.starters import offered

# Nothing of theirs is to run here, and a folder is copied: boxes could not follow a link to it. A registry that falls
# silent is asked again after half a minute; npm by itself would wait for five.
_INSTALL: Final = (
    "install", "--ignore-scripts", "--install-links", "--save-exact", "--no-audit", "--no-fund", "--no-workspaces",
    "--fetch-timeout=30000",
)  # fmt: skip
_LISTS: Final = ("package.json", "package-lock.json")


class Command(BaseCommand):
    help = "Installs packages of npm for the web apps that agents build in the sandbox, such as express."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("packages", nargs="+", help="as npm takes them, such as express or react@19")

    def handle(self, *, packages: list[str], **_: Any) -> None:
        if any(package.startswith("-") for package in packages):
            raise CommandError("Name packages only: options of npm are not handed on.")
        npm = shutil.which("npm")
        if npm is None:
            raise CommandError("npm is not there to install them with: it comes with Node.js.")
        folder = packages_folder()
        # The account that boxes run under has to read it.
        os.umask(0o022)
        fresh = _begun(folder)
        line = [npm, *_INSTALL, *map(_absolute, packages)]
        # Not by --prefix: npm would look for this machine's own settings, its registry and certificates, below that.
        if subprocess.run(line, cwd=fresh, check=False).returncode:
            shutil.rmtree(fresh, ignore_errors=True)
            raise CommandError("They could not be installed; see above. What was there before is still there.")
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
        there = ", ".join(f"{name} {version}" for name, version in installed().items())
        self.stdout.write(f"In {folder}: {there}. Sandboxes that open from now on have them.")
        templates = ", ".join(starter.name for starter in offered())
        self.stdout.write(f"Runners that start from now on offer these templates: {templates}.")


def _begun(folder: Path) -> Path:
    """Beside it, with what was asked for before, in the same versions."""
    fresh = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    (fresh / "package.json").write_text('{"private": true}\n')
    for name in _LISTS:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, fresh / name)
    return fresh


def _absolute(package: str) -> str:
    """npm takes a path for one below its own folder."""
    path = package.removeprefix("file:")
    is_path = package.startswith(("file:", ".", "/", "~"))
    return f"file:{Path(path).expanduser().resolve()}" if is_path else package
