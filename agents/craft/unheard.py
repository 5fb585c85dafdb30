"""What people said to a run when none of its agents listened any more."""

from uuid import UUID

from agents.engine.calls import HEARD
from agents.engine.states import InterventionKind, StepKind
from agents.models import Intervention, Step


def unheard(execution_id: UUID) -> list[str]:
    """What was said to the whole of a run that is over, and no agent of it heard, oldest first. One query where nothing
    was said, else two."""
    said = Intervention.objects.filter(execution=execution_id, kind=InterventionKind.STEER).order_by("created_at", "id")
    texts = {str(id_): text for id_, text in said.values_list("id", "text")}
    if not texts:
        return []
    notes = Step.objects.filter(agent__execution=execution_id, kind=StepKind.NOTE, name=HEARD, cut_at=None)
    heard = {one["id"] for response in notes.values_list("response", flat=True) for one in response or ()}
    return [text for id_, text in texts.items() if id_ not in heard]
