"""Background jobs about documents and files. Each is a hint and idempotent: the document's row is the truth."""

from uuid import UUID

from hyperagent.lib.lanes import Lane
from hyperagent.lib.queue import task
from memory.connecting import tasks as connecting_tasks  # noqa: F401 - so that the queue knows them
from memory.ingestion import driver, sweeping
from memory.workspaces import sweeping as workspaces


@task(lane=Lane.MANY)
def ingest(document_id: str) -> None:
    """Reads a document, or goes on with one that is half read."""
    driver.ingest(UUID(document_id))


@task(every_s=60)
def find_lost_documents() -> None:
    """Asks again for documents whose job died or was lost."""
    sweeping.enqueue_lost()


@task(every_s=300, lane=Lane.LONG)
def remove_leftovers() -> None:
    """What belongs to documents that are gone: keywords, vectors, files, pictures."""
    sweeping.remove_leftovers()


@task(every_s=600, lane=Lane.LONG)
def sweep_workspaces() -> None:
    """What is left of files that are gone."""
    workspaces.sweep()
