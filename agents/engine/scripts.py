"""A step in which code of others runs and makes calls: each is recorded below the step, by what is called, not by when.

Such code cannot be stopped and gone on with. Who takes the run over runs it again from its start, and its calls that
are recorded give what they gave. Nothing here knows what the code is written in, or how it reaches us.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from agents.engine.calls import Calls, Outcome
from agents.engine.canonical import canonical, digest, plain
from agents.engine.clock import Life
from agents.engine.effects import Doubt, settled_response
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.journal import asks_open, is_below
from agents.engine.place import Ordinals, outcome_of
from agents.engine.records import Path, Record, StepRecord
from agents.engine.run import forked_in
from agents.engine.states import AgentStatus, EffectStatus, StepKind, StepStatus
from agents.engine.tree import cancel, with_event

OPENED: Final = "opened"
CALLED: Final = "called"
ANOTHER_WAY: Final = "another_way"
SHOWN_CHARS: Final = 200
_TAG_END: Final = 2**31

Perform = Callable[["Script"], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Called:
    """A call as it is found again: what is called, and which of its equals it is, counted over all scripts before."""

    name: str
    arguments_hash: str
    nth: int

    @property
    def branches(self) -> Path:
        """Where the names of what happens inside are counted: the same in whatever order calls come."""
        return (int.from_bytes(digest([self.name, self.arguments_hash])[:8]) % _TAG_END, self.nth)


@dataclass(frozen=True, slots=True)
class Past:
    """A call that is recorded. `number`: of its scope. `weighs`: it reached the world, a person or another agent."""

    called: Called
    number: int
    shown: str
    weighs: bool


@dataclass(frozen=True, slots=True)
class Waits:
    """How long a script is patient, in seconds.

    `resting_s`: with a call open, and none begun or answered for so long, it counts as one that cannot go on by itself:
    the run may come to rest, which ends it, whatever else it computes meanwhile.
    `settling_s`: a call of a script that runs again, and that it did not make before, waits so long for those it made.
    """

    resting_s: float = 20
    settling_s: float = 3


class Scripting(Calls):
    """An agent's calls, and scripts that make calls in its name."""

    async def script(self, name: str, request: Any, perform: Perform, *, waits: Waits | None = None) -> Any:
        """Has `perform` run a script, and gives what is recorded of it; once that is, nothing is run any more.

        What the script calls goes through `Script.call`. When it has ended its open questions are withdrawn, and agents
        that it forked are cancelled; an effect that it has begun is waited for. Raises StepFailed.
        """
        request = plain(request)
        hashed = digest(request)
        begun = self.upcoming
        await self.step(StepKind.NOTE, OPENED, {"name": name, "request_hash": hashed.hex()}, _nothing)
        scope, path = self._next_path(), self._next_path()
        before = self._called_until_now()
        recorded = self._recorded(path, StepKind.TOOL, name, hashed)
        if recorded is not None:
            self._close(scope, before)
            return outcome_of(recorded)
        self._check_boundary()
        steps = self.run.steps_of(self.agent.id)
        again = begun is not None and steps.get(begun.path) is begun
        step = StepRecord(self.agent.id, path, StepKind.TOOL, name, request, hashed, StepStatus.FINISHED)
        try:
            with self._at(path):
                outcome = await Script(self, scope, again=again, waits=waits or Waits()).to_its_end(perform)
            step = replace(step, response=plain(outcome.value), usage=plain(outcome.usage))
        except OutsideError as error:
            failure = StepFailed(error.code, error.message, retryable=error.retryable)
            step = replace(step, status=StepStatus.FAILED, response=failure.as_json())
        inside = [one for at, one in steps.items() if is_below(at, scope)]
        self._record_end(inside, step, StepFailed("script_over", "The script ended before there was an answer."))
        self._close(scope, before)
        return outcome_of(step)

    # --- inside

    def _for_call(self, scope: Path, number: int, called: Called) -> Self:
        context = self._branch(scope, number)
        context._branches = (*self._branches, *called.branches)
        context._life = Life(self._life)
        return context

    def _next_called(self, name: str, arguments_hash: bytes) -> Called:
        return Called(name, arguments_hash.hex(), self._ordinal(CALLED, name, arguments_hash))

    def _called_until_now(self) -> Ordinals:
        return {one: count for one, count in self._ordinals.items() if one[:2] == (self._branches, CALLED)}

    def _close(self, scope: Path, before: Ordinals) -> None:
        """What comes after goes on from what is recorded, and not from what this run of the script happened to ask."""
        for identity in self._called_until_now():
            del self._ordinals[identity]
        self._ordinals |= before
        steps = self.run.steps_of(self.agent.id)
        for called in past_calls(steps, scope):
            identity = (self._branches, CALLED, called.name, bytes.fromhex(called.arguments_hash))
            self._ordinals[identity] = max(self._ordinals.get(identity, 0), called.nth + 1)
        for lineage in forked_in(step for path, step in steps.items() if is_below(path, scope)):
            self.run.tree.adopt(self.run.loaded.agents[lineage])

    def _record_end(self, inside: Iterable[StepRecord], last: StepRecord, over: StepFailed) -> None:
        """Questions that are open inside are withdrawn, and the agents that were forked there cancelled."""
        inside = list(inside)
        asks = [replace(ask, status=StepStatus.FAILED, response=over.as_json()) for ask in asks_open(inside)]
        stopped = self.run.live_below(forked_in(inside))
        agent = self.run.agent(self.agent.id)
        others = len(asks_open(self.run.steps_of(agent.id).values())) - len(asks)
        waited = agent.status is AgentStatus.AWAITING_USER and not others
        running: tuple[Record, ...] = with_event(replace(agent, status=AgentStatus.RUNNING)) if waited else ()
        ends = self.run.ending(stopped, AgentStatus.CANCELLED, asks=asks_open(inside))
        # A copy that takes up one of them goes on before the end: so that is written last.
        self._record(*asks, *running, *ends, last)
        self.run.stop(stopped)


