"""Holds the budgets of people, groups and the installation while runs ask models: reserves before a call in one
statement over all of them, and moves what it took into them after it. One for a process.

Where nobody has a budget, nothing is asked of the database for a call. What is known of budgets and prices is a few
seconds old. The statements are in `agents.usage.purse_sql`; a run's own budget is not known here.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
import structlog

from agents.runtime.lookups import Lookups
from agents.runtime.outbox import lost
from agents.usage import purse_sql
from agents.usage.estimates import Estimate
from agents.usage.prices import PRICE_COLUMNS, price_rows
from agents.usage.purses import (
    KNOWN_FOR_S,
    asked_of,
    is_set_by_settings,
    limit_of,
    not_priced,
    opening,
    usual_amounts,
    why_not,
)
from hyperagent.accounts.budgets import Limit, Unit
from hyperagent.lib.beats import until_beat_s
from hyperagent.lib.conf import BudgetEnd, Config, UnpricedModels
from hyperagent.lib.llm.prices import PriceBook, read

log = structlog.get_logger(__name__)

Connect = Callable[[], Any]
# Settled calls of one moment are moved together.
TOGETHER_S: Final = 0.02
# A step and its row in the ledger are committed by then.
WRITTEN_WITHIN_S: Final = 1.0
FREE_EVERY_S: Final = 10.0
MOST_KNOWN: Final = 2_000
_TRIES: Final = 4
# A row for each price, and one where there is none.
_ANY_AND_PRICES: Final = f"""
SELECT is_any.is_set, {PRICE_COLUMNS} FROM ({purse_sql.IS_ANY_SET} AS is_set) is_any
LEFT JOIN agents_modelprice p ON true ORDER BY p.id
"""


@dataclass(frozen=True, slots=True)
class Held:
    """A call's reservation. `output_tokens`: so much it may write; `in_money`: of budgets in money, too."""

    call_id: UUID
    output_tokens: int
    in_money: bool = False


@dataclass(frozen=True, slots=True)
class Lacking:
    """Why a call may not be made, in words for people. `may_raise`: the run's person may raise the budget."""

    why: str
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class Driving:
    """Whose call it is, and under which lease."""

    execution_id: UUID
    epoch: int
    user_id: UUID | None


@dataclass(slots=True)
class _Known:
    limits: tuple[Limit, ...]
    looked_at: float = field(default_factory=time.monotonic)

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.looked_at < KNOWN_FOR_S


