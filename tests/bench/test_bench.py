"""`make bench` works: every figure is measured and is a number. What the numbers are is nothing for a test."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MEASURED = {
    "idle",
    "memory",
    "sockets",
    "first_token",
    "first_token_at_once",
    "latency",
    "cpu",
    "capacity",
    "read_path",
    "vectors",
}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_quick_run_measures_every_figure(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"

    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[-4000:]
    kept = json.loads(out.read_text())
    assert {one["measurement"] for one in kept["figures"]} == MEASURED
    for one in kept["figures"]:
        assert math.isfinite(one["value"]), one
        assert one["name"] in done.stdout
    assert sum(one["target"] is not None for one in kept["figures"]) >= 15
    assert out.with_suffix(".png").stat().st_size > 0
