"""What tests of vectors do: documents as ingestion leaves them, and embedder processes on the test's database."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.db import connection

from hyperagent.lib.conf import BASE_DIR
from memory.ids import chunk_id
from memory.kinds import DocumentStatus
from memory.models import Chunk, Document
from tests import template
from tests.house.waiting import until


def document_of(owner: Any, texts: Sequence[str], *, filename: str = "a.txt", **fields: Any) -> Document:
    """As ingestion leaves it: cut, found by its words, without a vector."""
    document = Document.objects.create(
        owner=owner,
        filename=filename,
        sha256=uuid.uuid4().hex * 2,
        total_chunks=len(texts),
        **{"status": DocumentStatus.EMBEDDING, **fields},
    )
    Chunk.objects.bulk_create(
        [
            Chunk(
                chunk_id=chunk_id(document.pk, number), document=document, ordinal=number, text=text, start=0,
                end=len(text), page=1, last_page=1, kind="paragraph", tokens=len(text.split()),
            )
            for number, text in enumerate(texts)
        ]
    )  # fmt: skip
    return document


class Embedders:
    """Processes of `manage.py embedder`, by number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *, is_ready: bool = True, by: type[subprocess.Popen[Any]] = template.Process, **env: str) -> int:
        number = len(self.processes)
        url = os.environ["DATABASE_URL"].replace("/hyperagent?", f"/{connection.settings_dict['NAME']}?")
        said = {**os.environ, "DATABASE_URL": url, "LOG_LEVEL": "INFO", "HYPERAGENT_PROCESS": "embedder", **env}
        with self._path(number).open("wb") as output:
            self.processes.append(
                by(
                    [sys.executable, "manage.py", "embedder"],
                    cwd=BASE_DIR,
                    env=said,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            )
        if is_ready:
            until(lambda: self._is_ready(number), what=f"embedder {number}")
        return number

    def kill(self, number: int) -> None:
        self.processes[number].kill()
        self.processes[number].wait()

    def stop(self, number: int) -> int:
        self.processes[number].send_signal(signal.SIGTERM)
        return self.processes[number].wait(20)

    def log(self, number: int) -> str:
        return self._path(number).read_text(errors="replace")

    def lives(self, number: int) -> bool:
        return self.processes[number].poll() is None

    def _is_ready(self, number: int) -> bool:
        assert self.lives(number), self.log(number)
        return "embedder.ready" in self.log(number)

    def _path(self, number: int) -> Path:
        return self.folder / f"embedder-{number}.txt"
