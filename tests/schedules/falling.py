"""A process whose children look at a schedule whose time has come, and are killed at one of their statements:
`python -m tests.schedules.falling`. It reads lines `schedule_id statement` and answers each with how the child ended:
`killed`, `done`, or what else came of it. Forks: a Django that starts for each death would take minutes.
"""

import os
import signal
import sys
from uuid import UUID

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
django.setup()

from django.db import connection  # noqa: E402

from conversations.schedules.starting import start_due  # noqa: E402
from tests.memory.ingestion.falling import Fall  # noqa: E402


def fall(schedule_id: UUID, at: int) -> str:
    child = os.fork()
    if child == 0:
        try:
            # What a new connection asks first is no statement of ours.
            connection.ensure_connection()
            with connection.execute_wrapper(Fall(at)):
                start_due(schedule_id)
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
        schedule, statement = line.split()
        print(fall(UUID(schedule), int(statement)), flush=True)
