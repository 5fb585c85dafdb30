"""What nobody watches gets less of the machine than that for which people wait, until it is to end."""

import asyncio
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.supervisor import Log, Program, Supervisor
from hyperagent.lib.yielding import let_through
from tests.house.waiting import until

WEIGHED = Path("/proc/self/autogroup")
PROGRAM = f"""
from hyperagent.lib.yielding import yield_to_others
yield_to_others(7)
print(open("{WEIGHED}").read())
"""


def told(*, own_session: bool) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=False, cwd=BASE_DIR, capture_output=True, text=True,
        start_new_session=own_session,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not WEIGHED.exists(), reason="this kernel weighs no sessions")
def test_a_session_of_ones_own_weighs_less_and_one_of_others_is_left_alone() -> None:
    assert "nice 7" in told(own_session=True)
    assert "nice 7" not in told(own_session=False)


STUBBORN = f"""
import signal, time
from hyperagent.lib.yielding import yield_to_others
yield_to_others(7)
signal.signal(signal.SIGTERM, lambda *_: print(open("{WEIGHED}").read(), flush=True) or exit())
print("yields", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not WEIGHED.exists(), reason="this kernel weighs no sessions")
async def test_who_is_asked_to_stop_weighs_as_much_as_all_others_again() -> None:
    said = io.StringIO()
    supervisor = Supervisor(Log(said))
    env = {**os.environ, "PYTHONPATH": str(BASE_DIR)}
    await supervisor.start(Program("yielding", (sys.executable, "-c", STUBBORN), env=env))
    await asyncio.to_thread(until, lambda: "yields" in said.getvalue(), what="that it yields")

    await supervisor.stop("yielding")

    assert "nice 0" in said.getvalue()


def test_who_is_gone_needs_not_be_let_through() -> None:
    gone = subprocess.Popen((sys.executable, "-c", ""))
    gone.wait()

    let_through(gone.pid)
