"""The scripts behind make: what a wrong Python is told, and the table of requirements."""

import os
import re
import subprocess
import sys

import pytest

from deploy import bootstrap, spec
from hyperagent.lib.conf import BASE_DIR


def test_a_python_that_is_too_old_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "OLDEST", (99, 0))

    with pytest.raises(SystemExit) as caught:
        bootstrap.refuse_old_python()

    assert "needs Python 99.0 or newer" in str(caught.value.code)
    assert "make run PYTHON=" in str(caught.value.code)


def test_the_stamp_follows_what_is_installed() -> None:
    assert bootstrap.stamp_of(True) != bootstrap.stamp_of(False)
    assert bootstrap.stamp_of(True) == bootstrap.stamp_of(True)


@pytest.mark.threat("T32")
def test_every_locked_package_has_a_hash_and_no_host_is_named() -> None:
    for name in ("requirements.txt", "requirements-dev.txt", bootstrap.MODEL, bootstrap.UV, bootstrap.SANDBOX_LOCK):
        text = (BASE_DIR / name).read_text()
        packages = re.split(r"\n(?=\S)", text.strip())

        assert packages
        assert all("--hash=sha256:" in package for package in packages if not package.startswith("#")), name
        assert "://" not in text


@pytest.mark.threat("T32")
def test_no_dependency_runs_code_at_start_up() -> None:
    """LiteLLM 1.82.7 and 1.82.8 stole credentials by a .pth file."""
    found = subprocess.run(
        [sys.executable, "-c", "import sysconfig, pathlib; p = pathlib.Path(sysconfig.get_path('purelib'));"
         "print(*[f.name for f in p.glob('*.pth') if 'import' in f.read_text()])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert set(found.stdout.split()) <= {"distutils-precedence.pth", "_virtualenv.pth"}


def test_a_requirement_is_as_good_as_its_worst_test_and_never_silent() -> None:
    results = {"S1": {"a::x": "passed", "a::y": "failed"}, "B2": {"b::z": "skipped"}}

    assert spec.table(["S1", "B2", "S3"], results) == [
        "S1  failed  a::y",
        "S1  passed  a::x",
        "B2  skipped  b::z",
        "S3  missing",
    ]


def test_make_leaves_the_folder_to_the_settings_unless_it_is_told_one() -> None:
    """What it said by itself would win over `.env`, and the other commands would look elsewhere."""

    def told(*given: str) -> str:
        env = {name: value for name, value in os.environ.items() if name != "DATA_DIR"}
        command = ["make", "-s", "--eval=told: ; @echo $${DATA_DIR-nothing}", "told", *given]
        return subprocess.run(command, cwd=BASE_DIR, env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert (told(), told("DATA_DIR=/srv/data")) == ("nothing", "/srv/data")
