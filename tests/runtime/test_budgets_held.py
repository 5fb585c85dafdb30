"""Budgets that runs share, on real Postgres: reserved before a call, settled after it, whoever dies in between."""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection
from django.db.models import F, Sum
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from psycopg_pool import AsyncConnectionPool

from agents.engine.errors import LeaseLost
from agents.models import Execution
from agents.runtime.shared_budgets import Driving, Held, Lacking, SharedBudgets
from agents.usage import purse_sql
from agents.usage.estimates import Estimate
from agents.usage.models import ModelCall
from agents.usage.purses import standing_of
from hyperagent.accounts.budget_models import Budget, Hold, Purse
from hyperagent.lib.llm.prices import Price
from tests import template
from tests.faces.web import ROOT, database_url
from tests.runtime.cutting import cut_off_at
from tests.runtime.driving import database_dsn, ended, model_env, start, until
from tests.scripted.script import Script, ScriptedUsage
from tests.scripted.server import ScriptedServer

PRICES = {"scripted/scripted-pro": Price(input=Decimal(10), output=Decimal(100))}
# 100 tokens of a prompt and 400 of an answer: $0.041 at most.
EACH = Estimate(prompt_tokens=100, least_output=400)
MOST_USD, MOST_TOKENS = Decimal("0.041"), 500
pytestmark = [pytest.mark.spec("B11"), pytest.mark.django_db(transaction=True)]


async def prices() -> Any:
    return PRICES


@dataclass
class House:
    """A process that drives runs: its connections and its budgets."""

    pool: AsyncConnectionPool[Any]
    shared_budgets: SharedBudgets = field(init=False)

    def __post_init__(self) -> None:
        self.shared_budgets = SharedBudgets(self.connection, settings.CONFIG)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with self.pool.connection() as connection:
            yield connection

    async def hold(self, driving: Driving) -> Held | Lacking | None:
        return await self.shared_budgets.hold(driving, EACH, prices=prices, wanted_output=400)

    async def settle(self, driving: Driving, held: Held, usd: Decimal | str, tokens: int) -> int:
        """What the writer does with the step: the ledger's row beside it, or neither."""
        values = {"call_id": held.call_id, "execution_id": driving.execution_id, "epoch": driving.epoch}
        more = {"usd": usd, "tokens": tokens, "is_unpriced": False}
        async with self.connection() as connection:
            return (await connection.execute(purse_sql.SETTLE, values | more)).rowcount

    async def move(self, statement: str = purse_sql.MOVE) -> None:
        async with self.connection() as connection:
            await connection.execute(statement)


@pytest.fixture
async def houses() -> AsyncIterator[Callable[[int], Awaitable[list[House]]]]:
    opened: list[AsyncConnectionPool[Any]] = []

    async def open_(count: int) -> list[House]:
        for _ in range(count):
            pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
                database_dsn(), min_size=1, max_size=8, kwargs={"autocommit": True}, open=False
            )
            await pool.open()
            opened.append(pool)
        return [House(pool) for pool in opened]

    yield open_
    for pool in opened:
        await pool.close()


@sync_to_async
def running(user: Any, count: int = 1) -> list[Driving]:
    made = [
        Execution.objects.create(user=user, question="?", status="running", epoch=1, pipeline="turn", input={})
        for _ in range(count)
    ]
    return [Driving(one.id, 1, user.pk) for one in made]


@sync_to_async
def allow(whose: str, amount: Any, *, unit: str = "usd", period: str = "day", **of: Any) -> Budget:
    return Budget.objects.create(whose=whose, unit=unit, period=period, amount=amount, **of)


@sync_to_async
def purse(name: str, period: str = "day") -> Purse:
    return Purse.objects.get(whose=name, period=period)


@sync_to_async
def holds() -> int:
    return Hold.objects.count()


def the_only(found: list[Driving]) -> Driving:
    (one,) = found
    return one


