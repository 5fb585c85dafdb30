"""Whether what waits to be sent is still the matter of whom it goes to. The app whose matter it is says so, and names
at the start how it is asked: what stands in its tables is not known here.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

from hyperagent.notices.kinds import EventType, MailKind

Concerns = Callable[[UUID, str], bool]
Shows = Callable[[UUID, Mapping[str, Any]], bool]
_asked: dict[MailKind, Concerns] = {}
_shown: dict[EventType, Shows] = {}


def ask_before(kinds: Collection[MailKind], concerns: Concerns) -> None:
    """`concerns`: whether the subject of that id still concerns this person; asked each time before a mail of these
    kinds leaves."""
    for kind in kinds:
        _asked[kind] = concerns


def ask_before_telling(events: Collection[EventType], shows: Shows) -> None:
    """`shows`: whether this person may still see what an event's data are about; asked each time before one of these
    is sent to a webhook of theirs."""
    for event in events:
        _shown[event] = shows


def concerns_still(user_id: UUID, kind: MailKind, subject_id: str) -> bool:
    concerns = _asked.get(kind)
    return concerns is None or concerns(user_id, subject_id)


def shown_still(user_id: UUID, event: EventType, data: Mapping[str, Any]) -> bool:
    shows = _shown.get(event)
    return shows is None or shows(user_id, data)
