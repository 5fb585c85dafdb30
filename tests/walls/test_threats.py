"""docs/security.md names each threat with its tests, and those tests are there, with its number on them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Each section of the standard with the numbers of its items.
ITEMS = """
1.1:1-2 1.2:1-9 1.3:1-11 1.4:1-3 1.5:1-2 2.1:1-3 2.2:1-3 2.3:1-4 2.4:1 3.2:1-2 3.3:1-4 3.4:1-6 3.5:1-5 3.7:1-2
4.1:1-3 4.2:1 4.3:1-2 4.4:1-4 5.1:1 5.2:1-3 5.3:1-2 5.4:1-3 6.1:1-3 6.2:1-12 6.3:1-4 6.4:1-4 6.5:1-5 6.6:1-3 6.8:1-4
7.1:1-3 7.2:1-4 7.3:1-2 7.4:1-5 7.5:1-2 7.6:1-2 8.1:1-2 8.2:1-3 8.3:1 8.4:1 9.1:1-3 9.2:1-4 10.1:1-2 10.2:1-2
10.3:1-4 10.4:1-11 10.5:1-5 10.6:1-2 10.7:1-3 11.1:1-2 11.2:1-3 11.3:1-3 11.4:1-4 11.5:1 11.6:1 12.1:1-3 12.2:1-2
12.3:1-4 13.1:1 13.2:1-5 13.3:1-2 13.4:1-5 14.1:1-2 14.2:1-4 14.3:1-3 15.1:1-3 15.2:1-3 15.3:1-7 16.1:1 16.2:1-5
16.3:1-4 16.4:1-3 16.5:1-3 17.1:1 17.2:1-4 17.3:1-2
"""
NUMBERS = [f"T{number:02}" for number in range(1, 37)]


def test_every_threat_has_its_tests_and_the_document_names_their_files() -> None:
    said = {number: set(re.findall(r"`(tests/[\w/]+\.py)`", row)) for number, row in _rows()}
    marked = _marked()

    assert sorted(said) == NUMBERS
    assert sorted(marked) == NUMBERS
    assert {number: said[number] ^ marked[number] for number in NUMBERS if said[number] != marked[number]} == {}


def test_every_item_of_the_standard_has_its_line_and_what_it_names_is_there() -> None:
    table = (ROOT / "docs" / "security.md").read_text().partition("## OWASP ASVS")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if re.match(r"\| \d", line)]
    said = [number for line in lines for number in line.split("|")[1].replace(" ", "").split(",")]
    files = set(re.findall(r"`((?:tests|docs|deploy|conversations|memory)/[\w/.-]+)`", table))

    assert sorted(said) == sorted(_items())
    assert {line.split("|")[3].strip() for line in lines} == {"holds", "in part", "not done", "does not apply"}
    assert [name for name in sorted(files) if not (ROOT / name).is_file()] == []


def _items() -> list[str]:
    """Of ASVS 5.0.0, levels 1 and 2."""
    return [
        f"{section}.{number}"
        for line in ITEMS.split()
        for section, _, numbers in [line.partition(":")]
        for number in _counted(numbers)
    ]


def _counted(numbers: str) -> list[int]:
    """`1-3,5` as 1, 2, 3, 5."""
    ends = [part.split("-") for part in numbers.split(",")]
    return [number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)]


def _rows() -> Iterator[tuple[str, str]]:
    for line in (ROOT / "docs" / "security.md").read_text().splitlines():
        if found := re.match(r"\| (T\d\d) \|", line):
            yield found[1], line


def _marked() -> dict[str, set[str]]:
    """The files of the tests that carry each number."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "threat":
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        found[str(argument.value)].add(str(path.relative_to(ROOT)))
    return found
