"""`python -m tests.scripted --port N`: the scripted server as a process; prints its address when it listens."""

import argparse
import asyncio
import signal
import sys

from tests.scripted.server import ScriptedServer


async def _serve(server: ScriptedServer) -> None:
    serving = asyncio.create_task(server.serve())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, serving.cancel)
    await asyncio.to_thread(server.wait_started)
    print(server.url, flush=True)
    await asyncio.wait([serving])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scripted")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--strict", action="store_true", help="refuse calls without a line instead of echoing them")
    parser.add_argument("--api-key", default=None, help="refuse every other key")
    options = parser.parse_args()
    asyncio.run(_serve(ScriptedServer(echo=not options.strict, api_key=options.api_key, port=options.port)))
    sys.exit(0)


if __name__ == "__main__":
    main()
