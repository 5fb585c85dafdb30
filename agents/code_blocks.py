"""Programs in what a model writes. Pure."""

import re
from dataclasses import dataclass
from typing import Final

RUNNABLE: Final = ("python", "javascript", "typescript", "bash")
_OPENS: Final = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)")
_CLOSES: Final = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[`~]*+[ \t]*+$")
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
    blocks = _blocks_in(answer)
    if not blocks:
        return None
    language, code = max(blocks, key=lambda block: len(block[1]))
    code = code.strip("\n")
    return Code(_NAMES.get(language, language), code) if code.strip() else None


def _blocks_in(answer: str) -> list[tuple[str, str]]:
    """Language and code of each. In one pass: of a model that repeats itself there may be thousands, none of which
    ends."""
    lines = answer.split("\n")
    ends = [_CLOSES.match(line) for line in lines]
    # How long a fence at or behind a line is at most, of each kind.
    longest = {"`": [0] * (len(lines) + 1), "~": [0] * (len(lines) + 1)}
    for place in range(len(lines) - 1, -1, -1):
        for kind, lengths in longest.items():
            end = ends[place]
            here = len(end["fence"]) if end is not None and end["fence"][0] == kind else 0
            lengths[place] = max(lengths[place + 1], here)
    found: list[tuple[str, str]] = []
    unended: tuple[str, str] | None = None
    place = 0
    while place < len(lines):
        opens = _OPENS.match(lines[place])
        place += 1
        if opens is None:
            continue
        fence, language, first = opens["fence"], opens["language"].lower(), place
        if longest[fence[0]][place] < len(fence):
            if unended is None and (rest := "\n".join(lines[first:])):
                unended = language, rest
            continue
        while (end := ends[place]) is None or not end["fence"].startswith(fence):
            place += 1
        found.append((language, "\n".join(lines[first:place])))
        place += 1
    return found or ([unended] if unended is not None else [])


def fenced(code: str, language: str) -> str:
    """The code as a block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"
