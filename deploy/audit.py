"""`make audit`: whether what is installed is what was locked, whether any of it runs by itself, and whether holes in it
are known. The last is asked of PyPI, by pip-audit: `ok` is said of what was answered for only, and `?` of what was not.
"""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final

from deploy import bootstrap

ROOT: Final = Path(__file__).resolve().parent.parent
LOCKS: Final = (
    "requirements.txt",
    "requirements-dev.txt",
    "deploy/model-requirements.txt",
    "deploy/uv-requirements.txt",
)
# What a virtual environment brings itself.
STARTS_ITSELF: Final = ("distutils-precedence.pth", "_virtualenv.pth")
NOT_LOCKED: Final = ("pip", "setuptools", "wheel")
# Stole credentials when Python started.
STOLEN: Final = {"litellm": ("1.82.7", "1.82.8")}
AUDITOR: Final = "pip-audit==2.10.1"
AUDITED: Final = (*LOCKS, bootstrap.SANDBOX_LOCK)
LOCKED_LINE: Final = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
NOBODY_THERE: Final = re.compile(
    r"(?i)connection|name resolution|resolve host|dns|network|timed? ?out|unreachable|proxy|failed to fetch|"
    r"status code|http status|service error|not found in the (?:package registry|cache)"
)
# Of one answer, and of all of them for one lock file: without a network nobody shall wait for long.
ANSWER_S: Final = 5
ALL_ANSWERS_S: Final = 90
VENDORED: Final = "deploy/vendor-js/hashes.json"


def main() -> int:
    faults = local_faults()
    for fault in faults:
        print(f"ERROR  {fault}")
    if not faults:
        print("ok     What is installed is what was locked, and none of it starts by itself.")
    with ThreadPoolExecutor(len(AUDITED)) as askers:
        answers = list(askers.map(ask_about, AUDITED))
    for _, said in answers:
        print(said)
    return max(1 if faults else 0, *(status for status, _ in answers))


def local_faults() -> list[str]:
    """What is wrong here; nobody elsewhere is asked."""
    return [*not_as_locked(installed(), locked()), *starting_files(site_packages()), *vendored_faults()]


def locked() -> dict[str, set[str]]:
    """Package to the versions that a lock file names."""
    found: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, version in lines_of(lock):
            found.setdefault(named(name), set()).add(version)
    return found


def lines_of(lock: str) -> list[tuple[str, str]]:
    """Package and version of each line; one that is locked for two Pythons has two."""
    return LOCKED_LINE.findall((ROOT / lock).read_text())


def installed() -> dict[str, str]:
    return {named(each.metadata["Name"]): each.version for each in distributions()}


