"""Whether the conversation that a request came from can still be opened: it may be deleted, and requests outlive it.
What a conversation is, the app above knows: it hands in how that is asked at the start (`conversations_are`).
"""

from collections.abc import Callable, Collection
from uuid import UUID

from hitl.models import Request
from hyperagent.accounts.models import User

StillThere = Callable[[Collection[UUID]], set[UUID]]
_asked: list[StillThere] = []


def conversations_are(still_there: StillThere) -> None:
    """`still_there`: those of these that nobody deleted, by one query."""
    _asked[:] = [still_there]


def that_open(requests: Collection[Request], reader: User) -> set[UUID]:
    """The ids of the requests whose run this reader can look at where it asked: their own, in a conversation that is
    still there. At most one query."""
    own = {one.pk: one.conversation_id for one in requests if one.user_id == reader.pk and one.conversation_id}
    there = {id_ for still_there in _asked for id_ in still_there(set(own.values()))} if own else set()
    return {pk for pk, conversation_id in own.items() if conversation_id in there}
