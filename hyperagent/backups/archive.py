"""The file of a backup: a tar with the database, the stored files, and at its end a manifest with the hash of each.

Knows neither Django nor Postgres. What it reads is not trusted: only plain files of names that it expects.
"""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Final, Self

FORMAT: Final = 1
DATABASE: Final = "database.dump"
KEY: Final = "secret_key"
FILES: Final = "files/"
MANIFEST: Final = "manifest.json"
_MANIFEST_BYTES: Final = 256_000_000
_BLOCK: Final = 1 << 20


class BadArchive(Exception):
    """The file is no whole backup; the message says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`migrations`: the newest of each app; `key`: what tells one SECRET_KEY from another; `parts`: SHA-256 by name."""

    made_at: str
    postgres: int
    migrations: Mapping[str, str]
    key: str
    parts: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    @classmethod
    def read(cls, text: bytes) -> Self:
        """Raises BadArchive."""
        try:
            found = json.loads(text)
            if found["format"] != FORMAT:
                raise BadArchive(f"it has the format {found['format']}, and this version reads {FORMAT}")
            return cls(**found)
        except (ValueError, TypeError, KeyError) as error:
            raise BadArchive(f"its {MANIFEST} cannot be read ({error})") from None


class Writer:
    """Readable for nobody else, under its name only once it is whole and on the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fresh = path.with_name(f"{path.name}.part")
        self._fresh.unlink(missing_ok=True)
        self._file = os.fdopen(os.open(self._fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        # `finish` closes it.
        self._tar = tarfile.open(fileobj=self._file, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self.parts: dict[str, str] = {}

    def add(self, name: str, content: IO[bytes], size: int) -> None:
        hashed = _Hashed(content)
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        self._tar.addfile(entry, hashed)
        self.parts[name] = hashed.digest()

    def finish(self, manifest: Manifest) -> Manifest:
        whole = replace(manifest, parts=self.parts)
        text = json.dumps(asdict(whole), indent=1).encode()
        entry = tarfile.TarInfo(MANIFEST)
        entry.size, entry.mode = len(text), 0o600
        self._tar.addfile(entry, io.BytesIO(text))
        self._tar.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        if not self._is_ours():
            raise OSError(f"another one began to write {self._path}")
        self._fresh.replace(self._path)
        self._file.close()
        return whole

    def give_up(self) -> None:
        if self._is_ours():
            self._fresh.unlink()
        self._file.close()

    def _is_ours(self) -> bool:
        """Whoever begins to write the same takes what is there for what one that was killed has left."""
        try:
            return os.path.samestat(self._fresh.lstat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False


def checked(path: Path) -> Manifest:
    """Reads all of it, and gives what it says of itself. Raises BadArchive where anything is missing or changed."""
    try:
        return _checked(path)
    except (tarfile.TarError, EOFError) as error:
        raise BadArchive(f"it cannot be read ({error})") from None


def _checked(path: Path) -> Manifest:
    found: dict[str, str] = {}
    manifest = None
    for name, content in entries(path):
        if name == MANIFEST:
            manifest = Manifest.read(content.read(_MANIFEST_BYTES))
        else:
            hashed = _Hashed(content)
            while hashed.read(_BLOCK):
                pass
            found[name] = hashed.digest()
    if manifest is None:
        raise BadArchive("it ends before its manifest: it was not written whole, or is no backup")
    if found != dict(manifest.parts):
        names = sorted(name for name in {*found, *manifest.parts} if found.get(name) != manifest.parts.get(name))
        raise BadArchive(
            f"{names[0]} is not what was written{f', and {len(names) - 1} more' if len(names) > 1 else ''}"
        )
    if DATABASE not in found:
        raise BadArchive(f"it has no {DATABASE}")
    return manifest


def entries(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Each name with its content, in order, to be read before the next. Of a name that comes again the last one holds:
    a file that was still being written when it was taken first. Raises BadArchive, and tarfile's errors."""
    with tarfile.open(path, mode="r|") as tar:
        for entry in tar:
            content = tar.extractfile(entry) if entry.isreg() else None
            if content is None or not _is_expected(entry.name):
                raise BadArchive(f"it holds '{entry.name[:80]}', which no backup has")
            yield entry.name, content


def _is_expected(name: str) -> bool:
    if name in (DATABASE, KEY, MANIFEST):
        return True
    parts = PurePosixPath(name).parts
    return name.startswith(FILES) and len(parts) > 1 and not {"..", ".", "/"} & set(parts) and "\\" not in name


class _Hashed:
    """A file that is read once, and the hash of what was read."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self._content.read(size)
        self._hash.update(block)
        return block

    def digest(self) -> str:
        return self._hash.hexdigest()
