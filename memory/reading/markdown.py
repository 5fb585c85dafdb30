"""Markdown into its blocks: headings, lists, tables, code, paragraphs. Pure. What stands in a line stays as it is."""

import re
from collections.abc import Iterator
from typing import Final

from memory.kinds import BlockKind
from memory.reading.paging import Part

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_RULE: Final = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_TOLD: Final = re.compile(r"(\w[\w -]*):\s*(.+)")
_FRONT_LINES: Final = 200


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The `name: value` lines between two `---` at the very beginning, names in small letters, and the text below."""
    lines = text.lstrip("\ufeff").split("\n", _FRONT_LINES)
    if lines[0].rstrip() != "---":
        return {}, text
    for at, line in enumerate(lines[1:_FRONT_LINES], 1):
        if line.rstrip() in ("---", "..."):
            found = (_TOLD.fullmatch(told.strip()) for told in lines[1:at])
            return {one[1].lower(): one[2].strip("\"' ") for one in found if one}, "\n".join(lines[at + 1 :])
    return {}, text


def parts_of(text: str) -> Iterator[Part]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        fence, heading = _FENCE.match(line), _HEADING.fullmatch(line)
        if not line.strip():
            at += 1
        elif fence:
            end = _end_of_fence(lines, at + 1, fence[1])
            yield Part(BlockKind.CODE, "\n".join(lines[at:end]))
            at = end
        elif heading:
            yield Part(BlockKind.HEADING, heading[2] or "", len(heading[1]))
            at += 1
        elif _is_table(lines, at):
            end = _end_of_block(lines, at)
            yield Part(BlockKind.TABLE, "\n".join(line.strip() for line in lines[at:end]))
            at = end
        else:
            end = _end_of_block(lines, at)
            yield from _prose(lines[at:end])
            at = end


def _prose(lines: list[str]) -> Iterator[Part]:
    """A paragraph or a list. A line of `===` or `---` makes a heading of what is above it."""
    underline = _UNDERLINE.fullmatch(lines[-1])
    if underline and len(lines) > 1:
        yield Part(BlockKind.HEADING, " ".join(lines[:-1]), 1 if underline[1].startswith("=") else 2)
    elif not (underline and underline[1].startswith("-")):
        yield Part(BlockKind.LIST if _ITEM.match(lines[0]) else BlockKind.PARAGRAPH, "\n".join(lines))


def _end_of_fence(lines: list[str], at: int, fence: str) -> int:
    while at < len(lines):
        if lines[at].strip().startswith(fence) and not lines[at].strip().strip(fence[0]):
            return at + 1
        at += 1
    return at


def _end_of_block(lines: list[str], at: int) -> int:
    """Up to an empty line, or to what cannot go on: a heading, a fence, the end of an underlined heading."""
    end = at + 1
    while end < len(lines) and lines[end].strip():
        if _HEADING.fullmatch(lines[end]) or _FENCE.match(lines[end]) or _is_table(lines, end):
            break
        end += 1
        if _UNDERLINE.fullmatch(lines[end - 1]) and not _is_table(lines, at):
            break
    return end


def _is_table(lines: list[str], at: int) -> bool:
    following = lines[at + 1] if at + 1 < len(lines) else ""
    return "|" in lines[at] and "|" in following and bool(_RULE.fullmatch(following))
