"""To whom what was said in a conversation may be shown by runs that nobody asked for, such as summaries."""

from typing import Any

from conversations.models import Message


def provider_kept(question: Message) -> dict[str, Any]:
    """The options of such a run. Where the person chose a provider, what was said is shown to no other."""
    chosen = question.metadata.get("options", {})
    return {"provider": chosen["provider"]} if chosen.get("provider") else {}
