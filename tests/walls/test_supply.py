"""T32: what others wrote is what was locked. T33: nothing that a person, an administrator or a model wrote is run in
our processes. T09: the world is reached by its one door.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from deploy import audit
from hyperagent.lib.conf import BASE_DIR

PRODUCT: Final = ("agents", "conversations", "hitl", "hyperagent", "memory")
# What runs in a box and not in our processes; what is in it comes from this repository.
IN_A_BOX: Final = ("agents/sandbox/library/", "agents/sandbox/local/inside/", "agents/sandbox/remote/inside.py")

RUNS_CODE: Final = {"exec", "eval", "compile", "__import__", "execfile"}
IMPORTS: Final = {"import_module", "import_string", "run_path", "run_module", "exec_module", "spec_from_file_location"}
READS_CODE: Final = {"pickle", "cPickle", "dill", "marshal", "shelve", "cloudpickle", "jsonpickle"}
# Each with the reason why nothing of a person's can come there.
ALLOWED: Final = {
    "agents/registry.py: import_module": "the folders of agents/roster",
    "agents/skills/registry.py: import_module": "the folders of skills in this repository",
    "agents/tools/registry.py: import_module": "the modules of agents.tools.catalogue and of the roster",
    "agents/guardrails/registry.py: import_module": "the files of agents/guardrails/scanners",
    "conversations/handshake.py: import_module": "SESSION_ENGINE of the settings",
    "hyperagent/accounts/sign_ins.py: import_module": "SESSION_ENGINE of the settings",
    "hyperagent/asgi.py: import_module": "ROOT_URLCONF of the settings",
    "hyperagent/lib/bare_imports.py: import_module": "tables in the same file",
    "hyperagent/lib/clocks.py: import_string": "names that apps register in their code",
    "hyperagent/accounts/personal.py: import_string": "names that apps register in their code",
    "hyperagent/lib/llm/__init__.py: import_module": "a table in the same file",
    "hyperagent/lib/queue.py: import_string": "names in signed jobs; what is not marked with @task is refused",
    "memory/reading/parsers/__init__.py: import_module": "a table in the same file",
}
# `urllib.request`, sockets and the like: who may, and where it leads.
CONNECTS: Final = {
    "urlopen",
    "create_connection",
    "open_connection",
    "HTTPConnection",
    "HTTPSConnection",
    "urlretrieve",
}
CONNECTING: Final = {
    "hyperagent/lib/outside/sockets.py": "the door itself: the address is checked and pinned",
    "hyperagent/lib/outside/tunnel.py": "the door itself: the address is checked and pinned",
    "hyperagent/lib/outside/client.py": "the door itself: the address is checked and pinned",
    "hyperagent/management/probing.py": "the doctor, whether what an operator has configured takes a connection",
    "hyperagent/embedded/installation.py": "asks our own web server whether it lives",
    "agents/sandbox/local/box.py": "one end of a pair of sockets, the other is in the box",
    "agents/sandbox/local/doors.py": "one end of a pair of sockets, the other is in the box",
    "agents/sandbox/docker/provider.py": "the socket of the machine's own engine",
}


@cache
def files() -> dict[str, list[ast.Call | ast.Import | ast.ImportFrom]]:
    """What is called and imported in each file of the product."""
    paths = [path for app in PRODUCT for path in sorted((BASE_DIR / app).rglob("*.py"))]
    trees = {path.relative_to(BASE_DIR).as_posix(): ast.parse(path.read_bytes()) for path in paths}
    return {
        name: [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)]
        for name, tree in trees.items()
        if not name.startswith(IN_A_BOX)
    }


def called(node: ast.Call) -> str:
    """The last part of what is called, such as `loads` of `pickle.loads`."""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def calls() -> Iterator[tuple[str, ast.Call]]:
    return ((name, node) for name, nodes in files().items() for node in nodes if isinstance(node, ast.Call))


def imports() -> Iterator[tuple[str, str]]:
    for name, nodes in files().items():
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from ((name, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield name, node.module or ""


def is_literal(node: ast.Call) -> bool:
    return bool(node.args) and isinstance(node.args[0], ast.Constant)


@pytest.mark.threat("T33")
def test_no_text_is_run_as_code() -> None:
    found = [
        f"{name}:{node.lineno} {called(node)}"
        for name, node in calls()
        if isinstance(node.func, ast.Name) and node.func.id in RUNS_CODE
    ]

    assert found == []


@pytest.mark.threat("T33")
def test_only_modules_of_this_repository_are_imported_by_a_name_that_is_put_together() -> None:
    found = {f"{name}: {called(node)}" for name, node in calls() if called(node) in IMPORTS and not is_literal(node)}

    assert found - ALLOWED.keys() == set(), "add it to ALLOWED only with a reason why nobody else chooses the name"
    assert ALLOWED.keys() - found == set(), "it is gone: take it out of ALLOWED"


@pytest.mark.threat("T24", "T33")
def test_nothing_is_read_that_can_hold_code() -> None:
    found = {name for name, module in imports() if module.split(".")[0] in READS_CODE}

    assert found == set()


@pytest.mark.threat("T33")
def test_no_shell_is_given_a_text() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, node in calls()
        for keyword in node.keywords
        if (keyword.arg == "shell" and getattr(keyword.value, "value", True))
        or called(node) in ("system", "popen", "create_subprocess_shell")
    ]

    assert found == []


@pytest.mark.threat("T09")
def test_only_the_door_and_what_stays_on_this_machine_connects() -> None:
    found = {name for name, node in calls() if called(node) in CONNECTS}

    assert found - CONNECTING.keys() == set()
    assert CONNECTING.keys() >= found


@pytest.mark.threat("T09")
def test_an_import_contract_keeps_clients_of_http_behind_the_door() -> None:
    contracts = (BASE_DIR / "pyproject.toml").read_text().split("[[tool.importlinter.contracts]]")

    (door,) = [text for text in contracts if "The world outside is reached by" in text]
    for client in ("httpx", "aiohttp", "requests"):
        assert f'"{client}"' in door


# ── what others wrote ──


@pytest.mark.threat("T32")
def test_what_is_installed_is_held_against_the_lock() -> None:
    lock = {"litellm": {"1.106.2"}, "django": {"5.2.19"}}

    assert audit.not_as_locked({"litellm": "1.106.2", "django": "5.2.19", "pip": "26"}, lock) == []
    assert audit.not_as_locked({"litellm": "1.82.8"}, lock)[0].startswith("litellm 1.82.8 steals credentials")
    assert "in no lock file" in audit.not_as_locked({"stranger": "1"}, lock)[0]
    assert "is locked" in audit.not_as_locked({"django": "5.2.18"}, lock)[0]


@pytest.mark.threat("T32")
def test_litellm_is_pinned_away_from_the_releases_that_stole() -> None:
    lock = audit.locked()

    assert len(lock["litellm"]) == 1
    assert not lock["litellm"] & set(audit.STOLEN["litellm"])
    assert audit.installed()["litellm"] in lock["litellm"]
    assert audit.starting_files(audit.site_packages()) == []


@pytest.mark.threat("T32")
def test_a_file_that_starts_with_python_is_found(tmp_path: Path) -> None:
    (tmp_path / "litellm_init.pth").write_text("import os; os.system('x')")
    (tmp_path / "harmless.pth").write_text("/some/path")
    (tmp_path / "sitecustomize.py").write_text("")

    assert [fault.split()[0] for fault in audit.starting_files(tmp_path)] == ["litellm_init.pth", "sitecustomize.py"]


@pytest.mark.threat("T32")
def test_the_pages_libraries_are_those_of_npms_lock_each_with_its_hash() -> None:
    assert audit.vendored_faults() == []


@pytest.mark.threat("T32")
def test_what_is_installed_here_is_as_it_was_locked_starts_nothing_and_is_unchanged() -> None:
    assert audit.local_faults() == []


@pytest.mark.threat("T32")
def test_a_library_of_the_page_that_was_changed_by_hand_is_found(tmp_path: Path) -> None:
    (tmp_path / "math.js").write_text("alert(1)")
    (tmp_path / "new.js").write_text("")

    faults = audit.changed_files(tmp_path, {"math.js": "0" * 64, "gone.js": "0" * 64})

    assert [fault.split()[0].rpartition("/")[2] for fault in faults] == ["gone.js", "math.js", "new.js"]


def answered(*dependencies: dict[str, Any]) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


CLEAN: Final = {"name": "x", "version": "1", "vulns": []}
HOLE: Final = {
    "name": "django",
    "version": "3.2.0",
    "vulns": [{"id": "PYSEC-2021-99", "fix_versions": ["3.2.4"], "aliases": []}],
}
UNKNOWN: Final = {"name": "y", "skip_reason": "Dependency not found on PyPI and could not be audited: y (2)"}


@pytest.mark.threat("T32")
@pytest.mark.parametrize(
    ("stdout", "stderr", "pip_audit", "status", "begins"),
    [
        pytest.param(answered(CLEAN, CLEAN, CLEAN), "", 0, 0, "ok     a.txt: no known holes in 3 of 3.", id="clean"),
        pytest.param(answered(CLEAN, CLEAN), "", 0, 0, "ok     a.txt: no known holes in 2 of 3 (1 are", id="other"),
        pytest.param(answered(CLEAN, HOLE, UNKNOWN), "", 1, 1, "ERROR  a.txt: known holes:", id="hole"),
        # A mirror that has packages and knows nothing of holes: pip-audit says that it found none.
        pytest.param(answered(CLEAN, UNKNOWN, UNKNOWN), "", 0, 0, "?      a.txt: 2 of 3 could not", id="unknown"),
        pytest.param(answered(), "", 0, 0, "?      a.txt: 3 of 3 could not", id="nothing"),
        pytest.param("", "dns error: failure in name resolution", 2, 0, "?      a.txt: nobody was asked", id="offline"),
        pytest.param("", "timed out after 90 s", 2, 0, "?      a.txt: nobody was asked", id="slow"),
        pytest.param("", "HTTP status server error (503)", 2, 0, "?      a.txt: nobody was asked", id="broken"),
        pytest.param("", "error: unexpected argument", 2, 1, "ERROR  a.txt: pip-audit failed", id="failed"),
        pytest.param("", "", 0, 1, "ERROR  a.txt: pip-audit failed", id="silent"),
    ],
)
def test_the_audit_says_ok_only_of_what_was_answered_for(
    stdout: str, stderr: str, pip_audit: int, status: int, begins: str
) -> None:
    ended, said = audit.verdict("a.txt", 3, pip_audit, stdout, stderr)

    assert (ended, said[: len(begins)]) == (status, begins)
    if status and stdout:
        assert "django 3.2.0: PYSEC-2021-99, mended in 3.2.4" in said


@pytest.mark.threat("T32")
def test_every_lock_is_audited_and_so_is_every_change() -> None:
    locks = {
        path.relative_to(BASE_DIR).as_posix()
        for folder in (BASE_DIR, BASE_DIR / "deploy", BASE_DIR / "deploy" / "sandbox")
        for path in folder.glob("*requirements*.txt")
    }

    assert locks == set(audit.AUDITED)
    assert all(audit.lines_of(lock) for lock in audit.AUDITED)
    assert re.search(r"^(nice )?make\b.* audit\b", (BASE_DIR / ".ci" / "run").read_text(), re.MULTILINE)


@pytest.mark.threat("T32")
def test_nobody_waits_long_for_a_service_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "ALL_ANSWERS_S", 0.2)

    status, _, stderr = audit.ended("sh", "-c", "sleep 60 & sleep 60")

    assert audit.verdict("a.txt", 3, status, "", stderr)[0] == 0


@pytest.mark.threat("T32")
def test_each_python_package_is_asked_for_with_its_hash() -> None:
    text = (BASE_DIR / "deploy" / "bootstrap.py").read_text()
    installs = [line for line in text.splitlines() if '"install"' in line or "must(*pip" in line or "run(*pip" in line]

    assert installs
    assert text.count("--require-hashes") >= 4
    scripts = json.loads((BASE_DIR / "deploy" / "vendor-js" / "package.json").read_text())["scripts"]
    assert scripts == {"build": "node build.mjs"}, "npm runs nothing of ours when it installs"
