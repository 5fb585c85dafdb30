"""Hands background jobs from the runner's loop to the queue, which speaks Django's synchronous database."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from uuid import UUID

import structlog
from django.db import Error, close_old_connections

from hyperagent.lib.queue import enqueue

log = structlog.get_logger(__name__)


class Jobs:
    """One thread, so one connection. A job is a hint: one that cannot be handed over is found by the sweep."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="jobs")

    async def enqueue(self, task: str, execution_id: UUID) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(
                self._thread, copy_context().run, _enqueue, task, execution_id
            )
        except (Error, LookupError) as error:
            log.warning("job.not_enqueued", task=task, execution_id=str(execution_id), error=str(error))

    async def aclose(self) -> None:
        await asyncio.to_thread(self._thread.shutdown)


def _enqueue(task: str, execution_id: UUID) -> None:
    close_old_connections()
    try:
        enqueue(task, execution_id)
    finally:
        close_old_connections()
