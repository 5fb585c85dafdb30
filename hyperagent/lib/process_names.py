"""What a process is called among all others of an installation, by whom runs are held and connections are known."""

import os
import secrets
import socket


def own_name() -> str:
    """Another one with each call. Where it runs can be read in it, and is not enough: containers may share the name of
    their host, each has a process 1, and what was killed comes back under the same number."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
