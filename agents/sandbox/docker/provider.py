"""Boxes as containers of a Docker engine: without network, read-only but for two folders in memory, without rights.

Not tried against a real engine: none is at hand where this was written. It is tested against the engine's HTTP protocol
on this machine, as the Docker SDK speaks it. The image needs `python3`, `sh` and `rm`; what is in it is what programs
find. The engine must be reached over a Unix socket or plain TCP (DOCKER_HOST).
"""

import asyncio
import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import structlog

from agents.sandbox.base import DOORS, HOME, WITHOUT_NETWORK, Box, BoxGone, BoxSpec, SandboxError, Stream
from agents.sandbox.remote.box import GONE, RemoteBox

log = structlog.get_logger(__name__)

LABEL: Final = "org.hyperagent.installation"
_ENGINE_S: Final = 30
_HEAD: Final = struct.Struct(">BxxxI")
_STREAMS: Final[dict[int, Stream]] = {1: "stdout", 2: "stderr"}
_UID: Final = 1000
# It waits for a byte, so that nothing is said before somebody listens.
_WAITING: Final = "import os,sys; os.read(0, 1); os.execvp(sys.argv[1], sys.argv[1:])"
_TAKING: Final = """import os,sys
path, left = sys.argv[1], int(sys.argv[2])
os.read(0, 1)
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path, "wb") as file:
    while left and (piece := os.read(0, min(left, 65536))):
        file.write(piece)
        left -= len(piece)
sys.exit(1 if left else 0)"""
_GIVING: Final = "import os,sys; os.read(0, 1); sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"


class DockerSandbox:
    """`image`: what containers are made of. `installation`: whose they are, to clear away what is left of earlier."""

    name = "docker"

    def __init__(self, *, image: str, installation: str) -> None:
        self._image = image
        self._installation = installation
        self._client: Any = None
        self._has_cleared = False
        self._turn = threading.Lock()

    async def why_not(self) -> str:
        return await asyncio.to_thread(self._why_not)

    async def open(self, spec: BoxSpec) -> Box:
        container = await asyncio.to_thread(self._started, spec)
        box = RemoteBox(spec, _Container(self._engine(), container))
        try:
            await box.prepare()
        except BaseException:
            await box.close()
            raise
        return box

    # --- in threads

    def _engine(self) -> Any:
        """The client of the engine, which has answered. Raises SandboxError."""
        import docker  # type: ignore[import-untyped]  # late: the extra

        with self._turn:
            if self._client is None:
                try:
                    client = docker.DockerClient.from_env(timeout=_ENGINE_S)
                    client.ping()
                except Exception as error:
                    raise SandboxError(f"the Docker engine does not answer: {error}"[:500]) from error
                self._client = client
            return self._client

    def _clear_once(self, client: Any) -> None:
        """Of an earlier life: nobody holds them any more. Before the first box is opened here, and never again: whoever
        only asks whether there are boxes, and who finds the engine back, takes none from those at work in them."""
        with self._turn:
            if self._has_cleared:
                return
            for container in client.containers.list(all=True, filters={"label": f"{LABEL}={self._installation}"}):
                log.info("sandbox.container_left_over", container=container.id)
                container.remove(force=True)
            self._has_cleared = True

    def _why_not(self) -> str:
        import docker.errors  # type: ignore[import-untyped]

        try:
            client = self._engine()
            client.ping()
            client.images.get(self._image)
        except SandboxError as error:
            return f"Docker cannot be used: {error.message}. Start it, or correct DOCKER_HOST."
        except docker.errors.ImageNotFound:
            way = f"run docker pull {self._image}, or set SANDBOX_IMAGE to one that it has"
            return f"Docker has no image {self._image}: {way}."
        except Exception as error:  # noqa: BLE001 (the SDK's are many, and all of them mean no)
            self._client = None
            return f"Docker cannot be used: {error}"[:500]
        return ""

    def _started(self, spec: BoxSpec) -> Any:
        client = self._engine()
        try:
            self._clear_once(client)
            container = client.containers.create(
                self._image, ["sleep", "infinity"], **_settings(spec, self._installation)
            )
            try:
                container.start()
            except BaseException:
                container.remove(force=True)
                raise
        except Exception as error:
            raise SandboxError(f"a container could not be started: {error}"[:500]) from error
        return container


