"""What a telephone number looks like, written for people at home or abroad. Pure.

A number is only taken for one by what it is (a country's code, an area in brackets, a leading zero with groups, the
groups of North America) or by the words around it ("call me at", "Tel.:", "… mobile"). Everything else that has digits
is a price, a date or an order.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

BLANKS: Final = " \u00a0\u202f\u2007\u2009"
DASHES: Final = "-\u2010\u2011\u2012\u2013"
_DASH: Final = rf"\{DASHES}"
"""For a set of characters, wherever it stands in it."""
_BETWEEN: Final = rf"(?:[{BLANKS}./{_DASH}]|[{BLANKS}][/{_DASH}][{BLANKS}])"

CANDIDATE: Final = re.compile(
    rf"(?<![\w.,+@#$€£¥_=/&-])\+?(?:\([0-9]{{1,6}}\)|[0-9]+)"
    rf"(?:{_BETWEEN}?\([0-9]{{1,6}}\)|(?:(?<=\)){_BETWEEN}?|{_BETWEEN})[0-9]+)*"
    r"(?:(?:x|ext\.?)[0-9]{1,6})?(?![\w@%€£$]|[.,:][0-9])"
)
"""Groups of digits that may be one number."""

_GROUP: Final = re.compile(r"\(?[0-9]+\)?")
_SPLITS: Final = (
    re.compile(rf"[{BLANKS}]?[/\u2013][{BLANKS}]?|[{BLANKS}]-[{BLANKS}]|[{BLANKS}](?=\()"),
    re.compile(rf"[{BLANKS}](?=[0-9(]+[{_DASH}.])"),
)
_EXTENSION: Final = re.compile(r"(?:x|ext\.?)[0-9]+\Z")
_DATE: Final = re.compile(
    rf"[0-9]{{1,2}}[./{_DASH}{BLANKS}][0-9]{{1,2}}[./{_DASH}{BLANKS}](?:19|20)[0-9]{{2}}"
    rf"|(?:19|20)[0-9]{{2}}[./{_DASH}][0-9]{{1,2}}[./{_DASH}][0-9]{{1,2}}"
    r"|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:[0-2][0-9]|3[01])(?![0-9])"
)
_SHORT_DATE: Final = re.compile(rf"[0-9]{{1,2}}[./{_DASH}][0-9]{{1,2}}[./{_DASH}][0-9]{{2}}")
_YEAR: Final = re.compile("(?:19|20)[0-9]{2}")

_NOUNS: Final = (
    "telephone|phone|smartphone|tel|ph|mobile|mobil|cell|cellular|cellphone|fax|telefax|hotline|landline|pager|handy"
    "|telefon|telefoon|telefono|telefone|telefonnummer|handynummer|mobilnummer|rufnummer|festnetz|durchwahl"
    "|téléphone|portable|teléfono|móvil|celular|telemóvel|cellulare|mobiel|gsm|telefonu|komórka|puhelin|puh|tlf|tfn"
    "|телефон|тел|τηλέφωνο|whatsapp|sms|desk|office line|direct line|contact number|callback number"
)
_VERBS: Final = (
    "call|calls|calling|called|ring|dial|dialing|text|texting|phone|phoning|reach|reached|contact|contacted|messages?"
    "|texts|answering|anrufen|erreichen|erreichbar|erreichst|ruf|rufen|appeler|appelez|appelle|joindre|joignable"
    "|llamar|llame|llámame|llamada|chiamare|chiama|chiamami|ligue|ligar|bel|bellen|zadzwoń|zadzwonić|ring"
)
_LINKS: Final = (
    "number|numbers|no|nr|num|nummer|numéro|número|numero|is|are|was|ist|lautet|est|es|è|é|me|us|him|her|them|back|mich"
    "|uns|ihn|sie|moi|nous|now|again|today|directly|at|on|to|via|under|unter|auf|an|au|al|el|il|le|op|pod|the|my|your"
    "|his|her|our|their|this|following|new|up|a|taxi|home|work|office|registered|changed"
)
_CUE: Final = re.compile(
    rf"(?:(?<!\w)(?P<noun>{_NOUNS})|(?<!\w)(?P<verb>{_VERBS})|(?<!\w)my (?:new |old |other )?number|"
    r"(?<!\w)registered|(?<!\w)your number|(?<!\w)(?:m|t|f|p)(?=\.?:))"
    rf"(?:[\s:.#=*|\"'(\[-]+(?:{_LINKS})(?!\w))*[\s:.#=*|\"'(\[-]*\Z",
    re.IGNORECASE,
)
_CALL_SOMEBODY: Final = re.compile(
    r"(?<!\w)(?:call|ring|phone|text|reach|contact|dial|fax|message)(?:\s[\w'.]{1,16}){1,4}\s(?:at|on|under|via)\s?\Z",
    re.IGNORECASE,
)
_CUE_CHARS: Final = 56
LABEL: Final = re.compile(
    rf"[{BLANKS}](?:\((?=[a-z]))?(?:office|fax|mobile|mobil|cell|home|work|desk|direct|landline|phone|tel|handy|privat)"
    r"(?!\w)",
    re.IGNORECASE,
)
"""What a card has behind a number."""

_CODES_TEXT: Final = """
1 7 20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58
60 61 62 63 64 65 66 81 82 84 86 90 91 92 93 94 95 98 211 212 213 216 218 220 221 222 223 224
225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252
253 254 255 256 257 258 260 261 262 263 264 265 266 267 268 269 290 291 297 298 299 350 351 352 353 354 355 356
357 358 359 370 371 372 373 374 375 376 377 378 380 381 382 383 385 386 387 389 420 421 423 500 501 502 503 504
505 506 507 508 509 590 591 592 593 594 595 596 597 598 599 670 672 673 674 675 676 677 678 679 680 681 682 683
685 686 687 688 689 690 691 692 800 808 850 852 853 855 856 870 878 880 881 882 883 886 888 960 961 962 963 964
965 966 967 968 970 971 972 973 974 975 976 977 979 992 993 994 995 996 998
"""
_CODES: Final = frozenset(_CODES_TEXT.split())
# Numbers that regulators keep for films and manuals, as digits without a country's code.
_FOR_EXAMPLES: Final = re.compile(
    "[2-9][0-9]{2}55501[0-9]{2}|5550?1[0-9]{2}|0?7700900[0-9]{3}|0?2079460[0-9]{3}|0?1632960[0-9]{3}"
    "|1?2345678(?:90?)?|0?123456789?0?|0+|0?102030405|0?[1-9]([0-9])\\1{6,}"
)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A candidate, taken apart. `within`: what stands between its groups."""

    text: str
    groups: Sequence[str]
    within: Sequence[str]
    in_brackets: bool

    @property
    def digits(self) -> str:
        return "".join(self.groups)


