"""A run's budget at work: what stands before each call of a model, and what is refused once the budget is used up.

What is asked and what an answer means is in `agents.budget`. Runs without a budget, or within it, record nothing here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agents.budget import (
    CODE,
    KIND,
    Choice,
    RunBudget,
    Standing,
    Unit,
    Used,
    question_of,
    standing_of,
    unasked,
    unchecked,
    unit_at_end,
    used_by,
)
from agents.engine.canonical import digest, plain
from agents.engine.context import Context
from agents.engine.errors import Cancelled, OutsideError
from agents.engine.events import Stage, StageStatus
from agents.engine.journal import differs, shared_key
from agents.engine.states import StepKind
from hyperagent.lib.llm.types import ModelRequest

if TYPE_CHECKING:
    from agents.runtime.context import DrivenRun

STAGE: Final = "budget"
# How much is written after the end of a budget, in the one answer from what there is.
LAST_TOKENS: Final = 2_000
# No agent's, so that no cut takes it back.
_SAID_ONCE: Final = "budget/0/0"


@dataclass(frozen=True, slots=True)
class Terms:
    """The budget that a run was given, and whether a person may be asked at its end."""

    budget: RunBudget
    may_ask: bool = True


class Spending(Context):
    """An agent's context that asks before it spends what nobody has allowed."""

    run: "DrivenRun"
    beyond_budget: str = ""
    """Why the last call was one beyond the budget's end, in words for people; empty if it was within."""

    async def afford(self, name: str, request: Any, *, last: bool = False) -> None:
        """Stands before a call of a model. At the end of the budget a person is asked, once for all agents.

        Whatever comes of it is a step before the call's own, so that a replay goes the same way. Without a raise the
        call is refused when it is performed (`refuse`); not the `last` one, in which the answer is given from what
        there is. Raises Cancelled if the person wants the run to stop.
        """
        terms = self.run.terms
        if terms is None:
            return
        self.beyond_budget = ""
        hashed = digest(plain(request))
        while True:
            recorded = self.upcoming
            if recorded is not None and not differs(recorded, StepKind.MODEL, name, hashed, effect=False):
                return
            if recorded is not None and (recorded.kind, recorded.name) == (StepKind.ASK, KIND):
                await self._ask_for_more(recorded.request["shared"])
                continue
            if recorded is not None and (recorded.kind, recorded.name) == (StepKind.NOTE, KIND):
                self.beyond_budget = await self._noted(recorded.response)
                return
            standing, unit = self._at_end()
            if standing.decided is Choice.STOP:
                self._stop(standing.why)
            if unit is None:
                return
            if standing.decided is None and terms.may_ask:
                await self._ask_for_more(f"{KIND}:{standing.ends + 1}")
                continue
            if last:
                self.beyond_budget = await self._noted(standing.why or unasked(standing, unit))
            return

    def refuse(self, *, last: bool = False) -> None:
        """For what performs the call: raises OutsideError, which is recorded, where the budget is used up for good."""
        if self.run.terms is None or last:
            return
        standing, unit = self._at_end()
        if unit is not None:
            raise OutsideError(CODE, standing.why or unasked(standing, unit))

    @property
    def is_within_budget(self) -> bool:
        """Now; a program that decides by it notes it."""
        return self.run.terms is None or self._at_end()[1] is None

    def last_of(self, request: ModelRequest) -> ModelRequest:
        """The request as it is sent: beyond the budget's end it may be answered briefly only."""
        if not self.beyond_budget:
            return request
        return request.model_copy(update={"max_tokens": min(request.max_tokens or LAST_TOKENS, LAST_TOKENS)})

    def say_if_unpriced(self, model: str, cost_usd: Any) -> None:
        """A limit of money cannot be held for a model without a known price: people are told, once a run."""
        terms = self.run.terms
        if terms is not None and terms.budget.max_cost_usd is not None and cost_usd is None:
            said = Stage(name=STAGE, description=unchecked(model), status=StageStatus.FAILED)
            self.run.announce_once(self.run.root.id, said, _SAID_ONCE)

    # --- inside

    async def _noted(self, why: str) -> str:
        noted: str = await self.note(KIND, lambda: why)
        return noted

    async def _ask_for_more(self, name: str) -> None:
        def question() -> dict[str, Any]:
            standing, unit = self._at_end()
            assert unit is not None  # nothing was awaited since it was looked at
            return question_of(standing, used_of(self.run), unit, asking=self.agent.name)

        await self.ask_together(KIND, name, question)

    def _at_end(self) -> tuple[Standing, Unit | None]:
        assert self.run.terms is not None
        standing = standing_of(self.run.terms.budget, list(_answers(self.run)))
        return standing, unit_at_end(standing, used_of(self.run))

    def _stop(self, why: str) -> None:
        self.emit(Stage(name=STAGE, description=why, status=StageStatus.FAILED))
        self.run.break_off(why)
        raise Cancelled(why)


def used_of(run: "DrivenRun") -> Used:
    """What all model calls of the run took until now, cut ones too. What a copy was given was paid for elsewhere."""
    steps = (step for steps in run.loaded.steps.values() for step in steps.values())
    return used_by([*run.paid, *(step.usage for step in steps if step.usage)])


def _answers(run: "DrivenRun") -> Iterator[Any]:
    """What people said at each end of this run's budget, as far as an agent has heard it."""
    end = 1
    while (answered := run.answered_together(shared_key(run.execution_id, f"{KIND}:{end}"))) is not None:
        yield answered.response
        end += 1
