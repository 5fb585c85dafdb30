"""What a run is told of the conversation before its question: the branch's last messages, within a budget of
characters.

Pure, but for `branch`, which reads them.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypedDict

from django.db import connection

from conversations.models import Role

MAX_MESSAGES = 40
# About 15,000 tokens. An agent whose model reads less cuts it further.
MAX_CHARS = 60_000
# A message that does not fit is cut, unless so little of it would be left that it says nothing.
LEAST_CHARS = 400
CUT = "\n[…cut…]\n"


class Said(TypedDict):
    role: str
    content: str


class BranchMessage(NamedTuple):
    id: uuid.UUID
    role: str
    content: str
    created_at: datetime

    @property
    def said(self) -> Said:
        return Said(role=self.role, content=self.content)


def window(messages: Sequence[Said], *, max_chars: int = MAX_CHARS) -> list[Said]:
    """The newest of `messages` (oldest first) that fit, oldest first. Replies that say nothing are left out."""
    chosen: list[Said] = []
    room = max_chars
    for message in reversed(messages):
        role, content = message["role"], message["content"]
        if not content.strip():
            continue
        if len(content) > room:
            if room >= LEAST_CHARS:
                chosen.append(Said(role=role, content=_shortened(content, room)))
            break
        chosen.append(Said(role=role, content=content))
        room -= len(content)
    return chosen[::-1]


def _shortened(text: str, limit: int) -> str:
    """Beginning and end, where most of what matters stands."""
    head = (limit - len(CUT)) * 2 // 3
    tail = limit - len(CUT) - head
    return text[:head] + CUT + text[-tail:]


_BRANCH = """
    WITH RECURSIVE branch AS (
        (SELECT id, parent_id, role, text, execution_id, created_at, 1 AS depth FROM conversations_message
          WHERE conversation_id = %(conversation)s AND (%(leaf)s::uuid IS NULL OR id = %(leaf)s)
          ORDER BY created_at DESC, (role = %(assistant)s) DESC LIMIT 1)
        UNION ALL
        SELECT m.id, m.parent_id, m.role, m.text, m.execution_id, m.created_at, branch.depth + 1
          FROM conversations_message m JOIN branch ON m.id = branch.parent_id
         WHERE branch.depth < %(limit)s
    )
    SELECT branch.id, branch.role,
           CASE WHEN branch.role = %(assistant)s THEN COALESCE(e.answer, branch.text) ELSE branch.text END,
           branch.created_at
      FROM branch LEFT JOIN agents_execution e ON e.id = branch.execution_id
     ORDER BY branch.depth DESC
"""


def branch(conversation_id: uuid.UUID, *, leaf: uuid.UUID | None = None) -> list[BranchMessage]:
    """The messages from the root's side down to `leaf` (the newest one if None), at most MAX_MESSAGES. One query."""
    values = {"conversation": conversation_id, "leaf": leaf, "assistant": Role.ASSISTANT.value, "limit": MAX_MESSAGES}
    with connection.cursor() as cursor:
        cursor.execute(_BRANCH, values)
        return [BranchMessage(*row) for row in cursor.fetchall()]
