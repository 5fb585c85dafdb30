"""How a process tells the runners that a run may need them: Postgres NOTIFY, delivered when the transaction commits.

It is a hint. Lost, it costs one sweep; twice, it costs nothing.
"""

from uuid import UUID

from django.db import connection

CHANNEL = "hyperagent_runs"


def wake(execution_id: UUID) -> None:
    """Call inside the transaction that made the run ready: the note leaves with its commit."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(execution_id)])
