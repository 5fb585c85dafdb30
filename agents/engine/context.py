"""What a program of the pipeline sees of the world: each method is a recorded step, or a fan-out of them.

To resume a run is to call its program again. A step that is recorded returns at once what it returned before; the first
that is missing is executed. So a program must reach the outside, the clock and chance through its context only.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID, uuid4

from agents.engine.canonical import digest, plain
from agents.engine.effects import Doubt, Effect, probe_doubt
from agents.engine.errors import OutsideError, Signal, StepFailed
from agents.engine.events import Body, JournalCut
from agents.engine.journal import child_lineage, differs, effect_key, fallen_origins, origin_of, stale
from agents.engine.records import AgentRecord, Asked, Cut, EffectRecord, Path, StepRecord
from agents.engine.run import Run, with_event
from agents.engine.states import AgentStatus, EffectStatus, StepKind, StepStatus

Branch = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step's performer brings back: the JSON value that is recorded, and what it used."""

    value: Any
    usage: Any = None


@dataclass(frozen=True, slots=True)
class Handle:
    """A child agent that was forked."""

    agent_id: UUID
    name: str


class Context:
    """One agent's view, in one scope. Branches of `all` and child agents get contexts of their own."""

    def __init__(self, run: Run, agent: AgentRecord, *, scope: Path = (), branches: Path = ()) -> None:
        self.run = run
        self.agent = agent
        self._scope = scope
        self._branches = branches
        self._calls = 0
        self._emitted = 0
        self._performing: Path = ()
        self._ordinals: dict[tuple[Path, str, str, bytes], int] = {}

    # --- steps

    async def step(self, kind: StepKind, name: str, request: Any, perform: Callable[[], Awaitable[Outcome]]) -> Any:
        """A contact with the outside that changes nothing there. Raises StepFailed if it failed for good."""
        path = self._next_path()
        request = plain(request)
        recorded = self._recorded(path, kind, name, digest(request))
        if recorded is not None:
            return _outcome_of(recorded)
        self.run.check_boundary()
        step = StepRecord(self.agent.id, path, kind, name, request, digest(request), StepStatus.FINISHED)
        try:
            with self._at(path):
                outcome = await perform()
        except OutsideError as error:
            raise self._record_failure(step, error) from error
        value = plain(outcome.value)
        self.run.record(replace(step, response=value, usage=plain(outcome.usage)))
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
        """Asks a person and waits, for days if need be; returns the answer as `hitl` recorded it."""
        path = self._next_path()
        question = plain(question)
        recorded = self._recorded(path, StepKind.ASK, kind, digest(question))
        if recorded is not None and recorded.status is StepStatus.FINISHED:
            return recorded.response
        if recorded is None:
            self.run.check_boundary()
            recorded = self._open_question(path, kind, question)
        answer = plain(await self.run.answer_to(UUID(recorded.response["request_id"])))
        self.run.record(replace(recorded, status=StepStatus.FINISHED, response=answer))
        return answer

    async def effect(self, effect: Effect) -> Any:
        """A step that changes the world: in the ledger, and committed, before it happens; never blindly twice."""
        path = self._next_path()
        arguments = plain(effect.arguments)
        hashed = digest(arguments)
        ordinal = self._ordinal("effect", effect.tool, hashed)
        key = effect_key(
            self.run.execution_id,
            self.agent.lineage,
            self._branches,
            tool=effect.tool,
            arguments_hash=hashed,
            ordinal=ordinal,
        )
        recorded = self._recorded(path, StepKind.TOOL, effect.tool, hashed, effect=True)
        if recorded is not None and recorded.status is not StepStatus.STARTED:
            return _outcome_of(recorded)
        step = recorded or StepRecord(
            self.agent.id, path, StepKind.TOOL, effect.tool, arguments, hashed, StepStatus.STARTED, effect_key=key
        )
        known = self.run.loaded.effects.get(key)
        row = known or EffectRecord(key, self.agent.id, effect.tool, arguments, hashed, EffectStatus.STARTED)
        if row.status in (EffectStatus.FINISHED, EffectStatus.SKIPPED):
            self.run.record(replace(step, status=StepStatus.FINISHED, response=row.response))
            return row.response
        if known is not None and row.status in (EffectStatus.STARTED, EffectStatus.IN_DOUBT):
            return await self._settle_doubt(effect, step, row)
        return await self._perform_effect(effect, step, row)

    # --- fan-out

    async def all(self, *branches: Branch) -> list[Any]:
        """Runs branches at the same time, each with a context of its own; their results in the order given.

        All of them run to their end. Then, if any failed, the failure of the first in order is raised: the same on
        every replay, whatever their timing.
        """
        path = self._next_path()
        if not branches:
            return []
        if path in self.run.steps_of(self.agent.id):
            self._cut(path, "a single step is now a fan-out")
        self.run.enter(len(branches) - 1)
        left = len(branches)

        async def branch_of(number: int, body: Branch) -> Any:
            nonlocal left
            try:
                return await body(self._branch(path, number))
            finally:
                left -= 1
                if left:
                    self.run.leave()

        tasks = [asyncio.create_task(branch_of(number, body)) for number, body in enumerate(branches)]
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        except asyncio.CancelledError:
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        return _results_of(tasks)

    async def fork(self, name: str, value: Any, *, task: str = "") -> Handle:
        """Starts a child agent beside this one. `name` is a program of the run."""
        path = self._next_path()
        request = plain({"agent": name, "input": value})
        recorded = self._recorded(path, StepKind.FORK, name, digest(request))
        lineage = child_lineage(self.agent.lineage, self._branches, name, self._ordinal("fork", name, b""))
        if recorded is None:
            self.run.check_boundary()
            if lineage in self.run.loaded.agents:
                lineage = f"{lineage}~{uuid4().hex[:8]}"
            child = AgentRecord(uuid4(), self.agent.id, name, lineage, task, AgentStatus.RUNNING)
            step = StepRecord(
                self.agent.id, path, StepKind.FORK, name, request, digest(request), StepStatus.FINISHED, lineage
            )
            self.run.record(*with_event(child), step)
        else:
            child = self.run.loaded.agents[recorded.response]
        self.run.start_child(child, self._for_child(child), request["input"])
        return Handle(child.id, name)

    async def wait(self, handle: Handle) -> Any:
        """The child's output. Raises StepFailed if it failed."""
        return await self.run.child_result(handle.agent_id)

    # --- events

    def emit(self, body: Body) -> None:
        """Shows people something. Made once, however often the program is called again."""
        position = self._performing or (*self._scope, self._calls)
        self.run.announce_once(self.agent.id, body, origin_of(self.agent.lineage, position, self._emitted))
        self._emitted += 1

    # --- inside

    def _branch(self, path: Path, number: int) -> Self:
        context = type(self)(self.run, self.agent, scope=(*path, number), branches=(*self._branches, number))
        context._ordinals = self._ordinals
        return context

    def _for_child(self, child: AgentRecord) -> Self:
        return type(self)(self.run, child)

    def _next_path(self) -> Path:
        path = (*self._scope, self._calls)
        self._calls += 1
        self._emitted = 0
        return path

    @contextmanager
    def _at(self, path: Path) -> Iterator[None]:
        """What a performer emits has numbers of its own: a replay does not perform, and numbers the rest the same."""
        self._performing = (*path, 0)
        try:
            yield
        finally:
            self._performing = ()
            self._emitted = 0

    def _recorded(
        self, path: Path, kind: StepKind, name: str, request_hash: bytes, *, effect: bool = False
    ) -> StepRecord | None:
        """The step that the journal has for this call. Cuts the journal where it has another."""
        steps = self.run.steps_of(self.agent.id)
        recorded = steps.get(path)
        if recorded is None:
            if steps and stale(steps, path):
                self._cut(path, "a fan-out is now a single step")
            return None
        difference = differs(recorded, kind, name, request_hash, effect=effect)
        if difference:
            self._cut(path, difference)
            return None
        return recorded

    def _cut(self, path: Path, reason: str) -> None:
        origins = fallen_origins(self.run.loaded.origins, self.agent.lineage, path)
        shown = ".".join(map(str, path))
        self.run.cut(Cut(self.agent.id, path, origins), JournalCut(path=shown, reason=reason))

    def _record_failure(self, step: StepRecord, error: OutsideError) -> StepFailed:
        failure = StepFailed(error.code, error.message, retryable=error.retryable)
        self.run.record(replace(step, status=StepStatus.FAILED, response=failure.as_json()))
        return failure

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
        self.run.record(step, Asked(request_id, self.agent.id, self.agent.name, kind, question))
        return step

    def _ordinal(self, what: str, name: str, hashed: bytes) -> int:
        """Which of its equals in this chain of branches a call is. Same on every replay, whatever the timing."""
        identity = (self._branches, what, name, hashed)
        ordinal = self._ordinals.get(identity, 0)
        self._ordinals[identity] = ordinal + 1
        return ordinal

    async def _perform_effect(self, effect: Effect, step: StepRecord, row: EffectRecord) -> Any:
        self.run.check_boundary()
        self.run.record(step, replace(row, status=EffectStatus.STARTED))
        await self.run.journal.committed()
        try:
            with self._at(step.path):
                value = plain(await effect.perform(row.key))
        except OutsideError as error:
            if error.may_have_happened:
                return await self._settle_doubt(effect, step, row, error)
            raise self._record_effect_failure(step, row, error) from error
        return self._finish_effect(step, row, EffectStatus.FINISHED, value)

    def _finish_effect(self, step: StepRecord, row: EffectRecord, status: EffectStatus, response: Any) -> Any:
        self.run.record(
            replace(step, status=StepStatus.FINISHED, response=response), replace(row, status=status, response=response)
        )
        return response

    def _record_effect_failure(self, step: StepRecord, row: EffectRecord, error: OutsideError) -> StepFailed:
        failure = StepFailed(error.code, error.message, retryable=error.retryable)
        self.run.record(
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
        self.run.record(step, replace(row, status=EffectStatus.IN_DOUBT))
        doubts = step.response["doubts"] if step.response else 0
        scope = (*step.path, doubts)
        asked = (*scope, 0) in self.run.steps_of(self.agent.id)
        found = Doubt.UNKNOWN if asked else await probe_doubt(effect, row.key)
        if found is Doubt.NOT_HAPPENED and error is not None:
            raise self._record_effect_failure(step, row, error) from error
        if found is Doubt.UNKNOWN:
            inside = type(self)(self.run, self.agent, scope=scope, branches=self._branches)
            found = Doubt.of_answer(await inside.ask("decision", effect.question_in_doubt()))
        if found is Doubt.NOT_HAPPENED:
            again = replace(step, response={"doubts": doubts + 1})
            return await self._perform_effect(effect, again, row)
        status = EffectStatus.SKIPPED if found is Doubt.SKIPPED else EffectStatus.FINISHED
        return self._finish_effect(step, row, status, effect.settled_response(found))


def _outcome_of(step: StepRecord) -> Any:
    if step.status is StepStatus.FAILED:
        raise StepFailed(**step.response)
    return step.response


def _results_of(tasks: list[asyncio.Task[Any]]) -> list[Any]:
    """The branches' values; else the first signal, else the first failure in the branches' order."""
    failures = [asyncio.CancelledError() if task.cancelled() else task.exception() for task in tasks]
    for kind in (Signal, asyncio.CancelledError, BaseException):
        for failure in failures:
            if isinstance(failure, kind):
                raise failure
    return [task.result() for task in tasks]
