"""What the parts of an installation are, read from the files that people deploy it by: the commands of the systemd
units (plain processes) or of the compose file (a namespace for each), and deploy/nginx.conf.

Starts nothing: gives programs for the supervisor. A command that is wrong there is wrong here, which is the point.
"""

import configparser
import itertools
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from hyperagent.embedded import valkey
from hyperagent.lib.conf import BASE_DIR

UNITS: Final = BASE_DIR / "deploy" / "systemd"
COMPOSE: Final = BASE_DIR / "deploy" / "docker" / "compose.yaml"
DOCKERFILE: Final = BASE_DIR / "deploy" / "docker" / "Dockerfile"
NGINX_CONF: Final = BASE_DIR / "deploy" / "nginx.conf"
INSTALLED_IN: Final = "/srv/hyperagent"
UPSTREAM: Final = "server web:8000 "
LISTEN: Final = "listen 80;"
_VARIABLE: Final = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<word>[^}]*))?\}")

Env = dict[str, str]


class BadDeployment(Exception):
    """One of the files in deploy/ does not say what is needed; names the file and the thing."""


# --- the systemd units


def unit(name: str, instance: str = "") -> tuple[tuple[str, ...], Env]:
    """Command and environment of a unit of deploy/systemd, as if the project lay where units expect it."""
    reading = configparser.ConfigParser(strict=False, interpolation=None)
    reading.optionxform = str  # type: ignore[assignment,method-assign]
    reading.read_string((UNITS / name).read_text())
    service = reading["Service"]
    line = service["ExecStart"].replace("%i", instance)
    env = dict(pair.split("=", 1) for pair in shlex.split(service.get("Environment", "")))
    return _with_this_python(shlex.split(line)), env


def _with_this_python(command: Iterable[str]) -> tuple[str, ...]:
    first, *rest = command
    if first not in (f"{INSTALLED_IN}/.venv/bin/python", "python"):
        raise BadDeployment(f"{first} is not the Python of the project; units name {INSTALLED_IN}/.venv/bin/python")
    return (sys.executable, *(part.replace(INSTALLED_IN, str(BASE_DIR)) for part in rest))


# --- the compose file


def compose() -> dict[str, Any]:
    found = yaml.safe_load(COMPOSE.read_text())
    if not isinstance(found, dict) or "services" not in found:
        raise BadDeployment(f"{COMPOSE} has no services")
    return found


def service_command(services: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """What a service runs; without a command of its own, what the image does."""
    command = services[name].get("command") or _image_command()
    return _with_this_python(command)


def service_env(services: Mapping[str, Any], name: str, given: Mapping[str, str]) -> Env:
    """The environment that the compose file gives a service, its variables filled in from `given`."""
    said = services[name].get("environment") or {}
    return {key: _filled(str(value), given) for key, value in said.items()}


def service_kernel(services: Mapping[str, Any], name: str) -> dict[str, Any]:
    return dict(services[name].get("sysctls") or {})


def postgres_settings(services: Mapping[str, Any]) -> dict[str, str]:
    """The `-c name=value` of the database's command."""
    command = [str(part) for part in services["postgres"].get("command") or ()]
    pairs = [pair for flag, pair in itertools.pairwise(command) if flag == "-c"]
    return dict(pair.split("=", 1) for pair in pairs)


def redis_command(services: Mapping[str, Any]) -> tuple[str, ...]:
    """The compose file's, with the program that is here. The image listens for everybody, and so does this."""
    name, *options = services["redis"]["command"]
    if name != "valkey-server":
        raise BadDeployment(f"{COMPOSE} starts {name} for redis, not valkey-server")
    return (str(valkey.binary()), *map(str, options), "--port", "6379", "--bind", "0.0.0.0", "--protected-mode", "no")


def _image_command() -> list[str]:
    line = next((line for line in DOCKERFILE.read_text().splitlines() if line.startswith("CMD ")), "")
    if not line:
        raise BadDeployment(f"{DOCKERFILE} has no CMD")
    command: list[str] = json.loads(line.removeprefix("CMD "))
    return command


def _filled(text: str, given: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        name, kind, word = found["name"], found["kind"], found["word"]
        if given.get(name):
            return given[name]
        if kind == "?":
            raise BadDeployment(f"{COMPOSE} needs {name}: {word}")
        return word or ""

    return _VARIABLE.sub(value, text)


# --- nginx


def nginx_program() -> str:
    """Where it is; empty if it is not installed."""
    return shutil.which("nginx") or next(filter(lambda path: Path(path).exists(), ("/usr/sbin/nginx",)), "")


def nginx_command(folder: Path) -> tuple[str, ...]:
    return (nginx_program(), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr", "-g", "daemon off;")


def write_nginx_conf(folder: Path, site: str) -> None:
    """The main file around deploy/nginx.conf, which distributions and images put into a folder that theirs includes."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    (folder / "site.conf").write_text(site)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"pid {folder}/nginx.pid;\nworker_processes 2;\nevents {{\n    worker_connections 4096;\n}}\n"
        f"http {{\n    access_log off;\n{temporary}    include {folder}/site.conf;\n}}\n"
    )


def nginx_site(*, port: int | None = None, webs: Iterable[str] = ()) -> str:
    """deploy/nginx.conf as it stands, or for a port of this machine alone and web servers at other addresses."""
    site = NGINX_CONF.read_text()
    for expected in (UPSTREAM, LISTEN):
        if site.count(expected) != 1:
            raise BadDeployment(f"{NGINX_CONF} has '{expected.strip()}' {site.count(expected)} times, not once")
    if port is not None:
        site = site.replace(LISTEN, f"listen 127.0.0.1:{port};")
    if addresses := list(webs):
        line = next(line for line in site.splitlines() if UPSTREAM in line)
        site = site.replace(line, "\n".join(line.replace("web:8000", address) for address in addresses))
    return site
