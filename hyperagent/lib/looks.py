"""Who looked at what other people's runs say. Each row that was looked at is a row of Django's log of the admin, beside
the changes, where the row's own history shows it; each look is told to whoever listens (the audit log).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from django.contrib.admin.models import LogEntry
from django.db import models, transaction

VIEW_CONTENT: Final = "agents.view_content"
"""The permission to read what other people's runs say."""
LOOKED: Final = 4
"""Django's own flags say that something was added (1), changed (2) or deleted (3)."""
READ: Final = "Looked at what it says."
READ_PREVIEW: Final = "Looked at the first words of what it says, in a list."
EXPORTED: Final = "Exported the decisions with what they say."


# Who, at which rows of one kind, and how.
Listener = Callable[[Any, Sequence[models.Model], str], None]
_listeners: list[Listener] = []


def tell(listener: Listener) -> None:
    """Called once at the start, by what stands above this file. It writes in the transaction of the look."""
    if listener not in _listeners:
        _listeners.append(listener)


def note(reader: Any, rows: Sequence[models.Model], how: str) -> None:
    """Rows of one kind. One query and one look, whatever their number; none if there are none."""
    if rows:
        with transaction.atomic():
            LogEntry.objects.log_actions(reader.pk, rows, LOOKED, change_message=how)
            for listener in _listeners:
                listener(reader, rows, how)
