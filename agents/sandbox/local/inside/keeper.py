"""The first process of a box: builds the last walls, then does what the holder of the box says, and nothing else.

One loop, no threads. It speaks to nobody but its holder; when that goes, it goes, and everything in the box with it.
"""

from __future__ import annotations

import errno
import os
import resource
import select
import sys
import time
from _socket import AF_INET, AF_UNIX, SO_ERROR, SOL_SOCKET, socket, socketpair

from . import folders, memory, programs, walls, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, NoReturn

READY_AT: Final = "/run/hyperagent"
# What they tell is of the host, and no program needs it. By bubblewrap each would cost a millisecond.
_COVERED: Final = (
    "/proc/cmdline", "/proc/config.gz", "/proc/diskstats", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore",
    "/proc/key-users", "/proc/keys", "/proc/kmsg", "/proc/modules", "/proc/partitions", "/proc/sched_debug",
    "/proc/swaps", "/proc/timer_list", "/usr/src", "/usr/local/src",
)  # fmt: skip
_SWEEP_S: Final = 0.001
_PATIENCE_S: Final = 1.0
_CONNECT_S: Final = 5.0
_BACKLOG: Final = 64
_MOST_FDS: Final = 4096


def main(channel_fd: int) -> NoReturn:
    os.set_inheritable(channel_fd, False)
    os.closerange(3, channel_fd)
    os.closerange(channel_fd + 1, _MOST_FDS)
    channel = socket(fileno=channel_fd)
    first = wire.receive(channel)
    if first is None:
        os._exit(0)
    settings = wire.unpacked_order(first[0])
    try:
        listeners = build(settings)
    except OSError as fault:
        wire.send(channel, wire.Told("failed", text=str(fault)).packed())
        os._exit(1)
    wire.send(channel, wire.Told("ready").packed(), [listener.fileno() for listener in listeners])
    for listener in listeners:
        listener.close()
    Keeper(channel, settings).serve()


