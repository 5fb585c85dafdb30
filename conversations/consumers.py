"""The socket of one conversation: what its runs tell, to whoever may see them, and what people say back.

Events come from the announcements where those follow on, and from the table where something is missing; the order
within a run is always that of its numbers. Rules stand in `actions`, `window`, `handshake`.
"""

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, assert_never
from urllib.parse import parse_qs

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from agents import reading
from agents.reading import Progress
from conversations import actions, frames, handshake, shapes
from conversations.frames import Ack, Cancel, Ping, Say, Steer
from conversations.handshake import Caller, Credentials
from conversations.models import Conversation
from conversations.watch import watch
from conversations.window import Allowance, Feed, Window
from hyperagent.accounts.scopes import Scope
from hyperagent.lib import outage
from hyperagent.lib.listening import listening
from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.threads import in_thread

log = logging.getLogger(__name__)

NOT_LET_IN, NOT_ALLOWED, NOT_THERE, BEHIND = 4401, 4403, 4404, 4008
# The protocol has codes of its own for these (1009, 1008, 1013, 1011); Daphne lets an application send none of them.
TOO_BIG, FLOOD, AGAIN_LATER, FAILED, BAD_ADDRESS = 4009, 4029, 4013, 4500, 4400
# A client that acknowledges and falls silent with a full window.
STALLED_S = 10.0
MAX_BAD_MESSAGES = 50
# A question is told to its asker at once and by announcement to all: these many are remembered, to tell each only once.
TOLD_KEPT = 32


class ConversationConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    # No channel of its own: `listening` has one for all sockets of a conversation, and outlives an outage of Redis.
    channel_layer_alias = "none: see hyperagent.lib.listening"

    conversation_id: str
    caller: Caller
    credentials: Credentials

    def __init__(self) -> None:
        super().__init__()
        self.window = Window()
        self._allowance = Allowance(at_s=time.monotonic())
        self._bad_messages = 0
        self._pump: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._open = False
        self._told: deque[str] = deque(maxlen=TOLD_KEPT)
        self._stack = AsyncExitStack()

    async def dispatch(self, message: dict[str, Any]) -> None:
        # Channels would visit a thread here, before each message, to close connections that we never hold.
        if message["type"] == "websocket.connect":
            await self._guarded(self.connect)
        elif message["type"] == "websocket.receive":
            await self._guarded(lambda: self._received(message))
        elif message["type"] == "websocket.disconnect":
            await self._leave()
            raise StopConsumer

    async def _guarded(self, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()
        except Exception as error:
            if not outage.is_outage(error):
                error_id = uuid.uuid4().hex[:12]
                log.exception("a socket failed", extra={"error_id": error_id})
                await self.say_text(frames.failure("internal", f"Something went wrong here. Its number is {error_id}."))
                await self.end(FAILED)
                return
            await self.end(AGAIN_LATER)

    # ── coming and going ──

    async def connect(self) -> None:
        self.credentials = handshake.credentials_in(self.scope)
        if not handshake.origin_is_ours(self.scope, has_token=self.credentials.token is not None):
            await self.close(NOT_ALLOWED)
            return
        await self.accept(self.credentials.subprotocol)
        self._open = True
        self.conversation_id = str(self.scope["url_route"]["kwargs"]["conversation_id"])
        try:
            after = self._after()
            caller = await in_thread(_admit)(self.credentials, self.conversation_id)
        except NotThere:
            await self.end(NOT_THERE)
            return
        except Refused as refused:
            await self.say_text(frames.error(refused))
            await self.end(BAD_ADDRESS)
            return
        if caller is None:
            await self.end(NOT_LET_IN)
        elif Scope.READ not in caller.scopes:
            await self.end(NOT_ALLOWED)
        else:
            self.caller = caller
            await self._follow(after)

    def _after(self) -> dict[str, int]:
        query = parse_qs(self.scope.get("query_string", b"").decode("latin-1"))
        given = query.get("after", [""])[0]
        return frames.numbers(given) if given else {}

    async def _follow(self, after: Mapping[str, int]) -> None:
        """Joins first, then looks: what is announced in between is heard, and known by its number."""
        await self._stack.enter_async_context(listening(f"conversation.{self.conversation_id}", self._hear))
        found = await in_thread(reading.for_reader)(self.conversation_id, after)
        for execution_id, progress in found.items():
            had = after.get(execution_id, 0)
            if had > progress.last_seq:
                await self._resync(execution_id)
                had = 0
            feed = self.window.feeds.setdefault(execution_id, Feed(sent=had, acked=had, known=0))
            feed.known = max(feed.known, progress.last_seq)
        watch().add(self)
        self._catch_up()

    async def _leave(self) -> None:
        self._open = False
        watch().remove(self)
        if self._pump is not None:
            self._pump.cancel()
        await self._stack.aclose()

    async def end(self, code: int) -> None:
        if self._open:
            self._open = False
            await self.close(code)

    async def turn_out(self) -> None:
        await self.end(NOT_LET_IN)

    async def conversation_is_gone(self) -> None:
        await self.end(NOT_THERE)

    # ── to the client ──

    async def say_text(self, text: str) -> None:
        if self._open:
            await self.send(text_data=text)

    async def _hear(self, message: dict[str, Any]) -> None:
        """An announcement to the conversation's group."""
        kind = message["type"]
        if kind == "run.events":
            await self._hear_events(message)
        elif kind == "conversation.said":
            await self._tell_said(message)
        elif kind == "conversation.changed":
            await self.say_text(frames.frame("conversation", conversation=message["conversation"]))
        elif kind == "conversation.deleted":
            await self.conversation_is_gone()

    async def _tell_said(self, said: dict[str, Any]) -> None:
        if said["reply"]["id"] not in self._told:
            self._told.append(said["reply"]["id"])
            await self.say_text(
                frames.frame("said", **{name: said[name] for name in ("message", "reply", "client_id")})
            )

    async def _hear_events(self, message: dict[str, Any]) -> None:
        feed = self.window.feeds.setdefault(message["execution_id"], Feed(sent=0, acked=0, known=0))
        bodies = feed.fresh(message["first"], message["last"], message["bodies"])
        if self._pump is not None or bodies is None or len(bodies) > self.window.room():
            self._catch_up()
            return
        for left, body in zip(range(len(bodies) - 1, -1, -1), bodies, strict=True):
            await self._send_event(feed, body, is_last=bool(message["final"]) and left == 0)

    async def _send_event(self, feed: Feed, body: str, *, is_last: bool) -> None:
        # Counted before it is sent: the sending may let others run.
        self.window.sent(feed, body)
        feed.is_over = feed.is_over or is_last
        await self.say_text(frames.event(body))

    def unfinished(self) -> dict[str, int]:
        return {one: feed.sent for one, feed in self.window.feeds.items() if not feed.is_over}

    async def looked(self, before: Mapping[str, int], found: Mapping[str, Progress]) -> None:
        for execution_id, progress in found.items():
            feed = self.window.feeds.setdefault(execution_id, Feed(sent=0, acked=0, known=0))
            if before.get(execution_id, 0) > progress.last_seq:
                # The database lost its end, and the numbers are given anew.
                self.window.feeds[execution_id] = Feed(sent=0, acked=0, known=progress.last_seq)
                await self._resync(execution_id)
                continue
            feed.known = max(feed.known, progress.last_seq)
            feed.is_over = feed.is_over or (progress.is_over and feed.sent >= progress.last_seq)
        self._catch_up()

    async def _resync(self, execution_id: str) -> None:
        """The client knows numbers that the log does not: it has to forget the run, which comes again from 1."""
        await self.say_text(frames.frame("resync", execution_id=execution_id))

    def _catch_up(self) -> None:
        if self._open and self._pump is None and self.window.next_behind() is not None:
            self._pump = asyncio.create_task(self._send_what_is_missing())

    async def _send_what_is_missing(self) -> None:
        """Reads the table as the client makes room. A task only while something is missing."""
        try:
            while self._open and (behind := self.window.next_behind()):
                if not await self._has_room():
                    await self.end(BEHIND)
                    return
                execution_id, feed = behind
                rows = await in_thread(reading.events_after)(execution_id, feed.sent, limit=self.window.room())
                if not rows:
                    # Announced, and not to be seen: the watch looks again.
                    feed.known = feed.sent
                for row in rows:
                    if row.seq == feed.sent + 1 and self.window.room():
                        await self._send_event(feed, row.body, is_last=row.is_last)
        except Exception as error:
            if not outage.is_outage(error):
                log.exception("a socket could not be caught up")
            await self.end(AGAIN_LATER)
        finally:
            self._pump = None

    async def _has_room(self) -> bool:
        """Waits for the client's word if its window is full. False if it should be closed instead."""
        deadline = time.monotonic() + STALLED_S
        while not self.window.room():
            if not self.window.acknowledges:
                return False
            self._room.clear()
            try:
                await asyncio.wait_for(self._room.wait(), deadline - time.monotonic())
            except TimeoutError:
                return False
        return True

    # ── from the client ──

    async def _received(self, message: dict[str, Any]) -> None:
        text = message.get("text")
        self.window.heard()
        if text is None or len(text) > frames.MAX_CHARS_BORNE:
            await self.end(TOO_BIG if text or message.get("bytes") else FLOOD)
            return
        if not self._allowance.take(time.monotonic()):
            await self.end(FLOOD)
            return
        context: dict[str, Any] = {}
        try:
            said = frames.read(text)
            context = {name: getattr(said, name) for name in ("client_id", "execution_id") if getattr(said, name, None)}
            await self._act(said)
        except Refused as refused:
            await self.say_text(frames.error(refused, **context))
            self._bad_messages += 1
            if self._bad_messages > MAX_BAD_MESSAGES:
                await self.end(FLOOD)
        except Exception as error:
            if not outage.is_outage(error):
                raise
            await self.say_text(frames.failure(outage.CODE, outage.MESSAGE, **context))
        finally:
            self._room.set()

    async def _act(self, said: frames.ClientFrame) -> None:
        match said:
            case Ack():
                self.window.acked(str(said.execution_id), said.seq)
            case Ping():
                await self.say_text(frames.frame("pong"))
            case Say():
                await self._as_caller(_say, said)
            case Cancel():
                await self._as_caller(_cancel, said)
            case Steer():
                await self._as_caller(_steer, said)
            case _:
                assert_never(said)

    async def _as_caller(self, act: "Act", said: Say | Cancel | Steer) -> None:
        """Who it is and what is theirs is asked anew for every message that changes something."""
        done = await in_thread(_act_as)(self.credentials, act, uuid.UUID(self.conversation_id), said)
        if done is None:
            await self.turn_out()
        elif done.get("type") == "conversation.said":
            await self._tell_said(done)


class NowhereConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Any other address."""

    channel_layer_alias = ConversationConsumer.channel_layer_alias

    async def connect(self) -> None:
        await self.close(NOT_THERE)


def _admit(credentials: Credentials, conversation_id: str) -> Caller | None:
    """None: not let in. Raises NotThere for a conversation that is not theirs."""
    caller = handshake.identify(credentials)
    if caller is not None and not Conversation.objects.of(caller.user).filter(id=conversation_id).exists():
        raise NotThere
    return caller


# Gives what the asker alone is told, or nothing.
Act = Callable[[Caller, uuid.UUID, Any], dict[str, Any]]


def _act_as(
    credentials: Credentials, act: Act, conversation_id: uuid.UUID, said: Say | Cancel | Steer
) -> dict[str, Any] | None:
    """None if the session or token has ended."""
    caller = handshake.identify(credentials)
    if caller is None:
        return None
    if Scope.RUN not in caller.scopes:
        raise Refused("scope_missing", "This token may only read. Make one with the scope 'run'.")
    return act(caller, conversation_id, said)


def _say(caller: Caller, conversation_id: uuid.UUID, said: Say) -> dict[str, Any]:
    if said.attachment_ids:
        raise Refused("no_documents", "Documents are not available yet in this installation. Send the text alone.")
    done = actions.say(caller.user, conversation_id, said.text, mode=said.mode, client_id=said.client_id)
    return shapes.said(done.message, done.reply)


def _cancel(caller: Caller, conversation_id: uuid.UUID, said: Cancel) -> dict[str, Any]:
    actions.cancel(caller.user, conversation_id, said.execution_id)
    return {}


def _steer(caller: Caller, conversation_id: uuid.UUID, said: Steer) -> dict[str, Any]:
    actions.check_run(caller.user, conversation_id, said.execution_id)
    raise Refused("not_yet", "A run cannot be steered yet. Stop it and ask again.")
