"""How a program in each language is started in a box, and under which name it lies there. Pure."""

from collections.abc import Sequence
from typing import Final

from agents.sandbox.base import HOME
from agents.tools.values import Language

LIBRARY: Final = "/opt/hyperagent"
"""Where the helper library is seen in a box of code."""
PROGRAMS: Final = "/tmp/hyperagent"  # noqa: S108 (inside of the box)
_ENDINGS: Final[dict[Language, str]] = {
    "python": "py",
    "javascript": "mjs",
    "typescript": "mts",
    "bash": "sh",
}
# The helper library is found besides what the box brings, and by its `sitecustomize` the working folder; in a box that
# does not have the library, the working folder itself.
_FOUND: Final = f"$([ -e {LIBRARY} ] && echo {LIBRARY} || echo {HOME})${{PYTHONPATH:+:$PYTHONPATH}}"
_PYTHON: Final = f'PYTHONPATH="{_FOUND}" exec python3 -s -u "$1"'
_NODE_MISSING: Final = "There is no Node.js in this sandbox: write it in Python or Bash."
_NODE: Final = f'command -v node >/dev/null || {{ echo "{_NODE_MISSING}" >&2; exit 127; }}; exec node "$1"'
_TYPED: Final = f"""command -v node >/dev/null || {{ echo "{_NODE_MISSING}" >&2; exit 127; }}
if node --experimental-strip-types -e 0 2>/dev/null; then exec node --no-warnings --experimental-strip-types "$1"; fi
node {LIBRARY}/typescript/strip.cjs "$1" "${{1%.mts}}.mjs" && exec node "${{1%.mts}}.mjs" """.strip()


def file_for(language: Language, name: str) -> str:
    """Where a program is put before it runs."""
    return f"{PROGRAMS}/{name}.{_ENDINGS[language]}"


def argv_of(language: Language, path: str) -> Sequence[str]:
    match language:
        case "python":
            return ("/bin/sh", "-c", _PYTHON, "sh", path)
        case "javascript":
            return ("/bin/sh", "-c", _NODE, "sh", path)
        case "typescript":
            return ("/bin/sh", "-c", _TYPED, "sh", path)
        case "bash":
            return ("/bin/bash", path)
