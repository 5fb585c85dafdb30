"""`manage.py doctor` says what is wrong and how to mend it, whatever is away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hyperagent.lib.conf import BASE_DIR
from hyperagent.management.commands.doctor import fits


def doctor(tmp_path: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    removed = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL")
    inherited = {name: value for name, value in os.environ.items() if name not in removed}
    return subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        cwd=BASE_DIR,
        env={**inherited, "DATA_DIR": str(tmp_path), "ENV_FILE": os.devnull, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.spec("B31")
def test_without_anything_it_says_what_to_set(tmp_path: Path) -> None:
    report = doctor(tmp_path)

    assert report.returncode == 1
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL"):
        assert f"{name} is not set" in report.stdout
    assert "make run" in report.stdout


def test_it_works_while_the_servers_are_away_and_shows_no_password(tmp_path: Path) -> None:
    report = doctor(
        tmp_path,
        SECRET_KEY="k" * 40,
        DATABASE_URL="postgresql://someone:hunter22@127.0.0.1:1/theirs",
        REDIS_URL="redis://:hunter22@127.0.0.1:1/0",
    )

    assert report.returncode == 1
    assert "the database at 127.0.0.1:1/theirs does not answer" in report.stdout
    assert "Redis does not answer" in report.stdout
    assert "hunter22" not in report.stdout + report.stderr
    assert "Traceback" not in report.stderr


@pytest.mark.spec("B31")
def test_it_warns_of_what_is_unsafe_and_finds_what_people_could_not_open(tmp_path: Path) -> None:
    report = doctor(
        tmp_path, SECRET_KEY="k" * 40, DEBUG="true", SITE_URL="http://agents.example.org", ALLOWED_HOSTS="example.org"
    )

    assert "DEBUG is on" in report.stdout
    assert "ALLOWED_HOSTS does not hold agents.example.org" in report.stdout
    assert "has no https" in report.stdout


def test_hosts_fit_as_django_has_it() -> None:
    assert fits("a.example.org", ".example.org")
    assert fits("example.org", ".example.org")
    assert fits("anything", "*")
    assert not fits("evil-example.org", ".example.org")
    assert not fits("a.example.org", "example.org")
