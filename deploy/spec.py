"""`make spec`: each requirement of docs/requirements.md with its tests, as the last `make test` found them."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENT = re.compile(r"^- \*\*([A-Z]+\d+)\*\*", re.MULTILINE)
# The worst first: one failing test is enough to say that a requirement is not met.
ORDER = ("failed", "skipped", "passed")


def main() -> int:
    try:
        results = json.loads((ROOT / "var" / "tests.json").read_text())
    except FileNotFoundError:
        print("No result of the tests in var/tests.json; run `make test` first.", file=sys.stderr)
        return 1
    numbers = REQUIREMENT.findall((ROOT / "docs" / "requirements.md").read_text())
    for line in table(numbers, results):
        print(line)
    return 0


def table(numbers: list[str], results: dict[str, dict[str, str]]) -> list[str]:
    """`results`: requirement → test → outcome. A line for each test, or one that says `missing`."""
    lines = []
    for number in numbers:
        tests = sorted(results.get(number, {}).items(), key=lambda test: (ORDER.index(test[1]), test[0]))
        lines += [f"{number}  {outcome}  {name}" for name, outcome in tests] or [f"{number}  missing"]
    return lines


if __name__ == "__main__":
    sys.exit(main())
