"""One agent's contacts with the outside, each a recorded step: models and reads, notes, questions, effects."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from agents.engine import questions
from agents.engine.canonical import digest, plain
from agents.engine.effects import Doubt, Effect, probe_doubt
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.interventions import said_to
from agents.engine.journal import asks_open, effect_key, still_counting
from agents.engine.place import Place, outcome_of
from agents.engine.records import Announced, Asked, EffectRecord, Path, StepRecord
from agents.engine.states import AgentStatus, EffectStatus, StepKind, StepStatus
from agents.engine.tree import with_event

HEARD = "heard"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step's performer brings back: the JSON value that is recorded, and what it used."""

    value: Any
    usage: Any = None


class Calls(Place):
    """What reaches the outside, the clock, chance and people."""

    async def step(self, kind: StepKind, name: str, request: Any, perform: Callable[[], Awaitable[Outcome]]) -> Any:
        """A contact with the outside that changes nothing there. Raises StepFailed if it failed for good."""
        path = self._next_path()
        request = plain(request)
        recorded = self._recorded(path, kind, name, digest(request))
        if recorded is not None:
            return outcome_of(recorded)
        self._check_boundary()
        step = StepRecord(self.agent.id, path, kind, name, request, digest(request), StepStatus.FINISHED)
        try:
            with self._at(path):
                outcome = await perform()
        except OutsideError as error:
            raise self._record_failure(step, error) from error
        value = plain(outcome.value)
        self._record(replace(step, response=value, usage=plain(outcome.usage)))
        return value

    async def note(self, name: str, make: Callable[[], Any]) -> Any:
        """A value that must be the same on every replay: a setting, a random number, a time."""

        async def perform() -> Outcome:
            return Outcome(make())

        return await self.step(StepKind.NOTE, name, None, perform)

    async def now(self) -> datetime:
        """The time at which the run first came by here, in UTC."""
        return datetime.fromisoformat(await self.note("now", lambda: datetime.now(UTC).isoformat()))

    async def ask(self, kind: str, question: Any) -> Any:
        """Asks a person and waits, for days if need be; returns the answer as `hitl` recorded it.

        Until then the agent is `awaiting_user`; the agents above it are not.
        """
        path = self._next_path()
        question = plain(question)
        recorded = self._recorded(path, StepKind.ASK, kind, digest(question))
        if recorded is not None and recorded.status is StepStatus.FINISHED:
            return recorded.response
        if recorded is None:
            self._check_boundary()
            recorded = self._open_question(path, kind, question)
        request_id = UUID(recorded.response["request_id"])
        answer = plain(await self.run.answer_to(request_id, self.agent.lineage))
        agent = self.run.agent(self.agent.id)
        others = [step for step in asks_open(self.run.steps_of(agent.id).values()) if step.path != path]
        self._record(
            replace(recorded, status=StepStatus.FINISHED, response=answer),
            *(() if others else with_event(replace(agent, status=AgentStatus.RUNNING))),
            Announced(self.agent.id, questions.closed(request_id, kind, answer)),
        )
        return answer

    async def heard(self) -> list[str]:
        """What people said to this agent, or to every agent of the run, and it has not heard yet. A step."""

        def make() -> list[dict[str, str]]:
            steps = [
                step
                for step in still_counting(self.run.steps_of(self.agent.id).values())
                if step.kind is StepKind.NOTE and step.name == HEARD
            ]
            known = {said["id"] for step in steps for said in step.response}
            return [{"id": id_, "text": text} for id_, text in said_to(self.run, self.agent.id) if id_ not in known]

        return [said["text"] for said in await self.note(HEARD, make)]

    async def effect(self, effect: Effect) -> Any:
        """A step that changes the world: in the ledger, and committed, before it happens; never blindly twice."""
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
            return outcome_of(recorded)
        step = recorded or StepRecord(
            self.agent.id, path, StepKind.TOOL, effect.tool, arguments, hashed, StepStatus.STARTED, effect_key=key
        )
        known = self.run.loaded.effects.get(key)
        row = known or EffectRecord(key, self.agent.id, effect.tool, arguments, hashed, EffectStatus.STARTED)
        if row.status in (EffectStatus.FINISHED, EffectStatus.SKIPPED):
            self._record(replace(step, status=StepStatus.FINISHED, response=row.response))
            return row.response
        if known is not None and row.status in (EffectStatus.STARTED, EffectStatus.IN_DOUBT):
            return await self._settle_doubt(effect, step, row)
        return await self._perform_effect(effect, step, row)

    # --- inside

    def _open_question(self, path: Path, kind: str, question: Any) -> StepRecord:
        request_id = uuid4()
        step = StepRecord(
            self.agent.id,
            path,
            StepKind.ASK,
            kind,
            question,
            digest(question),
            StepStatus.STARTED,
            {"request_id": str(request_id)},
        )
        agent = self.run.agent(self.agent.id)
        waits = replace(agent, status=AgentStatus.AWAITING_USER)
        self._record(
            step,
            Asked(request_id, agent.id, agent.name, kind, question),
            *(() if agent.status is waits.status else with_event(waits)),
            Announced(agent.id, questions.opened(request_id, agent.name, kind, question)),
        )
        return step

    async def _perform_effect(self, effect: Effect, step: StepRecord, row: EffectRecord) -> Any:
        self._check_boundary()
        self._record(step, replace(row, status=EffectStatus.STARTED))
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
        self._record(step, replace(row, status=EffectStatus.IN_DOUBT))
        doubts = step.response["doubts"] if step.response else 0
        scope = (*step.path, doubts)
        asked = (*scope, 0) in self.run.steps_of(self.agent.id)
        found = Doubt.UNKNOWN if asked else await probe_doubt(effect, row.key)
        if found is Doubt.NOT_HAPPENED and error is not None:
            raise self._record_effect_failure(step, row, error) from error
        if found is Doubt.UNKNOWN:
            inside = self._inside(step.path, doubts)
            found = Doubt.of_answer(await inside.ask("decision", effect.question_in_doubt()))
        if found is Doubt.NOT_HAPPENED:
            again = replace(step, response={"doubts": doubts + 1})
            return await self._perform_effect(effect, again, row)
        status = EffectStatus.SKIPPED if found is Doubt.SKIPPED else EffectStatus.FINISHED
        return self._finish_effect(step, row, status, effect.settled_response(found))
