"""Who looked at what other people's runs say. Each row that was looked at is a row of Django's log of the admin, beside
the changes, where the row's own history shows it; each look is told to whoever listens (the audit log).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from django.contrib.admin.models import LogEntry
from django.db import models, transaction
from django.utils.translation import gettext, gettext_noop

VIEW_CONTENT: Final = "agents.view_content"
"""The permission to read what other people's runs say."""
LOOKED: Final = 4
"""Django's own flags say that something was added (1), changed (2) or deleted (3)."""
READ: Final = gettext_noop("Looked at what it says.")
READ_PREVIEW: Final = gettext_noop("Looked at the first words of what it says, in a list.")
EXPORTED: Final = gettext_noop("Exported the decisions with what they say.")


# Who, at which rows of one kind, and how.
Listener = Callable[[Any, Sequence[models.Model], str], None]
_listeners: list[Listener] = []


def tell(listener: Listener) -> None:
    """Called once at the start, by what stands above this file. It writes in the transaction of the look."""
    if listener not in _listeners:
        _listeners.append(listener)


def in_words(message: str) -> str:
    """A row's message in the reader's language, where it is of a look; what Django wrote it says itself."""
    return gettext(message) if message in (READ, READ_PREVIEW, EXPORTED) else message


def note(reader: Any, rows: Sequence[models.Model], how: str) -> None:
    """Rows of one kind. One query and one look, whatever their number; none if there are none."""
    if rows:
        with transaction.atomic():
            LogEntry.objects.log_actions(reader.pk, rows, LOOKED, change_message=how)
            for listener in _listeners:
                listener(reader, rows, how)