def _settings(spec: BoxSpec, installation: str) -> dict[str, Any]:
    limits = spec.limits
    # Whoever runs the product may connect to its doors.
    uid = os.getuid() or _UID
    folder = f"rw,exec,nosuid,nodev,uid={uid},gid={uid}"
    volumes = {str(path): {"bind": inside, "mode": "ro"} for inside, path in spec.read_only.items()}
    volumes |= {str(path): {"bind": f"{DOORS}/{name}.sock", "mode": "rw"} for name, path in spec.doors.items()}
    for path in spec.doors.values():
        if uid != os.getuid():
            path.chmod(0o666)
    return {
        "labels": {LABEL: installation, "org.hyperagent.key": spec.key},
        "network_mode": "none",
        "user": f"{uid}:{uid}",
        "working_dir": HOME,
        "hostname": "box",
        "environment": {"HOME": HOME, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", **WITHOUT_NETWORK},
        "init": True,
        "read_only": True,
        "tmpfs": {
            HOME: f"{folder},size={limits.home_bytes},nr_inodes={limits.files},mode=755",
            "/tmp": f"{folder},size={limits.tmp_bytes},nr_inodes={limits.files},mode=1777",  # noqa: S108
        },
        "volumes": volumes,
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "pids_limit": limits.processes,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "ipc_mode": "private",
        "ulimits": [
            {"Name": "nofile", "Soft": limits.open_files, "Hard": limits.open_files},
            {"Name": "fsize", "Soft": limits.file_bytes, "Hard": limits.file_bytes},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ],
    }


class _Container:
    """The `Machine` of a RemoteBox: everything goes over executed programs, for the folders are in memory."""

    def __init__(self, client: Any, container: Any) -> None:
        self._api = client.api
        self._container = container

    async def execute(
        self, argv: Sequence[str], *, env: Mapping[str, str], told: Callable[[Stream, bytes], None]
    ) -> int:
        return await self._executed(["python3", "-c", _WAITING, *argv], b"!", env=env, told=told)

    async def put(self, path: str, content: bytes) -> None:
        argv = ["python3", "-c", _TAKING, path, str(len(content))]
        if await self._executed(argv, b"!" + content, env={}, told=lambda *_: None):
            raise SandboxError(f"{path!r} could not be written: the sandbox is full")

    async def get(self, path: str, *, max_bytes: int) -> bytes:
        found = bytearray()

        def take(stream: Stream, piece: bytes) -> None:
            if stream == "stdout" and len(found) <= max_bytes:
                found.extend(piece)

        code = await self._executed(["python3", "-c", _GIVING, path], b"!", env={}, told=take)
        if code or len(found) > max_bytes:
            raise SandboxError(f"{path!r} could not be read from the sandbox")
        return bytes(found)

    async def relay(self, argv: Sequence[str]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        _, reader, writer = await self._begun(["python3", "-c", _WAITING, *argv], {})
        writer.write(b"!")
        plain = asyncio.StreamReader()
        following = asyncio.ensure_future(_followed(reader, lambda stream, piece: plain.feed_data(piece)))
        following.add_done_callback(lambda _: plain.feed_eof())
        # The task lives as long as its connection.
        writer.transport.following = following  # type: ignore[attr-defined]
        return plain, writer

    async def destroy(self) -> None:
        import docker.errors

        try:
            await asyncio.to_thread(self._container.remove, force=True)
        except docker.errors.NotFound:
            return
        except Exception as error:
            raise SandboxError(f"the container could not be removed: {error}"[:500]) from error

    # --- inside

    async def _executed(
        self, argv: Sequence[str], said: bytes, *, env: Mapping[str, str], told: Callable[[Stream, bytes], None]
    ) -> int:
        exec_id, reader, writer = await self._begun(argv, env)
        try:
            writer.write(said)
            await writer.drain()
            await _followed(reader, told)
        except OSError as error:
            raise BoxGone(GONE) from error
        finally:
            writer.close()
        code = (await asyncio.to_thread(self._asked, self._api.exec_inspect, exec_id))["ExitCode"]
        if code is None or not await self._lives():
            raise BoxGone(GONE)
        return int(code)

    async def _begun(
        self, argv: Sequence[str], env: Mapping[str, str]
    ) -> tuple[str, asyncio.StreamReader, asyncio.StreamWriter]:
        exec_id, connection = await asyncio.to_thread(self._connected, list(argv), dict(env))
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: protocol, sock=connection)
        return exec_id, reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    def _connected(self, argv: list[str], env: dict[str, str]) -> tuple[str, socket.socket]:
        def begin() -> tuple[str, socket.socket]:
            exec_id = self._api.exec_create(self._container.id, argv, stdin=True, environment=env)["Id"]
            raw = self._api.exec_start(exec_id, socket=True)
            # Ours to keep: the SDK closes its own when the answer is forgotten.
            connection = socket.socket(fileno=os.dup(raw.fileno()))
            raw.close()
            connection.setblocking(False)
            return exec_id, connection

        found: tuple[str, socket.socket] = self._asked(begin)
        return found

    async def _lives(self) -> bool:
        def lives() -> bool:
            self._container.reload()
            return bool(self._container.status == "running")

        return bool(await asyncio.to_thread(self._asked, lives))

    def _asked(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        import docker.errors

        try:
            return ask(*arguments)
        except docker.errors.NotFound as error:
            raise BoxGone(GONE) from error
        except docker.errors.APIError as error:
            # "is not running", "is paused".
            if error.status_code == 409:
                raise BoxGone(GONE) from error
            raise SandboxError(f"the Docker engine refused: {error}"[:500]) from error
        except Exception as error:
            raise SandboxError(f"the Docker engine does not answer: {error}"[:500]) from error


async def _followed(reader: asyncio.StreamReader, told: Callable[[Stream, bytes], None]) -> None:
    """The engine's frames to their end: which stream, how long, what."""
    while True:
        try:
            kind, length = _HEAD.unpack(await reader.readexactly(_HEAD.size))
            while length:
                piece = await reader.read(min(length, 65_536))
                if not piece:
                    return
                length -= len(piece)
                if kind in _STREAMS:
                    told(_STREAMS[kind], piece)
        except asyncio.IncompleteReadError:
            return
