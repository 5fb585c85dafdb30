"""The socket of what concerns a person wherever they are: how many requests wait for them, which of them they are
reminded of, and how far their documents are. What people answer and say to their runs they may say here
as well: who decides for others has no socket of their conversations.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Any, assert_never
from weakref import WeakKeyDictionary

from conversations import frames
from conversations.frames import Ack, Cancel, Intervene, Ping, Respond, Say, Steer
from conversations.personal_socket import PersonalSocket
from conversations.watch import SocketWatch
from hitl.reading import pending_by_user
from hyperagent.lib.announcing import personal_group
from hyperagent.lib.listening import listening
from hyperagent.lib.threads import in_thread


class InboxConsumer(PersonalSocket):
    def __init__(self) -> None:
        super().__init__()
        self._pending: int | None = None
        self._listening = AsyncExitStack()

    async def entered(self) -> None:
        inbox_watch().add(self)
        await self._listening.enter_async_context(listening(personal_group(self.caller.user.pk), self._announced))
        counts = await in_thread(pending_by_user)([self.caller.user.pk])
        await self.counted(counts.get(self.caller.user.pk, 0))

    async def left(self) -> None:
        inbox_watch().remove(self)
        await self._listening.aclose()

    async def _announced(self, message: dict[str, Any]) -> None:
        if message["type"] == "document":
            await self.tell(frames.frame("document", document=message["document"]))
        elif message["type"] == "reminder":
            named = ("request_id", "conversation_id", "title", "expires_at")
            await self.tell(frames.frame("reminder", **{name: message[name] for name in named}))

    async def counted(self, pending: int) -> None:
        if pending != self._pending:
            self._pending = pending
            await self.tell(frames.frame("requests", pending=pending))

    async def act(self, said: frames.ClientFrame) -> None:
        match said:
            case Ping():
                await self.tell(frames.frame("pong"))
            case Ack():
                pass
            case Say() | Cancel() | Steer() | Intervene() | Respond():
                done = await self.done(said, conversation_id=None)
                if done:
                    await self.tell(frames.frame(done.pop("type"), **done))
            case _:
                assert_never(said)


async def _count(sockets: set[InboxConsumer]) -> None:
    counts = await in_thread(pending_by_user)([socket.caller.user.pk for socket in sockets])
    for socket in sockets:
        await socket.counted(counts.get(socket.caller.user.pk, 0))


_watches: "WeakKeyDictionary[asyncio.AbstractEventLoop, SocketWatch[InboxConsumer]]" = WeakKeyDictionary()


def inbox_watch() -> SocketWatch[InboxConsumer]:
    """The one of this event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _watches:
        _watches[loop] = SocketWatch(_count)
    return _watches[loop]
