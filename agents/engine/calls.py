"""One agent's contacts with the outside, each a recorded step: models and reads, notes, effects."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from agents.engine.asking import Asking
from agents.engine.canonical import Written, digest, plain
from agents.engine.effects import TOUCHED, Doubt, Effect, probe_doubt, settled_response
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.interventions import said_to
from agents.engine.journal import effect_key, still_counting
from agents.engine.place import outcome_of
from agents.engine.records import EffectRecord, Path, StepRecord
from agents.engine.states import EffectStatus, StepKind, StepStatus

HEARD = "heard"


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an effect. `already`: it had happened before, for another agent, run or journal, and was found."""

    response: Any
    already: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step's performer brings back: the JSON value that is recorded, and what it used."""

    value: Any
    usage: Any = None


class Calls(Asking):
    """What reaches the outside, the clock, chance and people."""

    async def step(self, kind: StepKind, name: str, request: Any, perform: Callable[[], Awaitable[Outcome]]) -> Any:
        """A contact with the outside that changes nothing there. `request`: a JSON value, or Written where it is long.
        Raises StepFailed if it failed for good."""
        path = self._next_path()
        request = request if isinstance(request, Written) else plain(request)
        hashed = digest(request)
        recorded = self._recorded(path, kind, name, hashed)
        if recorded is not None:
            return outcome_of(recorded)
        self._check_boundary()
        made = partial(StepRecord, self.agent.id, path, kind, name, request, hashed, StepStatus.FINISHED)
        try:
            with self._at(path):
                outcome = await perform()
        except OutsideError as error:
            raise self._record_failure(made(), error) from error
        value = plain(outcome.value)
        self._record(made(response=value, usage=plain(outcome.usage)))
        return value

    async def note(self, name: str, make: Callable[[], Any]) -> Any:
        """A value that must be the same on every replay: a setting, a random number, a time."""

        async def perform() -> Outcome:
            return Outcome(make())

        return await self.step(StepKind.NOTE, name, None, perform)

    async def now(self) -> datetime:
        """The time at which the run first came by here, in UTC."""
        return datetime.fromisoformat(await self.note("now", lambda: datetime.now(UTC).isoformat()))

    async def heard(self) -> list[str]:
        """What people said to this agent, or to every agent of the run, and it has not heard yet, here or in what this
        is a part of. A step, where there is anything; `said` has all of it since."""

        def make() -> list[dict[str, str]]:
            return [{"id": id_, "text": text} for id_, text in self._unheard()]

        if not self._is_told():
            return []
        news = [said["text"] for said in await self.note(HEARD, make)]
        self.said.extend(news)
        return news

    def _is_told(self) -> bool:
        """Whether the next call tells something: as the journal has it; at its end, as things are."""
        if self.upcoming is not None:
            return (self.upcoming.kind, self.upcoming.name) == (StepKind.NOTE, HEARD)
        return bool(self._unheard()) and self._is_at_the_end()

    def _unheard(self) -> list[tuple[str, str]]:
        said = list(said_to(self.run, self.agent.id))
        if not said:
            return []
        steps = still_counting(self.run.steps_of(self.agent.id).values())
        mine = [step for step in steps if (step.kind, step.name) == (StepKind.NOTE, HEARD) and self._is_of(step.path)]
        known = {one["id"] for step in mine for one in step.response}
        return [(id_, text) for id_, text in said if id_ not in known]

    async def effect(self, effect: Effect) -> Any:
        """A step that changes the world: in the ledger, and committed, before it happens; never blindly twice."""
        return (await self.carried_out(effect)).response

    async def carried_out(self, effect: Effect) -> Done:
        """The same, and whether it was done before; no less so on a replay."""
        path = self._next_path()
        arguments = plain(effect.arguments)
        hashed = digest(arguments)
        ordinal = self._ordinal("effect", effect.tool, hashed)
        key = effect_key(
            self.run.effects_root,
            self.agent.lineage,
            self._branches,
            tool=effect.tool,
            arguments_hash=hashed,
            ordinal=ordinal,
        )
        recorded = self._recorded(path, StepKind.TOOL, effect.tool, hashed, effect=True)
        if recorded is not None and recorded.status is not StepStatus.STARTED:
            return self._as_done(recorded.effect_key, outcome_of(recorded))
        step = recorded or StepRecord(
            self.agent.id, path, StepKind.TOOL, effect.tool, arguments, hashed, StepStatus.STARTED, effect_key=key
        )
        known = self.run.loaded.effects.get(key)
        row = known or EffectRecord(key, self.agent.id, effect.tool, arguments, hashed, EffectStatus.STARTED)
        if row.status in (EffectStatus.FINISHED, EffectStatus.SKIPPED):
            self._record(replace(step, status=StepStatus.FINISHED, response=row.response))
            return self._as_done(key, row.response)
        if known is not None and row.status in (EffectStatus.STARTED, EffectStatus.IN_DOUBT):
            return self._as_done(key, await self._settle_doubt(effect, step, row))
        return self._as_done(key, await self._perform_effect(effect, step, row))

    async def touching(self, key: str) -> None:
        """Called by an effect's performer right before the world is touched; durable when it returns.

        Raises if this driver may not do it any more: its lease is another's, or the agent was stopped. So of two
        drivers that are at the same effect at most one comes to touch the world without a look at the other's mark.
        """
        self._record(replace(self.run.loaded.effects[key], response=TOUCHED))
        await self.run.journal.committed()
        self._life.check()

    def has_touched(self, key: str) -> bool:
        """Whether the present attempt at an effect that calls `touching` came so far; for its probe."""
        return bool(self.run.loaded.effects[key].response == TOUCHED)

    # --- inside

    def _as_done(self, key: str, response: Any) -> Done:
        """The agent that tried it last is the one that did it."""
        row = self.run.loaded.effects.get(key)
        if row is None or row.status is not EffectStatus.FINISHED:
            return Done(response)
        return Done(response, already=row.agent_id != self.agent.id or key in self.run.loaded.done_before)

    async def _perform_effect(self, effect: Effect, step: StepRecord, row: EffectRecord) -> Any:
        self._check_boundary()
        row = replace(
            row, status=EffectStatus.STARTED, response=None, agent_id=self.agent.id, started_at=datetime.now(UTC)
        )
        self._record(step, row)
        await self.run.journal.committed()
        self._life.check()
        try:
            with self._at(step.path):
                value = plain(await effect.perform(row.key))
        except OutsideError as error:
            if error.may_have_happened:
                return await self._settle_doubt(effect, step, row, error)
            raise self._record_effect_failure(step, row, error) from error
        return self._finish_effect(step, row, EffectStatus.FINISHED, value)

    def _finish_effect(self, step: StepRecord, row: EffectRecord, status: EffectStatus, response: Any) -> Any:
        self._record(
            replace(step, status=StepStatus.FINISHED, response=response), replace(row, status=status, response=response)
        )
        return response

    def _record_effect_failure(self, step: StepRecord, row: EffectRecord, error: OutsideError) -> StepFailed:
        failure = StepFailed(error.code, error.message, retryable=error.retryable)
        self._record(
            replace(step, status=StepStatus.FAILED, response=failure.as_json()),
            replace(row, status=EffectStatus.FAILED, response=failure.as_json()),
        )
        return failure

    async def _settle_doubt(
        self, effect: Effect, step: StepRecord, row: EffectRecord, error: OutsideError | None = None
    ) -> Any:
        """Finds out whether an effect in doubt happened; gives its response, does it again, or fails as `error`.

        Every doubt is asked about anew, below its number: an answer holds for the attempt that it was given for.
        """
        row = self.run.loaded.effects.get(row.key, row)
        self._record(step, replace(row, status=EffectStatus.IN_DOUBT))
        doubts = step.response["doubts"] if step.response else 0
        scope = (*step.path, doubts)
        asked = (*scope, 0) in self.run.steps_of(self.agent.id)
        found = Doubt.UNKNOWN if asked else await probe_doubt(effect, row.key)
        if found is Doubt.NOT_HAPPENED and error is not None:
            raise self._record_effect_failure(step, row, error) from error
        if found is Doubt.UNKNOWN:
            found = await self._ask_about(effect, row, scope)
        if found is Doubt.UNKNOWN:
            # Nobody knows, and the ledger says so: another try of the run asks again.
            response = settled_response(effect.tool, found)
            self._record(replace(step, status=StepStatus.FINISHED, response=response))
            return response
        if found is Doubt.NOT_HAPPENED:
            again = replace(step, response={"doubts": doubts + 1})
            return await self._perform_effect(effect, again, row)
        status = EffectStatus.SKIPPED if found is Doubt.SKIPPED else EffectStatus.FINISHED
        return self._finish_effect(step, row, status, settled_response(effect.tool, found))

    async def _ask_about(self, effect: Effect, row: EffectRecord, scope: Path) -> Doubt:
        """What a person says of an effect in doubt. A question that is open stays as it was put."""
        recorded = self.run.steps_of(self.agent.id).get((*scope, 0))
        question = effect.question_in_doubt(row.started_at) if recorded is None else recorded.request
        inside = self._inside(scope[:-1], scope[-1])
        return Doubt.of_answer(await inside.ask_anew("decision", question))
