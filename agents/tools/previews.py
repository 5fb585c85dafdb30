"""How people see a call that they are asked about: a mail as a mail, code as code. Pure functions of the arguments.

All of it is text of a model, to be shown as text. Whatever a preview leaves out, the arguments beside it have.
"""

from collections.abc import Callable, Mapping
from typing import Any

Preview = Callable[[Mapping[str, Any]], dict[str, Any]]


def plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A table of the arguments, as they stand."""
    return {"kind": "arguments"}


def mail(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A mail, or the answer to one (`message_id`)."""
    return {
        "kind": "mail",
        "to": _texts(arguments.get("to")),
        "cc": _texts(arguments.get("cc")),
        "bcc": _texts(arguments.get("bcc")),
        "subject": _text(arguments.get("subject")),
        "body": _text(arguments.get("body")),
        "in_reply_to": _text(arguments.get("message_id")),
    }


def code(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "code",
        "language": _text(arguments.get("language")) or "python",
        "code": _text(arguments.get("code")),
    }


def diff(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A text that takes the place of another."""
    return {
        "kind": "diff",
        "path": _text(arguments.get("path")),
        "before": _text(arguments.get("before")),
        "after": _text(arguments.get("after")),
    }


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else []
