"""How long each list of the admin takes on a busy installation: `python -m benchmarks.admin_lists [--runs 200000]`.

Starts a database of its own, fills it (`benchmarks.admin_rows`), and asks for the home, every list, and every choice of
every filter, as an administrator does, in this process. Prints a table, slowest first: of three the median of the time,
and of the CPU that this process and Postgres took, which other work on the machine changes less; and the queries.
`--database` measures one that is filled already.
"""

import argparse
import os
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import django

from benchmarks import processes
from benchmarks.admin_rows import RUNS, fill
from tests.services import Services, environment

TIMES = 3
AT_MOST_MS = 300
# The choices of filters stand in the page as links that begin so.
CHOICE = re.compile(r'<a href="(\?[^"]+)"')


@dataclass(frozen=True)
class Took:
    page: str
    cpu_ms: float
    median_ms: float
    queries: int

    def __str__(self) -> str:
        mark = "  over" if self.cpu_ms > AT_MOST_MS else ""
        return f"{self.cpu_ms:7.0f} ms CPU {self.median_ms:7.0f} ms {self.queries:4} queries  {self.page}{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.admin_lists")
    parser.add_argument("--runs", type=int, default=RUNS, help="each has five steps and five events")
    parser.add_argument("--database", help="a URL of one that is filled already")
    given = parser.parse_args()
    # One process for each connection, so that its CPU can be read.
    os.environ["PGOPTIONS"] = "-c max_parallel_workers_per_gather=0"
    if given.database:
        os.environ["DATABASE_URL"] = os.environ["TEST_DATABASE_URL"] = given.database
    services = Services()
    try:
        os.environ.update(environment(services))
        django.setup()
        if not given.database:
            _fill(os.environ["DATABASE_URL"], runs=given.runs)
        for took in sorted(_measured(), key=lambda took: -took.cpu_ms):
            print(took)
    finally:
        services.stop()


def _fill(database_url: str, *, runs: int) -> None:
    from django.core.management import call_command  # Django is set up after this file is read

    call_command("migrate", verbosity=0)
    fill(database_url, runs=runs)


def _measured() -> Iterator[Took]:
    from django.contrib import admin
    from django.test import Client
    from django.urls import reverse

    from hyperagent.accounts.models import User

    root = User.objects.filter(is_superuser=True).first() or User.objects.create_superuser("root@example.org")
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(root)
    yield _took(client, reverse("admin:index"))
    for model in sorted(admin.site._registry, key=lambda model: model._meta.label):
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        yield _took(client, f"{url}?p=1")
        yield _took(client, f"{url}?p=100")
        yield _took(client, f"{url}?q=nobody%40example.org")
        yield _took(client, f"{url}?q=person7%40example.org")
        page = client.get(f"{url}?p=1").content.decode()
        _, _, filters = page.partition('id="changelist-filter"')
        for choice in sorted({found.replace("&amp;", "&") for found in CHOICE.findall(filters)} - {"?"}):
            yield _took(client, url + choice)
        headings = page.partition("<thead>")[2].partition("</thead>")[0]
        for choice in sorted({found.replace("&amp;", "&") for found in CHOICE.findall(headings)}):
            yield _took(client, url + choice)


def _took(client: "django.test.Client", url: str) -> Took:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    took, cpu = [], []
    for _ in range(TIMES):
        begun, cpu_begun = time.perf_counter(), _cpu_s()
        with CaptureQueriesContext(connection) as caught:
            client.get(url)
        took.append(1000 * (time.perf_counter() - begun))
        cpu.append(1000 * (_cpu_s() - cpu_begun))
    return Took(url, statistics.median(cpu), statistics.median(took), len(caught))


def _cpu_s() -> float:
    """Of this process and of whatever serves its database connections."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        backends = [pid for (pid,) in cursor.fetchall()]
    return time.process_time() + processes.cpu_s(backends)


if __name__ == "__main__":
    main()
