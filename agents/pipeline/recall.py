"""What is known of the person who asks, and how it is told to a model.

The two stages beside planning stand here. Nothing is remembered yet: `recall` gives the empty profile, `extract` finds
nothing, and neither records a step. Whoever adds a memory records one in each, so that a replay sees the same profile.
"""

from collections.abc import Mapping
from typing import Any, Final

from agents.runtime.context import AgentContext

VALUE_CHARS: Final = 200
LIST_ITEMS: Final = 10
# The names of S155 and S156, with the words that models read.
CRITICAL: Final[Mapping[str, str]] = {
    "user_name": "Name",
    "company_name": "Company",
    "job_title": "Job",
    "recent_projects": "Recent projects",
}
PREFERENCES: Final[Mapping[str, str]] = {
    "tone": "Preferred tone",
    "detail_level": "Preferred level of detail",
    "language": "Preferred language",
}


async def recall(context: AgentContext) -> dict[str, Any]:
    """The long-term memory of whoever asks, as every AgentInput has it: {"critical": {…}, "preferences": {…}}."""
    return {"critical": {}, "preferences": {}}


async def extract(context: AgentContext, question: str) -> None:
    """Looks in the question for what is worth remembering; it is there for the next question."""


def format_user_profile(profile: Mapping[str, Any]) -> str:
    """The profile for a prompt, a line for each thing, the same for every agent; empty if nothing is known.

    It comes from what people wrote: each value is one short line, and a field that is not known here is left out.
    """
    return "\n".join(
        f"- {title}: {said}"
        for part, titles in (("critical", CRITICAL), ("preferences", PREFERENCES))
        for name, title in titles.items()
        if (said := _said((profile.get(part) or {}).get(name)))
    )


def _said(value: Any) -> str:
    values = value if isinstance(value, list | tuple) else [value]
    return ", ".join(_one_line(item) for item in values[:LIST_ITEMS] if item not in (None, ""))


def _one_line(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= VALUE_CHARS else text[: VALUE_CHARS - 1] + "…"
