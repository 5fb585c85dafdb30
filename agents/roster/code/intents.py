"""What somebody who gives a task to a programmer wants: a program, or what it finds out. Pure."""

import re

_RUN = re.compile(
    r"\b(run|execute|calculate|compute|simulate|count|solve|what is|how (many|much|long)|find out|check whether|"
    r"ausführen|führe|berechne\w*|rechne\w*|zähle\w*|simulier\w*|löse|wie (viele|viel|lange|groß))\b",
    re.IGNORECASE,
)
_WRITE = re.compile(
    r"\b(write|create|implement|refactor|fix|debug|script|function|class|code|program|snippet|regex|test|"
    r"schreib\w*|erstelle?|implementier\w*|funktion|klasse|skript|programm)\b",
    re.IGNORECASE,
)


def wants_result_only(task: str) -> bool:
    """Whether the task is not done by a program that was never run."""
    return bool(_RUN.search(task)) and not _WRITE.search(task)