class Script:
    """A script while it runs under this driver. `again`: it was begun before, and is run from its start once more."""

    def __init__(self, context: Scripting, scope: Path, *, again: bool, waits: Waits) -> None:
        self.again = again
        self._context = context
        self._run = context.run
        self._scope = scope
        self._waits = waits
        self._past = past_calls(self._run.steps_of(context.agent.id), scope)
        self._left = dict(self._past)
        self._next = max((past.number for past in self._past.values()), default=-1) + 1
        self._open: dict[asyncio.Task[Any], Scripting] = {}
        self._over = False
        self._resting = False
        self._timer: asyncio.TimerHandle | None = None
        loop = asyncio.get_running_loop()
        self._interrupted: asyncio.Future[BaseException] = loop.create_future()
        self._changed: asyncio.Future[None] = loop.create_future()

    @property
    def not_asked_again(self) -> tuple[str, ...]:
        """The calls that an earlier run of it made and this one did not, in words, in the order in which they were.
        Without those that came to nothing, or of which nobody knows whether they did."""
        return self._shown_left(lambda effects: not any(map(_is_in_doubt, effects)) and not any(map(_failed, effects)))

    @property
    def in_doubt(self) -> tuple[str, ...]:
        """The same of which nobody knows."""
        return self._shown_left(lambda effects: any(map(_is_in_doubt, effects)))

    @property
    def begun_before(self) -> list[StepRecord]:
        """What these calls began to change in the world, as far as nobody recorded how it ended."""
        left = sorted(past.number for past in self._left.values())
        return [step for number in left for step in self._effects_of(number) if step.status is StepStatus.STARTED]

    def settle(self, begun: StepRecord, happened: bool | None) -> None:
        """Records what became of one of them: this script does not come back to it. None: nobody knows, and so says
        the ledger; another try of the run looks again."""
        context, row = self._context, self._run.loaded.effects[begun.effect_key]
        if happened is False:
            context._record_effect_failure(
                begun, row, OutsideError("not_done", "It was interrupted before it was done.")
            )
        elif happened:
            context._finish_effect(begun, row, EffectStatus.FINISHED, settled_response(row.tool, Doubt.HAPPENED))
        else:
            context._finish_effect(begun, row, EffectStatus.IN_DOUBT, settled_response(row.tool, Doubt.UNKNOWN))

    async def call(self, name: str, arguments: Any, body: Callable[[Any], Awaitable[Any]]) -> Any:
        """One call of the script: what `body` gives with a context of its own, in which a recorded call is replayed.

        Raises StepFailed, and `another_way` where it cannot be told whether it was made before.
        """
        arguments = plain(arguments)
        called = self._context._next_called(name, digest(arguments))
        past = self._left.pop(called, None)
        if past is None:
            await self._make_sure_that_it_is_new(name)
        if self._over:
            raise StepFailed("script_over", "The script has ended.")
        if past is None:
            past = Past(called, self._next, shown(name, arguments), weighs=False)
            self._next += 1
        self._goes_on()
        inside = self._context._for_call(self._scope, past.number, called)
        self._run.enter()
        task = asyncio.create_task(self._carried_out(inside, past, body))
        self._open[task] = inside
        task.add_done_callback(self._end_call)
        self._tell()
        await asyncio.wait([task])
        if not is_for_the_script(task):
            # It is being ended, and whoever asked for it with it.
            await asyncio.get_running_loop().create_future()
        return task.result()

    async def to_its_end(self, perform: Perform) -> Outcome:
        """What it gives; raises what took it out of its run. Nothing of it runs any more then."""
        work = asyncio.ensure_future(perform(self))
        try:
            await self._until_interrupted(work)
            self._over = True
            await self._drop_what_has_not_begun()
            while self._open:
                self._rest()
                await self._until_interrupted(*self._open)
            return work.result()
        finally:
            self._over = True
            for task in (work, *self._open):
                cancel(task)
            await asyncio.gather(work, *self._open, return_exceptions=True)
            if self._timer is not None:
                self._timer.cancel()
            if self._resting and not self._run.at_rest:
                self._run.enter()

    # --- inside

    def _shown_left(self, is_meant: Callable[[list[StepRecord]], bool]) -> tuple[str, ...]:
        left = sorted(self._left.values(), key=lambda past: past.number)
        return tuple(past.shown for past in left if is_meant(self._effects_of(past.number)))

    def _effects_of(self, number: int) -> list[StepRecord]:
        steps = self._run.steps_of(self._context.agent.id)
        inside = (steps[path] for path in sorted(steps) if is_below(path, (*self._scope, number)))
        return [step for step in inside if step.kind is StepKind.TOOL and step.effect_key]

    async def _until_interrupted(self, *tasks: "asyncio.Future[Any]") -> None:
        """Returns when one of them is done. Raises what a call raised that is not for the script to hear."""
        await asyncio.wait({*tasks, self._interrupted}, return_when=asyncio.FIRST_COMPLETED)
        if self._interrupted.done():
            raise self._interrupted.result()

    async def _drop_what_has_not_begun(self) -> None:
        """Nobody hears the answers any more. What changes the world and is under way is waited for."""
        steps = self._run.steps_of(self._context.agent.id)
        dropped = [task for task, inside in self._open.items() if not has_begun(steps, inside._scope)]
        for task in dropped:
            self._open[task]._life.end()
            cancel(task)
        await asyncio.gather(*dropped, return_exceptions=True)

    async def _carried_out(self, inside: Any, past: Past, body: Callable[[Any], Awaitable[Any]]) -> Any:
        called = past.called
        note = {"name": called.name, "hash": called.arguments_hash, "nth": called.nth, "shown": past.shown}
        await inside.step(StepKind.NOTE, CALLED, note, _nothing)
        return await body(inside)

    def _end_call(self, task: "asyncio.Task[Any]") -> None:
        """In a callback: a task that is cancelled before its first step never runs a line of its own."""
        del self._open[task]
        error = None if task.cancelled() else task.exception()
        if error is not None and not is_for_the_script(task) and not self._interrupted.done():
            self._interrupted.set_result(error)
        if not self._run.at_rest:
            self._goes_on()
        self._tell()
        self._run.leave()

    def _goes_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._resting:
            self._resting = False
            self._run.enter()
        self._timer = asyncio.get_running_loop().call_later(self._waits.resting_s, self._rest)

    def _rest(self) -> None:
        if self._open and not self._resting:
            self._resting = True
            self._run.leave()

    async def _make_sure_that_it_is_new(self, name: str) -> None:
        """An earlier run made calls that this one has not made yet: threads may only have come in another order."""
        while self.again and (left := self._weighty(name)) and not self._over:
            changed = self._changed
            try:
                async with asyncio.timeout(self._waits.settling_s):
                    await asyncio.shield(changed)
            except TimeoutError:
                if not self._open:
                    raise StepFailed(ANOTHER_WAY, _went_another_way(name, left)) from None

    def _weighty(self, name: str) -> list[str]:
        return [past.shown for past in self._left.values() if past.weighs and past.called.name == name]

    def _tell(self) -> None:
        told, self._changed = self._changed, asyncio.get_running_loop().create_future()
        told.set_result(None)


