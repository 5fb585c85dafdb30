"""What a server answered to a call, as text for a model and pictures for people. Pure; the answer is a stranger's."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.mcp.definitions import visible
from hyperagent.lib.text import clean_text, clean_value

PICTURE_BYTES: Final = 8 << 20
PICTURES: Final = 8
LINK_CHARS: Final = 500
# By how their bytes begin: what a server calls an image need not be one.
_KINDS: Final = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpg", b"GIF87a": "gif", b"GIF89a": "gif"}
_MEDIA: Final = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


@dataclass(frozen=True, slots=True)
class Picture:
    """`ending`: of its file's name."""

    content: bytes
    ending: str

    @property
    def media_type(self) -> str:
        return _MEDIA[self.ending]


@dataclass(frozen=True, slots=True)
class Answered:
    """`text`: all that can be read of it. `structured`: the value that the server gave beside it, if it did."""

    text: str
    structured: Any = None
    pictures: tuple[Picture, ...] = ()
    failed: bool = False


def answered(result: Mapping[str, Any]) -> Answered:
    """`result`: a CallToolResult as JSON."""
    texts: list[str] = []
    pictures: list[Picture] = []
    for block in result.get("content") or ():
        found = _picture(block) if block.get("type") == "image" and len(pictures) < PICTURES else None
        if found is not None:
            pictures.append(found)
        else:
            texts.append(_text(block))
    structured = clean_value(result.get("structuredContent"))
    if structured is not None and not any(texts):
        texts = [json.dumps(structured, ensure_ascii=False)]
    return Answered("\n\n".join(filter(None, texts)), structured, tuple(pictures), failed=bool(result.get("isError")))


def _text(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return clean_text(str(block.get("text", "")))
        case "resource":
            return _resource(block.get("resource") or {})
        case "resource_link":
            return f"[A link: {_short(block.get('uri'))} {_short(block.get('name'))}]"
        case "image":
            return f"[A picture that cannot be shown: {_kind(block)}]"
        case "audio":
            return f"[A recording, which cannot be heard here: {_kind(block)}]"
    return f"[Something of the kind {_short(block.get('type'))}]"


def _resource(given: Mapping[str, Any]) -> str:
    named = _short(given.get("uri"))
    if "text" in given:
        return f"[{named}]\n{clean_text(str(given['text']))}"
    return f"[{named}: data that is no text, {_kind(given)}]"


def _short(given: Any) -> str:
    return visible(str(given or ""))[:LINK_CHARS]


def _kind(block: Mapping[str, Any]) -> str:
    return visible(str(block.get("mimeType") or "of an unknown kind"))[:80]


def _picture(block: Mapping[str, Any]) -> Picture | None:
    """None for what is no picture that is shown here, or too large."""
    data = str(block.get("data", ""))
    if len(data) > PICTURE_BYTES * 4 // 3 + 4:
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return Picture(content, "webp")
    ending = next((kind for head, kind in _KINDS.items() if content.startswith(head)), None)
    return Picture(content, ending) if ending else None
