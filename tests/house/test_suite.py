"""What `make test` leaves to `make test-all`: no requirement and no threat with all its tests."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hyperagent.lib.conf import BASE_DIR

REQUIREMENT = re.compile(r"^- \*\*([A-Z]+\d+)\*\*", re.MULTILINE)


def test_of_each_requirement_and_each_threat_a_test_is_not_slow() -> None:
    numbers = REQUIREMENT.findall((BASE_DIR / "docs" / "requirements.md").read_text())
    shown, shown_fast = set[str](), set[str]()
    for path in sorted((BASE_DIR / "tests").rglob("test_*.py")):
        for marks in _marks_of_tests(path):
            carried = {str(one.value) for mark in marks for one in _numbers(mark)}
            shown |= carried
            if not any(_name(mark) in ("slow", "campaign") for mark in marks):
                shown_fast |= carried

    assert len(shown & set(numbers)) > 200
    assert sorted(shown - shown_fast) == []


def _marks_of_tests(path: Path) -> Iterator[Sequence[ast.expr]]:
    """Of each test the marks that it, its class and its module carry."""
    yield from _within(ast.parse(path.read_text()), [])


def _within(place: ast.Module | ast.ClassDef, above: Sequence[ast.expr]) -> Iterator[Sequence[ast.expr]]:
    own = [node.value for node in place.body if isinstance(node, ast.Assign) and _is_marks(node)]
    above = [*above, *(mark for value in own for mark in (value.elts if isinstance(value, ast.List) else [value]))]
    for node in place.body:
        if isinstance(node, ast.ClassDef):
            yield from _within(node, [*above, *node.decorator_list])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield [*above, *node.decorator_list]


def _is_marks(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _name(mark: ast.expr) -> str:
    """`slow` of `pytest.mark.slow` and of `pytest.mark.slow(...)`."""
    mark = mark.func if isinstance(mark, ast.Call) else mark
    return mark.attr if isinstance(mark, ast.Attribute) else ""


def _numbers(mark: ast.expr) -> Sequence[ast.Constant]:
    if not isinstance(mark, ast.Call) or _name(mark) not in ("spec", "threat"):
        return ()
    return [one for one in mark.args if isinstance(one, ast.Constant)]
