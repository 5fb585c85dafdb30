"""What a run of the plan has to come to, whatever broke meanwhile. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from tests.site import words
from tests.storm.model import COMPOSED
from tests.storm.plan import Deed, PlannedRun, Reply, Shape, Trouble

# Runs whose answer nobody's wish changes.
_LEFT_ALONE: Final = frozenset({Deed.WATCH, Deed.SAY_TWICE, Deed.RETRY})
_EFFECTS: Final = frozenset({Shape.MAIL, Shape.ORDER})
_NEVER_DONE: Final = frozenset({Reply.DENY, Reply.EXPIRE})


def faults_of_end(planned: PlannedRun, run: Mapping[str, Any], *, has_arrived: bool) -> list[str]:
    """`run`: its row. `has_arrived`: whether its mail or order is in the world."""
    who = f"run {run['id']} ({planned.tag})"
    found = []
    if planned.shape in _EFFECTS and planned.reply in _NEVER_DONE and has_arrived:
        found.append(f"I7: {who}: its {planned.shape} arrived, and its person meant to {planned.reply}")
    if run["status"] == "cancelled" and planned.deed is not Deed.CANCEL and planned.shape is not Shape.BUDGET:
        found.append(f"I5: {who} is cancelled, and nobody wanted that")
    if run["status"] != "completed" or planned.deed not in _LEFT_ALONE:
        return found
    wanted = answer_of(planned)
    if wanted is not None and run["answer"] != wanted:
        found.append(f"I3: {who} answers {run['answer'][-80:]!r}, not {wanted[-80:]!r}")
    return found


def answer_of(planned: PlannedRun) -> str | None:
    """To the letter, where the model says the same whatever happened; else None."""
    if planned.shape is Shape.CHAT:
        return words(planned.tokens)
    if planned.shape is Shape.PLAN and planned.trouble is Trouble.NONE:
        return COMPOSED
    if planned.shape is Shape.FILES:
        return "That was it, after 3 calls."
    return None
