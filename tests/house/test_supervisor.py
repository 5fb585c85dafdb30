"""The supervisor, on real processes: order, restarts, an end in reverse order, and nothing that outlives it."""

import asyncio
import io
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.client import IncompleteRead
from pathlib import Path

import pytest

from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.leftovers import Ledger, birth_of
from hyperagent.lib.supervisor import Log, Program, StartFailed, Supervisor, death_notice, delay_after, end_in_words
from tests.house.waiting import until

# Writes its number where the test finds it, then what it is told to do.
NOTE = "import os, sys, time, signal; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n');"


def program(name: str, code: str, folder: Path, **fields: object) -> Program:
    pids = folder / name
    return Program(name, (sys.executable, "-c", NOTE + code, str(pids)), env=dict(os.environ), **fields)  # type: ignore[arg-type]


def pids_of(folder: Path, name: str) -> list[int]:
    path = folder / name
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def lives(pid: int) -> bool:
    return birth_of(pid) != ""


@asynccontextmanager
async def supervising(stream: io.StringIO | None = None, ledger: Ledger | None = None) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(Log(stream or io.StringIO()), ledger=ledger)
    try:
        yield supervisor
    finally:
        await supervisor.stop_all()


async def eventually(fact: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(until, fact, what=what)


async def test_a_program_that_dies_is_started_again(tmp_path: Path) -> None:
    log = io.StringIO()
    async with supervising(log) as supervisor:
        await supervisor.start(program("web", "time.sleep(600)", tmp_path))
        await eventually(lambda: pids_of(tmp_path, "web"), "the first start")

        os.kill(pids_of(tmp_path, "web")[0], signal.SIGKILL)

        await eventually(lambda: len(pids_of(tmp_path, "web")) == 2, "the second start")
    assert "was killed by SIGKILL; it starts again" in log.getvalue()


@pytest.mark.slow
async def test_a_program_that_cannot_be_started_for_a_while_is_started_when_it_can(tmp_path: Path) -> None:
    log, hindered = io.StringIO(), tmp_path / "hindered"

    def before() -> None:
        if hindered.exists():
            raise BlockingIOError(11, "Resource temporarily unavailable")

    async with supervising(log) as supervisor:
        await supervisor.start(program("web", "time.sleep(600)", tmp_path, before_start=before))
        await eventually(lambda: pids_of(tmp_path, "web"), "the first start")
        hindered.touch()
        os.kill(pids_of(tmp_path, "web")[0], signal.SIGKILL)
        await eventually(lambda: log.getvalue().count("could not be started") == 2, "two vain starts")

        hindered.unlink()

        await eventually(lambda: len(pids_of(tmp_path, "web")) == 2, "the start that it can")
    assert "could not be started: [Errno 11] Resource temporarily unavailable; it starts again in" in log.getvalue()


async def test_a_program_for_which_no_file_number_is_left_is_started_when_one_is(tmp_path: Path) -> None:
    log = io.StringIO()
    async with supervising(log) as supervisor:
        await supervisor.start(program("web", "time.sleep(600)", tmp_path))
        await eventually(lambda: pids_of(tmp_path, "web"), "the first start")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            os.kill(pids_of_first := supervisor.pid_of("web") or 0, signal.SIGKILL)
            while "could not be started" not in log.getvalue():
                await asyncio.sleep(0.05)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)

        await eventually(lambda: len(pids_of(tmp_path, "web")) == 2, "the start that it can")
    assert pids_of(tmp_path, "web")[0] == pids_of_first


async def test_a_start_that_is_hindered_again_and_again_is_given_up_with_the_reason(tmp_path: Path) -> None:
    def before() -> None:
        raise OSError(12, "Cannot allocate memory")

    async with supervising() as supervisor:
        with pytest.raises(StartFailed, match="died 3 times at its start") as caught:
            await supervisor.start(program("web", "pass", tmp_path, before_start=before))

    assert "Cannot allocate memory" in caught.value.last_words[-1]


async def test_who_cannot_be_asked_whether_it_is_ready_is_asked_again(tmp_path: Path) -> None:
    log, answers = io.StringIO(), iter([IncompleteRead(b""), False, IncompleteRead(b""), True])

    def is_ready() -> bool:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    async with supervising(log) as supervisor:
        await supervisor.start(program("web", "time.sleep(600)", tmp_path, is_ready=is_ready))

    assert log.getvalue().count("cannot be asked whether it is ready") == 1


