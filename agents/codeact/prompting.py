"""What a model is told of the library that its scripts have. Its functions are read from the library itself."""

import ast
from functools import cache
from pathlib import Path
from typing import Final

from agents.codeact.mode import FUNCTIONS, callable_from_scripts
from agents.craft.prompts import fill, read_prompt
from hyperagent.lib.clipping import one_line

PROMPT: Final = Path(__file__).parent / "library.md"
LIBRARY: Final = Path(__file__).resolve().parent.parent / "sandbox/library/hyperagent/__init__.py"
# Theirs are in another file of the library.
_ELSEWHERE: Final = {"call": "call(tool, **arguments): any tool by its name; gives its value."}


def library_told(agent: str) -> str:
    """For the system prompt of an agent whose scripts may act."""
    tools = callable_from_scripts(agent)
    by_name = [name for name in tools if name not in FUNCTIONS]
    functions = "\n".join(functions_told().values())
    return fill(read_prompt(PROMPT), functions=functions, tools=", ".join(f"`{name}`" for name in by_name))


@cache
def functions_told() -> dict[str, str]:
    """By name a line for each function: how it is called, and the first paragraph of its docstring."""
    tree = ast.parse(LIBRARY.read_text(encoding="utf-8"))
    found = {node.name: _line(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    lines = {name: line for name, line in found.items() if not name.startswith("_")} | _ELSEWHERE
    return {name: f"- `hyperagent.{_marked(lines[name])}" for name in sorted(lines)}


def _line(node: ast.FunctionDef) -> str:
    said = one_line((ast.get_docstring(node) or "").split("\n\n", maxsplit=1)[0])
    return f"{node.name}({ast.unparse(node.args)}): {said}"


def _marked(line: str) -> str:
    how, _, said = line.partition("): ")
    return f"{how})`: {said}"
