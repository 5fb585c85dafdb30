"""The embedder's life: one connection, woken by NOTIFY, batch after batch, until it is asked to stop. Does no batch
itself."""

import logging
import os
import threading
import time
from typing import Final

import psycopg
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection

from hyperagent.lib.bell import Bell
from hyperagent.lib.notes import is_notified
from hyperagent.lib.outage import is_read_only
from hyperagent.lib.yielding import yield_to_others
from memory.embedding import chosen
from memory.embedding.answering import Answering
from memory.embedding.model import LOCAL, EmbeddingModel, Stopped, Unusable
from memory.embedding.paying import Till
from memory.embedding.remote import RemoteModel
from memory.embedding.wake import CHANNEL
from memory.embedding.work import Work
from memory.vectors import sketches

log = logging.getLogger(__name__)

SWEEP_S: Final = 15.0
AGAIN_AFTER_S: Final = 1.0
UNUSABLE_REST_S: Final = 30.0
# What a process holds that was frozen, or whose machine is gone, is free after this long.
SILENT_S: Final = 60
BEAT_S: Final = 10.0
VACUUM_AFTER: Final = 2_000
TEND_EVERY_S: Final = 300.0
# A tenth of what others get who want all of it: of the whole process where the kernel weighs sessions, and in it of the
# thread that makes the batches.
_NICE: Final = 10


class Embedder:
    """`name`: of the model, as EMBEDDING_MODEL has it."""

    def __init__(self, name: str, *, till: Till | None = None) -> None:
        self.name = name
        self._till = till
        self._models: dict[str, EmbeddingModel] = {}
        self._in_use: list[chosen.Known] = []
        self._loading = threading.Lock()
        self._stopping = Bell()
        self._beaten_at = 0.0
        # Of all turns: it knows what could not be done a moment ago, so that others come first.
        self._work: Work | None = None
        self._tending: threading.Thread | None = None
        self._tended_at = -TEND_EVERY_S

    def stop(self) -> None:
        """Safe in a signal handler."""
        self._stopping.ring()

    def run(self) -> None:
        """Until `stop`. A database or a Redis that is away is waited for."""
        answering = Answering(self._loaded)
        yield_to_others(_NICE)
        self._until_chosen()
        answering.start()
        # Of this thread only, and not of those that it has started: whoever waits for an answer must not wait longer.
        os.nice(_NICE)
        log.info("embedder.ready model=%s", self.name)
        try:
            while not self._stopping.is_rung():
                self._turn()
        except Stopped:
            pass
        finally:
            answering.stop()
            connection.close()

    def _until_chosen(self) -> None:
        while not self._stopping.is_rung():
            try:
                self._connect()
                chosen.choose(self.name)
                self._look_who_is_in_use()
                return
            except DatabaseError as error:
                self._lost(error)

    def _turn(self) -> None:
        """All that waits, then the wait for more."""
        try:
            self._connect()
            self._look_who_is_in_use()
            if not self._is_current():
                # Another one was started with another model since: it embeds, and this one goes on answering.
                self._listen()
                return
            if self._work is None:
                self._work = Work(self._model(self.name), self._pulse)
            work, has_done = self._work, False
            while work.step():
                has_done = True
                self._pulse()
                if work.windows_stored >= VACUUM_AFTER:
                    self._vacuum(work)
            if work.windows_stored:
                self._vacuum(work)
            self._tend_sketches()
            if self._in_use[0].problem and (has_done or not work.is_resting):
                chosen.note_problem(self.name, "")
            self._listen()
        except Unusable as error:
            self._rest(error)
        except (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._lost(error)
        except InternalError as error:
            if not is_read_only(error):
                raise
            self._lost(error)

    def _loaded(self) -> list[EmbeddingModel]:
        """Those in use, the current one first; asked by the other thread."""
        return [self._model(known.name) for known in self._in_use]

    def _model(self, name: str) -> EmbeddingModel:
        with self._loading:
            if name not in self._models:
                self._models[name] = self._load(name)
            return self._models[name]

    def _load(self, name: str) -> EmbeddingModel:
        if name == LOCAL:
            from memory.embedding.local import LocalModel  # late: its libraries

            return LocalModel()
        return RemoteModel(name, dimensions=lambda: self._dimensions(name), till=self._till)

    def _dimensions(self, name: str) -> int:
        return next((known.dimensions for known in self._in_use if known.name == name), 0)

    def _look_who_is_in_use(self) -> None:
        self._in_use = chosen.models_in_use()

    def _is_current(self) -> bool:
        return bool(self._in_use) and self._in_use[0].name == self.name

    def _connect(self) -> None:
        if connection.connection is not None:
            return
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute(f"SET idle_session_timeout = '{SILENT_S}s'")
            cursor.execute(f"LISTEN {CHANNEL}")

    def _pulse(self) -> None:
        if self._stopping.is_rung():
            raise Stopped
        if time.monotonic() - self._beaten_at > BEAT_S:
            self._beaten_at = time.monotonic()
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")

    def _listen(self) -> None:
        """Until somebody wakes it, or a sweep is due."""
        is_notified(connection.connection, within_s=SWEEP_S, unless=self._stopping)

    def _vacuum(self, work: Work) -> None:
        """Marks the pages just written, so that searches need not look into the table."""
        work.windows_stored = 0
        with connection.cursor() as cursor:
            cursor.execute("VACUUM (SKIP_LOCKED) memory_vector")

    def _tend_sketches(self) -> None:
        """Beside the batches: measuring them takes seconds for each owner."""
        is_due = time.monotonic() - self._tended_at > TEND_EVERY_S
        if not is_due or (self._tending is not None and self._tending.is_alive()):
            return
        self._tended_at = time.monotonic()
        self._tending = threading.Thread(target=self._tend, name="sketches", daemon=True)
        self._tending.start()

    def _tend(self) -> None:
        """In a thread, so on a connection of its own."""
        try:
            sketches.tend(self.name, self._dimensions(self.name))
        except DatabaseError as error:
            log.warning("sketches of vectors could not be tended: %s", error)
        finally:
            connection.close()

    def _rest(self, error: Unusable) -> None:
        log.warning("no vectors for now: %s", error)
        try:
            chosen.note_problem(self.name, str(error))
            self._stopping.is_rung(within_s=UNUSABLE_REST_S)
        except DatabaseError as lost:
            self._lost(lost)

    def _lost(self, error: Exception) -> None:
        log.warning("Postgres is away: %s", error)
        connection.close()
        self._stopping.is_rung(within_s=AGAIN_AFTER_S)