def phones_in(text: str) -> Iterator[tuple[int, int]]:
    """Where telephone numbers stand."""
    for found in CANDIDATE.finditer(text):
        if sum(map(str.isdigit, found[0])) < 6:
            continue
        yield from _phones_of(text, found.start(), found.end(), _SPLITS)


def _phones_of(text: str, start: int, end: int, splits: Sequence[re.Pattern[str]]) -> Iterator[tuple[int, int]]:
    """The candidate as one number; if it is none, what parts it: brackets and slashes, and at last blanks."""
    if _is_phone(text, start, end):
        yield start, end
        return
    for number, split in enumerate(splits):
        gaps = [found.span() for found in split.finditer(text, start, end)]
        if gaps:
            for left, right in zip([start, *(gap[1] for gap in gaps)], [*(gap[0] for gap in gaps), end], strict=True):
                if left < right:
                    yield from _phones_of(text, left, right, splits[number + 1 :])
            return


def _is_phone(text: str, start: int, end: int) -> bool:
    shape = _shape(text[start:end])
    count = len(shape.digits)
    if not 6 <= count <= 17 or len(shape.groups) > 8 or _is_a_date(shape) or is_for_examples(shape.text):
        return False
    if shape.text.startswith("+"):
        return _is_international(shape)
    if _is_north_american(shape) or _has_trunk_zero(shape) or _has_an_area(shape):
        return True
    cue = _cue_before(text, start)
    if _is_international(shape) and (cue is not None or len(shape.groups) > 1):
        return True
    if cue is not None:
        return _fits_its_words(shape, by_a_verb="verb" not in cue.groupdict() or cue["verb"] is not None)
    return 7 <= count <= 12 and len(shape.groups) >= 2 and not _is_an_amount(shape) and bool(LABEL.match(text, end))


def is_announced(text: str, start: int) -> bool:
    """Whether the words before say that a telephone number comes now."""
    return _cue_before(text, start) is not None


def _cue_before(text: str, start: int) -> re.Match[str] | None:
    left = max(0, start - _CUE_CHARS)
    return _CUE.search(text, left, start) or _CALL_SOMEBODY.search(text, left, start)


