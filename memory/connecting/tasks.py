"""Background jobs of connectors. Each is a hint and idempotent: the connector's row is the truth."""

from uuid import UUID

from hyperagent.lib.lanes import Lane
from hyperagent.lib.queue import enqueue, task
from memory.connecting import actions, items, polling


@task(lane=Lane.LONG)
def look(connector_id: str) -> None:
    """Looks at this place, unless it is not due or somebody else does; and again if that was asked for meanwhile."""
    place = UUID(connector_id)
    if polling.look(place) and polling.is_due(place):
        enqueue("memory.connecting.tasks.look", place)


@task(lane=Lane.LONG)
def leave(connector_id: str) -> None:
    """Deletes the documents of a connector that was deleted with them, and then its row."""
    actions.leave(UUID(connector_id))


@task(every_s=60)
def look_around() -> None:
    """Newer versions that a search finds by now take their places; then every connector that is due gets a job, and
    each that is being deleted."""
    for item_id in items.waiting():
        items.settle(item_id)
    for connector_id in polling.due():
        enqueue("memory.connecting.tasks.look", connector_id)
    for connector_id in actions.leaving():
        enqueue(actions.LEAVE, connector_id)
