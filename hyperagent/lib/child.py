"""The first instant of a supervised process: it becomes its user, ties itself to its parent, and then the program.

A file of its own and not a `preexec_fn`: Python between fork and exec can wait for ever for a lock that one of the
parent's threads held, and the supervisor's health checks run in threads. Standard library only: it starts in 20 ms.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def command_of(
    program: tuple[str, ...], *, death_signal: signal.Signals = signal.SIGTERM, user: str | None = None
) -> tuple[str, ...]:
    """The command that runs `program` as a child of this process, which ends with it (on Linux) and runs as `user`."""
    options = (str(int(death_signal)), str(os.getpid()), user or "")
    return (sys.executable, "-I", "-S", __file__, *options, *program)


def end_with(parent: int, death_signal: int) -> None:
    """Has the kernel (Linux only) send this process `death_signal` when the thread of `parent` that made it is gone."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:
        # It died before the line above.
        os.kill(os.getpid(), death_signal)


def become(user: str) -> None:
    import pwd  # not on the way of those who stay who they are

    account = pwd.getpwnam(user)
    os.setgroups([account.pw_gid])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)


def main() -> None:
    death_signal, parent, user, *program = sys.argv[1:]
    if user:
        # Before the tie, which a change of user undoes.
        become(user)
    end_with(int(parent), int(death_signal))
    os.execv(program[0], program)  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main()
