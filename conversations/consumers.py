"""The socket of one conversation: what its runs tell, to whoever may see them, and what people say back.

Events come from the announcements where those follow on, and from the table where something is missing; the order
within a run is always that of its numbers. Rules stand in `actions`, `window`, `handshake`.
"""

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, assert_never
from urllib.parse import parse_qs

from agents.log import reading
from agents.log.reading import Progress
from conversations import frames
from conversations.frames import Ack, Cancel, Intervene, Ping, Respond, Say, Steer, Verb
from conversations.handshake import Caller
from conversations.models import Conversation
from conversations.personal_socket import AGAIN_LATER, BEHIND, NOT_THERE, PersonalSocket
from conversations.watch import conversation_watch
from conversations.window import Feed, Window
from hyperagent.lib import outage
from hyperagent.lib.listening import listening
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.threads import in_thread

log = logging.getLogger(__name__)

# A client that acknowledges and falls silent with a full window.
STALLED_S = 10.0
# A question is told to its asker at once and by announcement to all: these many are remembered, to tell each only once.
TOLD_KEPT = 32


class ConversationConsumer(PersonalSocket):
    conversation_id: str

    def __init__(self) -> None:
        super().__init__()
        self.window = Window()
        self._after: dict[str, int] = {}
        self._at_ms: dict[str, int] = {}
        self._pump: asyncio.Task[None] | None = None
        self._is_telling = False
        self._room = asyncio.Event()
        self._told: deque[str] = deque(maxlen=TOLD_KEPT)
        self._pending = 0
        self._stack = AsyncExitStack()

    # ── coming and going ──

    def read_address(self) -> None:
        self.conversation_id = str(self.scope["url_route"]["kwargs"]["conversation_id"])
        query = parse_qs(self.scope.get("query_string", b"").decode("latin-1"))
        given, when = (query.get(name, [""])[-1] for name in ("after", "at"))
        self._after = frames.numbers(given) if given else {}
        self._at_ms = frames.numbers(when, name="at") if when else {}

    def admit(self) -> Caller | None:
        caller = super().admit()
        if caller is not None and not Conversation.objects.of(caller.user).filter(id=self.conversation_id).exists():
            raise NotThere
        return caller

    async def entered(self) -> None:
        """Joins first, then looks: what is announced in between is heard, and known by its number."""
        feeds = self.window.feeds
        feeds.update({one: Feed(sent=had, acked=had, known=0) for one, had in self._after.items()})
        await self._stack.enter_async_context(listening(f"conversation.{self.conversation_id}", self._hear))
        found = await in_thread(reading.for_reader)(self.conversation_id, self._after)
        for foreign in self._after.keys() - found.keys():
            feeds.pop(foreign)
        marks = [(one, self._after.get(one, 0), at_ms) for one, at_ms in self._at_ms.items() if one in found]
        others = await in_thread(reading.given_anew)(marks) if marks else set()
        for execution_id, progress in found.items():
            if execution_id in others or self._after.get(execution_id, 0) > progress.last_seq:
                await self._resync(execution_id)
            feed = feeds.setdefault(execution_id, Feed(sent=0, acked=0, known=0))
            feed.known = max(feed.known, progress.last_seq)
        conversation_watch().add(self)
        self._catch_up()

    async def left(self) -> None:
        conversation_watch().remove(self)
        if self._pump is not None:
            self._pump.cancel()
        await self._stack.aclose()

    async def conversation_is_gone(self) -> None:
        await self.end(NOT_THERE)

    # ── to the client ──

    async def _hear(self, message: dict[str, Any]) -> None:
        """An announcement to the conversation's group."""
        kind = message["type"]
        if kind == "run.events":
            await self._hear_events(message)
        elif kind == "conversation.said":
            await self._tell_said(message)
        elif kind == "conversation.changed":
            await self.tell(frames.frame("conversation", conversation=message["conversation"]))
        elif kind == "conversation.follow_ups":
            told = {name: message[name] for name in ("message_id", "questions")}
            await self.tell(frames.frame("follow_ups", **told))
        elif kind == "conversation.unasked":
            told = {name: message[name] for name in ("message_id", "unasked")}
            await self.tell(frames.frame("unasked", **told))
        elif kind == "conversation.deleted":
            await self.conversation_is_gone()

    async def _tell_said(self, said: dict[str, Any]) -> None:
        if said["reply"]["id"] not in self._told:
            self._told.append(said["reply"]["id"])
            await self.tell(frames.frame("said", **{name: said[name] for name in ("message", "reply", "client_id")}))

    async def _hear_events(self, message: dict[str, Any]) -> None:
        feed = self.window.feeds.setdefault(message["execution_id"], Feed(sent=0, acked=0, known=0))
        if feed.lost(message["first"], message["epoch"], message["bodies"]):
            await self._resync(message["execution_id"])
            feed = self.window.feeds[message["execution_id"]]
        bodies = feed.fresh(message["first"], message["last"], message["bodies"])
        if self._pump is None and bodies is not None and len(bodies) <= self.window.room():
            self._is_telling = True
            try:
                for left, body in zip(range(len(bodies) - 1, -1, -1), bodies, strict=True):
                    await self._send_event(feed, body, is_last=bool(message["final"]) and left == 0)
            finally:
                self._is_telling = False
        self._catch_up()

    async def _send_event(self, feed: Feed, body: str, *, is_last: bool) -> None:
        self.window.sent(feed, body)
        feed.is_over = feed.is_over or is_last
        await self.tell(frames.event(body))

    def unfinished(self) -> dict[str, int]:
        return {one: feed.sent for one, feed in self.window.feeds.items() if not feed.is_over}

    async def looked(self, before: Mapping[str, int], found: Mapping[str, Progress]) -> None:
        for execution_id, progress in found.items():
            feed = self.window.feeds.setdefault(execution_id, Feed(sent=0, acked=0, known=0))
            if before.get(execution_id, 0) > progress.last_seq:
                await self._resync(execution_id)
                feed = self.window.feeds[execution_id]
            feed.known = max(feed.known, progress.last_seq)
            feed.is_over = feed.is_over or (progress.is_over and feed.sent >= progress.last_seq)
        self._catch_up()

    async def counted(self, pending: int) -> None:
        """How many requests wait for this person, in whatever conversation."""
        if pending != self._pending:
            self._pending = pending
            await self.tell(frames.frame("requests", pending=pending))

    async def _resync(self, execution_id: str) -> None:
        """The client has numbers that the log does not: the database lost its end, and numbers are given anew. The
        client has to forget the run, which comes again from 1.
        """
        self.window.feeds[execution_id] = Feed(sent=0, acked=0, known=0)
        await self.tell(frames.frame("resync", execution_id=execution_id))

    def _catch_up(self) -> None:
        is_free = self.is_open and self._pump is None and not self._is_telling
        if is_free and self.window.next_behind() is not None:
            self._pump = asyncio.create_task(self._send_what_is_missing())

    async def _send_what_is_missing(self) -> None:
        """Reads the table as the client makes room. A task only while something is missing."""
        try:
            while self.is_open and (behind := self.window.next_behind()):
                if not await self._has_room():
                    await self.end(BEHIND)
                    return
                await self._send_some(*behind)
        except Exception as error:
            if not outage.is_outage(error):
                log.exception("a socket could not be caught up")
            await self.end(AGAIN_LATER)
        finally:
            self._pump = None

    async def _send_some(self, execution_id: str, feed: Feed) -> None:
        rows = await in_thread(feed.recent.after)(feed.sent, execution_id, limit=self.window.room())
        if self.window.feeds.get(execution_id) is not feed:
            return
        if rows is None:
            await self._resync(execution_id)
            self.window.feeds[execution_id].known = feed.known
            return
        if not rows:
            # Announced, and not to be seen: the watch looks again.
            feed.known = feed.sent
        for row in rows:
            if self.window.feeds.get(execution_id) is feed and row.seq == feed.sent + 1 and self.window.room():
                await self._send_event(feed, row.body, is_last=row.is_last)

    async def _has_room(self) -> bool:
        """Waits for the client's word if its window is full. False if it should be closed instead."""
        deadline = time.monotonic() + STALLED_S
        while not self.window.room():
            if not self.window.acknowledges:
                return False
            self._room.clear()
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._room.wait()
            except TimeoutError:
                return False
        return True

    # ── from the client ──

    def heard(self) -> None:
        self.window.heard()
        self._room.set()

    async def act(self, said: frames.ClientFrame) -> None:
        match said:
            case Ack():
                self.window.acked(str(said.execution_id), said.seq)
            case Ping():
                await self.tell(frames.frame("pong"))
            case Say() | Cancel() | Steer() | Intervene() | Respond():
                await self._do(said)
            case _:
                assert_never(said)

    async def _do(self, said: Verb) -> None:
        done = await self.done(said, conversation_id=uuid.UUID(self.conversation_id))
        if done.get("type") == "conversation.said":
            await self._tell_said(done)
        elif done:
            await self.tell(frames.frame(done.pop("type"), **done))
