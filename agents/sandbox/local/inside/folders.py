"""Files in and out of the box, done by a fork of the keeper, inside the walls: whatever a program has prepared there
(links, pipes, a folder a thousand deep) can fool it only about the box itself.

A job reads what it needs from its socket up to the end, and answers with one line of JSON and as many bytes as that
says.
"""

from __future__ import annotations

import io
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tarfile
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Final

_PIECE: Final = 1 << 18
_LISTED: Final = 100_000


class Refused(Exception):
    """A sentence for whoever asked."""


def serve(job: Mapping[str, Any], connection: int, writable: Sequence[str]) -> None:
    """`connection`: an open socket; it is closed."""
    import json  # needed in the fork only: it would make every start slower

    with open(connection, "rb", closefd=False) as asked, open(connection, "wb") as stream:
        try:
            facts, content = _done(job, asked, tuple(writable))
        except Refused as fault:
            facts, content = {"refused": str(fault)}, b""
        except OSError as fault:
            facts, content = {"refused": _told(fault)}, b""
        except MemoryError:
            facts, content = {"refused": "there is not enough memory for that in the sandbox"}, b""
        stream.write(json.dumps({**facts, "bytes": len(content)}).encode("ascii") + b"\n")
        stream.write(content)
        stream.flush()


def _done(job: Mapping[str, Any], stream: Any, writable: tuple[str, ...]) -> tuple[dict[str, Any], bytes | memoryview]:
    match job["job"]:
        case "write":
            return _write(_inside(job["path"], writable), stream), b""
        case "read":
            return {}, _read(_inside(job["path"], writable), job["max_bytes"])
        case "files":
            return {"files": _listed(_inside(job["folder"], writable, may_be_root=True))}, b""
        case "pack":
            folders = [_inside(folder, writable, may_be_root=True) for folder in job["folders"]]
            return {}, _pack(folders, job["max_bytes"])
        case "unpack":
            _unpack(stream, writable)
            return {}, b""
    raise Refused(f"no such job: {job['job']}")


def _inside(path: str, writable: Sequence[str], *, may_be_root: bool = False) -> str:
    """The path, if it lies below a writable folder and no link stands in the way. Where one leads is not told: a
    program may have unpacked it from what others wrote, and a refusal stands for words of ours."""
    clean = os.path.normpath(path)
    within = any(clean.startswith(f"{folder}/") or (may_be_root and clean == folder) for folder in writable)
    if "\0" in path or not within:
        raise Refused(f"{path!r} is not below {' or '.join(writable)}, which are all that can be written")
    if os.path.realpath(os.path.dirname(clean)) != os.path.dirname(clean):
        raise Refused(f"{path!r} leads over a link; name the folder itself")
    return clean


def _write(path: str, stream: Any) -> dict[str, Any]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    with open(fd, "wb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Refused(f"{path!r} is there and is no ordinary file")
        os.ftruncate(fd, 0)
        try:
            _copy(stream, file)
        except OSError:
            os.unlink(path)
            raise
        facts = os.fstat(fd)
    return {"size": facts.st_size, "changed_ns": facts.st_mtime_ns}


def _copy(source: Any, file: Any) -> None:
    while piece := source.read(_PIECE):
        rest = memoryview(piece)
        while rest:
            rest = rest[file.write(rest) :]


def _read(path: str, most: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb", buffering=0) as file:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise Refused(f"{path!r} is no ordinary file")
        if facts.st_size > most:
            raise Refused(f"{path!r} has {facts.st_size:,} bytes; {most:,} can be taken")
        return _up_to(file, facts.st_size)


def _up_to(file: Any, size: int) -> bytes:
    """At most so much: a file may grow while it is read."""
    pieces = []
    while size > 0 and (piece := file.read(min(size, 1 << 24))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below it. What vanishes meanwhile, or lies too deep for a path, is left out."""
    ahead = [folder]
    while ahead:
        try:
            with os.scandir(ahead.pop()) as entries:
                for entry in entries:
                    try:
                        facts = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if stat.S_ISDIR(facts.st_mode):
                        ahead.append(entry.path)
                    elif stat.S_ISREG(facts.st_mode):
                        yield entry.path, facts
        except OSError:
            continue


def _listed(folder: str) -> list[tuple[str, int, int]]:
    found = []
    for path, facts in _walk(folder):
        found.append((path, facts.st_size, facts.st_mtime_ns))
        if len(found) > _LISTED:
            raise Refused(f"there are more than {_LISTED:,} files below {folder!r}")
    return sorted(found)


def _pack(folders: Sequence[str], most: int) -> memoryview:
    import tarfile  # as long as all the rest of the keeper takes to start

    packed = io.BytesIO()
    seen: set[str] = set()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in folders:
            for path, facts in sorted(_walk(folder), key=lambda found: found[0]):
                if path in seen:
                    continue
                seen.add(path)
                if packed.tell() + facts.st_size > most:
                    raise Refused(f"what lies below {', '.join(folders)} is more than {most:,} bytes")
                _add(archive, path)
    if packed.tell() > most:
        raise Refused(f"what lies below {', '.join(folders)} is more than {most:,} bytes")
    return packed.getbuffer()


def _add(archive: tarfile.TarFile, path: str) -> None:
    import tarfile

    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # it has gone meanwhile, or its owner took its own right to read it
    with open(fd, "rb", buffering=0) as file:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            return
        content = _up_to(file, facts.st_size)
        member = tarfile.TarInfo(path.lstrip("/"))
        member.size, member.mode, member.mtime = len(content), facts.st_mode & 0o777, facts.st_mtime_ns / 1e9
        archive.addfile(member, io.BytesIO(content))


def _unpack(stream: Any, writable: Sequence[str]) -> None:
    """Written with our own hands, never by what the archive says of links, owners or devices."""
    import tarfile

    try:
        with tarfile.open(fileobj=stream, mode="r|", format=tarfile.PAX_FORMAT) as archive:
            for member in archive:
                _restore(archive, member, writable)
    except tarfile.TarError as fault:
        raise Refused(f"this is no archive of a sandbox: {fault}") from None


def _restore(archive: tarfile.TarFile, member: tarfile.TarInfo, writable: Sequence[str]) -> None:
    if not (member.isreg() or member.isdir()) or ".." in member.name.split("/"):
        return
    try:
        path = _inside(f"/{member.name.lstrip('/')}", writable)
    except Refused:
        return
    if member.isdir():
        os.makedirs(path, exist_ok=True)
        return
    source = archive.extractfile(member)
    if source is None:
        return
    _write(path, source)
    os.chmod(path, (member.mode & 0o777) | 0o600)
    os.utime(path, (member.mtime, member.mtime))


def _told(fault: OSError) -> str:
    named = f"{fault.filename!r}: " if fault.filename is not None else ""
    return f"{named}{fault.strerror or fault}"
