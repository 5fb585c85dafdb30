"""The Python of a box: which it is, what of the host is seen for it, and the keeper made ready for it."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agents.sandbox.local import bubblewrap, inside

INSTALLED: Final = Path(__file__).resolve().parents[3] / ".sandbox"
"""Where `deploy/bootstrap.py` puts what programs can import."""
SYSTEM_PYTHON: Final = Path("/usr/bin/python3")
OLDEST: Final = (3, 11)

# Run by the Python of the box, so that the keeper starts from code and is not compiled for each box.
_MAKE: Final = """
import io, json, marshal, sys, zipfile, importlib.util
if sys.version_info < (3, 11):
    sys.exit("Python %d.%d is too old" % sys.version_info[:2])
made = io.BytesIO()
with zipfile.ZipFile(made, "w") as archive:
    for name, source in json.load(sys.stdin).items():
        code = marshal.dumps(compile(source, name, "exec", dont_inherit=True))
        archive.writestr("inside/%s.pyc" % name, importlib.util.MAGIC_NUMBER + bytes(12) + code)
sys.stdout.buffer.write(made.getvalue())
"""


class NoPython(Exception):
    """No interpreter that a box could use; the text says what to install."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """`python`: its path inside.  `folder`: of the host, seen inside as `bubblewrap.RUNTIME`; None if it lies in /usr.
    `archive`: the keeper's code.  `packages`: the data stack, or None where there is none for this Python."""

    python: str
    folder: Path | None
    archive: bytes
    packages: Path | None


def found(libraries: Path) -> Runtime:
    """The one that the data stack was installed for; else the system's; else a copy of the product's own. Raises
    NoPython."""
    faults = []
    for interpreter in _candidates(libraries):
        try:
            archive = _archive(interpreter)
        except (OSError, subprocess.SubprocessError) as fault:
            faults.append(f"{interpreter}: {_why(fault)}")
            continue
        return _runtime(interpreter, archive, libraries)
    raise NoPython(
        f"no Python {OLDEST[0]}.{OLDEST[1]} or newer that the sandbox could use was found ({'; '.join(faults)});"
        " install one (apt-get install python3)"
    )


def installed_for(libraries: Path) -> Path | None:
    """What `deploy/bootstrap.py` wrote beside the packages."""
    try:
        return Path((libraries / "interpreter").read_text().strip())
    except OSError:
        return None


def _candidates(libraries: Path) -> list[Path]:
    own = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    wanted = [installed_for(libraries), SYSTEM_PYTHON, own]
    return list(dict.fromkeys(path for path in wanted if path is not None and path.exists()))


def _archive(interpreter: Path) -> bytes:
    folder = Path(inside.__file__).parent
    sources = {path.stem: path.read_text() for path in sorted(folder.glob("*.py"))}
    made = subprocess.run(
        [str(interpreter), "-I", "-S", "-c", _MAKE],
        input=json.dumps(sources).encode(),
        capture_output=True,
        timeout=60,
        check=True,
        env={},
    )
    return made.stdout


def _runtime(interpreter: Path, archive: bytes, libraries: Path) -> Runtime:
    packages = libraries / "packages"
    fits = installed_for(libraries) in (None, interpreter) and packages.is_dir()
    real = interpreter.resolve()
    if real.is_relative_to("/usr"):
        return Runtime(str(interpreter), None, archive, packages if fits else None)
    folder = real.parent.parent
    return Runtime(f"{bubblewrap.RUNTIME}/bin/{real.name}", folder, archive, packages if fits else None)


def _why(fault: Exception) -> str:
    if isinstance(fault, subprocess.CalledProcessError):
        lines = fault.stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with {fault.returncode}"
    return str(fault)


def digest_of(folder: Path) -> str:
    """Of names, sizes and times of all that lies below it."""
    seen = hashlib.sha256(str(folder).encode())
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            facts = Path(path, name).lstat()
            seen.update(f"{path}/{name} {facts.st_size} {facts.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return seen.hexdigest()[:24]
