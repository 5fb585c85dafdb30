"""A zip file that is written piece by piece, never whole in memory, and one after the other where there is too much for
one. Knows neither people nor what their rows hold.
"""

import json
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import IO, Any, Final, TypeVar

from django.db import models

from hyperagent.lib.file_names import fitted

COPY_BYTES: Final = 1 << 18
# Enough for texts; a higher level takes longer than it saves.
LEVEL: Final = 1
# With the folders above it a path has to stay below 260 characters on some systems.
NAME_BYTES: Final = 180
# Devices of Windows, whatever ending follows.
_RESERVED: Final = re.compile(r"(?i)(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)")
_FORBIDDEN: Final = {ord(letter): "_" for letter in '<>:"|?*\\'} | dict.fromkeys(range(32), "_")


ROWS_AT_ONCE: Final = 200

Row = TypeVar("Row", bound=models.Model)


class OutOfTime(Exception):
    """This file is to end here; what is left comes into the next."""


@dataclass
class Written:
    """What the files before this one have: these paths and folders whole, and of one folder all up to a row."""

    files: int = 0
    whole: list[str] = field(default_factory=list)
    folder: str = ""
    row: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Archive:
    """Names are made safe and are never given twice. What `written` has is left out. Between two things it is asked
    whether the time `is_over`, and raises OutOfTime then; by that time `written` has this file's too."""

    def __init__(
        self, file: IO[bytes], *, written: Written | None = None, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        self.written = written or Written()
        self._is_over = is_over
        self._folder = ""
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=LEVEL)
        self._taken: set[str] = set()

    def close(self) -> None:
        self._zip.close()

    @contextmanager
    def entry(self, path: str, *, method: int = zipfile.ZIP_DEFLATED) -> Iterator[IO[bytes]]:
        """What is written within the context is a file of the archive."""
        entry = zipfile.ZipInfo(self._free(safe_path(path)), date_time=time.gmtime()[:6])
        entry.compress_type = method
        # Its size is not known before: without the flag a large one would break the archive at its end.
        with self._zip.open(entry, "w", force_zip64=True) as opened:
            yield opened

    @property
    def is_empty(self) -> bool:
        return not self._taken

    def each(self, folder: str, rows: models.QuerySet[Row]) -> Iterator[Row]:
        """These rows by their keys, which stand for what is put into this folder: from the first that no file has."""
        if folder in self.written.whole:
            return
        if self.written.folder == folder:
            rows = rows.filter(pk__gt=self.written.row)
        self._folder = folder
        for row in rows.order_by("pk").iterator(chunk_size=ROWS_AT_ONCE):
            yield row
            self.written.folder, self.written.row = folder, str(row.pk)
            self._end_if_over()
        self._folder = ""
        self._have(folder)

    def text(self, path: str, text: str) -> None:
        if self._has(path):
            return
        with self.entry(path) as opened:
            opened.write(text.encode("utf-8", errors="replace"))
        self._have(path)

    def json(self, path: str, value: Any) -> None:
        self.text(path, _json(value) + "\n")

    def rows(self, path: str, rows: Iterable[Any]) -> int:
        """A JSON list, each of its values written as it comes. How many; for none there is no file."""
        if self._has(path):
            return 0
        coming = iter(rows)
        first = next(coming, None)
        if first is None:
            return 0
        count = 1
        with self.entry(path) as opened:
            opened.write(b"[\n" + _json(first).encode())
            for row in coming:
                opened.write(b",\n" + _json(row).encode())
                count += 1
            opened.write(b"\n]\n")
        self._have(path)
        return count

    def copy(self, path: str, content: IO[bytes]) -> None:
        # People's files are mostly packed already; to try again would take a minute for each gigabyte.
        with self.entry(path, method=zipfile.ZIP_STORED) as opened:
            shutil.copyfileobj(content, opened, COPY_BYTES)

    def _has(self, path: str) -> bool:
        return not self._folder and path in self.written.whole

    def _have(self, path: str) -> None:
        """What lies in a folder counts with its row."""
        if not self._folder:
            self.written.whole.append(path)
            self._end_if_over()

    def _end_if_over(self) -> None:
        if self._is_over():
            raise OutOfTime

    def _free(self, path: str) -> str:
        if self._folder and self.written.files and path.startswith(f"{self._folder}/"):
            # Unpacked into one place, the files of one export take nothing of each other's.
            path = f"{self._folder} ({self.written.files + 1}){path.removeprefix(self._folder)}"
        wanted, number = path, 1
        pure = PurePosixPath(path)
        # As most disks compare names.
        while wanted.casefold() in self._taken:
            number += 1
            wanted = str(pure.with_name(f"{pure.stem} ({number}){pure.suffix}"))
        self._taken.add(wanted.casefold())
        return wanted


def safe_path(path: str) -> str:
    """A relative path that leads out of no folder and that every system can write."""
    parts = [_safe_name(part) for part in path.split("/")]
    return "/".join(part for part in parts if part) or "_"


def _safe_name(name: str) -> str:
    cleaned = fitted(name.translate(_FORBIDDEN).strip(" ."), NAME_BYTES)
    return f"_{cleaned}" if _RESERVED.match(cleaned) else cleaned


def _json(value: Any) -> str:
    """Times, ids and numbers of money as texts."""
    # Half of a pair that came without the other cannot be written; it becomes a question mark.
    return json.dumps(value, default=str, ensure_ascii=False, indent=1).encode("utf-8", errors="replace").decode()
