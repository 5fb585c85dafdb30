"""What the calls in flight of one run may take of the run's own budget, until it is known what they took.

In memory: whoever has the run's lease makes all of its calls. Asks nobody: `agents.runtime.spending` does.
"""

import asyncio
from dataclasses import dataclass, field
from decimal import Decimal

from agents.run_budget import Standing, Used, unit_lacking
from agents.usage.estimates import Estimate, Prices
from hyperagent.accounts.budgets import Unit


@dataclass(frozen=True, slots=True, eq=False)
class Reserve:
    """One call's. `most`: what it takes at most, if its answer has no more than so many tokens."""

    most: Used
    output_tokens: int


@dataclass(slots=True)
class Reserves:
    _held: set[Reserve] = field(default_factory=set)
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    def __bool__(self) -> bool:
        return bool(self._held)

    @property
    def most(self) -> Used:
        """What all of them may take together."""
        return sum((reserve.most for reserve in self._held), Used())

    def hold(self, reserve: Reserve) -> Reserve:
        self._held.add(reserve)
        return reserve

    def free(self, reserve: Reserve) -> None:
        self._held.discard(reserve)
        self._freed.set()
        self._freed = asyncio.Event()

    async def one_is_freed(self) -> None:
        await self._freed.wait()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that is to be made, by what it may take. `output`: the tokens that its answer may have, given room."""

    estimate: Estimate
    prices: Prices
    output: int

    @property
    def least(self) -> int:
        """With fewer tokens for its answer it is not worth making."""
        return min(self.output, self.estimate.least_output)

    def most(self, output: int) -> Used:
        took = self.estimate.of(output, self.prices)
        return Used(took.tokens, took.usd)

    def lacking(self, standing: Standing, spent: Used) -> Unit | None:
        """The limit within which not even the least of it fits."""
        return unit_lacking(standing, spent, self.most(self.least))

    def reserve_within(self, standing: Standing, spent: Used) -> Reserve | None:
        """What can be reserved for it: all that it wants, or a shorter answer; None if not even the least fits."""
        tokens, usd = standing.max_tokens, standing.max_cost_usd
        shorter = self.estimate.output_that_fits(
            None if tokens is None else Decimal(tokens - spent.tokens),
            None if usd is None else usd - spent.cost_usd,
            self.prices,
            below=self.output,
        )
        for output in (self.output, shorter or self.least, self.least):
            most = self.most(output)
            if unit_lacking(standing, spent, most) is None:
                return Reserve(most, output)
        return None
