"""Whether a mail that waits is still its reader's matter. The app whose matter it is says so, and names at the start
how it is asked: what stands in its tables is not known here.
"""

from collections.abc import Callable, Collection
from uuid import UUID

from hyperagent.notices.kinds import MailKind

Concerns = Callable[[UUID, str], bool]
_asked: dict[MailKind, Concerns] = {}


def ask_before(kinds: Collection[MailKind], concerns: Concerns) -> None:
    """`concerns`: whether the subject of that id still concerns this person; asked each time before a mail of these
    kinds leaves."""
    for kind in kinds:
        _asked[kind] = concerns


def concerns_still(user_id: UUID, kind: MailKind, subject_id: str) -> bool:
    concerns = _asked.get(kind)
    return concerns is None or concerns(user_id, subject_id)
