"""Background jobs that leave a mark where a test can see it."""

import time
from pathlib import Path

from hyperagent.lib.queue import task


@task
def leave_mark(path: str) -> None:
    with Path(path).open("a") as file:
        file.write("done\n")


@task
def leave_mark_slowly(path: str, seconds: int) -> None:
    leave_mark(path)
    time.sleep(seconds)
    leave_mark(path)


@task
def fail(path: str) -> None:
    leave_mark(path)
    raise ValueError("this job fails")


def not_a_task(path: str) -> None:
    leave_mark(path)
