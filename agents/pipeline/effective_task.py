"""A task together with what a person said when approving it: one text, which every reader can take apart again. Pure.

Who decides whether the instructions enhance or override is not known here.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

ENHANCE_HEAD: Final = "Complete BOTH the original task AND the additional user instructions below."
OVERRIDE_HEAD: Final = (
    "IMPORTANT — The user wants you to follow these override instructions\nINSTEAD of the original task."
)
_ORIGINAL: Final = "### Original Task"
_ENHANCED: Final = "### User Enhanced Instructions"
_OVERRIDING: Final = "### User Override Instructions"
_FOR_REFERENCE: Final = "### Original Task (for reference only)"


class Intent(StrEnum):
    ENHANCE = "enhance"
    OVERRIDE = "override"


@dataclass(frozen=True, slots=True)
class Parts:
    """`instructions` and `intent` are empty where nobody changed the task."""

    task: str
    instructions: str = ""
    intent: Intent | None = None


def effective_task(task: str, instructions: str, intent: Intent) -> str:
    """The task as an agent shall read it. Without instructions it is unchanged."""
    instructions = instructions.strip()
    if not instructions:
        return task
    if intent is Intent.OVERRIDE:
        return "\n\n".join((OVERRIDE_HEAD, f"{_OVERRIDING}\n{instructions}", f"{_FOR_REFERENCE}\n{task}"))
    return "\n\n".join((ENHANCE_HEAD, f"{_ORIGINAL}\n{task}", f"{_ENHANCED}\n{instructions}"))


def is_override(text: str) -> bool:
    """Whether a person put something else in the task's place, be it that more was added to it after that."""
    found = parts(text)
    return found.intent is Intent.OVERRIDE or (found.intent is Intent.ENHANCE and is_override(found.task))


def heading(text: str) -> str:
    """What the task is about now, without the words around it: for people."""
    found = parts(text)
    if found.intent is Intent.OVERRIDE:
        return found.instructions
    return heading(found.task) if found.intent is Intent.ENHANCE else text


def parts(text: str) -> Parts:
    """Takes an effective task apart. Where the task was one itself, it stays so in `task`."""
    if text.startswith(f"{OVERRIDE_HEAD}\n\n{_OVERRIDING}\n"):
        rest = text.removeprefix(f"{OVERRIDE_HEAD}\n\n{_OVERRIDING}\n")
        instructions, found, task = rest.partition(f"\n\n{_FOR_REFERENCE}\n")
        if found:
            return Parts(task, instructions, Intent.OVERRIDE)
    if text.startswith(f"{ENHANCE_HEAD}\n\n{_ORIGINAL}\n"):
        rest = text.removeprefix(f"{ENHANCE_HEAD}\n\n{_ORIGINAL}\n")
        task, found, instructions = rest.rpartition(f"\n\n{_ENHANCED}\n")
        if found:
            return Parts(task, instructions, Intent.ENHANCE)
    return Parts(text)
