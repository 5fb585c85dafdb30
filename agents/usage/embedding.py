"""What the embedder's calls of a provider take: reserved before each call, of the budgets of whoever it is for; in the
ledger and settled after it. Calls of no run; those of runs are `agents.runtime.shared_budgets`'s.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from agents.usage import prices, purse_sql, purses
from hyperagent.accounts.budgets import Limit, Unit
from hyperagent.lib.conf import UnpricedModels
from hyperagent.lib.llm.plain import most_tokens
from hyperagent.lib.llm.prices import Price, PriceBook
from hyperagent.lib.llm.types import Embedded
from memory.embedding.model import Unusable
from memory.embedding.paying import Unaffordable

log = logging.getLogger(__name__)

AGENT: Final = "embedder"
"""Who it was, in the ledger."""
AWAY: Final = "the database is away, so that nobody could be charged"

_INTO_LEDGER: Final = """
INSERT INTO agents_modelcall (step_id, user_id, execution_id, conversation_id, project_id, agent_name, provider, model,
                              prompt_tokens, completion_tokens, cost_usd, at)
VALUES (-nextval('agents_modelcall_of_no_step'), %s, NULL, NULL, NULL, %s, left(%s, 200), left(%s, 200), %s, 0, %s,
        clock_timestamp())
"""


@dataclass(frozen=True, slots=True)
class _Held:
    call_id: UUID


class Till:
    """`memory.embedding.paying.Till`."""

    def reserve(self, payer: UUID | None, texts: Sequence[str], price: Callable[[], Price | None]) -> _Held | None:
        """None where no budget holds."""
        try:
            if not purses.holds_for_anybody():
                return None
            limits = purses.standing_of(payer)
            return _hold(limits, texts, price) if limits else None
        except DatabaseError as error:
            raise _away(error) from error

    def settle(self, held: _Held | None, payer: UUID | None, took: Sequence[Embedded]) -> None:
        if held is None and not took:
            return
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for one in took:
                    cursor.execute(_INTO_LEDGER, [payer, AGENT, one.provider, one.model, one.tokens, one.cost_usd])
                if held is not None:
                    cursor.execute(purse_sql.SETTLE, _settled(held, took))
            if held is not None:
                with connection.cursor() as cursor:
                    cursor.execute(purse_sql.MOVE)
        except DatabaseError as error:
            # The vectors are there and are paid for; whoever waits for them gets them.
            log.error("embedder.not_charged tokens=%d", sum(one.tokens for one in took))
            _away(error)

    def prices(self) -> PriceBook:
        try:
            return prices.book()
        except DatabaseError as error:
            raise _away(error) from error


def _hold(limits: Sequence[Limit], texts: Sequence[str], price: Callable[[], Price | None]) -> _Held:
    """Raises Unaffordable."""
    tokens, usd, is_unpriced = most_tokens(texts), Decimal(0), False
    if any(limit.unit is Unit.USD for limit in limits):
        known = price()
        is_unpriced = known is None
        usd = Decimal(0) if known is None else known.most(prompt_tokens=tokens, completion_tokens=0)
        if is_unpriced and settings.CONFIG.unpriced_models is UnpricedModels.REFUSE:
            raise Unaffordable(purses.not_priced(["the model of EMBEDDING_MODEL"]))
    held = _Held(uuid4())
    reserve = partial(_reserved, held, limits, tokens, round(usd, 10), is_unpriced=is_unpriced)
    if not reserve():
        # Before a no: what is over by now, and what the dead hold, is given back.
        with connection.cursor() as cursor:
            cursor.execute(purse_sql.FREE)
            cursor.execute(purse_sql.MOVE)
        if not reserve():
            raise Unaffordable(purses.why_not(limits, tokens, usd))
    return held


def _reserved(held: _Held, limits: Sequence[Limit], tokens: int, usd: Decimal, *, is_unpriced: bool) -> bool:
    values = {
        **purses.asked_of(limits),
        "call_id": held.call_id,
        "execution_id": None,
        "epoch": 0,
        "tokens": tokens,
        "usd": usd,
        "is_unpriced": is_unpriced,
    }
    with connection.cursor() as cursor:
        cursor.execute(purse_sql.RESERVE, values)
        return bool(cursor.fetchone()[0])


def _settled(held: _Held, took: Sequence[Embedded]) -> dict[str, Any]:
    return {
        "call_id": held.call_id,
        "execution_id": None,
        "epoch": 0,
        "usd": sum((one.cost_usd or Decimal(0) for one in took), Decimal(0)),
        "tokens": sum(one.tokens for one in took),
        "is_unpriced": any(one.cost_usd is None for one in took),
    }


def _away(error: DatabaseError) -> Unusable:
    connection.close()
    log.warning("the embedder cannot charge anybody: %s", str(error).split("\n")[0])
    return Unusable(AWAY)
