"""The child agents of a run while they live: their tasks, who waits for whom, stopping one and beginning it anew.

What became of an agent is its record. A task only leads there: one that was stopped decides nothing any more.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from weakref import proxy

from agents.engine.canonical import plain
from agents.engine.clock import Life
from agents.engine.errors import Skipped, StepFailed
from agents.engine.events import AgentState
from agents.engine.records import AgentRecord, Announced
from agents.engine.states import LIVE_AGENTS, AgentStatus

if TYPE_CHECKING:
    from agents.engine.run import Run

AGAIN_S: Final = 5.0
"""After which what was cancelled and still runs is cancelled again: a library may have swallowed it, as asyncio's
`wait_for` does before Python 3.12. Longer than anything takes to clear up."""
Begin = Callable[[AgentRecord, Life, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Undone:
    """What a program gives whose task was not done: its output all the same, and why, as a code. The agent's record has
    both, and `status`: FAILED, or SKIPPED where it was no failure."""

    output: Any
    error: str
    status: AgentStatus = AgentStatus.FAILED


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child agent ended, for whoever waited for it. `status` is COMPLETED wherever there is an output, also that
    of an undone task: what to make of it is the waiting program's business. `code` and `message` are empty then."""

    agent_id: UUID
    name: str
    step_id: str
    status: AgentStatus
    output: Any
    code: str
    message: str
    retryable: bool = False


@dataclass(slots=True, eq=False)
class _Child:
    """`begin` calls its program from the start, with what it is handed. `waiting` counts the tasks that wait for it."""

    id: UUID
    begin: Begin
    value: Any
    done: asyncio.Future[AgentRecord]
    waiting: int = 0
    life: Life = field(default_factory=Life)
    task: "asyncio.Task[AgentRecord] | None" = None


class Tree:
    """Every child agent that was forked under this driver, ended ones too. It is held by its run, and does not hold it:
    a run that is over is freed at once, with all that it has read."""

    def __init__(self, run: "Run") -> None:
        self._run: Run = proxy(run)
        self._children: dict[UUID, _Child] = {}
        self._stopping = False

    def start(self, agent: AgentRecord, begin: Begin, value: Any) -> None:
        """Runs a child's program beside its parent. One that had ended gives its recorded end."""
        child = _Child(agent.id, begin, value, asyncio.get_running_loop().create_future())
        self._children[agent.id] = child
        if agent.status not in LIVE_AGENTS:
            child.done.set_result(agent)
            return
        self._run.enter()
        self._drive(child)

    def adopt(self, agent: AgentRecord) -> None:
        """A child that has ended, and that nothing forks under this driver; it can be waited for like the others."""
        if agent.id not in self._children:
            self._children[agent.id] = child = _Child(
                agent.id, _never, None, asyncio.get_running_loop().create_future()
            )
            child.done.set_result(agent)

    async def ended(self, agent_id: UUID) -> AgentRecord:
        """The record of a child that has ended, once it has. Raises the signal that took it out of its program."""
        child = self._children[agent_id]
        if child.done.done():
            return child.done.result()
        child.waiting += 1
        self._run.leave()
        try:
            return await asyncio.shield(child.done)
        except asyncio.CancelledError:
            if not child.done.done():
                child.waiting -= 1
                self._run.enter()
            raise

    def stop(self, agent_id: UUID) -> None:
        """What runs of this agent ends within moments and writes nothing more. Its record says what becomes of it.

        Until then it counts as busy: whoever waits for it is about to go on, and the run must not come to rest.
        """
        child = self._children.get(agent_id)
        if child is not None and child.task is not None and not child.done.done() and not child.life.is_over:
            self._run.enter()
            child.life.end()
            cancel(child.task)

    async def close(self) -> None:
        """Ends whatever still runs, and forgets all: the root has ended, or this driver goes."""
        self._stopping = True
        while running := [child.task for child in self._children.values() if child.task and not child.task.done()]:
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=AGAIN_S)
        self._children.clear()

    # --- inside

    def _drive(self, child: _Child) -> None:
        child.life = Life()
        child.task = asyncio.create_task(self._to_its_end(child))
        child.task.add_done_callback(partial(self._settle, child))

    def _settle(self, child: _Child, task: "asyncio.Task[AgentRecord]") -> None:
        """In a callback: a task that is cancelled before its first step never runs a line of its own."""
        error = None if task.cancelled() else task.exception()
        if child.life.is_over and not self._stopping:
            now = self._run.agent(child.id)
            self._run.leave()
            if now.status in LIVE_AGENTS:
                self._drive(child)
                return
            child.done.set_result(now)
        elif task.cancelled():
            child.done.cancel()
        elif error is not None:
            child.done.set_exception(error)
            child.done.exception()  # nobody may be waiting, and that is no bug
        else:
            child.done.set_result(task.result())
        self._run.enter(child.waiting)
        child.waiting = 0
        self._run.leave()

    async def _to_its_end(self, child: _Child) -> AgentRecord:
        life = child.life
        handed = child.value
        if depends_on := self._run.agent(child.id).depends_on:
            handed = _joined(handed, {"dependencies": await self._dependencies(depends_on)})
        agent = self._run.agent(child.id)
        if agent.status is AgentStatus.PENDING:
            self._run.check_boundary()
            agent = replace(agent, status=AgentStatus.RUNNING)
            self._run.record(*with_event(agent))
        if agent.modified:
            handed = _joined(handed, {"task": agent.user_content, "modified": True})
        try:
            given = await child.begin(agent, life, handed)
            undone = given if isinstance(given, Undone) else Undone(given, "", AgentStatus.COMPLETED)
            output = plain(undone.output)
        except StepFailed as error:
            life.check()
            last = ended(self._run.agent(child.id), AgentStatus.FAILED, error.as_json(), error=error.message)
        except Skipped as skipped:
            life.check()
            last = ended(self._run.agent(child.id), AgentStatus.SKIPPED, None, error=skipped.reason)
        else:
            life.check()
            last = ended(self._run.agent(child.id), undone.status, output, error=undone.error)
        self._run.record(*with_event(last))
        return last

    async def _dependencies(self, agent_ids: tuple[UUID, ...]) -> dict[str, Any]:
        """What came of the agents that this one depends on, by their ids, once all of them have ended."""
        return {str(agent_id): _as_dependency(end_of(await self.ended(agent_id))) for agent_id in agent_ids}


