"""What a program of the pipeline sees of the world: each method is a recorded step, or a fan-out of them.

To resume a run is to call its program again. A step that is recorded returns at once what it returned before; the first
that is missing is executed. So a program must reach the outside, the clock and chance through its context only.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID, uuid4

from agents.engine.calls import Outcome
from agents.engine.canonical import digest, plain
from agents.engine.clock import Clock, Life
from agents.engine.errors import OutsideError, Signal, StepFailed, Stopped
from agents.engine.ids import sibling_id
from agents.engine.journal import WITHIN, child_lineage, depth_of, differs, is_below
from agents.engine.place import Ordinals, outcome_of
from agents.engine.records import AgentRecord, StepRecord
from agents.engine.run import forked_in
from agents.engine.scripts import Scripting
from agents.engine.states import AgentStatus, StepKind, StepStatus
from agents.engine.tree import Ended, cancel, end_of, with_event

__all__ = ["Branch", "Context", "Ended", "Handle", "Outcome"]

Branch = Callable[[Any], Awaitable[Any]]
LEFT: Final = object()
"""What was not ready when nothing waited for it any more (`Context.beside`)."""
LEFT_CODE: Final = "left"


@dataclass(frozen=True, slots=True)
class Handle:
    """A child agent that was forked."""

    agent_id: UUID
    name: str


class Context(Scripting):
    """All that an agent's program works with: its calls, parallel branches, time limits, child agents."""

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
            return await body(self._branch(path, number))

        def leave(_: asyncio.Task[Any]) -> None:
            nonlocal left
            left -= 1
            if left:
                self.run.leave()

        tasks = [asyncio.create_task(branch_of(number, body)) for number, body in enumerate(branches)]
        for task in tasks:
            # Not in the branch itself: one that is cancelled before its first step never runs a line.
            task.add_done_callback(leave)
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        except asyncio.CancelledError:
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        return _results_of(tasks)

    async def beside(self, main: Branch, *others: tuple[str, Branch], patience_s: float) -> list[Any]:
        """Runs `main`, and at the same time others, each (name, body), for which nothing waits: what has not ended
        `patience_s` after it is stopped, as at a limit. What each gave, `main` first; LEFT for what was stopped."""
        ended = asyncio.Event()

        async def leading(branch: Any) -> Any:
            try:
                return await main(branch)
            finally:
                asyncio.get_running_loop().call_later(patience_s, ended.set)

        def following(name: str, body: Branch) -> Branch:
            async def follow(branch: Any) -> Any:
                try:
                    return await branch.within(math.inf, body, name=name, until=ended)
                except StepFailed as failure:
                    if failure.code != LEFT_CODE:
                        raise
                    return LEFT

            return follow

        return await self.all(leading, *(following(name, body) for name, body in others))

    async def within(self, timeout_s: float, body: Branch, *, name: str, until: asyncio.Event | None = None) -> Any:
        """Runs `body` and gives what it gives, unless it takes longer, or until something happens: then all of it stops
        and StepFailed is raised (`timed_out`, LEFT_CODE).

        Time in which this agent or one below it waits for a person does not count, nor does what another driver spent.
        Agents that it forked are cancelled. An effect in the midst of which it ends is in doubt, as after a crash; the
        same call afterwards is the same effect, and finds it.
        """
        path = self._next_path()
        step = StepRecord(self.agent.id, path, StepKind.NOTE, name, WITHIN, digest(WITHIN), StepStatus.FAILED)
        recorded = self.run.steps_of(self.agent.id).get(path)
        if recorded is not None and (difference := differs(recorded, step.kind, name, step.request_hash, effect=False)):
            self._cut(path, difference)
        elif recorded is not None:
            return outcome_of(recorded)
        ordinals = dict(self._ordinals)
        inside = self._inside(path, 0)
        inside._life = Life(self._life)
        task = asyncio.ensure_future(body(inside))

        def end() -> None:
            if not task.done() and not inside._life.is_over:
                self.run.enter()  # until it has stopped: this agent is about to go on
                inside._life.end()
                cancel(task)

        watch = None if until is None else asyncio.ensure_future(until.wait())
        try:
            if watch is not None:
                watch.add_done_callback(lambda _: end())
            with self.run.timed(Clock(timeout_s, self.agent.lineage, end)):
                await asyncio.gather(task, return_exceptions=True)
        finally:
            if watch is not None:
                watch.cancel()
            if inside._life.has_ended:
                self.run.leave()
        self._life.check()
        if not inside._life.has_ended:
            return task.result()
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Exception | Stopped):
            raise error
        self._restore_ordinals(ordinals)
        raise self._stopped(step, timeout_s, is_left=until is not None and until.is_set())

    async def fork(
        self,
        name: str,
        value: Any,
        *,
        task: str = "",
        after: Sequence[Handle] = (),
        step_id: str = "",
        label: str = "",
        limited: bool = False,
        takes_over: bool = False,
    ) -> Handle:
        """Starts a child agent beside this one. `name` is a program of the run; people see `label`, or else the name.

        With `after` it begins when all of those have ended, however they did, and its program gets `dependencies`: by
        their ids name, step_id, status, output and error. `limited`: it counts towards what an agent that decides by
        itself may fork. `takes_over`: it goes on in the place of this agent, so it is not nested deeper. Raises
        StepFailed (`too_many_agents`) beyond the limits of the run.
        """
        path = self._next_path()
        request = {"agent": name, "input": value}
        if after:
            request["after"] = [self.run.agent(handle.agent_id).lineage for handle in after]
        if limited:
            request["limited"] = True
        request = plain(request)
        hashed = digest(request)
        recorded = self._recorded(path, StepKind.FORK, name, hashed)
        lineage = child_lineage(self.agent.lineage, self._branches, name, self._ordinal("fork", name, b""))
        if recorded is None:
            self._check_boundary()
            step = StepRecord(self.agent.id, path, StepKind.FORK, name, request, hashed, StepStatus.FINISHED)
            refusal = self.refusal_of_fork(limited=limited, takes_over=takes_over)
            if refusal:
                raise self._record_failure(step, OutsideError("too_many_agents", refusal))
            if lineage in self.run.loaded.agents:
                lineage = f"{lineage}~{uuid4().hex[:8]}"
            child = AgentRecord(
                sibling_id(self.run.execution_id),
                self.agent.id,
                label or name,
                lineage,
                task,
                AgentStatus.PENDING if after else AgentStatus.RUNNING,
                step_id=step_id,
                depends_on=tuple(handle.agent_id for handle in after),
            )
            self._record(*with_event(child), replace(step, response=lineage))
        else:
            child = self.run.loaded.agents[outcome_of(recorded)]

        async def begin(agent: AgentRecord, life: Life, handed: Any) -> Any:
            context = self._for_child(agent)
            context._life = life
            return await self.run.programs[name](context, handed)

        self.run.tree.start(child, begin, request["input"])
        return Handle(child.id, child.name)

    async def outcome(self, handle: Handle) -> Ended:
        """How the child ended, once it has. Never raises for what became of it."""
        return end_of(await self.run.tree.ended(handle.agent_id))

    async def wait(self, handle: Handle) -> Any:
        """The child's output. Raises StepFailed if there is none: as it failed, `skipped`, `deleted`, `cancelled`."""
        end = await self.outcome(handle)
        if end.status is not AgentStatus.COMPLETED:
            raise StepFailed(end.code, end.message, retryable=end.retryable)
        return end.output

    def refusal_of_fork(self, *, limited: bool = False, takes_over: bool = False) -> str:
        """Why this agent may fork no other one now; empty if it may. Agents that were cancelled do not count."""
        agents = {
            lineage: agent
            for lineage, agent in self.run.loaded.agents.items()
            if agent.parent_id is not None and agent.status is not AgentStatus.CANCELLED
        }
        forks = [step for step in self.run.steps_of(self.agent.id).values() if limited and step.kind is StepKind.FORK]
        chosen = forked_in(step for step in forks if step.request.get("limited"))
        depth = 0 if takes_over else depth_of(self.agent.lineage) + 1
        return self.run.limits.refusal(agents=len(agents), depth=depth, subagents=len(agents.keys() & set(chosen)))

    # --- inside

    def _stopped(self, step: StepRecord, timeout_s: float, *, is_left: bool) -> StepFailed:
        """Records that a limited body ended without a result, together with the end of what it had begun."""
        took = f"{step.name} took longer than {timeout_s:g} s and was stopped."
        code, message = (LEFT_CODE, f"Nothing waits for {step.name} any more.") if is_left else ("timed_out", took)
        failure = StepFailed(code, message, retryable=True)
        inside = [one for path, one in self.run.steps_of(self.agent.id).items() if is_below(path, (*step.path, 0))]
        self._record_end(inside, replace(step, response=failure.as_json()), failure)
        return failure

    def _restore_ordinals(self, before: Ordinals) -> None:
        """A body that ran out of time counts for nothing: a replay does not run it. Other branches' counts stay."""
        own = len(self._branches)
        for identity in [identity for identity in self._ordinals if identity[0][:own] == self._branches]:
            del self._ordinals[identity]
        self._ordinals |= {identity: count for identity, count in before.items() if identity[0][:own] == self._branches}


def _results_of(tasks: list[asyncio.Task[Any]]) -> list[Any]:
    """The branches' values; else the first signal, else the first failure in the branches' order."""
    failures = [asyncio.CancelledError() if task.cancelled() else task.exception() for task in tasks]
    for kind in (Signal, asyncio.CancelledError, BaseException):
        for failure in failures:
            if isinstance(failure, kind):
                raise failure
    return [task.result() for task in tasks]
