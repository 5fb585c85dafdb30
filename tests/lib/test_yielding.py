"""What nobody watches gets less of the machine than that for which people wait."""

import subprocess
import sys
from pathlib import Path

import pytest

from hyperagent.lib.conf import BASE_DIR

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
