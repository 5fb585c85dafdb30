"""Programs in what a model writes. Pure."""

import re
from dataclasses import dataclass
from typing import Final

RUNNABLE: Final = ("python", "javascript", "typescript", "bash")
# What is taken is not given back (`*+`): on one long line that never fits, giving back would take minutes.
_BLOCK = re.compile(
    r"^(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)[^\n]*+\n(?P<code>.*?)^(?P=fence)[`~]*[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_UNENDED = re.compile(
    r"^(?:`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)[^\n]*+\n(?P<code>.+)\Z", re.DOTALL | re.MULTILINE
)
_NAMES: Final = {
    "": "python",
    "py": "python",
    "python3": "python",
    "js": "javascript",
    "node": "javascript",
    "ts": "typescript",
    "sh": "bash",
    "shell": "bash",
}


@dataclass(frozen=True, slots=True)
class Code:
    language: str
    text: str

    @property
    def is_runnable(self) -> bool:
        return self.language in RUNNABLE


def code_in(answer: str) -> Code | None:
    """The longest fenced block of an answer, or one that was not ended; None if there is none."""
    found = list(_BLOCK.finditer(answer)) or list(_UNENDED.finditer(answer))
    if not found:
        return None
    block = max(found, key=lambda match: len(match["code"]))
    language = block["language"].lower()
    code = block["code"].strip("\n")
    return Code(_NAMES.get(language, language), code) if code.strip() else None


def fenced(code: str, language: str) -> str:
    """The code as a block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"
