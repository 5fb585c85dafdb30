"""How the embedder is told that something waits for its vector: Postgres NOTIFY, delivered when the transaction
commits.

It is a hint. Lost, it costs one sweep; twice, it costs nothing.
"""

from typing import Final

from django.db import connection

CHANNEL: Final = "hyperagent_embed"


def wake() -> None:
    """Call inside the transaction that stored chunks, a memory or a description. One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