class SharedBudgets:
    """Call `begin`, then keep `keep` running; `wake` when something that was settled is committed."""

    def __init__(
        self, connection: Connect, config: Config, *, priced: Callable[[PriceBook], None] = lambda book: None
    ) -> None:
        """`priced` gets the installation's own prices whenever they were read."""
        self._connection = connection
        self._lookups = Lookups(connection)
        self._usual = usual_amounts(config)
        self._always_on = is_set_by_settings(config)
        self._unpriced = config.unpriced_models
        self.waits = config.budget_end is BudgetEnd.WAIT
        self._book = read(config.model_prices)
        self._priced = priced
        self._known: dict[UUID | None, _Known] = {}
        self._abandoned: list[tuple[Driving, UUID]] = []
        self._late: dict[UUID | None, float] = {}
        self._woken = asyncio.Event()
        self._freed_at = 0.0
        self.is_on = self._always_on

    # --- life

    async def begin(self) -> None:
        """Before the first run is driven."""
        await self._lookups.read(self._look)

    async def keep(self) -> None:
        while True:
            try:
                await self._move_for(until_beat_s(KNOWN_FOR_S))
                async with self._connection() as connection:
                    await self._look(connection)
                    await self._tidy(connection)
            except psycopg.Error as error:
                log.warning("shared_budgets.database_away", why=str(error).split("\n")[0])
                await asyncio.sleep(1)

    def count_late(self, user_id: UUID | None) -> None:
        """Something of this person's was paid for that was not reserved: a tool's model, or a call that began before
        this process knew of a budget. Counted within seconds, once it is in the ledger."""
        self._late[user_id] = time.monotonic()

    def wake(self) -> None:
        self._woken.set()

    # --- a call

    async def hold(
        self, driving: Driving, estimate: Estimate, *, prices: Callable[[], Any], wanted_output: int | None
    ) -> Held | Lacking | None:
        """Reserves for a call; None where no budget holds for it. `prices` gives what its models cost, by name. Raises
        LeaseLost if the run is another's by now."""
        call_id = uuid4()
        try:
            return await self._hold(driving, estimate, call_id, prices=prices, wanted_output=wanted_output)
        except asyncio.CancelledError:
            self._abandoned.append((driving, call_id))
            raise

    async def _hold(
        self,
        driving: Driving,
        estimate: Estimate,
        call_id: UUID,
        *,
        prices: Callable[[], Any],
        wanted_output: int | None,
    ) -> Held | Lacking | None:
        limits = await self._limits(driving.user_id)
        if not limits:
            return None
        in_money = any(limit.unit is Unit.USD for limit in limits)
        costs = await prices() if in_money else {}
        if self._unpriced is UnpricedModels.REFUSE and (names := estimate.unpriced(costs)):
            return Lacking(not_priced(names))
        output = estimate.output_tokens(wanted_output)
        for attempt in range(_TRIES):
            took = estimate.of(output, costs)
            row = await self._reserve(driving, call_id, took.tokens, took.usd, limits, unpriced=took.is_unpriced)
            if row.is_held or row.is_known:
                return Held(call_id, output, in_money)
            if not row.is_ours:
                raise lost()
            # Before a no: what is over by now, and what the dead hold, is given back; what is known, is looked up.
            await self._lookups.read(self._clear)
            limits = await self._limits(driving.user_id, anew=True)
            if not limits:
                return None
            if attempt and row.is_whole:
                fitting = estimate.output_that_fits(row.tokens_left, row.usd_left, costs, below=output)
                if fitting is None:
                    break
                output = fitting
        least = estimate.of(estimate.least_output, costs)
        return Lacking(why_not(limits, least.tokens, least.usd), await self._may_raise(driving.user_id))

    async def _reserve(
        self, driving: Driving, call_id: UUID, tokens: int, usd: Decimal, limits: Sequence[Limit], *, unpriced: bool
    ) -> "_Reserved":
        values = {
            **asked_of(limits),
            "call_id": call_id,
            "execution_id": driving.execution_id,
            "epoch": driving.epoch,
            "tokens": tokens,
            "usd": usd,
            "is_unpriced": unpriced,
        }

        async def reserve(connection: psycopg.AsyncConnection[Any]) -> _Reserved:
            cursor = await connection.execute(purse_sql.RESERVE, values, prepare=True)
            row = await cursor.fetchone()
            assert row is not None
            return _Reserved(*row[:6])

        return await self._lookups.read(reserve)

    async def _limits(self, user_id: UUID | None, *, anew: bool = False) -> tuple[Limit, ...]:
        known = self._known.get(user_id)
        if known is not None and known.is_fresh and not anew:
            return known.limits
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        limits = await self._lookups.read(lambda connection: self._read_limits(connection, user_id))
        self._known[user_id] = _Known(limits)
        return limits

    async def _read_limits(self, connection: psycopg.AsyncConnection[Any], user_id: UUID | None) -> tuple[Limit, ...]:
        values = {"user": user_id, **self._usual}
        limits = await _standing(connection, values)
        missing = [limit for limit in limits if limit.purse_id is None]
        if not missing:
            return limits
        # The first call of the day or month: what the ledger has until now counts.
        async with connection.transaction():
            cursor = await connection.execute(purse_sql.OPEN, opening(missing))
            made = [id_ for (id_,) in await cursor.fetchall()]
            await connection.execute(purse_sql.RECOUNT, {"purses": made})
        return await _standing(connection, values)

    async def _may_raise(self, user_id: UUID | None) -> bool:
        async def ask(connection: psycopg.AsyncConnection[Any]) -> bool:
            cursor = await connection.execute("SELECT is_staff FROM accounts_user WHERE id = %s", [user_id])
            row = await cursor.fetchone()
            return bool(row and row[0])

        return await self._lookups.read(ask)

    # --- beside the calls

    async def _look(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Whether there is any budget, and the prices. One query, for it is asked every few seconds."""
        cursor = await connection.execute(_ANY_AND_PRICES)
        found = await cursor.fetchall()
        self.is_on = self._always_on or found[0][0]
        self._priced(self._book.with_rows(price_rows(prices for _, *prices in found if prices[0] is not None)))

    async def _move_for(self, seconds: float) -> None:
        """Moves what is settled as soon as it is told of it, for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._woken.wait()
            except TimeoutError:
                return
            await asyncio.sleep(TOGETHER_S)
            self._woken.clear()
            async with self._connection() as connection:
                await connection.execute(purse_sql.MOVE, prepare=True)

    async def _tidy(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Gives back what calls reserved that were interrupted here, and now and then what the dead hold. Each is
        forgotten once it is done: the database may go away at any statement."""
        for user_id, since in self._due_late():
            limits = await self._read_limits(connection, user_id)
            if limits:
                await connection.execute(purse_sql.RECOUNT, {"purses": [limit.purse_id for limit in limits]})
            if self._late[user_id] == since:
                del self._late[user_id]
        is_any_abandoned = bool(self._abandoned)
        while self._abandoned:
            driving, call_id = self._abandoned[0]
            values = {"call_id": call_id, "execution_id": driving.execution_id, "epoch": driving.epoch}
            await connection.execute(purse_sql.SETTLE, {**values, "usd": 0, "tokens": 0, "is_unpriced": False})
            del self._abandoned[0]
        if is_any_abandoned or (self.is_on and time.monotonic() - self._freed_at > FREE_EVERY_S):
            await self._clear(connection)
            self._freed_at = time.monotonic()

    def _due_late(self) -> list[tuple[UUID | None, float]]:
        """With since when. Where nobody has a budget, for a while none: one that was just set is not known yet."""
        now = time.monotonic()
        if not self.is_on:
            self._late = {one: since for one, since in self._late.items() if now - since < 2 * KNOWN_FOR_S}
            return []
        return [(one, since) for one, since in self._late.items() if now - since > WRITTEN_WITHIN_S]

    @staticmethod
    async def _clear(connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute(purse_sql.FREE)
        await connection.execute(purse_sql.MOVE, prepare=True)


@dataclass(frozen=True, slots=True)
class _Reserved:
    """A row of RESERVE."""

    is_held: bool
    is_ours: bool
    is_whole: bool
    is_known: bool
    usd_left: Decimal | None
    tokens_left: Decimal | None


async def _standing(connection: psycopg.AsyncConnection[Any], values: Mapping[str, Any]) -> tuple[Limit, ...]:
    cursor = await connection.execute(purse_sql.STANDING, values)
    return tuple(limit_of(row) for row in await cursor.fetchall())
