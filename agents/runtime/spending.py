"""A run's budget at work: what stands before each call of a model, and what is refused once the budget is used up.

What is asked and what an answer means is in `agents.run_budget`; the budgets that runs share are held by
`agents.runtime.shared_budgets`. Runs without a budget, or within it, record nothing here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from agents.engine.canonical import Written, digest
from agents.engine.context import Context, Outcome
from agents.engine.errors import Cancelled, OutsideError
from agents.engine.events import Stage, StageStatus
from agents.engine.journal import differs, shared_key
from agents.engine.states import StepKind
from agents.run_budget import (
    CODE,
    FINISHED,
    KIND,
    Choice,
    RunBudget,
    Standing,
    Used,
    decided,
    question_of,
    shared_name,
    shared_question,
    standing_of,
    unasked,
    unchecked,
    unchecked_by_others,
    unit_at_end,
    used_by,
)
from agents.runtime.outbox import BrokenOff, Settled
from agents.runtime.reserves import Reserve, Wanted
from agents.runtime.shared_budgets import Driving, Held, Lacking
from agents.runtime.underway import CallUnderway, usage_of
from agents.usage.estimates import estimate_of
from hyperagent.lib.llm.errors import ModelBusy, ModelError, ModelUnavailable
from hyperagent.lib.llm.taken import Taken
from hyperagent.lib.llm.types import ModelRequest

if TYPE_CHECKING:
    from agents.runtime.driven import DrivenRun

T = TypeVar("T")
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
    _own: Reserve | None = None
    """What is reserved for the next call, of the run's own budget."""
    _held: Held | None = None
    """The same of the budgets that others share."""
    _lack: str = ""
    """Why the next call may not be made by one of those; empty if it may."""

    async def afford(
        self,
        name: str,
        request: Written,
        sent: ModelRequest,
        *,
        last: bool = False,
        aside: bool = False,
        calls: int = 1,
    ) -> None:
        """Stands before a call of a model: reserves what it may take, of the run's own budget and of those of its
        person, their groups and the installation. Where not even the least fits, a person is asked, once for all
        agents.

        Whatever comes of it is a step before the call's own, so that a replay goes the same way. Without a raise the
        call is refused when it is performed (`refuse`); not the `last` one, in which the answer is given from what
        there is: it may go beyond the run's own budget, briefly, but not beyond those that are shared. Raises Cancelled
        if the person wants the run to stop. `aside`: what the run can do without; nobody is asked for it at the end of
        its own budget. `calls`: how often a model may be asked for the one answer.
        """
        self.beyond_budget, self._lack, self._held = "", "", None
        if self.run.terms is None and not self.run.is_held and not self._is_at_an_end():
            return
        hashed = digest(request)
        try:
            while await self._looked_at(name, hashed, sent, last=last, aside=aside, calls=calls):
                pass
        except BaseException:
            self._free_own()
            raise

    def refuse(self) -> None:
        """For what performs the call: raises OutsideError, which is recorded, where a budget has no room for it."""
        if self._lack:
            raise OutsideError(CODE, self._lack)

    async def paid_step(self, name: str, request: Written, perform: Callable[[], Awaitable[Outcome]]) -> Any:
        """A step that asks a model. What was reserved for it and not settled comes free, whatever became of it."""
        try:
            return await self.step(StepKind.MODEL, name, request, perform)
        finally:
            self._free_own()
            if self._held is not None and self.run.outbox.error is None:
                self.settled(None)

    @contextmanager
    def counted(self, name: str, asked: Written) -> Iterator[Taken]:
        """Around a call of a model on its way, which adds to the list what it takes. Where it is interrupted, all of
        that counts for every budget; and where its process is killed, what it had taken until a moment before."""
        call = CallUnderway(uuid4().hex, self.agent.id, self._performing[:-1], name, asked, Taken())
        self.run.calls[call.call_id] = call
        try:
            yield call.taken
        except asyncio.CancelledError:
            used = call.usage()
            if used is not None and self.run.outbox.error is None:
                self.run.paid.append(self.settled(used))
                self.run.outbox.write(BrokenOff(call.interrupted(used)))
            raise
        finally:
            del self.run.calls[call.call_id]

    def settled(self, used: T) -> T:
        """Gives back of the reservation what was not used; together with the step that is recorded next. `used`: as a
        step records it, None where the call came to nothing."""
        held, self._held = self._held, None
        if held is not None:
            self.run.outbox.write(_settled(held, used))
        elif used is not None and self.run.shared_budgets is not None:
            self.run.shared_budgets.count_late(self.run.about.user_id)
        return used

    def failed_call(self, error: ModelError) -> OutsideError:
        """What is recorded of a call that came to nothing: the provider's trouble in words for people, and what it took
        all the same, which is settled."""
        return OutsideError(
            error.code,
            error.user_message,
            retryable=isinstance(error, ModelBusy | ModelUnavailable),
            usage=self.settled(usage_of(*error.paid) if error.paid else None),
        )

    @property
    def is_within_budget(self) -> bool:
        """Now; a program that decides by it notes it."""
        return self.run.terms is None or unit_at_end(self._standing(self.run.terms), used_of(self.run)) is None

    def last_of(self, request: ModelRequest) -> ModelRequest:
        """The request as it is sent: beyond the budget's end it may be answered briefly only, and otherwise within what
        was reserved for it."""
        reserved = [one.output_tokens for one in (self._own, self._held) if one is not None]
        most = [number for number in (request.max_tokens, *reserved) if number]
        if self.beyond_budget:
            most = [min([LAST_TOKENS, *most])]
        return request.model_copy(update={"max_tokens": min(most)}) if most else request

    def say_if_unpriced(self, model: str, cost_usd: Any) -> None:
        """A limit of money cannot be held for a model without a known price: people are told, once a run."""
        terms = self.run.terms
        if cost_usd is not None:
            return
        if terms is not None and terms.budget.max_cost_usd is not None:
            why = unchecked(model)
        elif self.run.is_money_held:
            why = unchecked_by_others(model)
        else:
            return
        said = Stage(name=STAGE, description=why, status=StageStatus.FAILED)
        self.run.announce_once(self.run.root.id, said, _SAID_ONCE)

    # --- inside

    async def _noted(self, why: str) -> str:
        noted: str = await self.note(KIND, lambda: why)
        return noted

    def _is_at_an_end(self) -> bool:
        """Whether the next that is recorded is about a budget, though none holds any more."""
        recorded = self.upcoming
        return recorded is not None and recorded.name == KIND and recorded.kind in (StepKind.ASK, StepKind.NOTE)

    async def _looked_at(
        self, name: str, hashed: bytes, sent: ModelRequest, *, last: bool, aside: bool, calls: int
    ) -> bool:
        """One look before the call; True if something was asked or noted, and the journal is to be looked at anew."""
        recorded = self.upcoming
        if recorded is not None and not differs(recorded, StepKind.MODEL, name, hashed, effect=False):
            return False
        if recorded is not None and (recorded.kind, recorded.name) == (StepKind.ASK, KIND):
            await self.ask_together(KIND, recorded.request["shared"], dict)  # a replay makes no question
            return True
        if recorded is not None and (recorded.kind, recorded.name) == (StepKind.NOTE, KIND):
            self.beyond_budget = await self._noted(recorded.response)
            return True
        if await self._asks_for_its_own(sent, last=last, aside=aside, calls=calls):
            return True
        return await self._asks_for_shared(sent, calls=calls)

    async def _asks_for_its_own(self, sent: ModelRequest, *, last: bool, aside: bool, calls: int) -> bool:
        """Reserves what the call may take of the run's own budget; True if something was asked or noted."""
        terms = self.run.terms
        if terms is None or self.beyond_budget:
            return False
        wanted = await self._wanted(terms, sent, calls=calls)
        if await self._reserved(terms, wanted):
            return False
        standing = self._standing(terms)
        if standing.decided is Choice.STOP:
            self._stop(standing.why)
        if standing.decided is None and terms.may_ask and not aside:
            await self.ask_together(KIND, f"{KIND}:{standing.ends + 1}", lambda: self._question(terms, wanted))
            return True
        why = standing.why or self._unasked(standing, wanted)
        if last:
            self.beyond_budget = await self._noted(why)
            return True
        self._lack = why
        return False

    async def _wanted(self, terms: Terms, sent: ModelRequest, *, calls: int) -> Wanted:
        estimate = estimate_of(sent.model_dump(mode="json"), calls=calls)
        prices = {} if terms.budget.max_cost_usd is None else await self.run.models.prices_of(sent)
        return Wanted(estimate, prices, estimate.output_tokens(sent.max_tokens))

    async def _reserved(self, terms: Terms, wanted: Wanted) -> bool:
        """Reserves for the call as soon as there is room for it, or for as much of it as there will be: an answer is
        not cut short for what other calls may not take after all. False if not even the least of it fits."""
        reserves = self.run.reserves
        while (standing := self._standing(terms)).decided is None:
            found = wanted.reserve_within(standing, used_of(self.run) + reserves.most)
            if found is not None and (found.output_tokens == wanted.output or not reserves):
                self._own = reserves.hold(found)
                return True
            if not reserves:
                return False
            await reserves.one_is_freed()
        return False

    def _free_own(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            self.run.reserves.free(own)

    async def _asks_for_shared(self, sent: ModelRequest, *, calls: int) -> bool:
        """Reserves what the call may take of the budgets that hold for the run's person; True if they were asked."""
        shared_budgets = self.run.shared_budgets
        if shared_budgets is None or not shared_budgets.is_on or self._lack:
            return False
        end, said = _shared_ends(self.run)
        if said is not None and said.get("choice") != Choice.RAISE:
            self._lack = decided(said)
            if said.get("choice") == Choice.STOP:
                self._stop(self._lack)
            return False
        outbox, about = self.run.outbox, self.run.about
        await self.run.claimed()
        found = await shared_budgets.hold(
            Driving(about.execution_id, outbox.epoch, about.user_id),
            estimate_of(sent.model_dump(mode="json"), calls=calls),
            prices=lambda: self.run.models.prices_of(sent),
            wanted_output=self.last_of(sent).max_tokens,
        )
        if isinstance(found, Lacking) and self.run.may_ask and (shared_budgets.waits or found.may_raise):
            await self._ask_shared(found, end + 1)
            return True
        if isinstance(found, Lacking):
            self._lack = f"{found.why} {FINISHED}"
        else:
            self._held = found
            self.run.is_money_held |= found is not None and found.in_money
        return False

    async def _ask_shared(self, lacking: Lacking, end: int) -> None:
        question = shared_question(lacking.why, may_raise=lacking.may_raise, end=end)
        self._free_own()  # it may take days
        await self.ask_together(KIND, shared_name(end), lambda: question)

    def _question(self, terms: Terms, wanted: Wanted) -> dict[str, Any]:
        standing, used = self._standing(terms), used_of(self.run)
        least, enough = wanted.most(wanted.least), wanted.most(min(wanted.output, LAST_TOKENS))
        unit = wanted.lacking(standing, used + self.run.reserves.most)
        assert unit is not None  # nothing was awaited since it was looked at
        return question_of(standing, used, unit, asking=self.agent.name, least=least, enough=enough)

    def _unasked(self, standing: Standing, wanted: Wanted) -> str:
        unit = wanted.lacking(standing, used_of(self.run) + self.run.reserves.most)
        assert unit is not None
        return unasked(standing, unit)

    def _standing(self, terms: Terms) -> Standing:
        return standing_of(terms.budget, list(_answers(self.run)))

    def _stop(self, why: str) -> None:
        self.emit(Stage(name=STAGE, description=why, status=StageStatus.FAILED))
        self.run.break_off(why)
        raise Cancelled(why)


def used_of(run: "DrivenRun") -> Used:
    """What all model calls of the run took until now, cut ones too. What a copy was given was paid for elsewhere."""
    steps = (step for steps in run.loaded.steps.values() for step in steps.values())
    return used_by([*run.paid, *(step.usage for step in steps if step.usage)])


def _settled(held: Held, used: Any) -> Settled:
    if used is None:
        return Settled(held.call_id)
    cost, tokens = used["cost_usd"], used["prompt_tokens"] + used["completion_tokens"]
    return Settled(held.call_id, usd=cost or "0", tokens=tokens, is_unpriced=cost is None)


def _shared_ends(run: "DrivenRun") -> tuple[int, Any]:
    """How many ends of shared budgets were asked about in this run, and what was said to the last."""
    end, said = 0, None
    while (answered := run.answered_together(shared_key(run.execution_id, shared_name(end + 1)))) is not None:
        end, said = end + 1, answered.response if isinstance(answered.response, dict) else {}
    return end, said


def _answers(run: "DrivenRun") -> Iterator[Any]:
    """What people said at each end of this run's budget, as far as an agent has heard it."""
    end = 1
    while (answered := run.answered_together(shared_key(run.execution_id, f"{KIND}:{end}"))) is not None:
        yield answered.response
        end += 1
