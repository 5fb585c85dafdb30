"""Programs that try to get out, to get at others, or to take more than is theirs; each box carries several of them."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from agents.sandbox.base import HOME, Box, Command, Ending, Outcome

MIB = 1 << 20
DEADLINE_S = 20.0
ROOT = Path(__file__).resolve().parents[3]

LOOKING = """
import json, os, socket
def listed(path):
    try: return sorted(os.listdir(path))
    except OSError as fault: return fault.strerror
def opened(path, how=os.O_RDWR | os.O_CREAT):
    try: os.close(os.open(path, how)); return True
    except OSError: return False
print(json.dumps({
    "env": sorted(os.environ), "fds": listed("/proc/self/fd")[:3], "ids": [os.getuid(), os.getgid()],
    "root": listed("/"), "etc": listed("/etc"), "dev": listed("/dev"), "home": listed("/home"),
    "src": listed("/usr/src"), "stdin": open(0).read(), "host": socket.gethostname(),
    "net": [name for _, name in socket.if_nameindex()],
    "status": dict(line.split()[:2] for line in open("/proc/self/status") if line.startswith(("Cap", "NoNew", "Secc"))),
    "first": [listed("/proc/1/fd"), opened("/proc/1/environ", os.O_RDONLY), opened("/proc/1/mem", os.O_RDONLY),
        listed("/proc/1/root")],
    "wrote": [path for path in ("/new", "/usr/new", "/etc/new", "/dev/new", "/run/new", "/run/hyperagent/new",
        "/home/new", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname") if opened(path)],
    "told": [path for path in ("/proc/cmdline", "/proc/keys", "/proc/kallsyms")
        if os.path.exists(path) and open(path).read()],
}))
"""

FORBIDDEN = """
import ctypes, errno, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == "aarch64"
room = ctypes.create_string_buffer(256)
def call(of_x86, of_arm, *arguments):
    ctypes.set_errno(0)
    if libc.syscall(of_arm if arm else of_x86, *arguments) >= 0: return "OK"
    return errno.errorcode.get(ctypes.get_errno(), "OK")
calls = {
    "ptrace": (101, 117, 16, 1, 0, 0), "read another": (310, 270, 1, room, 1, room, 1, 0),
    "unshare": (272, 97, 0x10000000), "clone": (56, 220, 0x10000000 | 17, 0, 0, 0, 0), "setns": (308, 268, 0, 0),
    "mount": (165, 40, b"none", b"/tmp", b"tmpfs", 0, 0), "fsopen": (430, 430, b"tmpfs", 0),
    "chroot": (161, 51, b"/tmp"), "keyctl": (250, 219, 0, -3), "bpf": (321, 280, 0, room, 48),
    "io_uring": (425, 425, 4, room), "userfaultfd": (323, 282, 0), "perf": (298, 241, room, 0, -1, -1, 0),
    "pidfd_getfd": (438, 438, 0, 0, 0), "personality": (135, 92, 0x40000), "syslog": (103, 116, 3, room, 200),
    "vmsplice": (278, 75, 1, room, 0, 0), "terminal input": (16, 29, 0, 0x5412, room),
    "huge pages": (9, 222, 0, 1 << 21, 3, 0x40022, -1, 0), "a filter": (317, 277, 1, 0, 0),
    "limits of another": (302, 261, 1, 0, 0, 0), "another nicer": (141, 140, 0, 1, 10),
    "processors of another": (203, 122, 1, 8, room),
}
missing = {
    "clone3": (435, 435, room, 64), "memfd": (319, 279, b"m", 0), "shmget": (29, 194, 1, 64, 0o1600),
    "of tomorrow": (600, 600), "x32": (0x40000000 | 39, 600),
}
def family(*arguments):
    try: socket.socket(*arguments).close(); return "OK"
    except OSError: return "refused"
strange = ((17, 3, 3), (2, 3, 1), (40, 1, 0), (38, 5, 0), (31, 1, 3), (16, 3, 9), (2, 1, 132))
print(json.dumps({
    "calls": {name: call(*arguments) for name, arguments in calls.items()},
    "missing": {name: call(*arguments) for name, arguments in missing.items()},
    "families": [family(*kind) for kind in strange],
    "ordinary": [family(1, 1), family(2, 1), family(10, 2), family(16, 3, 0)],
}))
sys.stdout.flush()
for number in (1, 2, 9, 15, 17, 19, 10):
    os.kill(1, number)
"""


async def python(box: Box, code: str, *, wall_s: float = DEADLINE_S, env: dict[str, str] | None = None) -> Outcome:
    await box.write("/tmp/program.py", code.encode())
    return await box.run(Command(["python3", "/tmp/program.py"], wall_s=wall_s, env=env or {}))


@pytest.mark.threat("T21")
async def test_nothing_of_the_host_is_seen_and_nothing_outside_of_the_home_is_written(
    opened: Callable[..., Any],
) -> None:
    box = await opened()

    outcome = await python(box, LOOKING)

    assert outcome.exit_code == 0, outcome.stderr
    seen = json.loads(outcome.stdout)
    assert set(seen["env"]) <= {
        "PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS", "LC_CTYPE",
    }  # fmt: skip
    assert seen["fds"] == ["0", "1", "2"]
    assert seen["ids"] == [1000, 1000]
    assert set(seen["root"]) <= {
        "bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "opt", "proc", "run", "sbin", "tmp", "usr",
    }  # fmt: skip
    assert set(seen["etc"]) <= {
        "alternatives", "group", "hosts", "ld.so.cache", "npmrc", "nsswitch.conf", "passwd", "pip.conf",
    }  # fmt: skip
    assert set(seen["dev"]) <= {
        "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom",
        "zero",
    }  # fmt: skip
    assert (seen["home"], seen["stdin"], seen["host"], seen["net"]) == (["user"], "", "sandbox", ["lo"])
    assert seen["src"] in ([], "No such file or directory")
    assert seen["status"]["NoNewPrivs:"] == "1"
    assert seen["status"]["Seccomp:"] == "2"
    assert {int(value, 16) for name, value in seen["status"].items() if name.startswith("Cap")} == {0}
    assert seen["first"] == ["Permission denied", False, False, "Permission denied"]
    assert seen["wrote"] == []
    assert seen["told"] == []


@pytest.mark.threat("T21")
async def test_dangerous_calls_are_refused_and_the_keeper_cannot_be_ended(opened: Callable[..., Any]) -> None:
    box = await opened()

    outcome = await python(box, FORBIDDEN)
    everyone = await python(box, "import os, signal; os.kill(-1, signal.SIGKILL)")
    after = await box.run(Command(["echo", "alive"]))

    tried = json.loads(outcome.stdout)
    assert {name: said for name, said in tried["calls"].items() if said != "EPERM"} == {}
    assert {name: said for name, said in tried["missing"].items() if said != "ENOSYS"} == {}
    assert set(tried["families"]) == {"refused"}
    assert set(tried["ordinary"]) == {"OK"}
    assert outcome.exit_code == 0
    assert everyone.ending in (Ending.EXITED, Ending.STOPPED)
    assert after.stdout == "alive\n"


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        while True:
            open("/home/user/alive", "a").write("x"); time.sleep(0.01)
    os._exit(0)
while not os.path.exists("/home/user/alive"): time.sleep(0.01)
print("ended", flush=True)
"""
# Its parent is the one who could tell what became of it.
ORPHAN = DAEMON.replace('print("ended", flush=True)', "os.kill(os.getppid(), 9); time.sleep(60)")
BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["alone", "beside a server"])
async def test_nothing_that_a_program_leaves_lives_on(opened: Callable[..., Any], beside: str) -> None:
    box = await opened(processes=40)
    server = await box.start(Command(["sleep", "1000"])) if beside != "alone" else ""

    daemon = await python(box, DAEMON)
    grown = len(await box.read(f"{HOME}/alive", max_bytes=MIB))
    orphan = await python(box, ORPHAN)
    bomb = await python(box, BOMB, wall_s=0.7)
    listed = await box.run(Command(["ps", "-e", "-o", "pid=,args="]))

    assert (daemon.ending, daemon.stdout) == (Ending.EXITED, "ended\n")
    assert orphan.ending is Ending.STOPPED
    assert bomb.ending is Ending.TIMED_OUT
    assert "program.py" not in listed.stdout
    assert len(await box.read(f"{HOME}/alive", max_bytes=MIB)) >= grown
    if server:
        assert await box.running(server)
        assert "sleep 1000" in listed.stdout
    else:
        assert len(listed.stdout.splitlines()) == 3  # the keeper, the shepherd of ps, and ps


HOG = "b = []\nwhile True: b.append(bytearray(b'x') * (8 << 20))"
HOGS = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        b = bytearray(b"x") * (60 << 20)
        time.sleep(60)
time.sleep(60)
"""
# Shared memory that is in nobody's pages any more.
HIDDEN = """
import mmap, time
m = [mmap.mmap(-1, 16 << 20) for _ in range(20)]
for one in m:
    for at in range(0, 16 << 20, 4096): one[at] = 1
    one.madvise(mmap.MADV_DONTNEED)
time.sleep(60)
"""
SOCKETS = """
import socket, time
s = []
while True:
    try: pair = socket.socketpair()
    except OSError: break
    s.append(pair)
    for one in pair:
        one.setblocking(False)
        try:
            while True: one.send(bytes(65536))
        except OSError: pass
time.sleep(60)
"""
# Counted once for each of them it would be too much.
FAMILY = """
import os, time
b = bytearray(b"x") * (70 << 20)
kids = []
for _ in range(4):
    kids.append(os.fork())
    if kids[-1] == 0:
        time.sleep(0.4); os._exit(0)
for kid in kids: os.waitpid(kid, 0)
print("fine")
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", [HOG, HOGS, HIDDEN, SOCKETS], ids=["one", "several", "hidden", "sockets"])
async def test_too_much_memory_ends_the_program_that_takes_it_and_not_the_box(
    opened: Callable[..., Any], program: str
) -> None:
    box = await opened(memory_bytes=160 * MIB, open_files=2000)
    before = psutil.Process().memory_info().rss

    outcome = await python(box, program)

    assert (outcome.ending, outcome.exit_code) == (Ending.OUT_OF_MEMORY, None)
    assert "160 MiB" in outcome.note
    assert (await box.run(Command(["echo", "alive"]))).stdout == "alive\n"
    assert psutil.Process().memory_info().rss - before < 32 * MIB


async def test_memory_that_is_shared_after_a_fork_counts_once(opened: Callable[..., Any]) -> None:
    box = await opened(memory_bytes=200 * MIB)

    outcome = await python(box, FAMILY)

    assert (outcome.ending, outcome.stdout) == (Ending.EXITED, "fine\n")


FULL = """
import errno, json, os, resource
said = {}
def tried(name, what):
    try: what(); said[name] = "OK"
    except OSError as fault: said[name] = errno.errorcode[fault.errno]
def many():
    for number in range(1000): open(f"/home/user/{number}", "w").close()
def fill(path):
    with open(path, "wb", buffering=0) as file:
        while file.write(bytes(1 << 20)): pass
tried("home", lambda: fill("/home/user/full")); os.unlink("/home/user/full")
tried("tmp", lambda: fill("/tmp/full")); os.unlink("/tmp/full")
tried("shm", lambda: fill("/dev/shm/full")); os.unlink("/dev/shm/full")
tried("sparse", lambda: os.truncate(os.open("/home/user/sparse", os.O_CREAT | os.O_RDWR), 1 << 40))
tried("many", many)
for name in ("NPROC", "NOFILE", "FSIZE", "CPU", "CORE", "AS", "MEMLOCK"):
    number = getattr(resource, "RLIMIT_" + name)
    try: resource.setrlimit(number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); said[name] = "OK"
    except (OSError, ValueError): said[name] = "refused"
print(json.dumps(said))
"""


async def test_what_is_full_says_so_to_the_program(opened: Callable[..., Any]) -> None:
    box = await opened(home_bytes=8 * MIB, tmp_bytes=4 * MIB, file_bytes=64 * MIB, files=200)

    outcome = await python(box, FULL)

    said = json.loads(outcome.stdout)
    assert {said.pop(name) for name in ("home", "tmp", "shm", "many")} == {"ENOSPC"}
    assert said.pop("sparse") == "EFBIG"
    assert set(said.values()) == {"refused"}
    assert len(await box.files()) < 200


KNOCKING = """
import os, socket, sys
def asked(family, address):
    with socket.socket(family) as s:
        s.settimeout(5); s.connect(address); s.sendall(b"hello\\n"); return s.recv(100).decode().strip()
def refused(family, address):
    try: asked(family, address); return f"reached {address}"
    except OSError: return ""
print(asked(socket.AF_UNIX, "/run/hyperagent/gateway.sock"), asked(socket.AF_INET, ("127.0.0.1", 3128)))
port = int(os.environ["HOST_PORT"])
print([refused(*one) for one in ((2, ("127.0.0.1", port)), (10, ("::1", port)), (2, ("169.254.169.254", 80)),
    (1, "\\0" + os.environ["HOST_NAME"]), (1, os.environ["HOST_PATH"]))])
try: os.unlink("/run/hyperagent/gateway.sock")
except OSError: print("kept")
try: print(socket.getaddrinfo("example.com", 80))
except OSError: print("no names")
"""


async def test_only_its_doors_lead_out_of_a_box(opened: Callable[..., Any], tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        writer.write(b"welcome\n")
        await writer.drain()
        writer.close()

    name = f"walls-{os.getpid()}"
    door = await asyncio.start_unix_server(answer, path=tmp_path / "door")
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0{name}")
        abstract.listen()
        listener.setblocking(False)
        abstract.setblocking(False)
        box = await opened(doors={"gateway": tmp_path / "door"}, relays={3128: "gateway"})
        env = {"HOST_PORT": str(listener.getsockname()[1]), "HOST_NAME": name, "HOST_PATH": str(tmp_path / "door")}

        outcome = await python(box, KNOCKING, env=env)

        for one in (listener, abstract):
            with pytest.raises(BlockingIOError):
                one.accept()
    assert outcome.stdout.splitlines() == ["welcome welcome", "['', '', '', '', '']", "kept", "no names"]
    assert heard == [b"hello\n", b"hello\n"]
    door.close()


@pytest.mark.slow
async def test_a_flood_leaves_the_parent_as_it_was_and_twenty_boxes_live_at_once(opened: Callable[..., Any]) -> None:
    parent = psutil.Process()
    boxes = await asyncio.gather(*(opened() for _ in range(20)))
    await boxes[0].run(Command(["true"]))
    before = parent.memory_info().rss

    floods = await asyncio.gather(*(box.run(Command(["cat", "/dev/zero"])) for box in boxes))

    assert {outcome.ending for outcome in floods} == {Ending.TOO_MUCH_OUTPUT}
    assert parent.memory_info().rss - before < 64 * MIB
    assert all(len(outcome.stdout) < MIB for outcome in floods)
    assert parent.is_running()


HOLDER = """
import asyncio, sys
from pathlib import Path
from agents.sandbox.base import BoxSpec, Command
from agents.sandbox.local.provider import LocalSandbox
from agents.sandbox.local.runtime import INSTALLED

async def main():
    box = await LocalSandbox(libraries=INSTALLED, runtime=Path(sys.argv[1])).open(BoxSpec(key="held"))
    await box.start(Command(["sleep", "1000"]))
    print("held", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_box_does_not_outlive_who_holds_it(local: Any, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == "held\n"
        async with asyncio.timeout(DEADLINE_S):
            # bubblewrap, the keeper, a shepherd and its program
            while len(inside := psutil.Process(holder.pid).children(recursive=True)) < 4:
                await asyncio.sleep(0.02)

        holder.send_signal(signal.SIGKILL)

        _, alive = await asyncio.to_thread(psutil.wait_procs, inside, timeout=DEADLINE_S)
    assert alive == []
