"""A `PacedServer` on the socket that it is given. `/flood` and a websocket answer with more than anybody reads at once,
`/sent` says how much of that it got rid of, `/falls` and `/cut` break off, `/known` says of how many connections it
knows. `/heard` is a websocket that says how much it was told."""

import sys
from typing import Any

from django.conf import settings

from hyperagent import eager_sockets
from hyperagent.lib.asgi import CUT_OFF, PACED
from hyperagent.paced_answers import PacedServer

PIECE = b"x" * 65_536
PIECES = 1_000
MOST_ASKED = 1_000_000


def main(socket: str) -> None:
    sent = 0

    async def application(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            if scope["path"] == "/heard":
                await receive()
                heard = await receive()
                await send({"type": "websocket.send", "text": str(len(heard.get("text", "")))})
                return
            for _ in range(PIECES):
                await send({"type": "websocket.send", "bytes": PIECE, **PACED})
                sent += len(PIECE)
            await send({"type": "websocket.close", "code": 1000})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        match scope["path"]:
            case "/flood":
                for _ in range(PIECES):
                    await send({"type": "http.response.body", "body": PIECE, "more_body": True})
                    sent += len(PIECE)
                await send({"type": "http.response.body", "body": b""})
            case "/falls" | "/cut":
                await send({"type": "http.response.body", "body": b"the first half", "more_body": True})
                if scope["path"] == "/falls":
                    raise ValueError("in the middle")
                await send(CUT_OFF)
            case "/sent":
                await send({"type": "http.response.body", "body": str(sent).encode()})
            case _:
                await send({"type": "http.response.body", "body": str(len(server.connections)).encode()})

    settings.configure(REQUEST_MAX_BYTES=MOST_ASKED)
    eager_sockets.install()
    server = PacedServer(application, endpoints=[f"unix:{socket}"])
    server.run()


if __name__ == "__main__":
    main(sys.argv[1])
