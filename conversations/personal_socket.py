"""A websocket that belongs to a person: origin, session or token, floods, faults and closing codes, for every kind
alike.

What it tells and takes is its subclass's.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils import translation
from django.utils.translation import gettext as _

from conversations import frames, handshake
from conversations.handshake import Caller, Credentials
from conversations.open_sockets import open_sockets
from conversations.socket_verbs import act_as
from conversations.window import Allowance
from hyperagent.accounts.metering import amounts_of, too_much
from hyperagent.accounts.quotas import Quota
from hyperagent.accounts.scopes import Scope
from hyperagent.lib import languages, outage
from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.telemetry import tracing
from hyperagent.lib.threads import in_thread, in_writing_thread

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

log = logging.getLogger(__name__)

NOT_LET_IN, NOT_ALLOWED, NOT_THERE, BEHIND = 4401, 4403, 4404, 4008
# The protocol has codes of its own for these (1009, 1008, 1013, 1011); Daphne lets an application send none of them.
TOO_BIG, FLOOD, AGAIN_LATER, FAILED, BAD_ADDRESS = 4009, 4029, 4013, 4500, 4400
MAX_BAD_MESSAGES = 50
WAIT_FOR_A_SOCKET_S = 10
# What a message may be about: an error names it, so that its sender knows what was refused.
NAMED = ("client_id", "execution_id", "agent_id", "request_id")


class PersonalSocket(AsyncWebsocketConsumer):  # type: ignore[misc]
    # No channel of its own: `listening` has one for all sockets of a group, and outlives an outage of Redis.
    channel_layer_alias = "none: see hyperagent.lib.listening"

    caller: Caller
    credentials: Credentials

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False
        self._is_counted = False
        self._allowance = Allowance(at_s=time.monotonic())
        self._bad_messages = 0

    # ── a subclass's ──

    def read_address(self) -> None:
        """Raises Refused for an address that cannot be meant."""

    def admit(self) -> Caller | None:
        """In a thread: who it is, or None. Raises NotThere for what is not theirs."""
        return handshake.identify(self.credentials)

    def _most(self, caller: Caller) -> int:
        """In a thread: how many sockets they may have open."""
        return amounts_of(caller.user.pk, [Quota.SOCKETS_AT_ONCE])[Quota.SOCKETS_AT_ONCE]

    async def entered(self) -> None:
        raise NotImplementedError

    async def left(self) -> None:
        raise NotImplementedError

    async def act(self, said: frames.ClientFrame) -> None:
        raise NotImplementedError

    def heard(self) -> None:
        """The client said something, whatever it was."""

    # ── coming and going ──

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Not as the client's leaving is read: behind a message that is not done it waits, and Daphne ends such a
            # socket, again every second.
            await asyncio.shield(self._gone())

    async def _gone(self) -> None:
        self.is_open = False
        if self._is_counted:
            open_sockets.leave(self.caller.user.pk)
        await self.left()

    async def dispatch(self, message: Message) -> None:
        # Channels would visit a thread here, before each message, to close connections that we never hold.
        if message["type"] == "websocket.connect":
            await self._guarded(self.connect)
        elif message["type"] == "websocket.receive":
            await self._guarded(lambda: self._received(message))
        elif message["type"] == "websocket.disconnect":
            raise StopConsumer

    async def _guarded(self, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()
        except Exception as error:
            if outage.is_outage(error):
                await self.end(AGAIN_LATER)
                return
            error_id = uuid.uuid4().hex[:12]
            log.exception("a socket failed", extra={"error_id": error_id})
            await self.tell(
                frames.failure(
                    "internal", _("Something went wrong here. Its number is {error_id}.").format(error_id=error_id)
                )
            )
            await self.end(FAILED)

    async def connect(self) -> None:
        self.credentials = handshake.credentials_in(self.scope)
        # For this socket's task and the threads that work for it.
        translation.activate(languages.asked_for(self.scope.get("headers", ())))
        # No browser sends a token by itself: who shows one may come from anywhere, and a cookie beside it is not read.
        if self.credentials.token is None and not handshake.origin_is_ours(self.scope):
            await self.close(NOT_ALLOWED)
            return
        # Accepted before it is known who it is: browsers learn the code of a socket only that had been open.
        await self.accept(self.credentials.subprotocol)
        self.is_open = True
        try:
            self.read_address()
            caller = await in_thread(self.admit)()
        except NotThere:
            await self.end(NOT_THERE)
            return
        except Refused as refused:
            await self.tell(frames.error(refused))
            await self.end(BAD_ADDRESS)
            return
        if caller is None:
            await self.end(NOT_LET_IN)
        elif Scope.READ not in caller.scopes:
            await self.end(NOT_ALLOWED)
        else:
            await self._let_in(caller)

    async def _let_in(self, caller: Caller) -> None:
        most = await in_thread(self._most)(caller)
        self.caller = caller
        self._is_counted = open_sockets.enter(caller.user.pk, most=most)
        if self._is_counted:
            await self.entered()
        else:
            await self.tell(frames.error(too_much(Quota.SOCKETS_AT_ONCE, most, WAIT_FOR_A_SOCKET_S, is_told=False)))
            await self.end(FLOOD)

    async def end(self, code: int) -> None:
        if self.is_open:
            self.is_open = False
            await self.close(code)

    async def turn_out(self) -> None:
        """The session or token has ended."""
        await self.end(NOT_LET_IN)

    async def tell(self, text: str) -> None:
        if self.is_open:
            await self.send(text_data=text)

    # ── from the client ──

    async def done(self, said: frames.Verb, *, conversation_id: uuid.UUID | None) -> dict[str, Any]:
        """What its sender alone is told of it; empty for nothing, and if their session or token has ended."""
        # A socket has no request of its own for each word: this is where a run that comes of it begins.
        span = tracing.begin(f"socket {said.type}", kind=tracing.Kind.SERVER)
        try:
            with span.within():
                done = await in_writing_thread(act_as)(self.credentials, conversation_id, said)
        finally:
            span.end()
        if done is None:
            await self.turn_out()
        return done or {}

    async def _received(self, message: dict[str, Any]) -> None:
        text = message.get("text")
        try:
            if len(message.get("bytes") or b"" if text is None else text) > frames.MAX_CHARS_BORNE:
                await self.end(TOO_BIG)
            elif not self._allowance.take(time.monotonic()):
                await self.end(FLOOD)
            else:
                await self._answered(text)
        finally:
            self.heard()

    async def _answered(self, text: str | None) -> None:
        """`text`: None of a binary frame."""
        context: dict[str, Any] = {}
        try:
            if text is None:
                raise Refused("not_text", "Send text, not a binary frame: a JSON object with a `type`.")
            given = frames.parsed(text)
            context = frames.client_id_in(given)
            said = frames.checked(given)
            context = {name: getattr(said, name) for name in NAMED if getattr(said, name, None)}
            await self.act(said)
        except Refused as refused:
            await self.tell(frames.error(refused, **context))
            self._bad_messages += 1
            if self._bad_messages > MAX_BAD_MESSAGES:
                await self.end(FLOOD)
        except Exception as error:
            if not outage.is_outage(error):
                raise
            await self.tell(frames.failure(outage.CODE, _(outage.MESSAGE), **context))


class NowhereConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Any other address."""

    channel_layer_alias = PersonalSocket.channel_layer_alias

    async def connect(self) -> None:
        await self.close(NOT_THERE)
