"""The text of an HTML page or mail, one pass from left to right: none, however broken, takes longer than its length."""

import re
from html import unescape
from typing import Final

from hyperagent.lib.clipping import one_line

_TAG: Final = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]{0,20})[^<>]*>")
# What stands in these is no text for people.
_UNSEEN: Final = frozenset({"script", "style", "head", "title", "template", "noscript"})
_BREAKS: Final = frozenset({"br", "p", "div", "tr", "li", "ul", "ol", "table", "caption", "dt", "blockquote", "hr"})
_BREAKS_TOO: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "pre", "body"})
_CELLS: Final = frozenset({"td", "th", "dd"})
_BLANK_LINES: Final = re.compile(r"\n{3,}")


def text_of(html: str) -> str:
    pieces: list[str] = []
    place = 0
    while place < len(html):
        begin = html.find("<", place)
        if begin < 0:
            pieces.append(html[place:])
            break
        pieces.append(html[place:begin])
        if html.startswith("<!--", begin):
            place = _after(html, "-->", begin)
            continue
        tag = _TAG.match(html, begin)
        if tag is None:
            # A declaration, or a sign that begins no tag.
            place = _after(html, ">", begin) if html.startswith(("<!", "<?"), begin) else begin + 1
            pieces.append("" if place > begin + 1 else "<")
            continue
        name = tag[1].lower()
        place = tag.end()
        if name in _UNSEEN and not tag[0].startswith("</") and not tag[0].endswith("/>"):
            place = _after_closing(html, name, place)
        elif name in _BREAKS or name in _BREAKS_TOO:
            pieces.append("\n")
        elif name in _CELLS:
            pieces.append(" ")
    lines = (one_line(line) for line in unescape("".join(pieces)).split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _after(html: str, end: str, place: int) -> int:
    """Behind the next `end`; the end of it all where there is none, so nothing is looked through twice."""
    found = html.find(end, place)
    return len(html) if found < 0 else found + len(end)


def _after_closing(html: str, name: str, place: int) -> int:
    closing = re.compile(rf"</{name}\b[^<>]*>?", re.IGNORECASE).search(html, place)
    return len(html) if closing is None else closing.end()
