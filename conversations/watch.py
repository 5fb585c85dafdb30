"""One look at the tables every few seconds for all sockets of a kind in a process: is everybody still let in, did an
announcement get lost? A timer and a query for each socket would cost more than the sockets themselves.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from agents.log import reading
from agents.log.reading import Progress
from conversations.handshake import Caller, still_let_in
from conversations.models import Conversation
from hitl.reading import pending_by_user
from hyperagent.lib import outage
from hyperagent.lib.threads import in_thread

log = logging.getLogger(__name__)

# A logout closes the socket within five seconds.
LOOK_S = 3.0


class Watched(Protocol):
    caller: Caller

    async def turn_out(self) -> None:
        """Its session or token has ended."""


S = TypeVar("S", bound=Watched)


class SocketWatch(Generic[S]):
    """`look` is given the sockets, and tells each what it found."""

    def __init__(self, look: Callable[[set[S]], Awaitable[None]]) -> None:
        self._look = look
        self._sockets: set[S] = set()
        self._task: asyncio.Task[None] | None = None

    def add(self, socket: S) -> None:
        self._sockets.add(socket)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    def remove(self, socket: S) -> None:
        self._sockets.discard(socket)
        if not self._sockets and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S * random.uniform(0.7, 1.3))  # noqa: S311 - only spreads the looks
            try:
                await self._turn_out_strangers()
                await self._look(set(self._sockets))
            except Exception as error:
                if not outage.is_outage(error):
                    log.exception("the watch over the sockets failed")

    async def _turn_out_strangers(self) -> None:
        sockets = set(self._sockets)
        let_in = await in_thread(still_let_in)([socket.caller for socket in sockets])
        for socket in sockets:
            if id(socket.caller) not in let_in:
                await socket.turn_out()


class OfConversation(Watched, Protocol):
    conversation_id: str

    def unfinished(self) -> dict[str, int]:
        """The runs whose last event it has not seen, each with the last number that it was sent."""

    async def looked(self, before: Mapping[str, int], found: Mapping[str, Progress]) -> None:
        """What the table says of its runs, and what it had been sent before the table was asked."""

    async def counted(self, pending: int) -> None:
        """How many requests wait for its person."""

    async def conversation_is_gone(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Look:
    conversations: set[str]
    lately: Mapping[str, Mapping[str, Progress]]
    progress: Mapping[str, Progress]
    pending: Mapping[Any, int]


async def _look_at_conversations(sockets: set[OfConversation]) -> None:
    before = {socket: socket.unfinished() for socket in sockets}
    unfinished = {execution_id for numbers in before.values() for execution_id in numbers}
    users = {socket.caller.user.pk for socket in sockets}
    look = await in_thread(_read)({socket.conversation_id for socket in sockets}, unfinished, users)
    for socket in sockets:
        if socket.conversation_id not in look.conversations:
            await socket.conversation_is_gone()
            continue
        found = dict(look.lately.get(socket.conversation_id, {}))
        found |= {one: look.progress[one] for one in before[socket] if one in look.progress}
        await socket.looked(before[socket], found)
        await socket.counted(look.pending.get(socket.caller.user.pk, 0))


def _read(conversation_ids: set[str], execution_ids: set[str], user_ids: set[Any]) -> _Look:
    """Four queries, however many sockets."""
    there = Conversation.objects.filter(id__in=conversation_ids, deleted_at=None).values_list("id", flat=True)
    return _Look(
        conversations={str(conversation_id) for conversation_id in there},
        lately=reading.lately_in_conversations(conversation_ids),
        progress=reading.progress(execution_ids),
        pending=pending_by_user(user_ids),
    )


_watches: "WeakKeyDictionary[asyncio.AbstractEventLoop, SocketWatch[OfConversation]]" = WeakKeyDictionary()


def conversation_watch() -> SocketWatch[OfConversation]:
    """The one of this event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _watches:
        _watches[loop] = SocketWatch(_look_at_conversations)
    return _watches[loop]
