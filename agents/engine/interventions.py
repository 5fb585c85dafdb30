"""What people want of agents while a run goes on: how it takes effect, once, and who is told what they say."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from agents.engine.events import JournalCut
from agents.engine.journal import origins_of
from agents.engine.records import AgentRecord, Applied, Cut, Intervention
from agents.engine.states import LIVE_AGENTS, AgentStatus, InterventionKind
from agents.engine.tree import with_event

if TYPE_CHECKING:
    from agents.engine.run import Run

SAID = frozenset({InterventionKind.COMMENT, InterventionKind.STEER})


def intervene(run: "Run", intervention: Intervention) -> None:
    """Applies one, at once; nothing if this run has it already. For an agent that is over it comes too late.

    The root can be told something; to stop it is to cancel the run, and it cannot be given another task.
    """
    known = run.loaded.interventions.get(intervention.id, intervention)
    if known.applied:
        return
    run.loaded.interventions[intervention.id] = replace(intervention, applied=True)
    applied = Applied(intervention.id)
    agent = run.find(intervention.agent_id)
    if agent is None or agent.status not in LIVE_AGENTS:
        run.record(applied)
    elif intervention.kind is InterventionKind.COMMENT:
        run.record(*with_event(replace(agent, user_comment=intervention.text)), applied)
    elif agent.parent_id is None:
        run.record(applied)
    elif intervention.kind is InterventionKind.DELETE:
        _delete(run, agent, applied)
    elif intervention.kind is InterventionKind.MODIFY:
        _modify(run, agent, intervention.text, applied)
    else:
        run.record(applied)


def apply_all(run: "Run") -> None:
    """Those that were made while nobody drove the run, in their order."""
    for intervention in list(run.loaded.interventions.values()):
        intervene(run, intervention)


def said_to(run: "Run", agent_id: UUID) -> Iterator[tuple[str, str]]:
    """Ids and texts of what people said to this agent or to all, in the order in which they did."""
    for intervention in run.loaded.interventions.values():
        if intervention.kind in SAID and intervention.agent_id in (None, agent_id):
            yield str(intervention.id), intervention.text


def _delete(run: "Run", agent: AgentRecord, applied: Applied) -> None:
    stopped = run.live_below([agent.lineage])
    marked = [replace(one, user_comment="delete") if one.id == agent.id else one for one in stopped]
    run.record(*run.ending(marked, AgentStatus.DELETED, why=f"{agent.name} was stopped by a person."), applied)
    run.stop(stopped)


def _modify(run: "Run", agent: AgentRecord, text: str, applied: Applied) -> None:
    """One that has not begun begins with the new instructions; one that has begins anew, with them."""
    changed = replace(agent, user_comment="modify", user_content=text, modified=True)
    if agent.status is AgentStatus.PENDING:
        run.record(*with_event(changed), applied)
        return
    changed = replace(changed, status=AgentStatus.RUNNING)
    cut = Cut(agent.id, (0,), origins_of(run.loaded.origins, agent.lineage))
    records, stopped = run.cutting(cut, JournalCut(path="0", reason="a person gave it other instructions"))
    run.record(*records, *with_event(changed), applied)
    run.stop([*stopped, agent])
