"""The numbers that Word writes before headings and items of lists, which stand in no text: counted as Word counts."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from docx.document import Document
from docx.oxml import parse_xml
from docx.oxml.ns import qn

_LEVELS: Final = 9
_ROMAN: Final = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LARGEST: Final = 4_000
_UNNUMBERED: Final = ("bullet", "none")
_STYLES_DEEP: Final = 20


class Numbers:
    """Of one document, asked for its paragraphs in their order."""

    def __init__(self, document: Document) -> None:
        self._levels: dict[str, list[_Level]] = {}
        self._kind_of: dict[str, str] = {}
        self._starts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, list[int | None]] = {}
        self._styles = {
            style.get(qn("w:styleId"), ""): style for style in document.styles.element.findall(qn("w:style"))
        }
        for related in document.part.rels.values():
            if related.reltype.endswith("/numbering") and not related.is_external:
                with suppress(SyntaxError, ValueError):  # The document can be read without them.
                    self._read(parse_xml(related.target_part.blob))

    def _read(self, numbering: Any) -> None:
        kinds = {
            kind.get(qn("w:abstractNumId"), ""): _levels(kind, [_Level()] * _LEVELS)
            for kind in numbering.findall(qn("w:abstractNum"))
        }
        for number in numbering.findall(qn("w:num")):
            name, kind, others = number.get(qn("w:numId"), ""), _value(number, "w:abstractNumId"), qn("w:lvlOverride")
            if kind not in kinds:
                continue
            self._kind_of[name], self._levels[name] = kind, kinds[kind]
            for other in number.findall(others):
                self._levels[name] = _levels(other, self._levels[name])
            self._starts[name] = {
                _whole(other.get(qn("w:ilvl"))): _whole(start)
                for other in number.findall(others)
                if (start := _value(other, "w:startOverride"))
            }

    def before(self, paragraph: Any) -> str:
        """What Word writes before this paragraph (its element); empty for bullets and for what has no number."""
        name, at = self._placed(paragraph)
        levels = self._levels.get(name)
        if levels is None or at >= _LEVELS:
            return ""
        counts = self._counts.setdefault(self._kind_of[name], [None] * _LEVELS)
        for above in range(at):
            counts[above] = levels[above].start if counts[above] is None else counts[above]
        # A list that begins anew does so at its first item.
        anew = self._starts.get(name, {}).pop(at, None)
        last = counts[at]
        counts[at] = anew if anew is not None else levels[at].start if last is None else last + 1
        for below in range(at + 1, _LEVELS):
            if at < levels[below].begins_after:
                counts[below] = None
        return levels[at].written(counts, levels)

    def _placed(self, paragraph: Any) -> tuple[str, int]:
        """The list that it is in, and on which level of it; that of its style where it has none itself."""
        if paragraph.find(f"{qn('w:pPr')}/{qn('w:rPr')}/{qn('w:del')}") is not None:  # Taken out under review.
            return "", 0
        own = paragraph.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
        if own is not None and _value(own, "w:numId"):
            return _value(own, "w:numId"), _whole(_value(own, "w:ilvl"))
        style = paragraph.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
        name = style.get(qn("w:val"), "") if style is not None else ""
        for _ in range(_STYLES_DEEP):
            found = self._styles.get(name)
            numbered = found.find(f"{qn('w:pPr')}/{qn('w:numPr')}") if found is not None else None
            if numbered is not None and (number := _value(numbered, "w:numId")):
                of_style = (at for at, level in enumerate(self._levels.get(number, ())) if level.style == name)
                return number, next(of_style, _whole(_value(numbered, "w:ilvl")))
            name = _value(found, "w:basedOn") if found is not None else ""
        return "", 0


@dataclass(frozen=True, slots=True)
class _Level:
    """`text`: what is written, with %1 to %9 for the counts of the levels. `style`: whose paragraphs are on it.
    `begins_after`: how many of the levels above make it begin anew."""

    start: int = 1
    form: str = "none"
    text: str = ""
    style: str = ""
    is_plain: bool = False
    begins_after: int = _LEVELS

    @classmethod
    def of(cls, level: Any) -> "_Level":
        start, after = _value(level, "w:start"), _value(level, "w:lvlRestart")
        return cls(
            _whole(start) if start else 1,
            _value(level, "w:numFmt") or "decimal",
            _value(level, "w:lvlText"),
            _value(level, "w:pStyle"),
            level.find(qn("w:isLgl")) is not None,
            _whole(after) if after else _LEVELS,
        )

    def written(self, counts: list[int | None], levels: list["_Level"]) -> str:
        if self.form in _UNNUMBERED:
            return ""
        text = self.text
        for number, (count, level) in enumerate(zip(counts, levels, strict=True), 1):
            text = text.replace(f"%{number}", _shown(count or 0, "decimal" if self.is_plain else level.form))
        return text.strip()


def _levels(of: Any, levels: list[_Level]) -> list[_Level]:
    """`levels`, with those that `of` says otherwise."""
    said = {_whole(level.get(qn("w:ilvl"))): _Level.of(level) for level in of.findall(qn("w:lvl"))}
    return [said.get(at, level) for at, level in enumerate(levels)]


def _shown(count: int, form: str) -> str:
    if form in ("lowerLetter", "upperLetter") and 0 < count < _LARGEST:
        # After z comes aa, then bb.
        letters = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in ("lowerRoman", "upperRoman") and 0 < count < _LARGEST:
        letters = ""
        for value, sign in _ROMAN:
            letters += sign * (count // value)
            count %= value
        return letters.upper() if form == "upperRoman" else letters
    return f"{count:02}" if form == "decimalZero" else str(count)


def _value(element: Any, name: str) -> str:
    found = element.find(qn(name))
    return found.get(qn("w:val"), "") if found is not None else ""


def _whole(text: str | None) -> int:
    """0 for what is no number."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 7 else 0