async def test_what_fails_after_a_death_hinders_no_start(tmp_path: Path) -> None:
    log = io.StringIO()

    async def after() -> None:
        raise RuntimeError("no database")

    async with supervising(log) as supervisor:
        await supervisor.start(program("runner", "time.sleep(600)", tmp_path, after_death=after))
        await eventually(lambda: pids_of(tmp_path, "runner"), "the first start")
        os.kill(pids_of(tmp_path, "runner")[0], signal.SIGKILL)

        await eventually(lambda: len(pids_of(tmp_path, "runner")) == 2, "the second start")
    assert "no database" in log.getvalue()


async def test_a_ledger_that_cannot_be_written_hinders_no_start(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "nowhere" / "processes.json")
    async with supervising(ledger=ledger) as supervisor:
        await supervisor.start(program("web", "time.sleep(600)", tmp_path))
        await eventually(lambda: pids_of(tmp_path, "web"), "the first start")

        os.kill(pids_of(tmp_path, "web")[0], signal.SIGKILL)

        await eventually(lambda: len(pids_of(tmp_path, "web")) == 2, "the second start")


async def test_a_program_that_is_started_again_on_purpose_has_not_died(tmp_path: Path) -> None:
    log = io.StringIO()
    async with supervising(log) as supervisor:
        await supervisor.start(program("jobs", "time.sleep(600)", tmp_path))
        for times in range(1, 8):
            await eventually(lambda n=times: len(pids_of(tmp_path, "jobs")) == n, "its start")  # type: ignore[misc]
            await supervisor.restart("jobs")
        await eventually(lambda: len(pids_of(tmp_path, "jobs")) == 8, "the last start")
        first, *_, last = pids_of(tmp_path, "jobs")

        assert (lives(first), lives(last)) == (False, True)
    assert "starts again in" not in log.getvalue()


