"""What a plan is reckoned to cost, before any of it runs. Asks no model, and holds nothing back: budgets do that.

A rough guess on purpose, for one decision: whether a person is to see the plan first. Nobody knows beforehand how often
an agent will ask its model, or how much it will read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Final

from agents.craft.exchange import Options, Value, meant
from agents.engine.context import Outcome
from agents.engine.states import StepKind
from agents.pipeline.plans import PlanTask
from agents.run_budget import written_plainly
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.accounts.budgets import Unit
from hyperagent.lib.llm.prices import Price
from hyperagent.lib.llm.types import ModelRequest, Tier

NOTED: Final = "plan_cost"
CENT: Final = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Call:
    prompt_tokens: int
    completion_tokens: int


# What a call of a model takes that an agent makes at work, by the tier that it asks: its instructions, tools and what
# was found by then; the answer with its thoughts. Assumed, not measured. A task is reckoned with a call for each
# round that its agent may take.
A_CALL: Final[Mapping[Tier, Call]] = {
    Tier.MAX: Call(prompt_tokens=6_000, completion_tokens=1_200),
    Tier.PRO: Call(prompt_tokens=4_000, completion_tokens=800),
    Tier.FLASH: Call(prompt_tokens=3_000, completion_tokens=400),
}


class PlanCost(Value):
    """`usd`: of the tasks whose model has a known price. `unpriced`: the models of the others, as `provider/model`.

    A price that is not known makes `usd` the least that the plan costs: it is told as not counted, never as nothing. It
    is no reason to ask by itself, or every plan of a house with a model server of its own would wait for a person.
    """

    usd: Decimal = Decimal(0)
    unpriced: tuple[str, ...] = ()

    def plus(self, other: "PlanCost") -> "PlanCost":
        unpriced = tuple(sorted({*self.unpriced, *other.unpriced}))
        return PlanCost(usd=self.usd + other.usd, unpriced=unpriced)


NOTHING: Final = PlanCost()


async def reckoned(
    context: AgentContext, tasks: Sequence[PlanTask], *, roster: Mapping[str, AgentSpec], options: Options
) -> PlanCost:
    """What these tasks are reckoned to cost. Noted: prices change, and a replay decides the same."""

    async def perform() -> Outcome:
        costs = {
            name: await _cost_of(context, roster[name], options) for name in sorted({task.agent for task in tasks})
        }
        total = NOTHING
        for task in tasks:
            total = total.plus(costs[task.agent])
        return Outcome(total.model_dump(mode="json"))

    return PlanCost.model_validate(await context.step(StepKind.NOTE, NOTED, None, perform))


def why_dear(cost: PlanCost, limit_usd: Decimal, *, goes_on: bool) -> list[str]:
    """Sentences for whoever is asked because it is above the limit. `goes_on`: plans before this one count with it."""
    whole = "With what was planned before, it is" if goes_on else "It is"
    # To the next cent: what is above the limit never looks as if it were not.
    usd = written_plainly(cost.usd.quantize(CENT, ROUND_CEILING), Unit.USD)
    words = [f"{whole} reckoned to cost {usd}, and plans above {written_plainly(limit_usd, Unit.USD)} are asked about."]
    if cost.unpriced:
        words.append(f"What {' and '.join(cost.unpriced)} cost is not known, and is not counted.")
    return words


async def _cost_of(context: AgentContext, spec: AgentSpec, options: Options) -> PlanCost:
    """Of one task of this agent, at the model that it asks first; nothing where nobody serves it one."""
    chosen = meant(options, context.run.tuning_of(spec.name), spec.tier)
    request = ModelRequest(messages=(), agent=spec.name, **chosen)
    prices: Mapping[str, Price | None] = await context.run.models.prices_of(request)
    if not prices:
        return NOTHING
    model, price = next(iter(prices.items()))
    if price is None:
        return PlanCost(unpriced=(model,))
    call = A_CALL[request.tier]
    most = price.most(prompt_tokens=call.prompt_tokens, completion_tokens=call.completion_tokens)
    return PlanCost(usd=spec.max_iterations * most)
