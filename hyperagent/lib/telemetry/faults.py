"""Tells faults to a Sentry, or to what speaks its protocol: each line of the log of level error, and where it happened.

Never what people, models or tools wrote: of an exception its class and the lines of code that it came through, of a
line its event and the numbers by which our own log has the rest. Sent by a thread; one that cannot be sent is dropped.
"""

import asyncio
import atexit
import json
import linecache
import logging
import os
import queue
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing import util
from types import TracebackType
from typing import Any, Final

import structlog

from hyperagent.lib.fault_address import FaultAddress, fault_address

log = logging.getLogger(__name__)

WAITING: Final = 100
A_MINUTE: Final = 30
"""So many, and a fault that comes a thousand times does not cost its host a thousand posts."""
FLUSH_S: Final = 2.0
MESSAGE_CHARS: Final = 300
FRAMES: Final = 60
CAUSES: Final = 5
_TAGS: Final = (
    "request_id",
    "error_id",
    "execution_id",
    "epoch",
    "job",
    "job_number",
    "user_id",
    "trace_id",
    "span_id",
)
_OURS: Final = ("hyperagent", "agents", "conversations", "hitl", "memory")


class FaultHandler(logging.Handler):
    """`hide` blots secrets out of a text."""

    def __init__(self, dsn: str, hide: Callable[[str], str]) -> None:
        super().__init__(logging.ERROR)
        self._address = fault_address(dsn)
        self._hide = hide
        self._senders: dict[int, _Sender] = {}

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._sender().take(event_of(record, self._hide))
        except Exception:  # noqa: BLE001 - as every handler of the log
            self.handleError(record)

    def _sender(self) -> "_Sender":
        """One for each process: the queue's are forked, and a thread is not."""
        pid = os.getpid()
        if pid not in self._senders:
            self._senders[pid] = _Sender(self._address)
        return self._senders[pid]


class _Sender:
    def __init__(self, address: FaultAddress) -> None:
        self._address = address
        self._waiting: queue.Queue[dict[str, Any]] = queue.Queue(WAITING)
        self._taken_at: deque[float] = deque(maxlen=A_MINUTE)
        self._is_away = False
        threading.Thread(target=self._send_all, name="faults", daemon=True).start()
        # The processes of the queue end without `atexit`.
        if os.environ.get("HYPERAGENT_PROCESS") == "queue":
            util.Finalize(None, self.flush, exitpriority=1)
        else:
            atexit.register(self.flush)

    def take(self, event: dict[str, Any]) -> None:
        now = time.monotonic()
        if len(self._taken_at) == A_MINUTE and now - self._taken_at[0] < 60:
            return
        self._taken_at.append(now)
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            return

    def flush(self) -> None:
        """Waits until all is sent, not longer than FLUSH_S."""
        ends = time.monotonic() + FLUSH_S
        while self._waiting.unfinished_tasks and time.monotonic() < ends:
            time.sleep(0.02)

    def _send_all(self) -> None:
        while True:
            event = self._waiting.get()
            try:
                self._told(self._send(event))
            except Exception as error:  # noqa: BLE001 - the thread has nobody whom it could tell
                self._told(type(error).__name__)
            finally:
                self._waiting.task_done()

    def _send(self, event: dict[str, Any]) -> str:
        """Empty, or why it was not taken."""
        from hyperagent.lib.outside.posting import Post, post_all  # half a second, where something failed already

        parts = ({"event_id": event["event_id"]}, {"type": "event"}, event)
        body = "\n".join(json.dumps(part, ensure_ascii=False) for part in parts).encode()
        headers = {
            "content-type": "application/x-sentry-envelope",
            "user-agent": "HyperAgent/1",
            "x-sentry-auth": f"Sentry sentry_version=7, sentry_client=hyperagent/1, sentry_key={self._address.key}",
        }
        (answer,) = asyncio.run(post_all([Post(self._address.url, headers, body)], allow_private=True))
        return answer.error

    def _told(self, problem: str) -> None:
        """One line when faults begin to be dropped, and one when they arrive again. Below the level that is sent."""
        if problem and not self._is_away:
            log.warning("faults.not_told: %s", problem)
        elif self._is_away and not problem:
            log.warning("faults.told_again")
        self._is_away = bool(problem)


def event_of(record: logging.LogRecord, hide: Callable[[str], str]) -> dict[str, Any]:
    """As Sentry's protocol has it."""
    said = (
        record.msg if isinstance(record.msg, dict) else {"event": record.msg, **structlog.contextvars.get_contextvars()}
    )
    known = {**vars(record), **said}
    # Not the whole text: what was filled into a line may be anybody's.
    message = str(said.get("event", "")).partition("\n")[0]
    error = _error_of(record, said)
    return {
        "event_id": uuid.uuid4().hex,
        "timestamp": record.created,
        "platform": "python",
        "level": "fatal" if record.levelno >= logging.CRITICAL else "error",
        "logger": record.name,
        "server_name": os.environ.get("HYPERAGENT_NAME", "hyperagent"),
        "logentry": {"message": hide(message)[:MESSAGE_CHARS]},
        "tags": {
            "process": os.environ.get("HYPERAGENT_PROCESS") or "manage",
            **{name: str(known[name]) for name in _TAGS if known.get(name) is not None},
        },
        **({"exception": {"values": list(_chain(error))[::-1]}} if error is not None else {}),
    }


def _error_of(record: logging.LogRecord, said: dict[str, Any]) -> BaseException | None:
    for found in (record.exc_info, said.get("exc_info")):
        if found is True:
            return sys.exc_info()[1]
        if isinstance(found, BaseException):
            return found
        if isinstance(found, tuple) and isinstance(found[1], BaseException):
            return found[1]
    return None


def _chain(error: BaseException | None) -> Iterator[dict[str, Any]]:
    """The newest first."""
    for _ in range(CAUSES):
        if error is None:
            return
        frames = list(_frames(error.__traceback__))[-FRAMES:]
        kind = type(error)
        yield {"type": kind.__qualname__, "module": kind.__module__, "value": "", "stacktrace": {"frames": frames}}
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _frames(trace: TracebackType | None) -> Iterator[dict[str, Any]]:
    while trace is not None:
        code, module = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__", ""))
        yield {
            "filename": code.co_filename,
            "module": module,
            "function": code.co_qualname,
            "lineno": trace.tb_lineno,
            "context_line": linecache.getline(code.co_filename, trace.tb_lineno).strip(),
            "in_app": module.partition(".")[0] in _OURS,
        }
        trace = trace.tb_next
