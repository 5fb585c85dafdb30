"""What other parts of the product want of boxes: that what belongs to somebody or something gone is gone too."""

from uuid import UUID

from agents.sandbox import snapshots
from agents.sandbox.models import CloseWanted, SandboxSession


def forget_task(user_id: UUID, task_id: UUID) -> None:
    """Nothing of its boxes is kept. The host that holds one closes it within seconds, and forgets what it kept then."""
    open_ones = SandboxSession.objects.filter(user_id=user_id, task_id=task_id, ended_at=None)
    open_ones.update(close_wanted=CloseWanted.REMOVE)
    snapshots.forget_task(user_id, task_id)