async def test_start_waits_until_the_program_is_ready(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    slow = program("db", f"time.sleep(0.3); open({str(flag)!r}, 'w'); time.sleep(600)", tmp_path, is_ready=flag.exists)
    async with supervising() as supervisor:
        await supervisor.start(slow)

        assert flag.exists()


async def test_a_program_that_dies_at_its_start_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    broken = program("web", "print('no such port'); sys.exit(3)", tmp_path, is_ready=lambda: False)
    async with supervising() as supervisor:
        with pytest.raises(StartFailed) as caught:
            await supervisor.start(broken)

        assert not supervisor.is_kept("web")
    assert "no such port" in caught.value.last_words
    assert "died 3 times" in str(caught.value)


async def test_a_program_that_is_not_ready_in_time_is_stopped(tmp_path: Path) -> None:
    mute = program("web", "time.sleep(600)", tmp_path, is_ready=lambda: False, ready_timeout_s=1.0)
    async with supervising() as supervisor:
        with pytest.raises(StartFailed, match="did not get ready in time"):
            await supervisor.start(mute)

    assert not any(lives(pid) for pid in pids_of(tmp_path, "web"))


async def test_who_is_stopped_while_a_program_is_being_started_stops_those_before_it(tmp_path: Path) -> None:
    async with supervising() as supervisor:
        await supervisor.start(program("postgres", "time.sleep(600)", tmp_path))
        await eventually(lambda: pids_of(tmp_path, "postgres"), "the database")
        preparing = asyncio.create_task(supervisor.run_once(program("prepare", "time.sleep(600)", tmp_path)))
        # It has begun to start the process, and has none yet.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = supervisor.is_kept("prepare"), supervisor.pid_of("prepare")

        preparing.cancel()
        await supervisor.stop_all()

        assert before == (True, None)
        assert not supervisor.is_kept("postgres")
    names = ("postgres", "prepare")
    assert not any(lives(pid) for name in names for pid in pids_of(tmp_path, name))


async def test_a_program_to_run_once_that_cannot_be_started_is_told_and_hinders_no_stop(tmp_path: Path) -> None:
    def fails() -> None:
        raise OSError("no number is left for it")

    async with supervising() as supervisor:
        await supervisor.start(program("postgres", "time.sleep(600)", tmp_path))
        with pytest.raises(OSError, match="no number is left"):
            await supervisor.run_once(program("prepare", "pass", tmp_path, before_start=fails))

        await supervisor.stop_all()

        assert not supervisor.is_kept("postgres")


async def test_programs_stop_in_reverse_order(tmp_path: Path) -> None:
    log = io.StringIO()
    says = "signal.signal(15, lambda *_: (print('goodbye'), sys.exit(0))); print('here', flush=True); time.sleep(600)"
    async with supervising(log) as supervisor:
        for name in ("first", "second", "third"):
            await supervisor.start(program(name, says, tmp_path))
        await eventually(lambda: log.getvalue().count("here") == 3, "all three")

    order = [line.split()[0] for line in log.getvalue().splitlines() if "goodbye" in line]
    assert order == ["third", "second", "first"]


async def test_a_program_that_ignores_the_signal_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    stubborn = (
        "signal.signal(15, signal.SIG_IGN);"
        "pid = os.fork();"
        "pid or open(sys.argv[1], 'a').write(f'{os.getpid()}\\n');"
        "time.sleep(600)"
    )
    async with supervising() as supervisor:
        await supervisor.start(program("deaf", stubborn, tmp_path, stop_timeout_s=0.5))
        await eventually(lambda: len(pids_of(tmp_path, "deaf")) == 2, "parent and child")

    await eventually(lambda: not any(lives(pid) for pid in pids_of(tmp_path, "deaf")), "the end of both")


async def test_what_a_dead_program_had_started_dies_with_it(tmp_path: Path) -> None:
    forks = "pid = os.fork(); pid or open(sys.argv[1], 'a').write(f'{os.getpid()}\\n'); time.sleep(600)"
    async with supervising() as supervisor:
        await supervisor.start(program("jobs", forks, tmp_path))
        await eventually(lambda: len(pids_of(tmp_path, "jobs")) == 2, "parent and child")
        parent, child = pids_of(tmp_path, "jobs")

        os.kill(parent, signal.SIGKILL)

        await eventually(lambda: not lives(child), "the child's end")


async def test_after_a_death_its_rights_are_given_back_before_the_next_start(tmp_path: Path) -> None:
    order: list[int] = []

    async def release() -> None:
        order.append(len(pids_of(tmp_path, "runner")))

    after: Callable[[], Awaitable[None]] = release
    async with supervising() as supervisor:
        await supervisor.start(program("runner", "time.sleep(600)", tmp_path, after_death=after))
        await eventually(lambda: pids_of(tmp_path, "runner"), "the first start")
        os.kill(pids_of(tmp_path, "runner")[0], signal.SIGKILL)
        await eventually(lambda: len(pids_of(tmp_path, "runner")) == 2, "the second start")

    assert order == [1]


async def test_a_very_long_line_does_not_stop_the_log(tmp_path: Path) -> None:
    log = io.StringIO()
    talks = "print('x' * 3_000_000); print('after', flush=True); time.sleep(600)"
    async with supervising(log) as supervisor:
        await supervisor.start(program("loud", talks, tmp_path))

        await eventually(lambda: "after" in log.getvalue(), "the line after the long one")


async def test_leftovers_of_a_killed_supervisor_are_ended_and_strangers_are_not(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json")
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    ledger.add("web", left.pid, signal.SIGTERM)
    ledger.add("old", stranger.pid, signal.SIGTERM)
    # The number of a program that is long gone now belongs to somebody else.
    entries = json.loads(ledger.path.read_text())
    ledger.path.write_text(json.dumps([entries[0], {**entries[1], "birth": "long ago"}]))

    try:
        ended = await asyncio.to_thread(Ledger(ledger.path).end_leftovers)

        assert ended == ["web"]
        assert left.wait(5) == -signal.SIGTERM
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.slow
def test_children_die_with_a_killed_supervisor(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("the kernel's signal to children is Linux's")
    code = (
        "import asyncio, sys, os\n"
        "from pathlib import Path\n"
        "from tests.house.test_supervisor import program, Supervisor, Log\n"
        "async def main():\n"
        "    s = Supervisor(Log(sys.stdout))\n"
        "    await s.start(program('web', 'time.sleep(600)', Path(sys.argv[1])))\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=BASE_DIR)
    child = until(lambda: pids_of(tmp_path, "web"), what="the child")[0]

    parent.kill()
    parent.wait()

    until(lambda: not lives(child), what="the child's end")


def test_the_pause_before_a_restart_grows_and_is_bounded() -> None:
    pauses = [delay_after(deaths) for deaths in range(1, 12)]

    assert pauses == sorted(pauses)
    assert pauses[0] < 1
    assert pauses[-1] == 30
    assert delay_after(100_000) == 30, "after a month without a database, too"


def test_many_deaths_in_a_row_are_said_clearly() -> None:
    assert "in a row" not in death_notice(end_in_words(1), 2, 1.0)
    assert "It died 6 times in a row" in death_notice(end_in_words(-9), 6, 30.0)
