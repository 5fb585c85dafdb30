"""What the scanners of calls cost, over calls as agents make them: milliseconds of the processor's time."""

import statistics
import time
from pathlib import Path
from typing import Any, Final

from agents.guardrails.fields import texts_of
from agents.guardrails.judging import judge
from agents.guardrails.scanner import Place
from agents.guardrails.settings import GuardSettings

ROUNDS: Final = 20
LONGEST_CHARS: Final = 200_000
_PROGRAM: Final = Path(__file__).read_text()


def calls() -> list[tuple[str, dict[str, Any]]]:
    """From a search to a program and a mail of some length; the sources of the engine stand for programs."""
    programs = [path.read_text() for path in sorted(Path("agents/engine").glob("*.py"))]
    return [
        ("web_search", {"query": "benchmarks of vector databases", "max_results": 5}),
        ("fetch_url", {"url": "https://example.org/a/long/path?with=a&query=1"}),
        ("write_file", {"path": "notes/today.md", "content": _PROGRAM * 4}),
        ("send_email", {"to": ["a@example.org"], "subject": "Hi", "body": "See http://localhost/ there. " * 200}),
        *(("execute_code", {"code": program}) for program in (_PROGRAM, *programs)),
    ]


def measure() -> dict[str, float]:
    """p50 and p95 of a call in milliseconds, and of the longest that a call may be."""
    settings = GuardSettings(timeout_ms=60_000)
    took = [_took_ms(tool, arguments, settings) for _ in range(ROUNDS) for tool, arguments in calls()]
    longest = {"code": (_PROGRAM * (LONGEST_CHARS // len(_PROGRAM) + 1))[:LONGEST_CHARS]}
    percents = statistics.quantiles(took, n=100)
    return {"p50_ms": percents[49], "p95_ms": percents[94], "longest_ms": _took_ms("execute_code", longest, settings)}


def _took_ms(tool: str, arguments: dict[str, Any], settings: GuardSettings) -> float:
    began = time.process_time()
    judge(list(texts_of(tool, arguments)), place=Place.TOOL, settings=settings)
    return (time.process_time() - began) * 1_000


if __name__ == "__main__":
    print({name: round(value, 2) for name, value in measure().items()})
