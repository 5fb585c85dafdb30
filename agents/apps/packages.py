"""Packages of npm that apps find without a network: installed by an administrator (`manage.py app_install`), and seen
read-only by every box on this machine. Knows no box and installs nothing."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from django.conf import settings

INSIDE: Final = "/home/node_modules"
"""Above the folder of every app: whatever Node runs there looks for packages here, after the app's own."""
COMMAND: Final = "manage.py app_install"


def packages_folder() -> Path:
    """With package.json, package-lock.json and node_modules."""
    folder: Path = settings.CONFIG.data_path / "apps"
    return folder


def modules_folder() -> Path:
    return packages_folder() / "node_modules"


def installed() -> dict[str, str]:
    """The version of each package that was asked for, by its name; not of what they need themselves. None in a program
    without the house's settings, such as the evaluations: it has no boxes either."""
    if not settings.configured:
        return {}
    wanted = _read(packages_folder() / "package.json").get("dependencies", {})
    found = {name: _read(modules_folder() / name / "package.json").get("version") for name in sorted(wanted)}
    return {name: str(version) for name, version in found.items() if version}


def name_of(package: str) -> str:
    """Without the version that was wanted."""
    name, _, _ = package.removeprefix("@").partition("@")
    return f"@{name}" if package.startswith("@") else name


def told(wanted: Collection[str]) -> str:
    """What of it is there, and what an administrator has to type for the rest; for a model or a person."""
    there = installed()
    has = [f"{name} {there[name]}" for name in map(name_of, wanted) if name in there]
    lacks = [package for package in wanted if name_of(package) not in there]
    parts = [f"There already: {', '.join(has)}; the app finds them as they are."] if has else []
    if lacks:
        parts.append(f"Not there: {', '.join(lacks)}. An administrator can type: {COMMAND} {' '.join(lacks)}")
        if others := [f"{name} {version}" for name, version in there.items() if name not in map(name_of, wanted)]:
            parts.append(f"What else is there: {', '.join(others)}.")
    return "\n".join(parts)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
