"""Counting the uses of a rule on real connections: exactly as many as it has, each call once, whatever happens."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from hitl import rules
from hitl.models import Rule, RuleUse
from hitl.policy_sql import use_rule
from tests.hitl.standing import MAIL
from tests.hitl.test_policy_reading import make_rule

Connect = Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]
RUN = uuid.uuid4()


async def use(connection: psycopg.AsyncConnection[Any], rule: Rule, key: str, **fields: Any) -> bool:
    values: dict[str, Any] = {
        "execution_id": RUN,
        "agent_name": "mail",
        "tool": "write_note",
        "arguments": MAIL,
        "arguments_hash": "0" * 64,
    }
    return await use_rule(connection, rule.id, call_key=key, **(values | fields))


async def uses(rule: Rule) -> tuple[int, int]:
    """As the rule says, and as the rows of its uses say."""
    return (await Rule.objects.aget(pk=rule.pk)).uses, await RuleUse.objects.filter(rule=rule).acount()


@pytest.mark.spec("B7")
async def test_many_calls_at_once_never_get_one_use_too_many(connect: Connect, alice: Any) -> None:
    rule = await make_rule(alice, max_uses=7)
    connections = [await connect() for _ in range(8)]

    async def calls(number: int) -> list[bool]:
        return [await use(connections[number], rule, f"{number}.{count}") for count in range(5)]

    counted = [done for some in await asyncio.gather(*map(calls, range(8))) for done in some]

    assert counted.count(True) == 7
    assert await uses(rule) == (7, 7)


@pytest.mark.spec("B7", "B1")
async def test_the_same_call_is_counted_once_however_often_and_by_however_many_it_is_made(
    connect: Connect, alice: Any
) -> None:
    rule = await make_rule(alice, max_uses=3)
    connections = [await connect() for _ in range(6)]

    counted = await asyncio.gather(*(use(connection, rule, "same") for connection in connections))
    again = await use(connections[0], rule, "same")

    assert [*counted, again] == [True] * 7
    assert await uses(rule) == (1, 1)


async def test_a_call_that_took_the_last_use_has_it_still_when_it_is_made_again(connect: Connect, alice: Any) -> None:
    rule, connection = await make_rule(alice, max_uses=1), await connect()

    found = [await use(connection, rule, key) for key in ("first", "second", "first")]

    assert found == [True, False, True]
    assert await uses(rule) == (1, 1)


@pytest.mark.spec("B7")
async def test_a_rule_that_was_revoked_or_is_over_is_of_no_use_to_the_next_call_nor_to_one_made_again(
    connect: Connect, alice: Any
) -> None:
    revoked, over, connection = await make_rule(alice), await make_rule(alice), await connect()
    assert await use(connection, revoked, "a")
    assert await use(connection, over, "b")

    await sync_to_async(rules.revoke)(alice, revoked.id)
    await Rule.objects.filter(pk=over.pk).aupdate(until=timezone.now() - timedelta(seconds=1))

    assert not await use(connection, revoked, "a")
    assert not await use(connection, revoked, "c")
    assert not await use(connection, over, "b")
    assert not await use(connection, over, "d")
    assert await uses(revoked) == await uses(over) == (1, 1)


async def test_a_key_stands_for_one_call_of_one_rule(connect: Connect, alice: Any) -> None:
    rule, other, connection = await make_rule(alice), await make_rule(alice), await connect()
    assert await use(connection, rule, "key")

    assert not await use(connection, other, "key")
    assert not await use(connection, rule, "key", arguments_hash="1" * 64)
    assert not await use(connection, rule, "new", tool="another_tool")
    assert not await use(connection, Rule(pk=uuid.uuid4()), "new")
    assert (await uses(rule), await uses(other)) == ((1, 1), (0, 0))


async def test_what_a_rule_decided_is_kept_for_the_audit(connect: Connect, alice: Any) -> None:
    rule = await make_rule(alice, effect="deny")

    assert await use(await connect(), rule, "key", arguments={"text": "a\x00b\ud800", "n": 1e22})

    row = await RuleUse.objects.aget()
    assert (row.rule_id, row.execution_id, row.agent_name, row.tool) == (rule.id, RUN, "mail", "write_note")
    assert row.arguments == {"text": "a\ufffdb\ufffd", "n": 1e22}
    assert row.at is not None


async def test_within_a_transaction_of_its_caller_a_use_is_counted_with_it_or_not_at_all(
    connect: Connect, alice: Any
) -> None:
    rule, connection = await make_rule(alice, max_uses=1), await connect()

    async with connection.transaction(force_rollback=True):
        assert await use(connection, rule, "key")
        assert not await use(connection, rule, "other")

    assert await uses(rule) == (0, 0)