@pytest.mark.slow
async def test_fifty_runs_at_once_never_go_beyond_any_limit(alice: Any, bob: Any, houses: Any) -> None:
    group = await sync_to_async(Group.objects.create)(name="sales")
    for person in (alice, bob):
        await sync_to_async(person.groups.add)(group)
    await allow("installation", 1)
    await allow("group", "0.60", group=group, period="month")
    await allow("user", 6_000, user=alice, unit="tokens")
    two = await houses(2)
    drivings = [*await running(alice, 25), *await running(bob, 25)]
    spent: dict[UUID, Decimal] = {}
    refused = 0

    async def drive(number: int, driving: Driving) -> None:
        nonlocal refused
        house, chance = two[number % 2], random.Random(number)
        for _ in range(2):
            held = await house.hold(driving)
            if isinstance(held, Lacking):
                refused += 1
                return
            assert isinstance(held, Held)
            usd = Decimal(chance.choice(["0.041", "0.02", "0.001"]))
            await asyncio.sleep(chance.random() / 100)
            assert await house.settle(driving, held, usd, 500 if usd == MOST_USD else 100) == 1
            spent[held.call_id] = usd
            await house.move()

    await asyncio.gather(*(drive(number, driving) for number, driving in enumerate(drivings)))
    await two[0].move()

    of_group, of_house = await purse(f"group:{group.pk}", "month"), await purse("installation")
    of_alice = await purse(f"user:{alice.pk}")
    assert refused > 0
    assert of_group.used_usd == of_house.used_usd == sum(spent.values())
    assert 0 < of_group.used_usd <= Decimal("0.60")
    assert of_alice.used_tokens <= 6_000
    assert await holds() == 0
    assert [(one.held_usd, one.held_tokens) for one in (of_group, of_house, of_alice)] == [(Decimal(0), 0)] * 3


async def test_what_does_not_fit_into_one_limit_takes_nothing_of_the_others(alice: Any, houses: Any) -> None:
    await allow("everybody", 10)
    await allow("installation", 400, unit="tokens")
    (house,) = await houses(1)
    driving = the_only(await running(alice))

    said = await house.hold(driving)

    assert isinstance(said, Lacking)
    assert said.why.startswith(
        "The budget of this installation of 400 tokens a day does not suffice: 0 tokens are used. The "
    )
    assert "may take up to 500 tokens, and 400 tokens are left. It starts anew on " in said.why
    assert said.why.endswith("00:00 UTC. An administrator can raise it.")
    assert (await purse(f"user:{alice.pk}")).held_usd == 0


async def test_a_call_that_was_asked_for_twice_is_reserved_settled_and_moved_once(alice: Any, houses: Any) -> None:
    await allow("user", 1, user=alice)
    (house,) = await houses(1)
    driving = the_only(await running(alice))
    limits = await house.shared_budgets._limits(alice.pk)
    held = await house.hold(driving)
    assert isinstance(held, Held)

    again = await house.shared_budgets._reserve(driving, held.call_id, 500, MOST_USD, limits, unpriced=False)
    once = (await purse(f"user:{alice.pk}")).held_usd
    settled = [await house.settle(driving, held, "0.03", 300) for _ in range(2)]
    for _ in range(2):
        await house.move()

    assert (again.is_held, again.is_known) == (False, True)
    assert once == MOST_USD
    assert settled == [1, 0]
    now = await purse(f"user:{alice.pk}")
    assert (now.used_usd, now.used_tokens, now.held_usd) == (Decimal("0.03"), 300, Decimal(0))


