"""Processes whose clock is wrong: libfaketime bends it."""

from pathlib import Path
from typing import Final

FAKETIME: Final = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


def environment(wrong: str) -> dict[str, str]:
    """For a process of Python whose clock shall be wrong by so much ("+10m", "-2s"). Only where there is FAKETIME."""
    return {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME": wrong,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(Path(__file__).parent / "site"),
    }
