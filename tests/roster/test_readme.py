"""agents/README.md names every part of the app, and its example is an agent: written as it says into a copy of the
roster, it passes the contract.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
# What has to lie beside the copied roster. All else is only read, so the project's own does.
COPIED = ("agents", "tests")
LINKED = ("conversations", "evals", "hitl", "hyperagent", "locale", "memory", "static", "templates", "pyproject.toml")
_BLOCK = re.compile(
    r"^```(?:python|markdown)\n(?:#|<!--) (?P<path>roster/\S+)(?: -->)?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def example() -> dict[str, str]:
    """The files of the example under "Add an agent", by their path in `agents/`."""
    readme = (PROJECT / "agents/README.md").read_text()
    section = readme.split("\n## Add an agent\n")[1].split("\n## ")[0]
    return {block["path"]: block["text"] for block in _BLOCK.finditer(section)}


def test_the_map_names_every_part() -> None:
    parts = (PROJECT / "agents/README.md").read_text().split("\n## The parts\n")[1].split("\n## ")[0]
    modules = {path.name for path in (PROJECT / "agents").glob("*.py")} - {"__init__.py"}
    packages = {f"{path.parent.name}/" for path in (PROJECT / "agents").glob("*/__init__.py")} - {"migrations/"}

    named = set(re.findall(r"`([a-z_0-9]+(?:\.py|/))`", parts))

    assert modules | packages <= named


def test_the_example_has_an_agent_its_prompt_and_its_tool() -> None:
    assert sorted(example()) == ["roster/dice/agent.py", "roster/dice/dice_tools.py", "roster/dice/prompt.md"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.spec("S185", "S186")
def test_an_agent_that_is_added_as_the_readme_says_passes_the_contract(tmp_path: Path) -> None:
    for name in COPIED:
        shutil.copytree(PROJECT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in LINKED:
        (tmp_path / name).symlink_to(PROJECT / name)
    for path, text in {**example(), "roster/dice/__init__.py": ""}.items():
        (tmp_path / "agents" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "agents" / path).write_text(text)

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests/roster", "-k", "dice"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "ENV_FILE": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout[-4_000:] + ran.stderr[-2_000:]
    assert re.search(r"\b[12]\d passed", ran.stdout), ran.stdout[-2_000:]
