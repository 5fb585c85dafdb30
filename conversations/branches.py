"""One line through a conversation's tree: the one that is shown, or the one that leads to a message. Pure."""

import uuid
from collections.abc import Iterable, Sequence

from conversations.models import Message


def shown(messages: Iterable[Message]) -> list[Message]:
    """The branch that leads to the newest message, as the page shows where nobody chose. `messages`: oldest first."""
    known = list(messages)
    return upto(known, known[-1].id) if known else []


def upto(messages: Iterable[Message], last: uuid.UUID) -> list[Message]:
    """From the root to this message. Empty if it is none of them."""
    known = {message.id: message for message in messages}
    branch: list[Message] = []
    message_id: uuid.UUID | None = last
    while message_id is not None and message_id in known:
        branch.append(known[message_id])
        message_id = branch[-1].parent_id
    return branch[::-1]


def places(messages: Sequence[Message]) -> dict[uuid.UUID, tuple[int, int]]:
    """For each message its number among those that follow the same one, from 1, and how many they are."""
    beside: dict[uuid.UUID | None, list[uuid.UUID]] = {}
    for message in messages:
        beside.setdefault(message.parent_id, []).append(message.id)
    return {id_: (number, len(ids)) for ids in beside.values() for number, id_ in enumerate(ids, 1)}
