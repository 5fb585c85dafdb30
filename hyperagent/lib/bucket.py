"""Django's file storage in a bucket of S3's protocol. Imported only where STORAGE_URL is set.

A file is there whole or not at all, and a server that is away is `StorageAway`, whatever its client calls that.
"""

import errno
import io
import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Final

from boto3.s3.transfer import TransferConfig  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.core.files import File
from storages.backends.s3 import S3Storage  # type: ignore[import-untyped]
from storages.utils import clean_name  # type: ignore[import-untyped]

from hyperagent.lib.outage import StorageAway

READ_AHEAD_BYTES: Final = 1 << 18
_MISSING: Final = ("404", "NoSuchKey", "NotFound")
_CONNECT_S, _READ_S = 3, 20


class Bucket(S3Storage):  # type: ignore[misc]
    """`endpoint`, `region`, `key`, `secret`: empty where Amazon's own variables say them."""

    def __init__(self, *, bucket: str, folder: str, endpoint: str, region: str, key: str, secret: str) -> None:
        client = Config(
            signature_version="s3v4",
            # Only Amazon answers at names of buckets for certain.
            s3={"addressing_style": "path" if endpoint else "auto"},
            connect_timeout=_CONNECT_S,
            read_timeout=_READ_S,
            retries={"max_attempts": 2, "mode": "standard"},
            # Others than Amazon refuse the checksums that newer clients add by themselves.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        own = {"access_key": key or None, "secret_key": secret or None}
        super().__init__(
            bucket_name=bucket,
            location=folder,
            endpoint_url=endpoint or None,
            region_name=region or None,
            client_config=client,
            # In the thread that reads what is stored: whoever counts and refuses on the way is heard.
            transfer_config=TransferConfig(use_threads=False),
            file_overwrite=False,
            default_acl=None,
            querystring_auth=True,
            **{name: value for name, value in own.items() if value},
        )

    def _open(self, name: str, mode: str = "rb") -> File:  # type: ignore[type-arg]
        """Read piece by piece, from wherever it is wanted. Raises FileNotFoundError."""
        if mode not in ("rb", "r"):
            raise ValueError(f"files are written whole, by `save`; not opened as {mode!r}")
        size_bytes = self.size(name)
        pieces = _Pieces(self._read_from(name), size_bytes)
        opened: File = File(io.BufferedReader(pieces, READ_AHEAD_BYTES), name=name)  # type: ignore[type-arg]
        opened.size = size_bytes
        return opened

    def _read_from(self, name: str) -> "Callable[[int], Any]":
        key = self._normalize_name(clean_name(name))

        def read_from(start: int) -> Any:
            with told(name):
                found = self.connection.meta.client.get_object(
                    Bucket=self.bucket_name, Key=key, Range=f"bytes={start}-"
                )
                return found["Body"]

        return read_from

    def _save(self, name: str, content: Any) -> str:
        with told(name):
            passing: Any = _Chunks(content.chunks())
            return str(super()._save(name, File(passing, name=name)))

    def delete(self, name: str) -> None:
        with told(name):
            super().delete(name)

    def exists(self, name: str) -> bool:
        with told(name):
            return bool(super().exists(name))

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        with told(path):
            folders, names = super().listdir("" if path == "." else path)
            return [posixpath.basename(folder) for folder in folders], names

    def size(self, name: str) -> int:
        with told(name):
            return int(super().size(name))

    def get_modified_time(self, name: str) -> datetime:
        with told(name):
            found: datetime = super().get_modified_time(name)
            return found

    def look(self) -> None:
        """Raises StorageAway, or FileNotFoundError where there is no such bucket."""
        with told(self.bucket_name):
            self.connection.meta.client.head_bucket(Bucket=self.bucket_name)


@contextmanager
def told(name: str) -> Iterator[None]:
    """What goes wrong, in words that the rest of the product knows."""
    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in _MISSING:
            raise FileNotFoundError(errno.ENOENT, "the file is not in the storage", name) from error
        raise StorageAway(errno.EIO, f"the file storage refuses ({code})") from error
    except BotoCoreError as error:
        raise StorageAway(errno.EIO, f"the file storage does not answer ({type(error).__name__})") from error


class _Pieces(io.RawIOBase):
    """An object as a file that can be read from any place. A connection that breaks is taken up where it broke, once a
    read."""

    def __init__(self, read_from: Callable[[int], Any], size_bytes: int) -> None:
        super().__init__()
        self._read_from = read_from
        self._size_bytes = size_bytes
        self._at = 0
        self._body: Any = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size_bytes}[whence]
        at = max(0, base + offset)
        if at != self._at:
            self._drop()
            self._at = at
        return at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._size_bytes:
            return 0
        wanted = min(len(buffer), self._size_bytes - self._at)
        try:
            piece = self._piece(wanted)
        except StorageAway:
            self._drop()
            piece = self._piece(wanted)
        if not piece:
            raise StorageAway(errno.EIO, "the file storage gave less than the file has")
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        self._drop()
        super().close()

    def _piece(self, wanted: int) -> bytes:
        if self._body is None:
            self._body = self._read_from(self._at)
        with told(""):
            return bytes(self._body.read(wanted))

    def _drop(self) -> None:
        if self._body is not None:
            with suppress(Exception):  # the connection is given up either way
                self._body.close()
            self._body = None


class _Chunks(io.RawIOBase):
    """Chunks as a file: whoever makes them may hash, count and refuse on the way."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._left = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """As many bytes as are asked for, unless it is the end."""
        parts, length = [self._left], len(self._left)
        while size < 0 or length < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            parts.append(chunk)
            length += len(chunk)
        found = b"".join(parts)
        given = found if size < 0 else found[:size]
        self._left = found[len(given) :]
        return given
