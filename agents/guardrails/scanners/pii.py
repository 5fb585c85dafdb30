"""Personal data that can be known for what it is: cards, accounts, social security, mail, telephone, addresses of
machines. What the person typed and what the run has read is told apart elsewhere (`agents.guardrails.output`)."""

import ipaddress
import re
from collections.abc import Iterator, Sequence
from typing import Final

from agents.guardrails.ibans import ibans_in
from agents.guardrails.phones import is_announced, phones_in
from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject

NAME: Final = "pii"
_REASONS: Final = {
    "card": "A card number stood in the answer.",
    "iban": "A bank account number stood in the answer.",
    "ssn": "A social security number stood in the answer.",
    "email": "An e-mail address stood in the answer.",
    "phone": "A telephone number stood in the answer.",
    "ip": "The address of a machine stood in the answer.",
}

_BLANK: Final = " \u00a0\u202f\u2007\u2009"
_CARD: Final = re.compile(r"(?<![\w/.\u2010-\u2013-])[0-9]{13,19}(?![\w\u2010-\u2013-]|[.,][0-9])")
_CARD_IN_GROUPS: Final = re.compile(
    rf"(?<![\w/.\u2010-\u2013-])[0-9]{{4}}(?P<by>[{_BLANK}.\u2010-\u2013-])"
    r"(?:[0-9]{4}(?P=by)[0-9]{4}(?P=by)[0-9]{4}(?:(?P=by)[0-9]{3}(?![0-9]))?|[0-9]{6}(?P=by)[0-9]{4,5})"
    r"(?![\w\u2010-\u2013-]|[.,][0-9])"
)
_ISSUERS: Final = re.compile(
    "4[0-9]{15}(?:[0-9]{3})?"
    "|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"
    "|3[47][0-9]{13}|3(?:0[0-5]|[689][0-9])[0-9]{11}|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12}(?:[0-9]{3})?"
    "|35(?:2[89]|[3-8][0-9])[0-9]{12}|62[0-9]{14,17}|(?:2200|2201|2202|2203|2204)[0-9]{12}|9792[0-9]{12}"
)
_WITH_WORDS: Final = re.compile("4[0-9]{12}|(?:5[06-9]|6[0-9])[0-9]{10,17}|(?:5018|5020|5038|6304)[0-9]{8,15}")
_CARD_WORDS: Final = re.compile(r"(?i)card|visa|master|amex|maestro|karte|carte|tarjeta|carta|kort|\bcc\b|\bpan\b")
_NO_BANKS_CARD: Final = "4242424242424242"
"""The number that manuals of payment services tell people to try."""

_SSN: Final = re.compile(rf"(?<![\w-])([0-9]{{3}})([{_BLANK}-])([0-9]{{2}})\2([0-9]{{4}})(?![\w-]|[.,][0-9])")
_BARE_SSN: Final = re.compile(r"(?<![\w.-])([0-9]{3})()([0-9]{2})([0-9]{4})(?![\w-]|[.,][0-9])")
# With blanks it may be a row of figures, a telephone number, or a number that says what it is of.
_FIGURES_BEFORE: Final = re.compile(rf"[0-9][{_BLANK}]\Z|[.,]\Z|[+#$€£/][{_BLANK}]?\Z")
_FIGURES_AFTER: Final = re.compile(rf"[{_BLANK}]?[0-9%€£$]")
_OTHER_NUMBERS: Final = re.compile(
    r"(?i)\b(?:order|invoice|item|part|article|ref|reference|ticket|serial|sku|model|customer|contract|bestell|rechnungs"
    r"|artikel|auftrags|kunden|vertrags)[ -]?(?:no|nr|number|nummer|code|id)?[.:#]*\s*\Z"
)
_SSN_WORDS: Final = re.compile(r"(?i)\bssn\b|social[ -]security|\bitin\b|taxpayer")

_LOCAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-'!#$&*/=?^`{|}~")
_LOCAL_EDGES: Final = ".'`*|/{}=#&!?^$~-"
_DOMAIN: Final = re.compile(r"(?:[^\W_](?:[\w-]{0,62})?\.){1,8}(?:[^\W\d_]{2,24}|xn--[a-z0-9-]{2,40})(?![\w(@]|-\w)")
_FILE_ENDINGS_TEXT: Final = """
png jpg jpeg gif svg webp css js py ts json html md txt
"""
_FILE_ENDINGS: Final = frozenset(_FILE_ENDINGS_TEXT.split())
_PRIVATE_ENDINGS_TEXT: Final = """
example test invalid localhost local lan internal intranet home corp
"""
_PRIVATE_ENDINGS: Final = frozenset(_PRIVATE_ENDINGS_TEXT.split())
_NOBODYS_DOMAINS: Final = re.compile(
    r"(?:.*\.)?example\.[a-z.]+|(?:your|my|some|the)[\w-]*\.[a-z.]+|(?:domain|company|website|site|server|host|mail)"
    r"\.(?:com|org|net|tld)|\dx\..*|users\.noreply\.github\.com|email\.com|foo\.\w+|bar\.\w+|baz\.\w+|x\.\w+|.*\.example"
)
_NOBODY: Final = frozenset({"git", "hg", "user", "username", "your.name", "yourname", "your.email", "name", "noreply"})
_SHELL: Final = re.compile(r"(?:ssh|scp|sftp|rsync|mosh)(?: +-[\w=./~-]+(?: +[\w./~-]+)?){0,4} +(?:\S+ +)?\Z")

_IPV4: Final = re.compile(r"(?<![\w.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w-]|\.[0-9])(/[0-9]{1,2}(?![0-9]))?")
_IPV6: Final = re.compile(
    r"(?<![\w:.])(?:[0-9a-fA-F]{1,4}:{1,2}){2,7}(?:[0-9a-fA-F]{1,4})?(?![\w:]|\.[0-9])(/[0-9]{1,3})?"
)
_VERSION_BEFORE: Final = re.compile(
    r"(?i)(?:\b(?:v|version|ver|release|build|firmware|driver|update|section|chapter|chrome|chromium|edge|clause|oid)"
    r"[.:]?\s*|[=<>~^]=?\s*|@)\Z"
)
_RESOLVERS_TEXT: Final = """
8.8.8.8 8.8.4.4 1.1.1.1 1.0.0.1 9.9.9.9 149.112.112.112
208.67.222.222 208.67.220.220 4.2.2.1 4.2.2.2 2001:4860:4860::8888 2001:4860:4860::8844
2606:4700:4700::1111 2606:4700:4700::1001 2620:fe::fe
"""
_RESOLVERS: Final = frozenset(_RESOLVERS_TEXT.split())
_AROUND: Final = 40


def scan(text: str, subject: Subject) -> list[Finding]:
    """In order, none within another."""
    found: list[Finding] = []
    rest = text
    for kind, spans_in in _KINDS:
        for start, end in spans_in(rest):
            if all(end <= other.start or start >= other.end for other in found):
                found.append(Finding(NAME, kind, start, end, Certainty.CERTAIN, _REASONS[kind], f"[{kind} removed]"))
        if kind == "ip" and found:
            # Digits beside what is known to be something else may be a telephone number of their own.
            rest = _blotted(text, found)
    return sorted(found, key=lambda one: one.start)


def _blotted(text: str, found: Sequence[Finding]) -> str:
    for one in found:
        text = f"{text[: one.start]}{'|' * (one.end - one.start)}{text[one.end :]}"
    return text


# --- cards and social security


def cards_in(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_CARD, _CARD_IN_GROUPS):
        for found in pattern.finditer(text):
            digits = "".join(filter(str.isdigit, found[0]))
            if not passes_luhn(digits) or digits == _NO_BANKS_CARD or len(set(digits)) == 1:
                continue
            named = _CARD_WORDS.search(text, max(0, found.start() - _AROUND), found.start())
            if _ISSUERS.fullmatch(digits) or (named and _WITH_WORDS.fullmatch(digits)):
                yield found.span()


