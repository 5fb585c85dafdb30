"""The life of the process that holds the boxes of a machine: its socket, its rounds, its end. Serves nothing itself."""

import asyncio
import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog
from django.db import DatabaseError

from agents.sandbox import records
from agents.sandbox.base import SandboxProvider
from agents.sandbox.host.address import DOORS_NAME, LOCK_NAME, SOCKET_NAME, short_folder, short_path
from agents.sandbox.host.server import Answering
from agents.sandbox.sessions import Sessions, Terms
from hyperagent.lib.threads import in_thread

log = structlog.get_logger(__name__)

TEND_EVERY_S: Final = 2.0
# The worker kills it after eleven seconds.
DRAIN_S: Final = 8.0
_LOOK_EVERY_S: Final = 1.0


class Host:
    """`folder`: of the socket, private. One at a time for each folder: a second one waits until the first has ended."""

    def __init__(self, provider: SandboxProvider, folder: Path, *, terms: Terms, tend_every_s: float = TEND_EVERY_S):
        self.folder = folder
        self.socket = folder / SOCKET_NAME
        self.sessions = Sessions(
            provider, terms=terms, host=f"{socket.gethostname()}:{folder}"[:255], folder=folder / DOORS_NAME
        )
        self._tend_every_s = tend_every_s
        self._stopping = asyncio.Event()
        self.ready = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Until `stop`; then every box is snapshotted and closed."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if await self._locked(lock):
                with short_folder(self.sessions.folder) as doors:
                    self.sessions.folder = doors
                    await self._serve()
        finally:
            os.close(lock)

    async def _locked(self, lock: int) -> bool:
        told = False
        while not self._stopping.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if not told:
                    log.info("sandboxes.another_serves", folder=str(self.folder))
                told = True
            await self._wait(_LOOK_EVERY_S)
        return False

    async def _serve(self) -> None:
        await self._forget_former_life()
        if self._stopping.is_set():
            return
        answering = Answering(self.sessions)
        with suppress(FileNotFoundError):
            self.socket.unlink()
        mask = os.umask(0o177)
        try:
            with short_path(self.socket) as path:
                server = await asyncio.start_unix_server(answering.serve, path)
        finally:
            os.umask(mask)
        log.info("sandboxes.ready", provider=self.sessions.provider.name)
        self.ready.set()
        try:
            while not self._stopping.is_set():
                await self._until_any_is_open()
                began = time.monotonic()
                await self._tend()
                await self._wait(max(0.0, self._tend_every_s - (time.monotonic() - began)))
        finally:
            server.close()
            with suppress(FileNotFoundError):
                self.socket.unlink()
            await self.sessions.close_all(within_s=DRAIN_S)

    async def _until_any_is_open(self) -> None:
        """Or until `stop`. Of no box there is anything to look after."""
        waits = [asyncio.create_task(event.wait()) for event in (self.sessions.is_any_open, self._stopping)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _forget_former_life(self) -> None:
        while not self._stopping.is_set():
            try:
                await in_thread(records.end_rows_of)(self.sessions.host)
                return
            except DatabaseError as error:
                log.warning("sandboxes.database_away", why=str(error).split("\n")[0])
            await self._wait(_LOOK_EVERY_S)

    async def _tend(self) -> None:
        try:
            await self.sessions.tend()
        except Exception:
            # Whatever one box did, the others are tended in the next round.
            log.exception("sandboxes.tending_failed")

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
