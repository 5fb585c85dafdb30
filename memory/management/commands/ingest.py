"""`manage.py ingest PATH…`: files and folders become documents. The same verbs as every other face."""

import sys
import time
from argparse import BooleanOptionalAction
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper

from hyperagent.accounts.models import User
from hyperagent.lib import outage
from hyperagent.lib.queue import is_served
from hyperagent.lib.refusals import Refused
from memory.actions import documents
from memory.ingestion import driver
from memory.ingestion.folders import files_of
from memory.kinds import SEARCHABLE, DocumentStatus, Origin
from memory.models import Document

LOOK_EVERY_S: Final = 0.3
BAR: Final = 28
LINE: Final = 100
NEW, SAME, FAILED = "new", "the same as before", "failed"
NO_WORKER: Final = (
    "No worker is running, so the files are read here. Their vectors are made once one runs (`manage.py worker`);"
    " until then they are found by their words."
)


class Command(BaseCommand):
    help = "Adds files, and all files below folders, to a person's documents. Exit status: 0 all are in, 1 some failed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", nargs="+", type=Path, help="Files and folders; hidden files in them are left out.")
        parser.add_argument("--user", help="The e-mail address of whose they are; the first administrator without it.")
        parser.add_argument(
            "--wait",
            action=BooleanOptionalAction,
            default=True,
            help="Wait until they are found by their words (the default), or only hand them to the worker.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            outcome = self._ingest(options["path"], options["user"], wait=options["wait"])
        except FileNotFoundError as error:
            raise CommandError(str(error)) from None
        except Exception as error:
            if not outage.is_outage(error):
                raise
            raise CommandError(f"{outage.MESSAGE} `manage.py doctor` says which part.") from None
        outcome.tell_summary()
        if outcome.counts[FAILED]:
            sys.exit(1)

    def _ingest(self, paths: Sequence[Path], email: str | None, *, wait: bool) -> "_Outcome":
        user = _owner(email)
        found = list(files_of(paths))
        if not found:
            raise CommandError("There is no file in there that could be read.")
        outcome = _Outcome(self.stdout, total=len(found), waits=wait)
        is_read_here = wait and not is_served()
        if is_read_here:
            self.stderr.write(NO_WORKER)
        waiting: list[tuple[Path, UUID]] = []
        for path in found:
            outcome.show(path, "")
            document = self._add(user, path, outcome)
            if document is None:
                continue
            if is_read_here:
                driver.ingest(document.pk, slice_s=None)
            if wait:
                waiting.append((path, document.pk))
            else:
                outcome.done(path, document)
        while waiting := _told(waiting, outcome):
            time.sleep(LOOK_EVERY_S)
        return outcome

    def _add(self, user: User, path: Path, outcome: "_Outcome") -> Document | None:
        try:
            with path.open("rb") as file:
                document, is_new = documents.add(user, file, filename=path.name, origin=Origin.COMMAND)
        except Refused as refused:
            outcome.failed(path, refused.message)
        except OSError as error:
            outcome.failed(path, f"It cannot be read: {error.strerror or error}.")
        else:
            outcome.added(path, is_new=is_new)
            return document
        return None


def _told(waiting: Sequence[tuple[Path, UUID]], outcome: "_Outcome") -> list[tuple[Path, UUID]]:
    """Tells of those that have ended; gives the others back."""
    rows = Document.objects.in_bulk({document_id for _, document_id in waiting})
    left = []
    for path, document_id in waiting:
        row = rows.get(document_id)
        if row is None or row.status == DocumentStatus.CANCELLED:
            outcome.failed(path, "It was cancelled or deleted meanwhile.")
        elif row.status == DocumentStatus.FAILED:
            outcome.failed(path, row.reason)
        elif row.status in SEARCHABLE:
            outcome.done(path, row)
        else:
            outcome.show(path, f"{row.status} {row.pages_read}/{row.total_pages or '?'}")
            left.append((path, document_id))
    return left


class _Outcome:
    """Counts, and tells as it goes: a bar on a terminal, lines elsewhere."""

    def __init__(self, out: OutputWrapper, *, total: int, waits: bool) -> None:
        self.out = out
        self.total = total
        self.waits = waits
        self.counts: Counter[str] = Counter()
        self.ended = 0
        self.is_terminal = out.isatty()
        self._known: dict[Path, str] = {}

    def added(self, path: Path, *, is_new: bool) -> None:
        self._known[path] = NEW if is_new else SAME

    def show(self, path: Path, doing: str) -> None:
        if self.is_terminal:
            filled = BAR * self.ended // self.total
            bar = "█" * filled + "░" * (BAR - filled)
            self._write(f"\r\x1b[K{bar} {self.ended}/{self.total} {_shown(path)} {doing}"[:LINE])

    def done(self, path: Path, document: Document) -> None:
        how = self._known[path]
        self.counts[how] += 1
        state = f"{document.total_pages} pages, {document.total_chunks} chunks" if self.waits else "handed over"
        self._end(f"{how}: {_shown(path)} ({state})")

    def failed(self, path: Path, why: str) -> None:
        self.counts[FAILED] += 1
        self._end(f"failed: {_shown(path)}: {why}")

    def tell_summary(self) -> None:
        counted = ", ".join(f"{self.counts[kind]} {kind}" for kind in (NEW, SAME, FAILED))
        self._write(f"{self.total} files: {counted}.\n")

    def _end(self, line: str) -> None:
        self.ended += 1
        self._write(("\r\x1b[K" if self.is_terminal else "") + line + "\n")

    def _write(self, text: str) -> None:
        self.out.write(text, ending="")
        self.out.flush()


def _shown(path: Path) -> str:
    """A file's name may hold what acts on a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in str(path))


def _owner(email: str | None) -> User:
    active = User.objects.filter(is_active=True)
    if email is not None:
        user = User.objects.with_email(email).filter(is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user '{email}'. Give the e-mail address of one.")
        return user
    user = active.filter(is_superuser=True).order_by("date_joined").first()
    if user is None:
        raise CommandError("There is no administrator yet. Name whose they are with --user.")
    return user
