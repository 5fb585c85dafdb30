"""What a sentence must not have made up: its figures, days and identifiers, in a form that can be compared. Pure.

`4.2 million euro`, `4,2 Mio. €` and `4,200,000` are the same; so are `2 November 2026`, `2.11.2026`, `2026-11-02` and
`2/11/2026`, which is `11 February 2026` too; `the third quarter` and `Q3`, `three years` and `3 years`. English and
German.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_SCALES: Final = {
    "thousand": 1e3, "tausend": 1e3, "tsd": 1e3, "k": 1e3,
    "million": 1e6, "millions": 1e6, "millionen": 1e6, "mio": 1e6, "mn": 1e6, "m": 1e6,
    "billion": 1e9, "billions": 1e9, "bn": 1e9, "milliarde": 1e9, "milliarden": 1e9, "mrd": 1e9,
    "trillion": 1e12, "billionen": 1e12,
}  # fmt: skip
_WORDS: Final = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "hundred": 100,
    "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11,
    "zwölf": 12, "dreizehn": 13, "vierzehn": 14, "fünfzehn": 15, "sechzehn": 16, "siebzehn": 17, "achtzehn": 18,
    "neunzehn": 19, "zwanzig": 20, "dreißig": 30, "dreissig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60,
    "siebzig": 70, "achtzig": 80, "neunzig": 90, "hundert": 100,
}  # fmt: skip
_MONTHS: Final = (
    "jan", "feb", "mar|mär|maer", "apr", "may|mai", "jun", "jul", "aug", "sep", "oct|okt", "nov", "dec|dez",
)  # fmt: skip
_MONTH: Final = {start: number for number, starts in enumerate(_MONTHS, start=1) for start in starts.split("|")}
_MONTH_NAME: Final = re.compile(
    r"\b(jan(?:uary|uar|\.)?|feb(?:ruary|ruar|\.)?|mar(?:ch|\.)|märz|maerz|apr(?:il|\.)?|may|mai|june?|juni|july?|juli|"
    r"aug(?:ust|\.)?|sept?(?:ember|\.)?|oct(?:ober|\.)?|okt(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?|dez(?:ember|\.)?)"
    r"(?!\w)",
    re.IGNORECASE,
)
_BEFORE_MONTH: Final = re.compile(r"\b(?:in|of|since|until|by|from|im|seit|bis|ab)\s")
_ISO: Final = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_DOTTED: Final = re.compile(r"(?<!\d)(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4}|\d{2})(?!\d)")
_SLASHED: Final = re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)")
_QUARTER: Final = re.compile(
    r"\b(?:(first|1st|erste[nsrm]?|1\.)|(second|2nd|zweite[nsrm]?|2\.)|(third|3rd|dritte[nsrm]?|3\.)|"
    r"(fourth|4th|vierte[nsrm]?|4\.))[\s-]+(?:quarter|quartal)s?",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?P<minus>(?<![\w.,)%])[-−])?(?P<digits>\d+(?:[.,'’\u00a0\u202f]\d+)*)(?P<ordinal>st|nd|rd|th)?(?:\s?(?P<percent>%)|"
    r"[\s\u00a0-]?(?P<word>[A-Za-zÄÖÜäöüß]+))?",
)
# Letters with digits, or with a hyphen and digits: AP-200-F, E7, Q3, ISO9001.
_CODE: Final = re.compile(r"(?<!\w)(?=[\w./-]{0,40}[A-Za-z])(?=[\w./-]{0,40}\d)[A-Za-z\d]+(?:[-_/.][A-Za-z\d]+)*(?!\w)")
# Scales, and money, which a table writes before the number or in its header.
_UNCOUNTED: Final = frozenset({*_SCALES, "euro", "euros", "eur", "usd", "dollar", "dollars", "cent", "cents", "pounds"})
_COUNTED: Final = re.compile(
    rf"(?<![\w.,])(?:(?P<digits>\d+(?:[.,]\d+)*)|(?P<said>{'|'.join(_WORDS)}))[\s\u00a0-](?P<word>[A-Za-zÄÖÜäöüß]{{3,}})",
    re.IGNORECASE,
)
_PERCENT: Final = re.compile(r"%|\b(?:percent|per\s+cent|prozent)\b", re.IGNORECASE)
_UNIT_CODE: Final = re.compile(r"\d+(?:[.,]\d+)?(?:[a-z]{1,3}|st|nd|rd|th|fach|x)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as it stands there (`text`), what it may mean (1.234 is two things), and the word that scales it."""

    text: str
    values: frozenset[float]
    scale: float = 1
    percent: bool = False

    def is_like(self, other: "Figure", *, percents: bool) -> bool:
        """`percents`: whether the other text speaks of percent at all, as the header of a column may."""
        if self.percent and not (other.percent or (percents and other.scale == 1)):
            return False
        if {value * self.scale for value in self.values} & {value * other.scale for value in other.values}:
            return True
        # "4.2" in a table whose header says "in million".
        return bool(self.values & other.values) and 1 in (self.scale, other.scale)


