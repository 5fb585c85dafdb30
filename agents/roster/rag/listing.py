"""Which documents somebody has: when that is what is asked, and how it is answered. Pure; no model is needed for it."""

import re
from collections.abc import Mapping
from typing import Final

from agents.tools.values import DocumentList, ListedDocument
from hyperagent.lib.clipping import one_line

_PAPERS = r"(?:documents?|files?|pdfs?|uploads|dokumente?|dateien|unterlagen)"
_ASKS: Final = re.compile(
    rf"^\W*(?:please\s+|bitte\s+)?(?:(?:what|which|how\s+many)\s+{_PAPERS}\s+(?:do|have|can|are)\s+(?:i|we|you|there)\b"
    rf"(?:\s+(?:have|uploaded|got|search|here|see|know|in\s+here))*|"
    rf"(?:list|show(?:\s+me)?)\s+(?:all\s+)?(?:of\s+)?(?:my|our|the)\s+(?:uploaded\s+)?{_PAPERS}|"
    rf"(?:welche|wie\s*viele)\s+{_PAPERS}\s+(?:habe?n?|gibt|kennst|sind)\s+(?:ich|wir|es|du|da)\b(?:\s+(?:hochgeladen|hier))*|"
    rf"(?:liste|zeige?)\s+(?:mir\s+)?(?:alle\s+)?(?:meine|unsere|die)\s+{_PAPERS}(?:\s+auf)?)\W*$",
    re.IGNORECASE,
)
_GERMAN: Final = re.compile(r"\b(?:welche|wie\s*viele|liste|zeige?|dokumente?|dateien|unterlagen)\b", re.IGNORECASE)
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|#~!])")
NAME_CHARS: Final = 120
_STATES_IN_GERMAN: Final[Mapping[str, str]] = {
    "queued": "wartet",
    "reading": "wird gelesen",
    "indexing": "wird aufgenommen",
    "embedding": "wird aufgenommen",
    "failed": "fehlgeschlagen",
    "cancelled": "abgebrochen",
    "picture": "Bild",
}


def asks_for_list(task: str) -> bool:
    return len(task) < 200 and _ASKS.match(task.strip()) is not None


def told(found: DocumentList, task: str) -> str:
    """The list in Markdown, in the language of the task."""
    german = bool(_GERMAN.search(task))
    if not found.documents:
        if german:
            return "Es gibt noch keine Dokumente. Auf der Seite „Dokumente“ können Sie welche hochladen."
        return "There are no documents yet. Upload some on the page Documents."
    many = found.total > 1
    if german:
        head = f"Es {'sind' if many else 'ist'} {found.total} {'Dokumente' if many else 'Dokument'}:"
    else:
        head = f"There {'are' if many else 'is'} {found.total} {'documents' if many else 'document'}:"
    more = found.total - len(found.documents)
    rest = [f"- … {more} {'weitere' if german else 'more'}"] if more > 0 else []
    return "\n".join([head, "", *(_line(document, german=german) for document in found.documents), *rest])


def _line(document: ListedDocument, *, german: bool) -> str:
    state = "" if document.state == "ready" else document.state
    facts = [
        document.doc_type,
        f"{document.total_pages} {'Seiten' if german else 'pages'}" if document.total_pages > 1 else "",
        document.date or "",
        _STATES_IN_GERMAN.get(state, state) if german else state,
    ]
    said = ", ".join(fact for fact in facts if fact)
    about = f": {_plain(document.description, 300)}" if document.description else ""
    return f"- **{_plain(document.filename, NAME_CHARS)}**{f' ({said})' if said else ''}{about}"


def _plain(text: str, limit: int) -> str:
    """Others chose the words: nothing in them is Markdown."""
    return _SPECIAL.sub(r"\\\1", one_line(text)[:limit])
