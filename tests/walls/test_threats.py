"""docs/security.md names each threat with its tests, and those tests are there, with its number on them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NUMBERS = [f"T{number:02}" for number in range(1, 37)]


def test_every_threat_has_its_tests_and_the_document_names_their_files() -> None:
    said = {number: set(re.findall(r"`(tests/[\w/]+\.py)`", row)) for number, row in _rows()}
    marked = _marked()

    assert sorted(said) == NUMBERS
    assert sorted(marked) == NUMBERS
    assert {number: said[number] ^ marked[number] for number in NUMBERS if said[number] != marked[number]} == {}


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