async def test_what_the_dead_had_reserved_comes_free_and_they_can_neither_reserve_nor_settle(
    alice: Any, houses: Any
) -> None:
    await allow("user", "0.05", user=alice)
    (house,) = await houses(1)
    dead = the_only(await running(alice))
    held = await house.hold(dead)
    assert isinstance(held, Held)
    await sync_to_async(Execution.objects.filter(id=dead.execution_id).update)(epoch=2)
    living = Driving(dead.execution_id, 2, alice.pk)

    second = await house.hold(living)
    late = await house.settle(dead, held, "0.04", 10)
    with pytest.raises(LeaseLost):
        await house.hold(dead)

    assert isinstance(second, Held)
    assert late == 0
    assert (await purse(f"user:{alice.pk}")).held_usd == MOST_USD
    await sync_to_async(Execution.objects.filter(id=dead.execution_id).update)(status="pending")
    await house.move(purse_sql.FREE)
    await house.move()
    now = await purse(f"user:{alice.pk}")
    assert (now.used_usd, now.held_usd, await holds()) == (Decimal(0), Decimal(0), 0)


async def test_an_answer_is_made_shorter_where_a_long_one_does_not_fit(alice: Any, houses: Any) -> None:
    await allow("user", 2_000, unit="tokens", user=alice)
    (house,) = await houses(1)
    driving = the_only(await running(alice))

    held = await house.shared_budgets.hold(driving, Estimate(prompt_tokens=500), prices=prices, wanted_output=None)

    assert isinstance(held, Held)
    assert held.output_tokens == 1_500


async def test_nobody_has_a_budget_and_nothing_is_asked_or_held(alice: Any, houses: Any) -> None:
    (house,) = await houses(1)
    await house.shared_budgets.begin()

    assert not house.shared_budgets.is_on
    assert await house.hold(the_only(await running(alice))) is None
    assert await sync_to_async(Purse.objects.count)() == 0


@pytest.mark.slow
@pytest.mark.spec("B1", "B11")
async def test_a_runner_killed_in_mid_call_leaves_nothing_reserved_and_nothing_counted_twice(
    alice: Any, scripted_server: ScriptedServer, make_runner: Any
) -> None:
    await allow("installation", 100_000, unit="tokens", period="month")
    usage = ScriptedUsage(prompt_tokens=400, completion_tokens=100)
    scripted_server.script(Script(text="word " * 40, tokens_per_s=20, usage=usage, times=0))
    command = [sys.executable, "manage.py", "runner", "--name", "doomed", "--concurrency", "8"]
    env = {**os.environ, "DATABASE_URL": database_url(), "LEASE_SECONDS": "5", **model_env(scripted_server.url)}
    doomed = template.Process(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def open_holds() -> bool:
        return await holds() >= 4

    try:
        ids = [await start(alice, "What is known?", mode="chat") for _ in range(4)]
        await until(open_holds, timeout_s=90)
    finally:
        doomed.kill()
        doomed.wait()
    reserved = (await purse("installation", "month")).held_tokens
    await make_runner(scripted_server.url)
    runs = [await ended(id_, timeout_s=90) for id_ in ids]

    async def all_moved() -> bool:
        return not await holds()

    await until(all_moved, timeout_s=30)
    taken = await sync_to_async(
        lambda: ModelCall.objects.aggregate(at=Sum(F("prompt_tokens") + F("completion_tokens")))
    )()

    async def all_counted() -> bool:
        """What the one that was killed had begun comes from the ledger, a moment later."""
        return bool((await purse("installation", "month")).used_tokens >= taken["at"])

    await until(all_counted)
    now = await purse("installation", "month")
    assert {run.status for run in runs} == {"completed"}
    assert reserved > 4 * 400
    assert (now.held_tokens, now.used_tokens) == (0, taken["at"])
    assert 4 * 500 <= now.used_tokens <= 100_000


@pytest.mark.slow
async def test_what_is_to_be_tidied_up_stays_to_be_done_where_the_database_goes_away_meanwhile(
    alice: Any, houses: Any
) -> None:
    await allow("user", 1, user=alice)
    (house,) = await houses(1)
    driving = the_only(await running(alice))
    held = await house.hold(driving)
    assert isinstance(held, Held)
    house.shared_budgets._abandoned.append(
        (driving, held.call_id)
    )  # as of a call that was interrupted once it was held
    await sync_to_async(ledger)(alice, "0.25", 100, 1)
    house.shared_budgets.count_late(alice.pk)
    await house.shared_budgets.begin()

    async with cut_off_at("accounts_purse"):
        keeping = asyncio.create_task(house.shared_budgets.keep())

    async def is_tidy() -> bool:
        now = await purse(f"user:{alice.pk}")
        return (now.used_usd, now.held_usd) == (Decimal("0.25"), Decimal(0))

    await until(is_tidy, timeout_s=15)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


def ledger(user: Any, usd: str | None, tokens: int, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    ModelCall.objects.create(
        step_id=number, user=user, execution_id=UUID(int=number), agent_name="a", provider="p", model="m",
        prompt_tokens=tokens, completion_tokens=0, cost_usd=usd, at=now,
    )  # fmt: skip


def test_a_budget_begins_with_what_the_ledger_has_and_finds_what_was_lost(alice: Any, bob: Any) -> None:
    ledger(alice, "0.25", 100, 1)
    ledger(alice, None, 50, 2)
    ledger(bob, "9", 100, 3)
    Budget.objects.create(whose="everybody", unit="usd", period="month", amount=1)
    Budget.objects.create(whose="installation", unit="tokens", period="month", amount=1_000)

    told = {limit.whose.value: limit for limit in standing_of(alice.pk)}
    ledger(alice, "0.5", 10, 4)
    with connection.cursor() as cursor:
        cursor.execute(purse_sql.RECOUNT, {"purses": list(Purse.objects.values_list("id", flat=True))})

    assert (told["user"].used, told["user"].unpriced_calls, told["user"].percent) == (Decimal("0.25"), 1, 25)
    assert told["installation"].used == 250
    assert {one.whose.value: one.used for one in standing_of(alice.pk)} == {
        "user": Decimal("0.75"),
        "installation": 260,
    }


# --- any interleaving

STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["hold", "settle", "die", "free", "move", "recount"])), max_size=25
)


