"""Prompts are Markdown files beside their user; their `{{placeholders}}` are checked, never evaluated."""

import re
from functools import cache, lru_cache
from pathlib import Path

_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


class BadPrompt(ValueError):
    """A prompt and what it is filled with do not fit together."""


@cache
def read_prompt(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def fill(prompt: str, **values: str) -> str:
    """The prompt with every placeholder replaced. Raises BadPrompt for one too many on either side."""
    wanted = set(_PLACEHOLDER.findall(prompt))
    if wanted != set(values):
        missing, unused = sorted(wanted - set(values)), sorted(set(values) - wanted)
        raise BadPrompt(f"the prompt «{prompt[:60]}…»: missing: {missing}; given and not in it: {unused}")
    return _PLACEHOLDER.sub(lambda match: values[match[1]], prompt)


filled_for_all = lru_cache(maxsize=32)(fill)
"""`fill` with what is the same for everybody: the runs of a day hold one text."""
