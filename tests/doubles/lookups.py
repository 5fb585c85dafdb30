"""What stands for calls, in memory: nothing by default, so that every protected call is asked about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from agents.runtime.lookups import Lookups
from hitl.policy import PolicyFacts, RuleFacts, Standing


@dataclass
class MemoryLookups(Lookups):
    """`used` has the uses of rules that were counted, by the call's key. `stopped`: why all effects are stopped."""

    policies: tuple[PolicyFacts, ...] = ()
    rules: tuple[RuleFacts, ...] = ()
    stopped: str = ""
    used: dict[str, UUID] = field(default_factory=dict)
    looked: int = 0

    async def standing(self, *, user_id: UUID | None, tool: str, call_key: str) -> Standing:
        self.looked += 1
        spent = {rule.id for rule in self.rules if self._is_spent(rule, call_key)}
        rules = tuple(rule for rule in self.rules if rule.tool == tool and rule.id not in spent)
        return Standing(datetime.now(UTC), self.policies, rules)

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
        (rule,) = [one for one in self.rules if one.id == rule_id]
        if self._is_spent(rule, call_key):
            return False
        self.used[call_key] = rule_id
        return True

    async def thrown(self, *, user_id: UUID | None, agent_name: str, tool: str) -> str:
        return self.stopped

    def _is_spent(self, rule: RuleFacts, call_key: str) -> bool:
        others = [key for key, used in self.used.items() if used == rule.id and key != call_key]
        return rule.uses_left is not None and len(others) >= rule.uses_left
