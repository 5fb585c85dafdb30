"""The queue by hand: each job once, in order; one that fails is over, as it is for the real one."""

from contextlib import suppress

from django_q.models import OrmQ

from hyperagent.lib import queue


def do_jobs() -> None:
    """Those that the jobs themselves ask for too."""
    while (row := OrmQ.objects.order_by("id").first()) is not None:
        job = row.task
        row.delete()
        with suppress(OSError):
            queue.known(job["func"])(*job["args"])
