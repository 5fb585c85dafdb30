"""What people call the tools of agents, in the reader's language. Which there are says the app that has them, at the
start; a tool that is not known here, such as one of a connected server, is called by its name in words. The page has
the same of `all_labels`: static/js/tools.js.
"""

from collections.abc import Callable, Mapping
from typing import Final

from django.utils.translation import gettext

_CONNECTED: Final = "mcp_"
_OWN: Final = "my_"
_told: list[Callable[[], Mapping[str, str]]] = []


def read_labels_by(read: Callable[[], Mapping[str, str]]) -> None:
    """`read`: English labels by the tools' names. Called once one is wanted."""
    _told.append(read)


def all_labels() -> dict[str, str]:
    return {name: gettext(label) for read in _told for name, label in read().items()}


def tool_label(name: str) -> str:
    """`execute_code`: "Run a program"; `mcp_github_create_issue`: "Create issue (github)"."""
    for read in _told:
        if label := read().get(name):
            return gettext(label)
    return in_words(name)


def quoted_tool(name: str) -> str:
    """Within a sentence."""
    return gettext("“{name}”").format(name=tool_label(name))


def in_words(name: str) -> str:
    server, _, plain = name.removeprefix(_CONNECTED).removeprefix(_OWN).partition("_")
    if not name.startswith(_CONNECTED) or not plain:
        return _spoken(name)
    return f"{_spoken(plain)} ({server})"


def _spoken(name: str) -> str:
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