def is_for_the_script(call: "asyncio.Task[Any]") -> bool:
    """Whether what came of a call is an answer to it; if not, it takes the script out of its run."""
    if call.cancelled():
        return False
    error = call.exception()
    return error is None or isinstance(error, StepFailed)


def past_calls(steps: Mapping[Path, StepRecord], scope: Path) -> dict[Called, Past]:
    """The calls of a script that are recorded below its place."""
    weighty = {
        path[len(scope)]
        for path, step in steps.items()
        if is_below(path, scope) and (step.effect_key or step.kind in (StepKind.ASK, StepKind.FORK))
    }
    found = (step for path, step in steps.items() if step.name == CALLED and path[:-2] == scope)
    calls = (Past(_called(step), step.path[-2], step.request["shown"], step.path[-2] in weighty) for step in found)
    return {past.called: past for past in calls}


def has_begun(steps: Mapping[Path, StepRecord], scope: Path) -> bool:
    """Whether something that changes the world is under way in this scope."""
    return any(
        step.kind is StepKind.TOOL and step.status is StepStatus.STARTED and step.effect_key
        for path, step in steps.items()
        if is_below(path, scope)
    )


def has_happened(steps: Mapping[Path, StepRecord], scope: Path) -> bool:
    """Whether something in this scope has changed the world."""
    return any(
        step.kind is StepKind.TOOL and step.status is StepStatus.FINISHED and step.effect_key
        for path, step in steps.items()
        if is_below(path, scope)
    )


def _is_in_doubt(effect: StepRecord) -> bool:
    said = effect.response if effect.status is StepStatus.FINISHED else None
    return effect.status is StepStatus.STARTED or (isinstance(said, dict) and said.get("settled") == Doubt.UNKNOWN)


def _failed(effect: StepRecord) -> bool:
    return effect.status is StepStatus.FAILED


def shown(name: str, arguments: Any) -> str:
    text = canonical(arguments)
    return f"{name}({text if len(text) <= SHOWN_CHARS else f'{text[:SHOWN_CHARS]}…'})"


def _called(step: StepRecord) -> Called:
    return Called(step.request["name"], step.request["hash"], step.request["nth"])


def _went_another_way(name: str, left: list[str]) -> str:
    return (
        f"{name} was not called: this script was interrupted and runs again from its start, and it goes another way "
        f"than before. Then it called {left[0]}, and nobody can tell whether this call is the same. Write what is left "
        "to do as a new script."
    )


async def _nothing() -> Outcome:
    return Outcome(None)
