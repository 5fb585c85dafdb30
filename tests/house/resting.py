"""A `RestingServer` on the socket that it is given; tells how often Daphne looked after its connections, and how much
of them is still there, though nobody looks for what holds itself in a circle."""

import gc
import sys
from collections.abc import Callable
from typing import Any

from daphne.http_protocol import WebRequest
from daphne.server import Server

from hyperagent import eager_sockets
from hyperagent.eager_sockets import EagerProtocol
from hyperagent.resting_server import RestingServer

TIME_OUT_S = 1


def main(socket: str) -> None:
    looks: list[str] = []

    def counted(name: str, look: Callable[[Any], None]) -> Callable[[Any], None]:
        def told(server: Any) -> None:
            looks.append(name)
            look(server)

        return told

    for name in ("application_checker", "timeout_checker"):
        setattr(Server, name, counted(name, getattr(Server, name)))

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            while (await receive())["type"] != "websocket.disconnect":
                pass
            return
        while scope["path"] == "/never" and (await receive())["type"] != "http.disconnect":
            pass
        told = _held() if scope["path"] == "/held" else len(looks)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(told).encode()})

    eager_sockets.install()
    gc.collect()
    gc.disable()
    RestingServer(application, endpoints=[f"unix:{socket}"], http_timeout=TIME_OUT_S).run()


def _held() -> int:
    """Besides the request that asks."""
    return sum(type(one) in (WebRequest, EagerProtocol) for one in gc.get_objects()) - 1


if __name__ == "__main__":
    main(sys.argv[1])
