"""The literal arguments of named calls in an ES module, also within its nested templates: `${t("…")}`.

A tokenizer as small as that needs: comments, strings, templates and regular expressions are told apart, nothing else.
"""

import re
from collections.abc import Collection, Generator, Iterator
from typing import Final

_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
_SKIPPED: Final = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_REGEX: Final = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_WORD: Final = re.compile(r"[\w$]+")
_ESCAPE: Final = re.compile(r"\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
# After one of these a slash begins a regular expression; after a value it divides.
_BEFORE_VALUE: Final = set("(,=:[!&|?{};+-*%<>~^") | {"return", "typeof", "case", "in", "of", "=>", ""}

Token = tuple[str, str]
"""Its kind (`string`, `word`, `mark`) and its text; a string's is what it says."""


def calls_in(source: str, names: Collection[str]) -> Iterator[tuple[str, list[str | None]]]:
    """Each call of one of `names`, with its arguments: the text of a lone string literal, None for anything else."""
    tokens = list(tokens_of(source))
    for at, (kind, text) in enumerate(tokens[:-1]):
        before = tokens[at - 1][1] if at else ""
        if kind == "word" and text in names and tokens[at + 1] == ("mark", "(") and before not in (".", "function"):
            yield text, _arguments(tokens, at + 2)


def tokens_of(source: str) -> Iterator[Token]:
    """A template's own text is none of its tokens; what it holds in `${}` is, with the braces as marks."""
    at, before = 0, ""
    # For each open template, how many braces are open within its `${`.
    braces: list[int] = []
    while at < len(source):
        if skipped := _SKIPPED.match(source, at):
            at = skipped.end()
            continue
        letter = source[at]
        if letter == "`" or (letter == "}" and braces and braces[-1] == 0):
            if letter == "}":
                braces.pop()
                yield "mark", "}"
            at = yield from _template(source, at + 1, braces)
            before = source[at - 1]
        elif string := _STRING.match(source, at):
            yield "string", _said(string[0])
            at, before = string.end(), '"'
        elif letter == "/" and before in _BEFORE_VALUE and (regex := _REGEX.match(source, at)):
            at, before = regex.end(), "/"
        elif word := _WORD.match(source, at):
            yield "word", word[0]
            at, before = word.end(), word[0]
        else:
            if braces and letter in "{}":
                braces[-1] += 1 if letter == "{" else -1
            yield "mark", letter
            at, before = at + 1, letter


def _template(source: str, at: int, braces: list[int]) -> Generator[Token, None, int]:
    """From within a template's text: to its end, or into the next `${`. Returns where reading goes on."""
    while at < len(source):
        if source[at] == "\\":
            at += 2
        elif source[at] == "`":
            # One token, so that a template is an argument that is no literal.
            yield "mark", "`"
            return at + 1
        elif source.startswith("${", at):
            braces.append(0)
            yield "mark", "${"
            return at + 2
        else:
            at += 1
    return at


def _arguments(tokens: list[Token], at: int) -> list[str | None]:
    found: list[str | None] = []
    part: list[Token] = []
    depth = 0
    for kind, text in tokens[at:]:
        if kind == "mark" and depth == 0 and text in (",", ")"):
            if part:
                found.append(part[0][1] if len(part) == 1 and part[0][0] == "string" else None)
            part = []
            if text == ")":
                break
            continue
        if kind == "mark":
            depth += (text in ("(", "[", "{", "${")) - (text in (")", "]", "}"))
        part.append((kind, text))
    return found


def _said(literal: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "ux" and len(code) > 1:
            return chr(int(code[1:].strip("{}"), 16))
        return _LETTERS.get(code, code)

    return _ESCAPE.sub(one, literal[1:-1])