def named(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def not_as_locked(here: dict[str, str], lock: dict[str, set[str]]) -> list[str]:
    faults = []
    for name, version in sorted(here.items()):
        if version in STOLEN.get(name, ()):
            faults.append(f"{name} {version} steals credentials: remove it, and change every key that it could see")
        elif name not in lock and name not in NOT_LOCKED:
            faults.append(f"{name} {version} is installed, and in no lock file: remove it, or lock it by `make lock`")
        elif name in lock and version not in lock[name]:
            faults.append(f"{name} {version} is installed, and {', '.join(sorted(lock[name]))} is locked")
    return faults


def site_packages() -> Path:
    return Path(sysconfig.get_path("purelib"))


def starting_files(folder: Path) -> list[str]:
    """Files that Python runs whenever it starts."""
    files = [*folder.glob("*.pth"), *folder.glob("sitecustomize*"), *folder.glob("usercustomize*")]
    return [
        f"{file.name} runs whenever Python starts: look at what brought it"
        for file in sorted(files)
        if file.name not in STARTS_ITSELF and (file.suffix != ".pth" or "import" in file.read_text(errors="replace"))
    ]


def vendored_faults() -> list[str]:
    """The page's libraries: each as npm's lock has it, with a hash, and what was made of them as it was made."""
    folder = ROOT / "deploy" / "vendor-js"
    wanted: dict[str, str] = json.loads((folder / "package.json").read_text())["devDependencies"]
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    told = (ROOT / "static" / "vendor" / "LICENSES.md").read_text()
    faults = [f"npm's {path} has no hash" for path, each in packages.items() if path and "integrity" not in each]
    for name, version in wanted.items():
        if packages.get(f"node_modules/{name}", {}).get("version") != version:
            faults.append(f"npm's {name} {version} is wanted, and the lock has another")
        if f"| {name} |" in told and f"| {name} | {version} |" not in told:
            faults.append(f"npm's {name} {version} is wanted, and static/vendor has another: run `make vendor`")
    return faults + changed_files(ROOT / "static" / "vendor", json.loads((ROOT / VENDORED).read_text()))


def changed_files(folder: Path, hashes: dict[str, str]) -> list[str]:
    """Scripts that are not those that `make vendor` wrote down."""
    here = {file.name: sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.js"))}
    return [
        f"static/vendor/{name} is not what `make vendor` made: look at what changed it"
        for name in sorted(here.keys() | hashes.keys())
        if here.get(name) != hashes.get(name)
    ]


def ask_about(lock: str) -> tuple[int, str]:
    """The exit status, and what is said of the holes of one lock file."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        return 0, f"?      {lock}: nobody was asked about holes, because uv is not installed here."
    options = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "--desc", "off", "--format", "json")
    status, stdout, stderr = ended(
        str(uv), "tool", "run", AUDITOR, *options, "--timeout", str(ANSWER_S), "--requirement", lock
    )
    return verdict(lock, len(lines_of(lock)), status, stdout, stderr)


def ended(*command: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr; what takes too long is ended with all that it started."""
    env = {**bootstrap.environment(), "UV_HTTP_TIMEOUT": str(ANSWER_S), "UV_HTTP_RETRIES": "1"}
    started = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        stdout, stderr = started.communicate(timeout=ALL_ANSWERS_S)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
        return 2, "", f"timed out after {ALL_ANSWERS_S} s"
    return started.returncode, stdout, stderr


def verdict(lock: str, lines: int, status: int, stdout: str, stderr: str) -> tuple[int, str]:
    """The exit status, and what is said of how pip-audit ended. It ends with 0 where nobody knew a package, too."""
    answers = answers_in(stdout)
    if answers is not None:
        return judged(lock, lines, answers)
    if NOBODY_THERE.search(stderr):
        return 0, f"?      {lock}: nobody was asked about holes, because nobody could be reached."
    return 1, f"ERROR  {lock}: pip-audit failed (status {status}):\n{stderr.strip()[-2000:]}"


def answers_in(stdout: str) -> list[dict[str, Any]] | None:
    """One for each line of the lock that is for this Python and this system; None if there is no answer at all."""
    try:
        found = json.loads(stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return None
    return list(found)


def judged(lock: str, lines: int, answers: list[dict[str, Any]]) -> tuple[int, str]:
    holes = [f"{each['name']} {each['version']}: {hole_of(hole)}" for each in answers for hole in each.get("vulns", ())]
    if holes:
        return 1, "\n       ".join((f"ERROR  {lock}: known holes:", *holes))
    unknown = sum("skip_reason" in each for each in answers)
    if unknown or not answers:
        return 0, f"?      {lock}: {unknown or lines} of {lines} could not be asked about."
    others = f" ({lines - len(answers)} are for other systems)" if lines > len(answers) else ""
    return 0, f"ok     {lock}: no known holes in {len(answers)} of {lines}{others}."


def hole_of(hole: dict[str, Any]) -> str:
    mended = hole.get("fix_versions") or ()
    return f"{hole['id']}, mended in {', '.join(mended)}" if mended else f"{hole['id']}, not mended yet"


if __name__ == "__main__":
    sys.exit(main())
