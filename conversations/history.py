"""What a run is told of the conversation before its question: the branch's last messages, within a budget of
characters.

Pure, but for `branch`, which reads them.
"""

import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, NotRequired, TypedDict

from agents.craft.earlier_turns import SUMMARY_OF, is_summary
from agents.tools.taint import Taint, joined, taint_from
from agents.tools.untrusted import marked_untrusted
from conversations.models import Role
from hitl.policy import Read
from hyperagent.lib import rows
from hyperagent.lib.clipping import both_ends

MAX_MESSAGES = 40
# About 15,000 tokens. An agent whose model reads less cuts it further.
MAX_CHARS = 60_000
# What is told whole though a summary covers it: so many characters, and so many turns however long they are. Older
# messages are told by the summary alone.
WHOLE_CHARS = 12_000
WHOLE_TURNS = 3
# A message that does not fit is cut, unless so little of it would be left that it says nothing.
LEAST_CHARS = 400
CUT = "\n[…cut…]\n"
# Of the documents that were attached to earlier questions, the newest are told.
MOST_ATTACHED = 10
# Where nobody can name what an earlier answer was made of.
BROUGHT = "Earlier answers that came with the question"
COPIED = "A conversation that somebody shared"
UNTOLD = "Sources of an earlier answer"
QUOTED = "What the program brought along: its context, and results of its tools"
OTHERS: Final = "others"
EARLIER: Final = "earlier"
FROM_ELSEWHERE: Final = Taint((Read(EARLIER, COPIED),))
"""What stood in a conversation that somebody shared."""


class Said(TypedDict):
    """`by`: OTHERS for what a program quotes. It is text of others, in whoever's name it is told."""

    role: str
    content: str
    by: NotRequired[str]


class BranchMessage(NamedTuple):
    id: uuid.UUID
    role: str
    content: str
    created_at: datetime
    summary: str = ""
    """Of the branch up to this message, if there is one; `turns`: how many turns it tells of."""
    turns: int = 0
    has_run: bool = True
    """False for an answer that came from elsewhere, such as from a conversation that somebody shared."""
    has_read: Any = None
    """What its run had read that others wrote, as the run wrote it down; `began_with`: the same of its beginning."""
    began_with: Any = None
    has_sources: bool = False
    brought: Any = None
    """Of a question that its person did not write: what of others it is, as whoever wrote it down said."""
    attachments: Any = None
    """Of a question: id and name of each document that was attached to it, as they were written down."""

    @property
    def is_copied(self) -> bool:
        """Whether it stood in a conversation that somebody shared."""
        if self.role == Role.ASSISTANT:
            return not self.has_run
        return any(read.kind == EARLIER for read in taint_from(self.brought).sources)

    @property
    def said(self) -> Said:
        said = Said(role=self.role, content=self.content)
        return {**said, "by": OTHERS} if self.role == Role.USER and self.is_copied else said


def window(messages: Sequence[Said], *, max_chars: int = MAX_CHARS) -> list[Said]:
    """The newest of `messages` (oldest first) that fit, oldest first. Replies that say nothing are left out."""
    chosen: list[Said] = []
    room = max_chars
    for message in reversed(messages):
        content = message["content"]
        if not content.strip():
            continue
        if len(content) > room:
            if room >= LEAST_CHARS:
                chosen.append({**message, "content": both_ends(content, room, mark=CUT)})
            break
        chosen.append({**message})
        room -= len(content)
    return chosen[::-1]


def told(branch: Sequence[BranchMessage], *, max_chars: int = MAX_CHARS) -> list[Said]:
    """What a run is told of the branch: its newest messages whole, and what is older by the newest summary of it.

    Without a summary, or while everything is short, it is `window`.
    """
    at = next((place for place in range(len(branch) - 1, -1, -1) if branch[place].summary), None)
    if at is None:
        return window([message.said for message in branch], max_chars=max_chars)
    first = min(at + 1, _first_whole(branch))
    if first == 0 and len(branch) < MAX_MESSAGES:
        return window([message.said for message in branch], max_chars=max_chars)
    summary = Said(role=Role.USER, content=f"{SUMMARY_OF.format(turns=branch[at].turns)}\n{branch[at].summary}")
    room = max_chars - len(summary["content"])
    return [summary, *window([message.said for message in branch[first:]], max_chars=room)]


def tainted_by(branch: Sequence[BranchMessage], told: Sequence[Said]) -> Taint:
    """What others wrote that stands in the history, or in what it tells of: questions of theirs, whatever became of
    their answers. An answer that was made of it is text of theirs as well, and so is a summary of such answers; each
    run writes down with what it began, so that what no history reaches back to any more is not forgotten. Pure.
    """
    if not branch:
        # A program brought the history along, and nobody knows what its answers were made of.
        says = [said for said in told if said["content"].strip()]
        quotes = any(said.get("by") == OTHERS for said in says)
        answers = any(said["role"] == Role.ASSISTANT and said.get("by") != OTHERS for said in says)
        return Taint(tuple(Read(EARLIER, one) for one, is_so in ((BROUGHT, answers), (QUOTED, quotes)) if is_so))
    return joined([_taint(message) for message in branch if message.content.strip()])


