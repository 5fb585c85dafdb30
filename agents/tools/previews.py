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
    shown = {
        "kind": "mail",
        "to": _texts(arguments.get("to")),
        "cc": _texts(arguments.get("cc")),
        "bcc": _texts(arguments.get("bcc")),
        "subject": _text(arguments.get("subject")),
        "body": _text(arguments.get("body")),
        "in_reply_to": _text(arguments.get("message_id")),
    }
    files = [_file(one) for one in arguments.get("attachments") or ()]
    own = {"from": _text(arguments.get("account"))} if arguments.get("account") else {}
    return {**shown, **own, **({"attachments": files} if files else {})}


def draft(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A draft that is sent as it is."""
    return mail(arguments.get("draft") or {})


def code(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "code",
        "language": _text(arguments.get("language")) or "python",
        "code": _text(arguments.get("code")),
    }


def command(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a shell."""
    return {"kind": "code", "language": "bash", "code": _text(arguments.get("command"))}


def diff(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A text that takes the place of another."""
    return {
        "kind": "diff",
        "path": _text(arguments.get("path")),
        "before": _text(arguments.get("before")),
        "after": _text(arguments.get("after")),
    }


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    """A file that goes along: its name or path, and how large it is."""
    return {"name": _text(file.get("path") or file.get("name")), "size_bytes": int(file.get("size_bytes") or 0)}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else []
