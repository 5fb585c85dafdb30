"""Programs in what a model writes. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

RUNNABLE: Final = ("python", "javascript", "typescript", "bash")
# What is taken is not given back (`*+`): on one long line that never fits, giving back would take minutes.
_OPENS: Final = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)")
_ENDS: Final = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[`~]*+[ \t]*+")
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
    lines = answer.split("\n")
    found = list(_ended(lines)) or _unended(lines)
    if not found:
        return None
    said, code = max(found, key=lambda block: len(block[1]))
    language, code = said.lower(), code.strip("\n")
    return Code(_NAMES.get(language, language), code) if code.strip() else None


def _ended(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The language and the code of each block. No line is looked at twice: of a fence that nothing ends that is known
    without going through all that follows it."""
    ends = [_ENDS.fullmatch(line) for line in lines]
    longest = _longest_after(ends)
    at = 0
    while at < len(lines):
        opened = _OPENS.match(lines[at])
        if opened is None or longest[opened["fence"][0]][at] < len(opened["fence"]):
            at += 1
            continue
        end = next(
            number
            for number in range(at + 1, len(lines))
            if (found := ends[number]) is not None and found["fence"].startswith(opened["fence"])
        )
        yield opened["language"], "".join(f"{line}\n" for line in lines[at + 1 : end])
        at = end + 1


def _longest_after(ends: Sequence[re.Match[str] | None]) -> dict[str, list[int]]:
    """For each sign that fences are made of, and each line: how long the longest is that may end a block behind it."""
    longest = {sign: [0] * len(ends) for sign in "`~"}
    for at in range(len(ends) - 2, -1, -1):
        following = ends[at + 1]
        for sign, lengths in longest.items():
            own = len(following["fence"]) if following is not None and following["fence"][0] == sign else 0
            lengths[at] = max(lengths[at + 1], own)
    return longest


def _unended(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The first that was begun, up to the end."""
    for at, line in enumerate(lines[:-1]):
        if (opened := _OPENS.match(line)) is not None and (code := "\n".join(lines[at + 1 :])):
            return [(opened["language"], code)]
    return []


def fenced(code: str, language: str) -> str:
    """The code as a block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"
