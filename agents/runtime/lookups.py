"""Where a run looks up what people decided in general, at this moment: policies, rules, kill switches.

Reads and counts on the runner's own connections. Decides nothing (`hitl.policy` does) and records nothing: whoever
decides by it takes what was decided as a step.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import structlog

from agents.runtime.connecting import may_pass, waits_s
from agents.runtime.lacking import Lacks
from hitl import policy_sql as hitl_standing
from hitl.policy import Standing

log = structlog.get_logger(__name__)

Connect = Callable[[], Any]
T = TypeVar("T")


class Lookups:
    """One for each run. While the database is away it is asked again and again: nothing is let through meanwhile."""

    def __init__(self, connection: Connect, lacks: Lacks | None = None) -> None:
        """`lacks`: what need not be looked up."""
        self._connection = connection
        self.lacks = lacks or Lacks()

    async def standing(self, *, user_id: UUID | None, tool: str, call_key: str) -> Standing:
        """All that stands for calls of this tool in runs of this user. `call_key`: as `use_rule` is going to get it."""
        return await self._patiently(
            lambda connection: hitl_standing.read_standing(connection, user_id=user_id, tool=tool, call_key=call_key)
        )

    async def use_rule(
        self,
        rule_id: UUID,
        *,
        call_key: str,
        execution_id: UUID,
        agent_name: str,
        tool: str,
        arguments: Mapping[str, Any],
        arguments_hash: str,
    ) -> bool:
        """Counts one use of a rule, once for each `call_key`; False if it has none left, or does not stand any more."""
        return await self._patiently(
            lambda connection: hitl_standing.use_rule(
                connection,
                rule_id,
                call_key=call_key,
                execution_id=execution_id,
                agent_name=agent_name,
                tool=tool,
                arguments=arguments,
                arguments_hash=arguments_hash,
            )
        )

    async def thrown(self, *, user_id: UUID | None, agent_name: str, tool: str) -> str:
        """Why effects of this tool, agent and user are stopped, in words for people; empty if they are not."""
        return await self._patiently(
            lambda connection: hitl_standing.thrown(connection, user_id=user_id, agent_name=agent_name, tool=tool)
        )

    async def read(self, ask: Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]]) -> T:
        """What a part of the product has in tables of its own, such as what is remembered of a person."""
        return await self._patiently(ask)

    async def _patiently(self, ask: Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]]) -> T:
        """Asks until the database answers: a restart of it is no reason to fail a run, nor to let a call through."""
        for wait_s in waits_s():
            try:
                async with self._connection() as connection:
                    return await ask(connection)
            except psycopg.Error as error:
                if not may_pass(error):
                    raise
                log.warning("lookups.database_away", why=str(error).split("\n")[0])
            await asyncio.sleep(wait_s)
        raise AssertionError("the waits have no end")
