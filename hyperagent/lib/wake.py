"""How a process tells the runners that a run may need them: Postgres NOTIFY, delivered when the transaction commits.

It is a hint. Lost, it costs one sweep; twice, it costs nothing.
"""

from uuid import UUID

from hyperagent.lib import rows

CHANNEL = "hyperagent_runs"


def wake(*execution_ids: UUID) -> None:
    """Call inside the transaction that made the runs ready: the notes leave with its commit. One query."""
    rows.execute(
        "SELECT pg_notify(%s, id) FROM unnest(%s::text[]) AS id",
        [CHANNEL, [str(execution_id) for execution_id in execution_ids]],
    )
