"""The languages that people may read here, and who gets which. A page's own is chosen by Django's LocaleMiddleware: the
cookie that holds the person's choice, else what the browser asks for, else English.

Whatever is answered or written within a request is in that request's language, the API's messages included; a program
that asks for none gets English, and error codes are the same in all. What is stored for many readers (events, journal,
log) is written in English, since nobody knows who will read it.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from http.cookies import CookieError, SimpleCookie
from typing import Final

from django.conf import settings
from django.http import HttpResponseBase
from django.utils import formats, translation
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header

ENGLISH: Final = "en"
# Each by the name that its readers have for it.
LANGUAGES: Final[dict[str, str]] = {ENGLISH: "English", "de": "Deutsch"}
_CENT: Final = Decimal("0.01")
_LEAST: Final = Decimal("0.000001")


def known(code: str) -> str:
    """The language of ours for this code, region or not; English for what we do not speak."""
    try:
        return get_supported_language_variant(code)
    except LookupError:
        return ENGLISH


def speaking(code: str) -> AbstractContextManager[None]:
    """Within it, texts are in that language: for what is written to one person, such as a mail. Empty: English."""
    return translation.override(known(code) if code else ENGLISH)


def remember_choice(response: HttpResponseBase, code: str) -> None:
    """Makes this the language of the browser's next pages; empty: it follows the browser again."""
    if code not in LANGUAGES:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
        return
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        code,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        samesite="Lax",
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
    )


def grouped(number: int | Decimal) -> str:
    """12,345 in English, 12.345 in German."""
    return formats.number_format(number, force_grouping=True)


def dollars(amount: Decimal, *, rounding: str = ROUND_HALF_EVEN) -> str:
    """$1,234.50 in English, $1.234,50 in German; of less than a cent the first two figures that are not zero."""
    if 0 < amount < _LEAST and rounding != ROUND_CEILING:
        return f"< ${formats.number_format(_LEAST, decimal_pos=6)}"
    places = 2 if amount == 0 or amount >= _CENT else min(6, 1 - amount.adjusted())
    rounded = amount.quantize(Decimal(1).scaleb(-places), rounding=rounding)
    return f"${formats.number_format(rounded, decimal_pos=places, use_l10n=True, force_grouping=True)}"


def asked_for(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """What LocaleMiddleware would choose, for what is no request of Django's: a websocket."""
    found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    try:
        chosen = SimpleCookie(found.get("cookie", "")).get(settings.LANGUAGE_COOKIE_NAME)
    except CookieError:
        chosen = None
    if chosen is not None and chosen.value in LANGUAGES:
        return chosen.value
    for code, _ in parse_accept_lang_header(found.get("accept-language", "")):
        if (language := _or_none(code)) is not None:
            return language
    return ENGLISH


def _or_none(code: str) -> str | None:
    try:
        return get_supported_language_variant(code)
    except LookupError:
        return None
