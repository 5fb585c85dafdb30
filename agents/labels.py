"""What people call the agents, where a server writes it. The page's own list, which has this one too, is
static/js/agents.js.
"""

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext, gettext_noop, pgettext

_LABELS: Final[Mapping[str, str]] = {
    "chat": gettext_noop("Chat"),
    "rag": gettext_noop("Documents"),
    "web": gettext_noop("Web"),
    "research": gettext_noop("Research"),
    "code": gettext_noop("Code"),
    "data": gettext_noop("Data analysis"),
    "mail": gettext_noop("Mail"),
    "slide": gettext_noop("Slides"),
    "app": gettext_noop("App"),
    "image": gettext_noop("Image"),
}


def agent_label(name: str) -> str:
    """In the reader's language; an agent that is not known here by its name: `image_maker`, "Image maker"."""
    if name == "writing":
        return pgettext("agent", "Writing")
    known = _LABELS.get(name)
    return gettext(known) if known else name.replace("_", " ").capitalize()
