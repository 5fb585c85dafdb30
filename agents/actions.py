"""What can be done with a run from outside its driver: start it, cancel it, and say that its runner is gone.

Nothing here drives a run. Rows are changed, and a runner is woken when the transaction commits.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from agents.engine.states import TERMINAL_STATUSES
from agents.models import Execution
from agents.runtime import leases
from hyperagent.accounts.models import User
from hyperagent.lib.wake import wake

INPUT_VERSION = 1


def start(
    *,
    user: User,
    conversation_id: UUID | None,
    question: str,
    history: list[dict[str, Any]] | None = None,
    mode: str = "",
    options: dict[str, Any] | None = None,
    on_finish: str = "",
    pipeline: str = "turn",
) -> Execution:
    """Writes a run with its whole input. Call inside the transaction that makes it wanted; it starts with the commit.

    `history`: the turns before, oldest first, as `{"role", "content"}`. `on_finish`: a task of `hyperagent.lib.queue`
    that gets the execution's id once the run has ended. `pipeline`: one of `agents.pipeline.programs`.
    """
    execution = Execution.objects.create(
        user=user,
        conversation_id=conversation_id,
        question=question,
        mode=mode or "",
        input={"version": INPUT_VERSION, "history": history or [], "options": options or {}},
        on_finish=on_finish,
        pipeline=pipeline,
    )
    wake(execution.id)
    return execution


def cancel(execution_id: UUID, *, by: User | None) -> Execution:
    """Asks for the run to stop. Idempotent; a run that has ended stays as it ended.

    Who drives the run stops it within a second or two; one that nobody drives is claimed for that.
    """
    with transaction.atomic():
        Execution.objects.filter(id=execution_id, cancel_requested_at=None).exclude(
            status__in=TERMINAL_STATUSES
        ).update(cancel_requested_at=timezone.now(), woken_at=timezone.now(), cancelled_by=by)
        wake(execution_id)
    return Execution.objects.get(id=execution_id)


def release_runner(name: str) -> int:
    """The runner of this name is known to be dead: its runs are free at once. Returns how many.

    Only its supervisor may say so, for it alone knows; for others a lease has to run out.
    """
    return leases.recover_runner(name)
