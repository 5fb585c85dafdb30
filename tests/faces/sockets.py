"""A client of a conversation's socket, in the test's own loop or over the network."""

import asyncio
import json
import uuid
from typing import Any

from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import Client

from hyperagent.asgi import application

HOST = "testserver"
OWN_ORIGIN = f"http://{HOST}"


def address(conversation_id: uuid.UUID | str, after: dict[Any, int] | None = None) -> str:
    query = "" if after is None else "?after=" + json.dumps({str(key): seq for key, seq in after.items()})
    return f"/ws/conversations/{conversation_id}/{query.replace(' ', '')}"


def cookie_of(client: Client) -> str:
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


class Socket:
    """Closes by itself at the end of the `async with`."""

    def __init__(
        self, path: str, *, cookie: str | None = None, token: str | None = None, origin: str | None = OWN_ORIGIN
    ) -> None:
        headers = [(b"host", HOST.encode())]
        headers += [(b"cookie", cookie.encode())] if cookie else []
        headers += [(b"origin", origin.encode())] if origin else []
        subprotocols = [f"bearer.{token}"] if token else None
        self.ends = WebsocketCommunicator(application, path, headers=headers, subprotocols=subprotocols)
        self.connected = False
        self.answer: Any = None

    async def __aenter__(self) -> "Socket":
        self.connected, self.answer = await self.ends.connect(timeout=10)
        return self

    async def __aexit__(self, *error: object) -> None:
        if not self.ends.future.cancelled():
            await self.ends.disconnect(timeout=10)

    async def end_busy(self) -> None:
        """The client leaves, and what is still busy with its last word is ended: by Daphne ten seconds later."""
        await self.ends.send_input({"type": "websocket.disconnect", "code": 1001})
        self.ends.future.cancel()
        await asyncio.wait([self.ends.future], timeout=10)

    async def send(self, **frame: Any) -> None:
        await self.ends.send_json_to(frame)

    async def frame(self, *kinds: str, timeout_s: float = 10) -> dict[str, Any]:
        """The next frame of these kinds (any without); others are skipped."""
        while True:
            message = await self.ends.receive_output(timeout_s)
            assert message["type"] == "websocket.send", message
            frame: dict[str, Any] = json.loads(message["text"])
            if not kinds or frame["type"] in kinds:
                return frame

    async def events(self, count: int) -> list[dict[str, Any]]:
        return [(await self.frame("event"))["event"] for _ in range(count)]

    async def closed(self, timeout_s: float = 10) -> int:
        """The code that the server closes with; whatever comes before is dropped."""
        async with asyncio.timeout(timeout_s):
            while (message := await self.ends.receive_output(timeout_s))["type"] != "websocket.close":
                pass
        code: int = message["code"]
        return code

    async def says_nothing(self) -> bool:
        return bool(await self.ends.receive_nothing(0.3))


async def browser(user: Any) -> Client:
    """Signed in."""
    client = Client()
    await sync_to_async(client.force_login)(user)
    return client