def passes_luhn(digits: str) -> bool:
    """ISO/IEC 7812: every second digit from the right doubled, the digits of all of it make a multiple of ten."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def ssns_in(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_SSN, _BARE_SSN):
        for found in pattern.finditer(text):
            area, between, group, serial = found.groups()
            if area in ("000", "666") or area[0] == "9" or group == "00" or serial == "0000":
                continue
            named = _SSN_WORDS.search(text, max(0, found.start() - _AROUND), found.start())
            if between == "-" or named or (between and _stands_alone(text, found)):
                yield found.span()


def _stands_alone(text: str, found: re.Match[str]) -> bool:
    """Whether three groups with blanks between them are one number, and none that is known for something else: with a
    zero in front it is a telephone number at home, and its end may be a year."""
    begins, ends = found.span()
    before = max(0, begins - _AROUND)
    is_other = _FIGURES_BEFORE.search(text, before, begins) or _OTHER_NUMBERS.search(text, before, begins)
    if is_other or found[1][0] == "0" or found[4][:2] in ("19", "20"):
        return False
    return not _FIGURES_AFTER.match(text, ends) and not is_announced(text, begins)


# --- mail


def emails_in(text: str) -> Iterator[tuple[int, int]]:
    at = text.find("@")
    while at >= 0:
        left, domain = _local_start(text, at), _DOMAIN.match(text, at + 1)
        if left < at and domain is not None and not _is_nobodys(text, left, at, domain):
            yield left, domain.end()
        at = text.find("@", at + 1)


def _local_start(text: str, at: int) -> int:
    left = at
    while left > max(0, at - 64) and _may_be_local(text[left - 1]):
        left -= 1
    for mark in "=/?&|`{}*":
        # Of an address within other things, such as a query, the name begins behind the last of these.
        left = max(left, text.rfind(mark, left, at) + 1)
    while left < at and text[left] in _LOCAL_EDGES:
        left += 1
    return left


def _may_be_local(character: str) -> bool:
    return character in _LOCAL or ("\x80" < character < "\u0900" and character.isalnum())


def _is_nobodys(text: str, left: int, at: int, domain: re.Match[str]) -> bool:
    """Addresses of manuals, of machines at home, and what looks like one in programs and at a shell."""
    name, host = text[left:at].lower(), domain[0].lower()
    ending = host.rpartition(".")[2]
    if ending in _PRIVATE_ENDINGS or ending in _FILE_ENDINGS or _NOBODYS_DOMAINS.fullmatch(host) or name in _NOBODY:
        return True
    word = text[max(text.rfind(" ", 0, left), text.rfind("\n", 0, left)) + 1 : left]
    if word.endswith(":") and "://" in word and "/" not in word.partition("://")[2]:
        return True  # the password of an address; whether it is a secret, others say
    return text[domain.end() : domain.end() + 2] in (":/", ":~") or bool(_SHELL.search(text, max(0, left - 60), left))


# --- addresses of machines


def ips_in(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_IPV4, _IPV6):
        for found in pattern.finditer(text):
            address = found[0].partition("/")[0]
            is_version = _VERSION_BEFORE.search(text, max(0, found.start() - 16), found.start())
            if found[1] in (None, "/32", "/128") and _is_somebodys(address) and not is_version:
                yield found.start(), found.start() + len(address)


def _is_somebodys(address: str) -> bool:
    """In the world's address space, and neither a known resolver nor a number such as 1.2.3.4."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if not ip.is_global or ip.is_multicast or address in _RESOLVERS:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return max(ip.packed) >= 20
    return ip in ipaddress.ip_network("2000::/3") and "::" not in address[:2]


_KINDS: Final = (
    ("email", emails_in),
    ("iban", ibans_in),
    ("card", cards_in),
    ("ssn", ssns_in),
    ("ip", ips_in),
    ("phone", phones_in),
)

SCANNER: Final = Scanner(NAME, frozenset({Place.OUTPUT}), scan, order=10)
