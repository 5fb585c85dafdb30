"""`make bench` works: its figures are measured and are numbers. What the numbers are is nothing for a test."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# Those whose quick form takes seconds; `make bench` measures all of them in the same way.
MEASURED = ("first_token", "latency", "vectors")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_quick_run_measures_what_it_is_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"

    only = [word for name in MEASURED for word in ("--only", name)]
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--out", str(out), *only]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-4000:]
    kept = json.loads(out.read_text())
    assert {one["measurement"] for one in kept["figures"]} == set(MEASURED)
    for one in kept["figures"]:
        assert math.isfinite(one["value"]), one
        assert one["name"] in done.stdout
    assert sum(one["target"] is not None for one in kept["figures"]) >= 6
