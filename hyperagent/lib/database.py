"""What is asked of a database first: does it take anything and know vectors, what is its name to people, and what time
is it there."""

from datetime import datetime

from django.db import DatabaseError, connection, transaction

NO_VECTORS = (
    "The database at {address} has no pgvector extension. Install its package for your server (for example"
    " postgresql-16-pgvector, or the image pgvector/pgvector) and have a superuser run `CREATE EXTENSION vector;`"
    " in it, or unset DATABASE_URL to use the embedded Postgres, which has it."
)

IS_READ_ONLY = "SHOW transaction_read_only"
ONLY_READ = "can only be read: its disk is all but full, or another server is the primary by now"


def is_read_only() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(IS_READ_ONLY)
        return bool(cursor.fetchone()[0] == "on")


def has_vectors(*, make: bool) -> bool:
    """Whether pgvector is in the database; with `make` it is added if the server has it and we may."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
        if cursor.fetchone() is not None:
            return True
        if not make:
            return False
        try:
            with transaction.atomic():
                cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except DatabaseError:
            return False
    return True


def shown_address() -> str:
    """Host and database, never the password."""
    settings = connection.settings_dict
    host = settings["HOST"] or settings["OPTIONS"].get("host") or "localhost"
    port = f":{settings['PORT']}" if settings["PORT"] else ""
    return f"{host}{port}/{settings['NAME']}"


def db_now() -> datetime:
    """The database's clock: it is the same for all machines."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
        return moment