def others_said(branch: Sequence[BranchMessage], told: Sequence[Said]) -> int:
    """How many of the first messages that are told are not the person's own words: a summary, and what stood in a
    conversation that others shared. Pure."""
    first = 1 if told and is_summary(told[0]["content"]) else 0
    copied = [place for place, one in enumerate(branch) if one.is_copied]
    if not copied:
        return first
    own = sum(1 for one in branch[copied[-1] + 1 :] if one.content.strip())
    return max(first, len(told) - own)


def attached_before(branch: Sequence[BranchMessage]) -> list[str]:
    """The ids of what the person attached to the questions of a branch, the newest last. Pure."""
    own = [message for message in branch if message.role == Role.USER and not message.is_copied]
    ids = [str(one["id"]) for message in own for one in message.attachments or ()]
    newest = list(dict.fromkeys(reversed(ids)))[:MOST_ATTACHED]
    return newest[::-1]


def quoted(told: Sequence[Said]) -> list[int]:
    """The places of what is told that a program only quotes. Pure."""
    return [place for place, one in enumerate(told) if one.get("by") == OTHERS]


def quotation(source: str, text: str) -> Said:
    """Text of others that a program brings along, between marks that it cannot end by itself. `source`: who says it."""
    return Said(role=Role.USER, content=marked_untrusted(text, source=source), by=OTHERS)


def _taint(message: BranchMessage) -> Taint:
    if message.role == Role.USER:
        return taint_from(message.brought)
    if message.is_copied:
        return FROM_ELSEWHERE
    own = taint_from(message.has_read)
    if message.has_read is None and message.has_sources:
        own = Taint((Read(EARLIER, UNTOLD),))
    return joined([taint_from(message.began_with), own])


def _first_whole(branch: Sequence[BranchMessage]) -> int:
    """Where the newest messages begin that are told whole in any case: with a question."""
    room, turns, first = WHOLE_CHARS, 0, len(branch)
    for place in range(len(branch) - 1, -1, -1):
        room -= len(branch[place].content)
        if room < 0 and turns >= WHOLE_TURNS:
            break
        if branch[place].role == Role.USER:
            first, turns = place, turns + 1
    return first


_BRANCH = """
    WITH RECURSIVE branch AS (
        (SELECT id, parent_id, role, text, execution_id, created_at, metadata, 1 AS depth FROM conversations_message
          WHERE conversation_id = %(conversation)s AND (%(leaf)s::uuid IS NULL OR id = %(leaf)s)
          ORDER BY created_at DESC, (role = %(assistant)s) DESC LIMIT 1)
        UNION ALL
        SELECT m.id, m.parent_id, m.role, m.text, m.execution_id, m.created_at, m.metadata, branch.depth + 1
          FROM conversations_message m JOIN branch ON m.id = branch.parent_id
         WHERE branch.depth < %(limit)s
    )
    SELECT branch.id, branch.role,
           CASE WHEN branch.role = %(assistant)s THEN COALESCE(e.answer, branch.text) ELSE branch.text END,
           branch.created_at, coalesce(s.text, ''), coalesce(s.turns_covered, 0),
           branch.execution_id IS NOT NULL, e.result -> 'tainted_by', e.input -> 'tainted_by',
           e.result -> 'sources' -> 0 IS NOT NULL, (branch.metadata -> 'brought')::json,
           (branch.metadata -> 'attachments')::json
      FROM branch LEFT JOIN agents_execution e ON e.id = branch.execution_id
                  LEFT JOIN conversations_conversationsummary s ON s.upto_id = branch.id
     ORDER BY branch.depth DESC
"""


def branch(conversation_id: uuid.UUID, *, leaf: uuid.UUID | None = None) -> list[BranchMessage]:
    """The messages from the root's side down to `leaf` (the newest one if None), at most MAX_MESSAGES. One query."""
    return branching(conversation_id, leaf=leaf)()


def branching(conversation_id: uuid.UUID, *, leaf: uuid.UUID | None = None) -> Callable[[], list[BranchMessage]]:
    """The same in two halves, for who has more to ask of the database meanwhile (`rows.together`)."""
    values = {"conversation": conversation_id, "leaf": leaf, "assistant": Role.ASSISTANT.value, "limit": MAX_MESSAGES}
    asked = rows.execute(_BRANCH, values)
    return lambda: [BranchMessage(*row) for row in asked.fetchall()]