def _shape(text: str) -> _Shape:
    bare = _EXTENSION.sub("", text)
    groups = [(found[0].strip("()"), *found.span()) for found in _GROUP.finditer(bare)]
    within = [bare[before[2] : after[1]] for before, after in pairwise(groups)]
    return _Shape(bare, [digits for digits, _, _ in groups], within, bare.startswith("("))


def is_for_examples(text: str) -> bool:
    digits = "".join(filter(str.isdigit, text))
    bare = digits.removeprefix("00") if digits.startswith("00") else digits
    if text.lstrip().startswith(("+", "00")):
        bare = next((bare[len(code) :] for code in ("1", "44") if bare.startswith(code)), bare)
    return bool(_FOR_EXAMPLES.fullmatch(bare) or _FOR_EXAMPLES.fullmatch(digits))


def _is_a_date(shape: _Shape) -> bool:
    if shape.text.startswith("+"):
        return False
    if _DATE.match(shape.text) or (len(shape.groups) == 3 and _SHORT_DATE.fullmatch(shape.text)):
        return True
    return len(shape.groups) == 2 and all(_YEAR.fullmatch(group) for group in shape.groups)


def _is_an_amount(shape: _Shape) -> bool:
    """Thousands apart, as in 12 345 678 or 1.200.000."""
    return len(shape.groups[0]) <= 3 and all(len(group) == 3 for group in shape.groups[1:])


def _is_international(shape: _Shape) -> bool:
    digits = shape.digits
    if shape.text.startswith("+"):
        pass
    elif digits.startswith("00") and len(shape.groups[0]) != 2:
        digits = digits[2:]
    else:
        return False
    code = next((digits[:size] for size in (1, 2, 3) if digits[:size] in _CODES), None)
    if code is None or not 9 <= len(digits) <= 15:
        return False
    national = digits[len(code) :]
    if code == "1":
        return len(national) == 10 and (national[0] not in "01" or "-" in shape.text)
    return not national.startswith("00") and not (code == "7" and len(national) != 10)


def _is_north_american(shape: _Shape) -> bool:
    """As (212) 345-6789, 1-212-345-6789, 212.345.6789; with blanks alone where area and exchange may be such."""
    groups = list(shape.groups)
    if len(groups) == 4 and groups[0] in ("1", "001"):
        groups = groups[1:]
    if [len(group) for group in groups] != [3, 3, 4]:
        return False
    if shape.in_brackets or shape.within[-1] in DASHES:
        return True
    return groups[0][0] not in "01" and groups[1][0] not in "01" and shape.within[-1] in f"{BLANKS}."


def _has_trunk_zero(shape: _Shape) -> bool:
    """A leading zero and groups, as in 084 246 7578, 0372-5610005, (07) 5337 1486, 01 23 45 67 89."""
    first, *rest = shape.groups
    if not first.startswith("0") or first.startswith("00") or not rest or not 2 <= len(first) <= 6:
        return False
    if "." in shape.within and [len(group) for group in shape.groups] != [2] * 5:
        return False
    if len(rest) > 1 and len({len(group) for group in shape.groups}) == 1 and rest[0].startswith("0"):
        return len(first) == 2 and len(shape.groups) == 5  # 0100 0200 0300 is a table
    most = 5 if len(rest) > 1 else 9
    return 9 <= len(shape.digits) <= 12 and len(rest) <= 4 and all(2 <= len(group) <= most for group in rest)


def _has_an_area(shape: _Shape) -> bool:
    """The area in brackets, as in (99) 645-791."""
    first, *rest = shape.groups
    if not shape.in_brackets or not 2 <= len(first) <= 5 or not rest or _YEAR.fullmatch(first):
        return False
    if not 5 <= len(shape.digits) - len(first) <= 9 or len(rest) > 4 or any(len(group) < 2 for group in rest):
        return False
    amount = all(len(group) == 3 for group in rest) and not any(between in DASHES for between in shape.within[1:])
    return first.startswith("0") or not amount


def _fits_its_words(shape: _Shape, *, by_a_verb: bool) -> bool:
    """Whether the words before it make a number of it. One may also call a function two hundred thousand times."""
    if len(shape.groups) > 6 or (set(shape.within) == {"."} and len(shape.groups) == 2):
        return False
    if by_a_verb and len(shape.groups) == 1:
        return len(shape.digits) >= 7 and not shape.digits.endswith("000")
    return True
