"""The prices that administrators set, as the gateway wants them. Reads rows; what a price means is known to
`hyperagent.lib.llm.prices`.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection

from hyperagent.lib.llm.prices import Price, PriceBook
from hyperagent.lib.llm.prices import read as read_book

PRICE_COLUMNS: Final = "p.model, p.input_usd, p.output_usd, p.cached_usd, p.reasoning_usd, p.is_taken_back, p.since"
READ_PRICES: Final = f"SELECT {PRICE_COLUMNS} FROM agents_modelprice p ORDER BY p.id"


def price_rows(rows: Iterable[Sequence[Any]]) -> list[tuple[str, Price | None, datetime]]:
    """Of rows of READ_PRICES."""
    return [
        (model, None if is_taken_back else Price(input=read, output=written, cached=cached, reasoning=thought), since)
        for model, read, written, cached, thought, is_taken_back, since in rows
    ]


def book() -> PriceBook:
    """The installation's own prices now. One query."""
    with connection.cursor() as cursor:
        cursor.execute(READ_PRICES)
        return read_book(settings.CONFIG.model_prices).with_rows(price_rows(cursor.fetchall()))
