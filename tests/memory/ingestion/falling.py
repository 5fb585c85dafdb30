"""A process whose children ingest a document and are killed at one of their statements:
`python -m tests.memory.ingestion.falling`. It reads lines `document_id statement` and answers each with how the child
ended: `killed`, `done`, or what else came of it. Forks: a Django that starts for each death would take minutes.
"""

import os
import signal
import sys
from typing import Any
from uuid import UUID

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
django.setup()

from django.db import connection  # noqa: E402

from memory.ingestion import chunks, driver, pages  # noqa: E402

# Many batches of a short document.
pages.PAGES_AT_ONCE = 1  # type: ignore[misc]
chunks.PIECES_AT_ONCE = 6  # type: ignore[misc]


class Fall:
    """Kills this process before the statement of this number. Of questions in a row, which change nothing, only the
    first is counted."""

    def __init__(self, at: int) -> None:
        self.left = at
        self._asked = False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asks = sql.startswith("SELECT") and "nextval" not in sql
        self.left -= not (asks and self._asked)
        self._asked = asks
        if self.left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(sql, params, many, context)


def ingest(document_id: UUID, at: int) -> None:
    # What a new connection asks first is no statement of ours.
    connection.ensure_connection()
    with connection.execute_wrapper(Fall(at)):
        driver.ingest(document_id, slice_s=None)


def fall(document_id: UUID, at: int) -> str:
    child = os.fork()
    if child == 0:
        try:
            ingest(document_id, at)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed" if os.WTERMSIG(status) == signal.SIGKILL else f"signal {os.WTERMSIG(status)}"
    return "done" if os.WEXITSTATUS(status) == 0 else f"exit {os.WEXITSTATUS(status)}"


if __name__ == "__main__":
    for line in sys.stdin:
        document, statement = line.split()
        print(fall(UUID(document), int(statement)), flush=True)
