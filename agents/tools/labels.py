"""What the tools are called for people, read from their own declarations without loading them: a web process shows them
and never calls one. That it is what the tools say is a test.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache

from agents.tools.registry import sources


@cache
def declared_labels() -> Mapping[str, str]:
    """By the tool's name, in English; of those that declare one."""
    return {name: label for path in sources() for name, label in _declared(ast.parse(path.read_text("utf-8")))}


def _declared(module: ast.Module) -> Iterator[tuple[str, str]]:
    for function in (one for one in module.body if isinstance(one, ast.AsyncFunctionDef)):
        for decorator in function.decorator_list:
            given = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
            if label := _text(given.get("label")):
                yield _text(given.get("name")) or function.name, label


def _text(value: ast.expr | None) -> str:
    """Of a literal, or of one within a call such as `gettext_noop("…")`."""
    literal = value.args[0] if isinstance(value, ast.Call) and value.args else value
    return literal.value if isinstance(literal, ast.Constant) and isinstance(literal.value, str) else ""
