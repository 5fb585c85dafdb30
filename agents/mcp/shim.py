"""Runs in the box of a server that is a program: joins one connection on a port to the program's input and output.

Only the standard library; read as text and handed to the interpreter of the box. Ends when either side does.
"""

import contextlib
import selectors
import socket
import subprocess
import sys
import threading
from typing import Any

PIECE = 65_536


def main(program: list[str]) -> int:
    """Says on its output at which port it listens, waits for one connection, starts the program."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        listening.settimeout(60)
        connection, _ = listening.accept()
    try:
        running = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        print(f"cannot be started: {error}", file=sys.stderr, flush=True)
        return 127
    threading.Thread(target=pump_in, args=(connection, running.stdin), daemon=True).start()
    pump_out(running.stdout, connection)
    running.kill()
    return running.wait()


def pump_in(connection: socket.socket, stdin: Any) -> None:
    with contextlib.suppress(OSError), stdin:
        while piece := connection.recv(PIECE):
            stdin.write(piece)
            stdin.flush()


def pump_out(stdout: Any, connection: socket.socket) -> None:
    with selectors.DefaultSelector() as ready, connection:
        ready.register(stdout, selectors.EVENT_READ)
        while True:
            ready.select()
            piece = stdout.read1(PIECE)
            if not piece:
                return
            try:
                connection.sendall(piece)
            except OSError:
                return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