@pytest.mark.slow
@hypothesis_settings(
    max_examples=12, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(STEPS)
def test_whatever_comes_after_what_the_sums_are_right_and_the_limit_holds(alice: Any, steps: Any) -> None:
    asyncio.run(interleaved(alice, steps))


async def interleaved(alice: Any, steps: Any) -> None:
    limit = Decimal("0.1")
    await sync_to_async(lambda: [model.objects.all().delete() for model in (Budget, Hold, Purse, Execution)])()
    await allow("user", limit, user=alice)
    async with AsyncConnectionPool(
        database_dsn(), min_size=1, max_size=2, kwargs={"autocommit": True}, open=False
    ) as pool:
        house = House(pool)
        runs = await running(alice, 4)
        open_: dict[int, list[Held]] = {number: [] for number in range(4)}
        settled = Decimal(0)
        for number, what in steps:
            if what == "hold":
                held = await house.hold(runs[number])
                if isinstance(held, Held):
                    open_[number].append(held)
            elif what == "settle" and open_[number]:
                settled += Decimal("0.02") * await house.settle(runs[number], open_[number].pop(), "0.02", 100)
            elif what == "die":
                old = runs[number]
                await sync_to_async(Execution.objects.filter(id=old.execution_id).update)(epoch=old.epoch + 1)
                runs[number] = Driving(old.execution_id, old.epoch + 1, alice.pk)
            elif what == "free":
                await house.move(purse_sql.FREE)
            elif what == "move":
                await house.move()
            elif what == "recount":
                await recount(house)
            (held_usd, used) = await sync_to_async(totals)()
            assert used + held_usd <= limit
        await house.move(purse_sql.FREE)
        await house.move()
        _, used = await sync_to_async(totals)()
        assert used == settled


async def recount(house: House) -> None:
    ids = await sync_to_async(lambda: list(Purse.objects.values_list("id", flat=True)))()
    async with house.connection() as connection:
        await connection.execute(purse_sql.RECOUNT, {"purses": ids})


def totals() -> tuple[Decimal, Decimal]:
    now = Purse.objects.first()
    return (now.held_usd, now.used_usd) if now else (Decimal(0), Decimal(0))