def cancel(task: "asyncio.Task[Any]") -> None:
    """Until it has ended: once, and again for each time that this comes to nothing."""
    if task.done():
        return
    task.cancel()
    again = asyncio.get_running_loop().call_later(AGAIN_S, cancel, task)
    task.add_done_callback(lambda _: again.cancel())


async def _never(agent: AgentRecord, life: Life, value: Any) -> Any:
    raise AssertionError(f"{agent.name} has ended and does not begin again")


def end_of(agent: AgentRecord) -> Ended:
    """What an agent's last record says to whoever waited for it."""
    head = (agent.id, agent.name, agent.step_id, agent.status)
    if agent.status is AgentStatus.COMPLETED or _is_undone(agent):
        return Ended(*head[:3], AgentStatus.COMPLETED, output=agent.output, code="", message="")
    if agent.status is AgentStatus.FAILED:
        failure = StepFailed(**agent.output)
        return Ended(*head, None, failure.code, failure.message, failure.retryable)
    return Ended(*head, None, agent.status.value, agent.error or f"{agent.name} was {agent.status}.")


def _is_undone(agent: AgentRecord) -> bool:
    """Whether it ended with an output, and not with what broke its program off."""
    has_output = agent.status in (AgentStatus.FAILED, AgentStatus.SKIPPED) and agent.output is not None
    return has_output and not StepFailed.is_in(agent.output)


def ended(agent: AgentRecord, status: AgentStatus, output: Any, *, error: str = "") -> AgentRecord:
    return replace(agent, status=status, output=output, error=error)


def with_event(agent: AgentRecord) -> tuple[AgentRecord, Announced]:
    """The agent's new state together with what people are told of it."""
    event = AgentState(
        agent_name=agent.name,
        parent_id=str(agent.parent_id) if agent.parent_id else None,
        status=agent.status,
        task=(agent.user_content if agent.modified else agent.task) or None,
        error=agent.error or None,
        modified=agent.modified,
        user_comment=agent.user_comment or None,
        depends_on=tuple(map(str, agent.depends_on)),
        step_id=agent.step_id or None,
    )
    return agent, Announced(agent.id, event)


def _as_dependency(end: Ended) -> dict[str, Any]:
    error = {"code": end.code, "message": end.message} if end.code else None
    return {
        "name": end.name,
        "step_id": end.step_id,
        "status": end.status.value,
        "output": end.output,
        "error": error,
    }


def _joined(value: Any, more: dict[str, Any]) -> dict[str, Any]:
    """What a program is called with, and more beside it."""
    return {**value, **more} if isinstance(value, dict) else {"value": value, **more}
