"""A `RestingServer` on the socket that it is given; tells how often Daphne looked after its connections."""

import sys
from collections.abc import Callable
from typing import Any

from daphne.server import Server

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
        while scope["path"] == "/never" and (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(len(looks)).encode()})

    RestingServer(application, endpoints=[f"unix:{socket}"], http_timeout=TIME_OUT_S).run()


if __name__ == "__main__":
    main(sys.argv[1])