def build(settings: wire.Order) -> list[socket]:
    """The walls that are the keeper's, and the sockets by which programs reach the doors, listening."""
    walls.own_mounts()
    for path in _COVERED:
        if os.path.isdir(path):
            walls.cover_folder(path)
        elif os.path.exists(path):
            walls.cover_file(path)
    for path, size_bytes, files, mode in settings["folders"]:
        walls.mount_memory(path, size_bytes=size_bytes, files=files, mode=mode)
    for path in settings["empty"]:
        os.makedirs(path)
    listeners = [_door(name) for name in settings["doors"]] + [_relay(port) for port in settings["relays"]]
    walls.make_read_only(READY_AT)
    for path, target in settings["links"].items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)
    walls.give_up_rights()
    walls.hide()
    walls.ignore_signals()
    walls.install_filter(settings["filter"])
    most = min(_MOST_FDS, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return listeners


def _door(name: str) -> socket:
    door = socket(AF_UNIX)
    door.bind(f"{READY_AT}/{name}.sock")
    door.listen(_BACKLOG)
    return door


def _relay(port: int) -> socket:
    relay = socket(AF_INET)
    relay.bind(("127.0.0.1", port))
    relay.listen(_BACKLOG)
    return relay


class Keeper:
    """`programs`: by the number of the order that started them.  `jobs`: process numbers, each with what tells its end.
    `ahead`: lines that wait to be sent, with their files."""

    def __init__(self, channel: socket, settings: wire.Order) -> None:
        self.channel = channel
        self.limits: dict[int, int] = settings["limits"]
        self.writable: list[str] = settings["writable"]
        self.memory = memory.Watch(settings["memory_bytes"], [folder[0] for folder in settings["folders"]])
        self.events = select.epoll()
        self.handlers: dict[int, Callable[[], None]] = {}
        self.programs: dict[int, programs.Program] = {}
        self.jobs: dict[int, int] = {}
        self.ahead: list[tuple[bytes, list[int]]] = []
        self.connecting: dict[socket, tuple[int, float]] = {}

    def serve(self) -> NoReturn:
        self.channel.setblocking(False)
        self._follow(self.channel.fileno(), self._hear)
        while True:
            ready = self.events.poll(self._pause())
            self._bury()
            for fd, _ in ready:
                if fd in self.handlers:
                    self.handlers[fd]()
            self._look()
            self._speak()

    def _pause(self) -> float | None:
        if any(program.ending for program in self.programs.values()):
            return _SWEEP_S
        if self.programs:
            return self.memory.pause_s
        return _CONNECT_S if self.connecting else None

    def _follow(self, fd: int, handler: Callable[[], None], events: int = select.EPOLLIN) -> None:
        self.events.register(fd, events)
        self.handlers[fd] = handler

    def _leave(self, fd: int) -> None:
        self.events.unregister(fd)
        del self.handlers[fd]

    # What its holder says

    def _hear(self) -> None:
        while True:
            try:
                heard = wire.receive(self.channel)
            except BlockingIOError:
                return
            except OSError:
                heard = None
            if heard is None:
                os._exit(0)
            self._do(wire.unpacked_order(heard[0]))

    def _do(self, order: wire.Order) -> None:
        number = order["id"]
        try:
            match order["do"]:
                case "run":
                    self._run(number, order)
                case "end":
                    if order["program"] in self.programs:
                        self.programs[order["program"]].end(order["why"])
                    self._answer(number)
                case "connect":
                    self._connect(number, order["port"])
                case "job":
                    self._job(number, order)
                case other:
                    self._answer(number, refused=f"no such order: {other}")
        except OSError as fault:
            full = fault.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE)
            self._answer(number, refused="too much runs in the sandbox already" if full else str(fault))

    def _run(self, number: int, order: wire.Order) -> None:
        limits = {**self.limits, resource.RLIMIT_CPU: order["cpu_s"]} if order["cpu_s"] else self.limits
        wanted = programs.Wanted(order["argv"], order["env"], order["cwd"], wall_s=order["wall_s"], limits=limits)
        program, fds = programs.start(number, wanted)
        self.programs[number] = program
        self._follow(program.report, lambda: self._ended(program))
        self._answer(number, fds)

    def _ended(self, program: programs.Program) -> None:
        """The program itself is at its end, or its shepherd: everything of it is ended."""
        if program.report < 0:
            return
        programs.hear(program)
        if program.ending:
            self._leave(program.report)
            os.close(program.report)
            program.report = -1

    def _connect(self, number: int, port: int) -> None:
        connection = socket(AF_INET)
        connection.setblocking(False)
        if connection.connect_ex(("127.0.0.1", port)) not in (0, errno.EINPROGRESS):
            connection.close()
            self._answer(number, refused=f"nothing listens at port {port} in the sandbox")
            return
        self.connecting[connection] = (number, time.monotonic() + _CONNECT_S)
        self._follow(connection.fileno(), lambda: self._connected(connection, port), select.EPOLLOUT)

    def _connected(self, connection: socket, port: int) -> None:
        number, _ = self.connecting.pop(connection)
        self._leave(connection.fileno())
        if connection.getsockopt(SOL_SOCKET, SO_ERROR):
            connection.close()
            self._answer(number, refused=f"nothing listens at port {port} in the sandbox")
        else:
            self._answer(number, [connection.detach()])

    def _job(self, number: int, order: wire.Order) -> None:
        ours, theirs = _socket_pair()
        try:
            pid = os.fork()
            if pid == 0:
                _be_worker(order, ours, self.writable)
        except OSError:
            os.close(theirs)
            raise
        finally:
            os.close(ours)
        ended = os.pidfd_open(pid)
        self.jobs[pid] = ended
        self._follow(ended, self._bury)
        self._answer(number, [theirs])

    # What happens by itself

    def _bury(self) -> None:
        """Whoever has died below the first process: shepherds, jobs, and orphans of a shepherd that was killed."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.jobs:
                ended = self.jobs.pop(pid)
                self._leave(ended)
                os.close(ended)
            for program in self.programs.values():
                if program.shepherd == pid:
                    program.reaped = True
                    self._ended(program)
                    program.end("stopped")

    def _look(self) -> None:
        now = time.monotonic()
        for connection, (number, until) in list(self.connecting.items()):
            if now > until:
                del self.connecting[connection]
                self._leave(connection.fileno())
                connection.close()
                self._answer(number, refused="what listens there does not answer")
        for program in self.programs.values():
            if program.until is not None and now > program.until:
                program.end("timed_out")
        self._watch_memory(now)
        for program in [program for program in self.programs.values() if program.ending]:
            if self._swept(program, now):
                self._tell(program, now)

    def _watch_memory(self, now: float) -> None:
        running = [program for program in self.programs.values() if not program.ending]
        # One that is being ended for its memory still has it for a moment.
        if not running or any(program.ending == "out_of_memory" for program in self.programs.values()):
            return
        shepherds = {program.number: program.shepherd for program in self.programs.values()}
        greediest = self.memory.who_must_go(now, shepherds, ours=self.jobs)
        if greediest is not None:
            self.programs[greediest].end("out_of_memory")

    def _swept(self, program: programs.Program, now: float) -> bool:
        if len(self.programs) == 1 and not self.jobs:
            return programs.sweep_everything() and program.reaped
        if now - program.ending_since > _PATIENCE_S:
            # It multiplies faster than it can be found: then nothing stays.
            for other in self.programs.values():
                other.end("stopped")
            programs.sweep_everything()
        shepherds = (other.shepherd for other in self.programs.values())
        strays = programs.end_strays(known={*self.jobs, *self.memory.scouts(), *shepherds})
        return programs.sweep(program) and not strays

    def _tell(self, program: programs.Program, now: float) -> None:
        self._ended(program)
        del self.programs[program.number]
        exited = program.ending == "exited" and program.status is not None
        # One that killed its shepherd took with it who could have told its status.
        why = "stopped" if program.ending == "exited" and not exited else program.ending
        status = program.status if exited else None
        self._queue(wire.Told("over", program.number, status=status, seconds=now - program.began, text=why))

    # What it says

    def _answer(self, number: int, fds: list[int] | None = None, *, refused: str = "") -> None:
        self._queue(wire.Told("answer", number, text=refused), fds)

    def _queue(self, line: wire.Told, fds: list[int] | None = None) -> None:
        self.ahead.append((line.packed(), fds or []))

    def _speak(self) -> None:
        """As far as the holder takes it; the rest when there is room again."""
        fd = self.channel.fileno()
        while self.ahead:
            text, fds = self.ahead[0]
            try:
                wire.send(self.channel, text, fds)
            except BlockingIOError:
                self.events.modify(fd, select.EPOLLIN | select.EPOLLOUT)
                return
            except OSError:
                os._exit(0)
            self.ahead.pop(0)
            for passed in fds:
                os.close(passed)
        self.events.modify(fd, select.EPOLLIN)


def _socket_pair() -> tuple[int, int]:
    one, other = socketpair()
    return one.detach(), other.detach()


def _be_worker(order: wire.Order, connection: int, writable: list[str]) -> NoReturn:
    try:
        os.closerange(3, connection)
        os.closerange(connection + 1, _MOST_FDS)
        folders.serve(order, connection, writable)
    except BaseException as fault:  # noqa: BLE001 - the keeper's loop must never run twice
        sys.stderr.write(f"{order['job']}: {fault!r}\n")
    finally:
        os._exit(0)