@dataclass(frozen=True, slots=True)
class Facts:
    """All of a text that can be compared. `codes`: identifiers, folded. `months`: of each what it may be, 1 to 12."""

    figures: tuple[Figure, ...]
    months: frozenset[frozenset[int]]
    codes: frozenset[str]
    percents: bool

    def missing(self, evidence: "Facts") -> list[str]:
        """What stands here and not in the evidence, as it is written here."""
        lacking = [
            figure.text
            for figure in self.figures
            if not any(figure.is_like(other, percents=evidence.percents) for other in evidence.figures)
        ]
        others = frozenset[int]().union(*evidence.months)
        months = [f"month {_either(month)}" for month in sorted(self.months, key=sorted) if not month & others]
        return [*dict.fromkeys(lacking), *months, *sorted(self.codes - evidence.codes)]


@lru_cache(maxsize=1_024)
def facts_of(text: str) -> Facts:
    text = _QUARTER.sub(_as_code, text)
    figures: list[Figure] = []
    named = (match for match in _MONTH_NAME.finditer(text) if _is_month(match, text))
    months = {frozenset({_MONTH[_start_of(match[1])]}) for match in named}

    def dated(match: re.Match[str], year: str, *ways: tuple[str, str]) -> str:
        """`ways`: in which month and day may be read."""
        read = [(int(month), int(day)) for month, day in ways if int(month) in range(1, 13)]
        if not read:
            return match[0]
        days = frozenset(day for _, day in read)
        months.add(frozenset(month for month, _ in read))
        figures.append(Figure(year, frozenset({float(year)})))
        figures.append(Figure(_either(days), frozenset(map(float, days))))
        return " "

    text = _ISO.sub(lambda m: dated(m, m[1], (m[2], m[3])), text)
    text = _DOTTED.sub(lambda m: dated(m, _long_year(m[3]), (m[2], m[1])), text)
    text = _SLASHED.sub(lambda m: dated(m, m[3], (m[1], m[2]), (m[2], m[1])), text)
    codes: set[str] = set()

    def coded(match: re.Match[str]) -> str:
        if _UNIT_CODE.fullmatch(match[0]):
            return match[0]
        codes.add(_folded(match[0]))
        return " "

    text = _CODE.sub(coded, text)
    for match in _NUMBER.finditer(text):
        figures.append(_figure(match, text))
    for word in re.findall(r"[A-Za-zÄÖÜäöüß]+", text):
        if word.lower() in _WORDS:
            figures.append(Figure(word, frozenset({float(_WORDS[word.lower()])})))
    return Facts(tuple(figures), frozenset(months), frozenset(codes), bool(_PERCENT.search(text)))


def counted_in(text: str) -> list[tuple[Figure, str]]:
    """The figures that count something, with the word behind them: (3, "months"). Not scales, percent and years."""
    found = []
    for match in _COUNTED.finditer(text):
        digits, word = match["digits"] or match["said"], match["word"]
        if match["digits"]:
            values = frozenset(_values(digits))
        elif digits.lower() in _WORDS:
            values = frozenset({float(_WORDS[digits.lower()])})
        else:
            continue
        if word.lower() not in _UNCOUNTED and not _PERCENT.match(word) and not _MONTH_NAME.match(word):
            found.append((Figure(digits, values), word))
    return found


def _either(numbers: frozenset[int]) -> str:
    return " or ".join(map(str, sorted(numbers)))


def _figure(match: re.Match[str], text: str) -> Figure:
    word = (match["word"] or "").lower()
    percent = match["percent"] is not None or bool(_PERCENT.match(text, match.end("digits") + 1))
    # "5 m" are metres as often as millions; "m" and "k" scale where they touch the number.
    touches = match["word"] is not None and match.start("word") == match.end("digits")
    scale = _SCALES.get(word, 1) if len(word) > 1 or touches else 1
    sign = -1 if match["minus"] else 1
    return Figure(match["digits"], frozenset(sign * value for value in _values(match["digits"])), scale, percent)


def _values(digits: str) -> set[float]:
    """What the digits may mean: points and commas group thousands, or one of them begins the decimals."""
    bare = re.sub(r"['’\u00a0\u202f]", "", digits)
    marks = re.findall(r"[.,]", bare)
    found = set()
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?|\d+", bare) and len(set(marks[:-1] or marks)) <= 1:
        groups = re.split(r"[.,]", bare)
        if all(len(group) == 3 for group in groups[1:]):
            found.add(float("".join(groups)))
    if marks and (len(marks) == 1 or marks[-1] not in marks[:-1]):
        whole, _, rest = bare.rpartition(marks[-1])
        found.add(float(f"{re.sub('[.,]', '', whole)}.{rest}"))
    return found or {float(re.sub(r"[.,]", "", bare))}


def _is_month(match: re.Match[str], text: str) -> bool:
    """Months are written large in both languages; "May" is one beside a number, or behind "in" and the like."""
    if not match[1][0].isupper():
        return False
    around = text[max(0, match.start() - 8) : match.start()] + text[match.end() : match.end() + 6]
    return match[1] != "May" or any(letter.isdigit() for letter in around) or bool(_BEFORE_MONTH.search(around))


def _as_code(match: re.Match[str]) -> str:
    return f"Q{next(number for number in range(1, 5) if match[number])}"


def _start_of(name: str) -> str:
    lowered = name.lower()
    return lowered[:4] if lowered.startswith("maer") else lowered[:3]


def _long_year(year: str) -> str:
    return year if len(year) == 4 else f"20{year}"


def _folded(code: str) -> str:
    return re.sub(r"[-_/.]", "", code).lower()
