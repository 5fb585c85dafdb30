"""What of a text belongs together: runs of letters, digits and signs, and when one goes on behind a blank. Pure.

Owns where a run ends, and knows nothing of who asks: a run may be a word, a key, or a number written in groups.
"""

import re
from typing import Final

from agents.guardrails.ibans import LENGTHS
from agents.guardrails.phones import BLANKS, DASHES

# Scripts without blanks between words part runs, and so do signs beyond Latin ones; the dashes of telephone numbers do
# not.
PIECES: Final = re.compile(r"[^\s\u0900-\u200f\u2014-\U0010ffff]+|[\s\u0900-\u200f\u2014-\U0010ffff]+")
PARTS: Final = re.compile(r"[\s\u0900-\u200f\u2014-\U0010ffff]")

# How a run may go on behind a blank. Each is looked for at the end of a run that is over.
_NUMBER_END: Final = re.compile(
    rf"(?:\A|[^\w@$€£])\(?\+?\(?[0-9](?:[0-9()./\-\u2010-\u2013]|[{BLANKS}][/\-\u2010-\u2013]?)*\Z"
)
_NUMBER_GOES_ON: Final = frozenset("0123456789(/" + DASHES)
_IBAN_BEGINS: Final = re.compile(r"(?<![A-Za-z0-9])([A-Z]{2})[0-9]{2}")
_IBAN_GOES: Final = re.compile(rf"(?:[{BLANKS}-]?[A-Z0-9])*\Z")
_KEY_BEGINS: Final = re.compile(r"-----BEGIN(?: [A-Z0-9]+)*\Z")
_KEY_MARK: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/=\\]{20,}|Proc-Type:|4,ENCRYPTED|DEK-Info:|[A-Z0-9-]+,[0-9A-F]{8,}")
# Of the words that stand behind a telephone number and say what it is (`agents.guardrails.phones.LABEL`).
_LABEL_BEGINS: Final = frozenset("omhfcwdltpOMHFCWDLTP(")

# A run that never ends is looked at in stretches, each twice as long as what of it is settled then.
LONGEST: Final = 512
LONGEST_NUMBER: Final = 96
LONGEST_KEY: Final = 16_384
_STILL_IN_IT: Final = re.compile(r"[\w\-.=+/%~\\]*")


def may_be_a_value(run: str) -> bool:
    """A cheap look: most words are none."""
    if run.isalpha():
        return False
    if "@" in run:
        return True
    digits = sum(map(run.count, "0123456789"))
    return digits >= 6 or (digits > 0 and (len(run) >= 12 or run.count(".") >= 3))


def may_go_on(run: str, gap: str) -> bool:
    """Whether what comes behind this gap may belong to the run."""
    if "-----BEGIN" in run:
        return len(gap) <= 8 and _key_may_go_on(run)
    if len(gap) > 1 or gap not in BLANKS:
        return False
    last = run[-1]
    if last.isdigit() or last == ")" or last in "/" + DASHES:
        return bool(_NUMBER_END.search(run)) or _iban_may_go_on(run)
    return last.isupper() and last.isascii() and _iban_may_go_on(run)


def _iban_may_go_on(run: str) -> bool:
    for found in _IBAN_BEGINS.finditer(run):
        if _IBAN_GOES.match(run, found.end()):
            taken = sum(map(str.isalnum, run[found.start() :]))
            if taken < LENGTHS.get(found[1], 0):
                return True
    return False


def _key_may_go_on(run: str) -> bool:
    """The mark before a private key has blanks in it; behind it come its lines, of which the last is short."""
    if _KEY_BEGINS.search(run):
        return True
    mark = _KEY_MARK.search(run)
    if mark is None:
        return False
    lines = run[mark.end() :].split()
    return not lines or bool(_KEY_LINE.fullmatch(lines[-1]))


def goes_on(run: str, piece: str) -> bool:
    """Whether the piece, of which the first character is known, belongs to the run before the gap."""
    first = piece[0]
    if "-----BEGIN" in run:
        return first.isascii() and first.isalnum() if _KEY_MARK.search(run) else first.isupper() or first.isdigit()
    if _NUMBER_END.search(run):
        if first in _NUMBER_GOES_ON:
            return True
        if first in _LABEL_BEGINS:
            return sum(map(str.isdigit, run[-24:])) >= 7 and len(run) <= 40
    return (first.isdigit() or (first.isascii() and first.isupper())) and _iban_may_go_on(run)


def longest_of(run: str) -> int:
    if "-----BEGIN" in run and _KEY_MARK.search(run):
        return LONGEST_KEY
    return LONGEST_NUMBER if " " in run else LONGEST


def end_of_value(piece: str) -> int:
    found = _STILL_IN_IT.match(piece)
    return found.end() if found else 0
