"""`make bench` works: its figures are measured and are numbers. What the numbers are is nothing for a test."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.environments import LANGGRAPH, Use, is_made
from tests import migrated

ROOT = Path(__file__).resolve().parent.parent.parent
# Where `make bench` keeps the environments of the peers; tests have another DATA_DIR.
KEPT = ROOT / "var"
# Those whose quick form takes seconds; `make bench` measures all of them in the same way.
MEASURED = ("first_token", "latency", "planned", "vectors")


def quick(out: Path, names: Sequence[str], *, peers: Use) -> tuple[dict[str, Any], str]:
    """What is kept of a quick run, and what it said."""
    only = [word for name in names for word in ("--only", name)]
    beside = ("--peers", peers, "--migrated", str(migrated.dump()), "--out", str(out))
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--quick", *beside, *only]
    env = {**os.environ, "DATA_DIR": str(KEPT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(out.read_text()), done.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_quick_run_measures_what_it_is_asked_for(tmp_path: Path) -> None:
    kept, said = quick(tmp_path / "bench.json", MEASURED, peers=Use.NONE)

    assert {one["measurement"] for one in kept["figures"]} == set(MEASURED)
    for one in kept["figures"]:
        assert math.isfinite(one["value"]), one
        assert one["name"] in said
    assert sum(one["target"] is not None for one in kept["figures"]) >= 6
    assert set(kept["compared"]) == {"hyperagent", "fastapi", "aiohttp"}
    assert "langgraph is left out, as was asked for" in said


@pytest.mark.timeout(600)
@pytest.mark.skipif(not is_made(LANGGRAPH, KEPT), reason="no environment of LangGraph's here; `make bench` makes one")
def test_a_quick_run_compares_with_the_peers_whose_environments_are_there(tmp_path: Path) -> None:
    kept, said = quick(tmp_path / "bench.json", ("peers",), peers=Use.MADE)

    assert "runner / LangGraph's process" in said
    assert kept["compared"]["langgraph"]["all µs/token"]["median"] > 0
