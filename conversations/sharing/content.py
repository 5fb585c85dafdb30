"""What somebody who has a link reads: questions and answers as text, and nothing that leads to what is the owner's.
Pure.

What is not named here is not shown: no names of people, no e-mail addresses of theirs, no files, no tool's arguments,
no steps of agents, nothing remembered.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from agents.log.shapes import sources_of
from conversations.models import Message, Role
from conversations.shapes import text_of
from hyperagent.lib.times import iso

Json = dict[str, Any]
VERSION: Final = 1
# What may be long stops at what it begins with, and is taken whole or not at all: so the whole takes no longer than the
# text is long. What was given back of the one part would be taken by the next, and end at the same place.
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*+)\]\([ \t]*+(?:\n[ \t]*+)?+<?+([^)\s>\[]*+)>?+[^)\[\n]*+\)")
# The end of a link whose words or title have brackets.
_TARGET: Final = re.compile(r"\]\([ \t]*\n?[ \t]*<?([^\s)<>\]]*)")
_DEFINITION: Final = re.compile(r"^ {0,3}\[([^\]\n]+)\]:[ \t]*<?(\S+?)>?(?:[ \t].*)?$", re.MULTILINE)
_ATTRIBUTE: Final = re.compile(r"""\b(?:href|src)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_ABROAD: Final = ("http", "https", "mailto")
REMOVED: Final = "[link removed]"


def content_of(
    title: str, messages: Iterable[Message], *, site_url: str, with_sources: bool, with_attachments: bool
) -> Json:
    """Of a branch, oldest first, each message with its run. Answers that say nothing yet are left out."""
    shown = [
        _message(message, site_url, with_sources=with_sources, with_attachments=with_attachments)
        for message in messages
        if message.role in (Role.USER, Role.ASSISTANT)
    ]
    return {"version": VERSION, "title": title, "messages": [one for one in shown if one["text"].strip()]}


def _message(message: Message, site_url: str, *, with_sources: bool, with_attachments: bool) -> Json:
    sources = sources_of(message.execution) if with_sources and message.execution else []
    attached = message.metadata.get("attachments", []) if with_attachments else []
    text = text_of(message)
    return {
        "role": message.role,
        "text": abroad_only(text, site_url) if message.role == Role.ASSISTANT else text,
        "at": iso(message.created_at),
        "sources": [_source(source) for source in sources],
        "attachments": [str(one.get("name", "")) for one in attached],
    }


def _source(source: Mapping[str, Any]) -> Json:
    """Its name and place as text; an address only of what is not the owner's document."""
    address = str(source.get("url") or "")
    is_web = not source.get("document_id") and address.startswith(("https://", "http://"))
    return {
        "source": str(source.get("source") or ""),
        "page": source.get("page") or None,
        "section": str(source.get("section") or ""),
        "url": address if is_web else None,
    }


def abroad_only(text: str, site_url: str) -> str:
    """Markdown without links and pictures that lead into this installation: their words stay."""
    host = urlsplit(site_url).netloc

    def link(found: re.Match[str]) -> str:
        return found.group() if _leads_abroad(found.group(2), host) else found.group(1)

    def definition(found: re.Match[str]) -> str:
        return found.group() if _leads_abroad(found.group(2), host) else ""

    def attribute(found: re.Match[str]) -> str:
        return found.group() if _leads_abroad(found.group(1).strip("\"'"), host) else ""

    def address(found: re.Match[str]) -> str:
        return found.group() if _leads_abroad(found.group(), host) else REMOVED

    def target(found: re.Match[str]) -> str:
        return found.group() if _leads_abroad(found.group(1), host) else "] (link removed"

    words = _DEFINITION.sub(definition, _TARGET.sub(target, _LINK.sub(link, text)))
    return _ADDRESS.sub(address, _ATTRIBUTE.sub(attribute, words))


def _leads_abroad(target: str, host: str) -> bool:
    try:
        parts = urlsplit(target)
    except ValueError:
        return False
    return parts.scheme.lower() in _ABROAD and parts.netloc != host


def as_copied(message: Mapping[str, Any]) -> str:
    """The text of a message for whoever goes on from it: its sources stand below it, for they have no run there."""
    lines = [f"{number}. {_line(source)}" for number, source in enumerate(message["sources"], 1)]
    return "\n".join([message["text"], "", "---", "", *lines]) if lines else str(message["text"])


def _line(source: Mapping[str, Any]) -> str:
    page = f"page {source['page']}" if source["page"] else ""
    return ", ".join(part for part in (source["source"], source["section"], page, source["url"]) if part)
