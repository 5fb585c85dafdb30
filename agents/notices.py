"""What programs outside are told when a run has ended. Whatever a run's starter named as `on_finish` calls it; how the
news is sent is known to `hyperagent.notices`.
"""

from typing import Any

from agents.engine.states import ExecutionStatus
from agents.log.shapes import usage_of
from agents.models import Execution
from hyperagent.lib.text import title_from
from hyperagent.lib.times import iso
from hyperagent.notices import actions as notices
from hyperagent.notices.kinds import EventType

_TYPES = {ExecutionStatus.COMPLETED: EventType.RUN_COMPLETED, ExecutionStatus.FAILED: EventType.RUN_FAILED}


def tell_of_the_end(execution: Execution) -> None:
    """Call when the run is over, as often as you like: it is told once. Of a cancelled run nothing is told."""
    event_type = _TYPES.get(ExecutionStatus(execution.status))
    if event_type is None:
        return
    title = str((execution.result or {}).get("title") or "") or title_from(execution.question)
    notices.emit(
        event_type,
        user_id=execution.user_id,
        subject_id=execution.id,
        payload=_payload(execution),
        title=title,
        path=f"/c/{execution.conversation_id}/" if execution.conversation_id else "",
    )


def _payload(execution: Execution) -> dict[str, Any]:
    return {
        "execution_id": str(execution.id),
        "conversation_id": str(execution.conversation_id) if execution.conversation_id else None,
        "user_id": str(execution.user_id) if execution.user_id else None,
        "status": execution.status,
        "mode": execution.mode,
        "error_code": execution.error_code or None,
        "started_at": iso(execution.started_at),
        "ended_at": iso(execution.ended_at),
        "usage": usage_of(execution),
    }
