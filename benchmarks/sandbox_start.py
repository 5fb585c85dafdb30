"""`make bench-sandbox BENCH_DATA=/path/to/data`: are hostile programs contained, and what does a box cost?"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from agents.sandbox.base import BoxSpec, Command, SandboxProvider
from agents.sandbox.local.provider import LocalSandbox
from agents.sandbox.local.runtime import INSTALLED, SYSTEM_PYTHON
from benchmarks import sandbox_abuse

ROOT: Final = Path(__file__).resolve().parent.parent
PRINT: Final = ["python3", "-c", "print(1)"]
GOAL_MS: Final = 60
AT_ONCE: Final = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=Path, help="the folder of hostile programs; BENCH_DATA/sandbox_abuse")
    parser.add_argument("--only", default="*", help="a pattern of programs' names, such as 'r0*'")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    data = os.environ.get("BENCH_DATA")
    programs = options.programs or (Path(data) / "sandbox_abuse" if data else None)
    out = options.out or ROOT / os.environ.get("DATA_DIR", "var") / "bench" / time.strftime(
        "sandbox-%Y%m%d-%H%M%S.json"
    )
    with tempfile.TemporaryDirectory() as folder:
        provider = LocalSandbox(libraries=INSTALLED, runtime=Path(folder))
        return asyncio.run(_measured(provider, programs, only=options.only, rounds=options.rounds, out=out))


async def _measured(provider: LocalSandbox, programs: Path | None, *, only: str, rounds: int, out: Path) -> int:
    if fault := await provider.why_not():
        sandbox_abuse.say(fault)
        return 1
    kept: dict[str, object] = {
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "load": os.getloadavg(), "uid": os.getuid()}
    }
    kept["start"] = start = await _start(provider, rounds)
    for name, value in start.items():
        sandbox_abuse.say(f"{name:<58} {value:>8.1f} ms")
    failed = 0
    if programs is not None:
        found = await sandbox_abuse.judged_all(
            provider, programs, only, lambda one: sandbox_abuse.say(sandbox_abuse.row(one))
        )
        together = await sandbox_abuse.twenty_at_once(provider, programs)
        failed = sum(not one.contained for one in found) + bool(together)
        kept["programs"], kept["at_once"] = sandbox_abuse.as_json(found), together
        sandbox_abuse.say(f"contained: {sum(one.contained for one in found)} of {len(found)}")
        sandbox_abuse.say(f"{AT_ONCE} hostile ones at once: {'; '.join(together) or 'contained'}")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(kept, indent=1))
    sandbox_abuse.say(f"raw values: {out}")
    return 1 if failed else 0


async def _start(provider: SandboxProvider, rounds: int) -> dict[str, float]:
    """In turns, so that what else the machine does falls on all alike."""
    bare: list[float] = []
    boxed: list[float] = []
    again: list[float] = []
    for _ in range(rounds):
        bare.append(await _timed(_bare))
        box_began = time.perf_counter()
        box = await provider.open(BoxSpec(key="start"))
        await box.run(Command(PRINT))
        boxed.append((time.perf_counter() - box_began) * 1000)
        again.append(await _timed(lambda box=box: box.run(Command(PRINT))))  # type: ignore[misc]
        await box.close()
    together_began = time.perf_counter()
    await asyncio.gather(*(_whole(provider) for _ in range(AT_ONCE)))
    together = (time.perf_counter() - together_began) * 1000
    middle = statistics.median
    return {
        "the interpreter by itself, median": middle(bare),
        "a new box and its first program, median": middle(boxed),
        f"  over the interpreter by itself (goal: under {GOAL_MS})": middle(boxed) - middle(bare),
        "a program in a box that is open, median": middle(again),
        f"{AT_ONCE} boxes at once, each with a program, all of them": together,
    }


async def _timed(what: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await what()
    return (time.perf_counter() - began) * 1000


async def _bare() -> None:
    process = await asyncio.create_subprocess_exec(
        str(SYSTEM_PYTHON), *PRINT[1:], stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL, env={}
    )
    await process.communicate()


async def _whole(provider: SandboxProvider) -> None:
    box = await provider.open(BoxSpec(key="start"))
    try:
        await box.run(Command(PRINT))
    finally:
        await box.close()


if __name__ == "__main__":
    sys.exit(main())
