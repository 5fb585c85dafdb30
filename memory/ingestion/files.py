"""Bytes in Django's file storage: written once under a name that nothing else has, read, removed. Those of documents
stand under the document's id; those of workspaces: `memory.workspaces`."""

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID

import structlog
from django.core.files import File
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import Refused
from memory.ingestion import pictures

log = structlog.get_logger(__name__)

FOLDER: Final = "documents"
CHUNK_BYTES: Final = 1 << 18
HEAD_BYTES: Final = 1 << 16
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class NoRoom(Refused):
    """The disk is full."""

    status = 507

    def __init__(self) -> None:
        message = _("There is no room left to keep the file. Ask an administrator to make some, then give it again.")
        super().__init__("no_room", message)


class TooBig(Refused):
    status = 413

    def __init__(self, limit_bytes: int, *, setting: str = "DOCUMENT_MAX_BYTES") -> None:
        message = _("The file is larger than {limit} bytes. Split it, or ask for a higher {setting}.").format(
            limit=grouped(limit_bytes), setting=setting
        )
        super().__init__("too_big", message, fields={"file": [message]})


@dataclass(frozen=True, slots=True)
class Kept:
    """`head`: its first bytes, by which its type is told."""

    stored_as: str
    sha256: str
    size_bytes: int
    head: bytes


def name_of(owner_id: UUID, document_id: UUID) -> str:
    """Under which the bytes of a document are kept."""
    return f"{FOLDER}/{owner_id}/{document_id}"


def keep(content: IO[bytes], *, name: str, limit_bytes: int) -> Kept:
    """Stores it in one pass, hashed on the way, never whole in memory. Raises NoRoom and TooBig; then nothing is left
    of it."""
    passing = _Passing(content, limit_bytes)
    try:
        stored_as = default_storage.save(name, passing)
    except BaseException as error:
        remove(name)
        if is_full(error):
            raise NoRoom from None
        raise
    return Kept(stored_as, passing.digest.hexdigest(), passing.size_bytes, bytes(passing.head))


def is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _FULL


class _Passing(File):  # type: ignore[type-arg]
    """What the storage reads: each chunk is hashed and counted as it goes by."""

    def __init__(self, content: IO[bytes], limit_bytes: int) -> None:
        super().__init__(content, name=None)
        self.content = content
        self.limit_bytes = limit_bytes
        self.digest = hashlib.sha256()
        self.size_bytes = 0
        self.head = bytearray()

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        while chunk := self.content.read(CHUNK_BYTES):
            self.size_bytes += len(chunk)
            if self.size_bytes > self.limit_bytes:
                raise TooBig(self.limit_bytes)
            self.digest.update(chunk)
            if len(self.head) < HEAD_BYTES:
                self.head += chunk[: HEAD_BYTES - len(self.head)]
            yield chunk


def remove(stored_as: str) -> None:
    """With the pictures of its pages. A file that cannot be removed now is found by the sweep."""
    if not stored_as:
        return
    pictures.forget(stored_as)
    try:
        default_storage.delete(stored_as)
    except OSError as error:
        log.warning("document.file_not_removed", stored_as=stored_as, error=str(error))


def exists(stored_as: str) -> bool:
    return bool(stored_as) and default_storage.exists(stored_as)


def open_file(stored_as: str) -> IO[bytes]:
    """Raises FileNotFoundError."""
    opened: Any = default_storage.open(stored_as, "rb")
    return opened  # type: ignore[no-any-return]


@contextmanager
def on_this_disk(stored_as: str) -> Iterator[Path]:
    """The file as a path: where it lies, or a copy for as long as the context lasts if the storage is elsewhere.
    Raises FileNotFoundError."""
    with suppress(NotImplementedError):
        path = Path(default_storage.path(stored_as))
        if not path.is_file():
            raise FileNotFoundError(errno.ENOENT, "the file is not in the storage", stored_as)
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="document-") as copy, open_file(stored_as) as kept:
        shutil.copyfileobj(kept, copy, CHUNK_BYTES)
        copy.flush()
        yield Path(copy.name)
