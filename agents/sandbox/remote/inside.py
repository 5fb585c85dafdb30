"""Carried into a box of another's making and run there by its Python: everything that has to be done inside.

Standard library only, and nothing of the product. `inside.py ORDER` where ORDER is base64 of a JSON object with "do".
Answers are one line of JSON on standard output, but for `run`, which gives its program's own output and exit code.
"""

import base64
import ctypes
import io
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

OWN = "/tmp/.box"  # noqa: S108 (a folder of the box)
NOT_FOUND, CANNOT_RUN = 127, 126
_SUBREAPER = 36
_LOOK_S = 0.02
_PATIENCE_S = 5.0
_HEARS_ON_S = 3.0


class Refused(Exception):
    pass


def main(order: dict[str, Any]) -> int:
    if order["do"] == "run":
        return run(order)
    if order["do"] == "relay":
        return relay(order["port"])
    try:
        found = {"ok": _DOING[order["do"]](order)}
    except (Refused, OSError, tarfile.TarError, EOFError) as error:
        found = {"refused": str(error)}
    sys.stdout.write(json.dumps(found) + "\n")
    return 0


# --- programs


def run(order: dict[str, Any]) -> int:
    """A program in a session of its own. Whatever it started is ended with it, by its end or by a SIGTERM to this."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    token = Path(OWN, order["token"])
    token.parent.mkdir(exist_ok=True)
    token.write_text(str(os.getpid()))

    def ended(*_: Any) -> None:
        end_all()
        token.unlink(missing_ok=True)
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, ended)
    # Should nobody be left to end it.
    signal.signal(signal.SIGALRM, ended)
    if order["most_s"]:
        signal.alarm(max(1, int(order["most_s"])))
    try:
        Path(order["cwd"]).mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(
            order["argv"], cwd=order["cwd"], env={**os.environ, **order["env"]}, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError as error:
        sys.stderr.write(f"{order['argv'][0]}: {error.strerror}\n")
        token.unlink(missing_ok=True)
        return NOT_FOUND
    except OSError as error:
        sys.stderr.write(f"{order['argv'][0]}: {error.strerror}\n")
        token.unlink(missing_ok=True)
        return CANNOT_RUN
    status = process.wait()
    end_all()
    token.unlink(missing_ok=True)
    return status if status >= 0 else 128 - status


def end_all() -> None:
    """All that stems from this process."""
    until = time.monotonic() + _PATIENCE_S
    while (left := below(os.getpid())) and time.monotonic() < until:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        time.sleep(_LOOK_S)


def below(pid: int) -> list[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            said = path.read_text()
        except OSError:
            continue
        after = said.rpartition(")")[2].split()
        if after[0] not in "ZX":
            parents[int(path.parent.name)] = int(after[1])
    found: list[int] = []
    wanted = {pid}
    while wanted:
        wanted = {child for child, parent in parents.items() if parent in wanted} - set(found)
        found += wanted
    return found


def stop(order: dict[str, Any]) -> bool:
    """Whether it ran. Comes back when it is gone."""
    pid = _pid_of(order["token"])
    if pid is None:
        return False
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _PATIENCE_S
    while _pid_of(order["token"]) is not None and time.monotonic() < until:
        time.sleep(_LOOK_S)
    return True


def running(order: dict[str, Any]) -> bool:
    return _pid_of(order["token"]) is not None


def _pid_of(token: str) -> int | None:
    try:
        pid = int(Path(OWN, token).read_text())
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    return pid


def relay(port: int) -> int:
    """Standard input and output as a connection to a port of this computer. Where the input has ended, nobody may be
    there any more: what listens has a little while to answer."""
    reading = os.getpid()
    with socket.socket() as there:
        try:
            there.connect(("127.0.0.1", port))
        except OSError:
            os.write(1, b"-")
            return 1
        os.write(1, b"+")
        child = os.fork()
        if child == 0:
            while piece := os.read(0, 65_536):
                there.sendall(piece)
            there.shutdown(socket.SHUT_WR)
            time.sleep(_HEARS_ON_S)
            if os.getppid() == reading:
                os.kill(reading, signal.SIGKILL)
            os._exit(0)
        while piece := there.recv(65_536):
            os.write(1, piece)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 0


# --- files


def place(order: dict[str, Any]) -> list[Any]:
    """What was put at `put` goes to its path."""
    path = writable(order["path"], order["roots"])
    try:
        folder = Path(path).parent
        folder.mkdir(parents=True, exist_ok=True)
        if os.path.realpath(folder) != str(folder):
            raise Refused(f"{path!r} leads over a link: name the folder itself")
        _copied(order["put"], path)
    finally:
        Path(order["put"]).unlink(missing_ok=True)
    return _facts(path)


def _copied(source: str, path: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    with os.fdopen(fd, "wb") as file, Path(source).open("rb") as content:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Refused(f"{path!r} is there and is no ordinary file")
        file.truncate(0)
        shutil.copyfileobj(content, file)


def stage(order: dict[str, Any]) -> dict[str, Any]:
    """A file is copied to where it can be fetched."""
    path, most = order["path"], order["max_bytes"]
    if not path.startswith("/") or os.path.realpath(path) != path:
        if not os.path.lexists(path):
            raise Refused(f"there is no file {path!r}")
        raise Refused(f"{path!r} leads over a link: name the file itself")
    if not os.path.lexists(path):
        raise Refused(f"there is no file {path!r}")
    facts = os.lstat(path)
    if not stat.S_ISREG(facts.st_mode):
        raise Refused(f"{path!r} is no ordinary file")
    if facts.st_size > most:
        raise Refused(f"{path!r} has {facts.st_size:,} bytes, and at most {most:,} are read")
    return _staged(order["to"], Path(path).read_bytes())


def files(order: dict[str, Any]) -> list[list[Any]]:
    found = sorted((path, facts.st_size, facts.st_mtime_ns) for path, facts in _regular(order["folder"]).items())
    if len(found) > order["most"]:
        raise Refused(f"there are more than {order['most']:,} files below {order['folder']!r}")
    return [list(one) for one in found]


def pack(order: dict[str, Any]) -> dict[str, Any]:
    made = io.BytesIO()
    size = 0
    found = {path: facts for folder in order["folders"] for path, facts in _regular(folder).items()}
    with tarfile.open(fileobj=made, mode="w") as archive:
        for path in sorted(found):
            size += found[path].st_size + 1024
            if size > order["max_bytes"]:
                raise Refused(f"these folders have more than {order['max_bytes']:,} bytes")
            _pack_one(archive, path)
    return _staged(order["to"], made.getvalue())


def _pack_one(archive: tarfile.TarFile, path: str) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return  # it has gone meanwhile, or its owner took its own right to read it
    with os.fdopen(fd, "rb") as file:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            return
        content = file.read(facts.st_size)
    member = tarfile.TarInfo(path.lstrip("/"))
    member.size, member.mode, member.mtime = len(content), facts.st_mode & 0o777, facts.st_mtime
    archive.addfile(member, io.BytesIO(content))


def unpack(order: dict[str, Any]) -> int:
    count = 0
    try:
        with tarfile.open(order["put"]) as archive:
            for member in archive:
                count += _unpacked(archive, member, order["roots"])
    finally:
        Path(order["put"]).unlink(missing_ok=True)
    return count


def _unpacked(archive: tarfile.TarFile, member: tarfile.TarInfo, roots: list[str]) -> int:
    """Regular files only, below the writable folders, over no link."""
    path = f"/{member.name.lstrip('/')}"
    try:
        writable(path, roots)
    except Refused:
        return 0
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        return 0
    folder = Path(path).parent
    folder.mkdir(parents=True, exist_ok=True)
    if os.path.realpath(folder) != str(folder) or (os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode)):
        return 0
    with Path(path).open("wb") as file:
        shutil.copyfileobj(content, file)
    Path(path).chmod((member.mode & 0o777) | 0o600)
    os.utime(path, (member.mtime, member.mtime))
    return 1


def writable(path: str, roots: list[str]) -> str:
    clean = os.path.normpath(path)
    if path != clean or "\0" in path or not any(clean.startswith(f"{root}/") for root in roots):
        raise Refused(f"{path!r} is not below {' or '.join(roots)}, which are all that can be written")
    return clean


def _regular(folder: str) -> dict[str, os.stat_result]:
    """What vanishes meanwhile, or lies where nobody may look, is left out."""
    found = {}
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if f"{at}/{name}" != OWN]
        for path in (f"{at.rstrip('/')}/{name}" for name in names):
            try:
                facts = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISREG(facts.st_mode):
                found[path] = facts
    return found


def _facts(path: str) -> list[Any]:
    facts = os.lstat(path)
    return [path, facts.st_size, facts.st_mtime_ns]


def _staged(to: str, content: bytes) -> dict[str, Any]:
    Path(to).parent.mkdir(exist_ok=True)
    Path(to).write_bytes(content)
    return {"size": len(content)}


def make(order: dict[str, Any]) -> None:
    Path(order["folder"]).mkdir(parents=True, exist_ok=True)


def drop(order: dict[str, Any]) -> None:
    Path(order["path"]).unlink(missing_ok=True)


_DOING = {
    "stop": stop,
    "running": running,
    "place": place,
    "stage": stage,
    "files": files,
    "pack": pack,
    "unpack": unpack,
    "make": make,
    "drop": drop,
}

if __name__ == "__main__":
    sys.exit(main(json.loads(base64.b64decode(sys.argv[1]))))
