"""Account numbers of the IBAN register: how long each country's is, and whether one is whole. Pure."""

import re
from collections.abc import Iterator
from typing import Final

_REGISTER: Final = """
AD24 AE23 AL28 AO25 AT20 AZ28 BA20 BE16 BF28 BG22 BH22 BI27 BJ28 BR29 BY28 CF27 CG27 CH21
CI28 CM27 CR22 CV25 CY28 CZ24 DE22 DJ27 DK18 DO28 DZ26 EE20 EG29 ES24 FI18 FK18 FO18 FR27
GA27 GB22 GE22 GI23 GL18 GQ27 GR27 GT28 GW25 HN28 HR21 HU28 IE22 IL23 IQ23 IR26 IS26 IT27
JO30 KM27 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MA28 MC27 MD24 ME22 MG27 MK19 ML28
MN20 MR27 MT31 MU30 MZ25 NE28 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33
SA24 SC31 SD18 SE24 SI19 SK24 SM27 SN28 SO23 ST25 SV28 TD27 TG28 TL23 TN24 TR26 UA29 VA22
VG24 XK20 YE30
"""
LENGTHS: Final = {entry[:2]: int(entry[2:]) for entry in _REGISTER.split()}
"""Characters with country and check digits, by country."""

BEGINNING: Final = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})[0-9]{2}(?=[ \u00a0\u202f-]?[A-Za-z0-9])")
_BETWEEN: Final = " \u00a0\u202f-"


def ibans_in(text: str) -> Iterator[tuple[int, int]]:
    """Where account numbers with a right checksum stand, together or in groups."""
    for found in BEGINNING.finditer(text):
        length = LENGTHS.get(found[1].upper())
        end = None if length is None else _end_of(text, found.start(), length)
        if end is not None and is_iban(text[found.start() : end]):
            yield found.start(), end


def is_iban(text: str) -> bool:
    """ISO 13616: the first four characters behind the others, letters as 10 to 35, modulo 97 is 1."""
    compact = "".join(character for character in text if character not in _BETWEEN).upper()
    if LENGTHS.get(compact[:2]) != len(compact) or not compact.isascii() or not compact.isalnum():
        return False
    return int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 == 1


def _end_of(text: str, start: int, length: int) -> int | None:
    """Where `length` letters and digits end, of which no two are further apart than one blank or hyphen."""
    taken, at = 0, start
    while taken < length:
        if at < len(text) and text[at] in _BETWEEN and at > start and text[at - 1] not in _BETWEEN:
            at += 1
        if at >= len(text) or not (text[at].isascii() and text[at].isalnum()):
            return None
        taken, at = taken + 1, at + 1
    return None if at < len(text) and text[at].isascii() and text[at].isalnum() else at
