"""What is given to operators fits the product: its commands are there, its variables are known, its limits agree."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from hyperagent.lib.conf import BASE_DIR, Config

DEPLOY = BASE_DIR / "deploy"
KNOWN = {str(field.alias) for field in Config.model_fields.values()}
# Python's own, the image's, and what says which process it is.
OTHERS = {"PYTHONUNBUFFERED", "HYPERAGENT_PROCESS", "PATH", "POSTGRES_PASSWORD", "POSTGRES_USER", "POSTGRES_DB"}


def test_containers_and_units_run_commands_and_set_variables_that_there_are() -> None:
    services = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())["services"]
    units = {path.name: path.read_text() for path in (DEPLOY / "systemd").iterdir()}

    told = "\n".join(str(service.get("command", "")) for service in services.values()) + "\n".join(units.values())
    commands = set(re.findall(r"manage\.py(?:', '| )(\w+)", told))
    named = {name for service in services.values() for name in service.get("environment", {})}
    named |= {name for text in units.values() for line in re.findall(r"^Environment=(.*)$", text, re.MULTILINE)
              for name in re.findall(r"(\w+)=", line)}  # fmt: skip

    assert commands == {"prepare", "worker"}
    assert commands <= set(get_commands())
    assert named - KNOWN - OTHERS == set()


def test_the_guide_names_variables_and_commands_that_there_are() -> None:
    guide = (BASE_DIR / "docs" / "operating.md").read_text()

    commands = set(re.findall(r"manage\.py (\w+)", guide))
    variables = set(re.findall(r"^([A-Z_]{4,})=", guide, re.MULTILINE))
    paths = set(re.findall(r"`(deploy/[\w./-]+)`", guide))

    assert commands <= set(get_commands())
    assert variables <= KNOWN
    assert [path for path in paths if not Path(BASE_DIR, path).exists()] == []


def test_the_proxy_lets_documents_of_every_allowed_size_through() -> None:
    found = re.search(r"client_max_body_size (\d+)m", (DEPLOY / "nginx.conf").read_text())

    assert found is not None
    assert int(found[1]) * 1_048_576 > Config.model_fields["document_max_bytes"].default


def test_what_the_compose_file_wants_of_env_is_in_the_example() -> None:
    wanted = set(re.findall(r"\$\{(\w+)", (DEPLOY / "docker" / "compose.yaml").read_text()))
    told = set(re.findall(r"^# (\w+)=", (BASE_DIR / ".env.example").read_text(), re.MULTILINE))

    assert wanted - told == set()


def test_containers_keep_their_files_in_their_volume_whatever_env_says_for_make_run() -> None:
    services = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())["services"]
    ours = {name: services[name] for name in ("prepare", "web", "worker")}

    mounted = {name: [volume.partition(":")[2] for volume in service["volumes"]] for name, service in ours.items()}

    assert {name: [service["environment"].get("DATA_DIR")] for name, service in ours.items()} == mounted


@pytest.mark.parametrize("file", [".dockerignore", ".gitignore"])
def test_a_backup_that_lies_where_it_is_made_by_default_gets_into_no_image_and_no_commit(file: str) -> None:
    left_out = (BASE_DIR / file).read_text().split()

    for name in ("hyperagent-20261128-110000.tar", "hyperagent-20261128-110000.tar.part", ".hyperagent-backup-a1b2c3"):
        assert any(fnmatch(name, pattern) for pattern in left_out), name


@pytest.mark.parametrize("file", ["docker/Dockerfile", "sandbox/Dockerfile"])
def test_what_an_image_is_made_of_is_there_and_not_left_out(file: str) -> None:
    left_out = (BASE_DIR / ".dockerignore").read_text().split()
    wanted = re.findall(r"^COPY (\S+) ", (DEPLOY / file).read_text(), re.MULTILINE)

    assert wanted
    for path in wanted:
        assert (BASE_DIR / path).exists()
        assert not [pattern for pattern in left_out if fnmatch(path, pattern)]
