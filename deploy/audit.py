"""`make audit`: whether what is installed is what was locked, whether any of it runs by itself, and whether holes in it
are known. The last is asked of PyPI, by pip-audit; without a network it is said that nobody was asked.
"""

import json
import re
import subprocess
import sys
import sysconfig
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

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
AUDITED: Final = ("requirements.txt", "deploy/sandbox/requirements.txt")
NO_NETWORK: Final = re.compile(
    r"(?i)connection|name resolution|resolve host|dns|network|timed? ?out|unreachable|proxy|failed to fetch"
)


def main() -> int:
    faults = [*not_as_locked(installed(), locked()), *starting_files(site_packages()), *vendored_faults()]
    for fault in faults:
        print(f"ERROR  {fault}")
    if not faults:
        print("ok     What is installed is what was locked, and none of it starts by itself.")
    return max(1 if faults else 0, *(ask_about(lock) for lock in AUDITED))


def locked() -> dict[str, set[str]]:
    """Package to the versions that a lock file names."""
    found: dict[str, set[str]] = {}
    for lock in LOCKS:
        for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", (ROOT / lock).read_text(), re.MULTILINE):
            found.setdefault(named(name), set()).add(version)
    return found


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
    """The page's libraries: each as npm's lock has it, with a hash."""
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
    return faults


def ask_about(lock: str) -> int:
    command = [
        "uv",
        "tool",
        "run",
        AUDITOR,
        "--disable-pip",
        "--require-hashes",
        "--progress-spinner",
        "off",
        "-r",
        lock,
    ]
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        print(f"?      {lock}: nobody was asked about holes, because uv is not installed here.")
        return 0
    done = subprocess.run([str(uv), *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    status, said = verdict(lock, done.returncode, done.stdout, done.stderr)
    print(said)
    return status


def verdict(lock: str, status: int, stdout: str, stderr: str) -> tuple[int, str]:
    """The exit status, and what is said of how pip-audit ended."""
    if status == 0:
        return 0, f"ok     {lock}: no known holes."
    if "vulnerabilit" in stderr + stdout and "Name" in stdout:
        return 1, f"ERROR  {lock}: known holes:\n{stdout.strip()}"
    if NO_NETWORK.search(stderr):
        return 0, f"?      {lock}: nobody was asked about holes, because there is no network here."
    return 1, f"ERROR  {lock}: pip-audit failed:\n{stderr.strip()[-2000:]}"


if __name__ == "__main__":
    sys.exit(main())
