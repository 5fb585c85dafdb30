"""The prices that administrators set, as the gateway wants them. Reads rows; what a price means is known to
`hyperagent.lib.llm.prices`.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection

from hyperagent.lib.llm.prices import Price, PriceBook, read

PRICE_COLUMNS: Final = "p.model, p.input_usd, p.output_usd, p.cached_usd, p.reasoning_usd, p.since"
READ_PRICES: Final = f"SELECT {PRICE_COLUMNS} FROM agents_modelprice p ORDER BY p.id"


def price_rows(rows: Iterable[Sequence[Any]]) -> list[tuple[str, Price, datetime]]:
    """Of rows of READ_PRICES."""
    return [
        (model, Price(input=read_usd, output=written_usd, cached=cached_usd, reasoning=reasoning_usd), since)
        for model, read_usd, written_usd, cached_usd, reasoning_usd, since in rows
    ]


def book() -> PriceBook:
    """The installation's own prices now. One query."""
    with connection.cursor() as cursor:
        cursor.execute(READ_PRICES)
        return read(settings.CONFIG.model_prices).with_rows(price_rows(cursor.fetchall()))
