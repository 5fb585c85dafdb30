"""Does it work here, and does it hold? Tried with a box, once, before any code of a model is run."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from agents.sandbox.base import Box, BoxSpec, Command, Ending, Limits, SandboxError

_PASSED: Final = "the walls hold"
# Each would be allowed, or would give something, without one of the walls.
_TRIES: Final = f"""
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
holes = []
if libc.unshare(0x10000000) == 0: holes.append("user namespaces")
if libc.ptrace(0, 0, 0, 0) == 0: holes.append("ptrace")
if os.path.exists("/etc/shadow") or os.path.exists("/root"): holes.append("files of the host")
if sorted(name for _, name in socket.if_nameindex()) != ["lo"]: holes.append("network")
if set(os.environ) & {{"DATABASE_URL", "SECRET_KEY"}}: holes.append("environment")
for path in ("/proc/sys/kernel/core_pattern", "/usr/hole", "/hole", "/proc/1/environ"):
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT))
        holes.append(path)
    except OSError:
        pass
if os.getuid() == 0 or os.getpid() == 1: holes.append("rights")
print(", ".join(holes) or {_PASSED!r})
"""

APPARMOR: Final = """\
abi <abi/4.0>,
include <tunables/global>

profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
  include if exists <local/bwrap>
}
"""


async def what_fails(open_box: Callable[[BoxSpec], Awaitable[Box]]) -> str:
    """A sentence for people; empty if a box was had and held."""
    try:
        box = await open_box(BoxSpec(key="self-test", limits=Limits(home_bytes=8 << 20, tmp_bytes=8 << 20)))
    except SandboxError as fault:
        return fault.message
    try:
        outcome = await box.run(Command(["python3", "-I", "-c", _TRIES], wall_s=30))
    finally:
        await box.close()
    said = outcome.stdout.strip()
    if outcome.ending is Ending.EXITED and said == _PASSED:
        return ""
    if outcome.ending is Ending.EXITED and outcome.exit_code == 0:
        return f"the sandbox is off: its walls do not hold on this machine ({said})"
    last = (outcome.stderr.strip().splitlines() or [outcome.note])[-1]
    return f"the sandbox is off: a program in it could not be run ({last or outcome.ending.value})"


def why_not_opened(complaint: str) -> str:
    """What bubblewrap said, with the way out."""
    if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists() and _restricted():
        return (
            "this machine lets only listed programs make namespaces (AppArmor). Write into /etc/apparmor.d/bwrap:\n"
            f"{APPARMOR}and then run: sudo systemctl reload apparmor"
        )
    if "uid map" in complaint or "namespace" in complaint or "Operation not permitted" in complaint:
        return (
            f"this machine does not let bubblewrap make namespaces ({complaint}). On a machine of your own:"
            " sudo sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000; in a container: start"
            " it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or set SANDBOX_PROVIDER"
        )
    return f"a sandbox could not be opened: {complaint or 'bubblewrap ended without a word'}"


def _restricted() -> bool:
    path = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    try:
        return path.read_text().strip() == "1" and Path("/sys/kernel/security/apparmor").exists()
    except OSError:
        return False


def missing_program() -> str:
    if shutil.which("bwrap"):
        return ""
    return "bubblewrap is not installed: sudo apt-get install bubblewrap (Fedora: dnf install bubblewrap)"
