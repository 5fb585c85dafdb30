"""A mail's text, and what was done or found in plain words. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, Field

LINES: Final = 10


class Letter(BaseModel):
    """A mail in its parts."""

    subject: str = Field(default="", max_length=300)
    greeting: str = ""
    body: str = Field(min_length=1)
    sign_off: str = ""

    @property
    def text(self) -> str:
        parts = (self.greeting.strip(), self.body.strip(), self.sign_off.strip())
        return "\n\n".join(part for part in parts if part)


def told(action: str, data: Mapping[str, Any], text: str = "") -> str:
    """What an action came to, without a model: who needs to know learns it all the same."""
    match action:
        case "send" | "reply" | "send_draft":
            return f"{_mail('The mail was sent', data.get('sent') or data.get('reply') or {})}\n\n{text}".strip()
        case "draft":
            return f"{_mail('A draft was saved, and not sent', data.get('draft') or {})}\n\n{text}".strip()
        case "read":
            message = data.get("message") or {}
            return f"{_head(message)}\n\n{message.get('body', '')}".strip()
        case "save_attachments":
            saved = ["Saved:", *(f"- {file['path']}" for file in data.get("files") or [])]
            return "\n".join([*saved, *([f"Not saved: {data['not_saved']}."] if data.get("not_saved") else [])])
        case _:
            found = data.get("drafts" if action == "search_drafts" else "messages") or []
            return _list(found)


def _mail(done: str, mail: Mapping[str, Any]) -> str:
    to = f" to {', '.join(mail['to'])}" if mail.get("to") else ""
    return f"{done}{to}: {mail.get('subject') or 'without a subject'}."


def _list(found: Sequence[Mapping[str, Any]]) -> str:
    if not found:
        return "No mail was found."
    lines = [f"- {_head(mail)}" for mail in found[:LINES]]
    left = len(found) - LINES
    return "\n".join([f"Found: {len(found)}.", *lines, *([f"- and {left} more"] if left > 0 else [])])


def _head(mail: Mapping[str, Any]) -> str:
    parts = [mail.get("date", ""), mail.get("from", ""), mail.get("subject", "")]
    return " · ".join(str(part) for part in parts if part)
