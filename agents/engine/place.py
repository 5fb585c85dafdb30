"""Where an agent's code is in its journal: the number of its next call, and what is recorded there.

Every call of a context finds its place here; what a call does is in `calls.py` and `context.py`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from agents.engine.canonical import plain
from agents.engine.clock import Life
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.events import Body, JournalCut, Stage
from agents.engine.journal import differs, fallen_origins, origin_of, stale
from agents.engine.records import AgentRecord, Cut, Path, Record, StepRecord
from agents.engine.run import Run
from agents.engine.states import StepKind, StepStatus

Ordinals = dict[tuple[Path, str, str, bytes], int]


class Place:
    """One agent's view, in one scope. Branches of `all` and child agents get contexts of their own."""

    def __init__(self, run: Run, agent: AgentRecord, *, scope: Path = (), branches: Path = ()) -> None:
        self.run = run
        self.agent = agent
        self._scope = scope
        self._branches = branches
        self._calls = 0
        self._emitted = 0
        self._performing: Path = ()
        self._ordinals: Ordinals = {}
        self._life = Life()
        self._stage: str | None = None
        self.said: list[str] = []
        """What people said to the agent until now, as this context and those above it have heard it, oldest first."""

    @property
    def place(self) -> str:
        """Names the place of the next emission: nothing else of the run has this name, on any replay."""
        return origin_of(self.agent.lineage, self._performing or (*self._scope, self._calls), self._emitted)

    @property
    def upcoming(self) -> StepRecord | None:
        """What the journal has for the next call, for code that decides whether there is to be one; None if nothing."""
        return self.run.steps_of(self.agent.id).get((*self._scope, self._calls))

    def emit_of(self, attempt: str, body: Body) -> None:
        """Shows people something of one attempt at a step: should that be interrupted, the next shows its own anew."""
        self._life.check()
        self.run.announce_once(self.agent.id, self._in_its_stage(body), f"{self.place}~{attempt}")
        self._emitted += 1

    def emit(self, body: Body) -> None:
        """Shows people something. Made once, however often the program is called again."""
        self._life.check()
        self.run.announce_once(self.agent.id, self._in_its_stage(body), self.place)
        self._emitted += 1

    def emit_for_run(self, body: Body, name: str) -> None:
        """Shows people what the run says once, whichever of its agents comes to it first. `name` tells what it is; a
        cut does not take it back."""
        self._life.check()
        self.run.announce_once(self.agent.id, self._in_its_stage(body), origin_of(name, (0,), 0))
        self._emitted += 1

    @contextmanager
    def in_stage(self, name: str) -> Iterator[None]:
        """What is shown meanwhile, by this context and those below it, belongs to this stage."""
        around, self._stage = self._stage, name
        try:
            yield
        finally:
            self._stage = around

    # --- inside

    def _in_its_stage(self, body: Body) -> Body:
        """A stage itself is told by its name."""
        if self._stage is None or body.stage is not None or isinstance(body, Stage):
            return body
        return body.model_copy(update={"stage": self._stage})

    def _branch(self, path: Path, number: int) -> Self:
        """A context for a branch below a call of this one."""
        context = type(self)(self.run, self.agent, scope=(*path, number), branches=(*self._branches, number))
        context._ordinals = self._ordinals
        context._life = self._life
        context._stage = self._stage
        context.said = list(self.said)
        return context

    def _inside(self, path: Path, number: int) -> Self:
        """The same for a scope that is no branch: its calls have the names that they would have without it."""
        context = self._branch(path, number)
        context._branches = self._branches
        return context

    def _for_child(self, child: AgentRecord) -> Self:
        return type(self)(self.run, child)

    def _is_at_the_end(self) -> bool:
        """Whether the journal has nothing at the next call, neither a step nor branches below it."""
        path, steps = (*self._scope, self._calls), self.run.steps_of(self.agent.id)
        return path not in steps and not stale(steps, path)

    def _is_of(self, path: Path) -> bool:
        """Whether a call at this path was one of this context, or of one above it."""
        return self._scope[: len(path) - 1] == path[:-1]

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
        self._life.check()
        self.run.cut(Cut(self.agent.id, path, origins), JournalCut(path=shown, reason=reason))

    def _check_boundary(self) -> None:
        """Between two steps is where an agent stops, and where a run may be given back."""
        self._life.check()
        self.run.check_boundary()

    def _record(self, *records: Record) -> None:
        self._life.check()
        self.run.record(*records)

    def _record_failure(self, step: StepRecord, error: OutsideError) -> StepFailed:
        failure = StepFailed(error.code, error.message, retryable=error.retryable)
        failed = replace(step, status=StepStatus.FAILED, response=failure.as_json(), usage=plain(error.usage))
        self._record(failed)
        return failure

    def _ordinal(self, what: str, name: str, hashed: bytes) -> int:
        """Which of its equals in this chain of branches a call is. Same on every replay, whatever the timing."""
        identity = (self._branches, what, name, hashed)
        ordinal = self._ordinals.get(identity, 0)
        self._ordinals[identity] = ordinal + 1
        return ordinal


def outcome_of(step: StepRecord) -> Any:
    """What a recorded call gave; raises the StepFailed that it recorded."""
    if step.status is StepStatus.FAILED:
        raise StepFailed(**step.response)
    return step.response
