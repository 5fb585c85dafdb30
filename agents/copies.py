"""Copies of runs that are over: a new run that begins with what stays valid of the old one. Reads and writes rows; what
stays valid is decided in `agents.engine.copying`.
"""

from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from django.db import connection

from agents.engine.copying import Kept, PastAgent, PastStep
from agents.engine.ids import sibling_id
from agents.engine.questions import is_yes
from agents.engine.states import LIVE_AGENTS, AgentStatus, StepKind, StepStatus
from agents.models import AgentExecution, Execution, Step
from agents.runtime.attempts import REFUSED
from agents.tuning.snapshot import kept_in_copy
from hyperagent.lib.telemetry import tracing

# What a step used was paid for in the run that it comes from. Their numbers keep the order in which they were recorded.
_COPY_STEPS = """
INSERT INTO agents_step (agent_id, path, kind, name, request, request_hash, status, response, effect_key, usage, epoch,
                         started_at, ended_at)
SELECT new.agent_id, s.path, s.kind, s.name, s.request, s.request_hash, s.status, s.response, s.effect_key, NULL, 0,
       s.started_at, s.ended_at
FROM agents_step s JOIN unnest(%(agents)s::uuid[], %(copies)s::uuid[]) AS new(was, agent_id) ON s.agent_id = new.was
WHERE s.agent_id = ANY(%(agents)s) AND s.id = ANY(%(steps)s)
ORDER BY s.id
"""


def past_of(execution: Execution) -> list[PastAgent]:
    """The agents of a run with those of their steps that count. Two queries."""
    steps: defaultdict[UUID, list[PastStep]] = defaultdict(list)
    agents = list(AgentExecution.objects.filter(execution=execution).defer("output", "task"))
    counted = Step.objects.filter(agent__in=[agent.id for agent in agents], cut_at=None).order_by("id")
    for step in counted.defer("request", "request_hash", "usage"):
        is_fork = step.kind == StepKind.FORK and step.status == StepStatus.FINISHED
        steps[step.agent_id].append(
            PastStep(
                step.id,
                tuple(step.path),
                StepKind(step.kind),
                StepStatus(step.status),
                step.started_at,
                str(step.response) if is_fork else "",
                is_yes=step.kind == StepKind.ASK and is_yes(step.name, step.response),
                is_effect=step.kind == StepKind.TOOL and bool(step.effect_key),
            )
        )
    return [
        PastAgent(
            agent.id,
            agent.parent_id,
            agent.lineage,
            AgentStatus(agent.status),
            agent.ended_at,
            tuple(agent.depends_on),
            tuple(steps[agent.id]),
            was_refused=agent.error in REFUSED,
        )
        for agent in agents
    ]


def begin(old: Execution, kept: Kept) -> Execution:
    """A run with the same question and input, and all that was kept. Call inside a transaction; wakes nobody."""
    new = Execution.objects.create(
        user=old.user,
        conversation_id=old.conversation_id,
        question=old.question,
        mode=old.mode,
        task_id=old.task_id,
        input={**old.input, **tracing.carried()},
        tuning=kept_in_copy(old.tuning) if kept.steps else None,
        on_finish=old.on_finish,
        pipeline=old.pipeline,
        forked_from=old,
        effects_root=old.effects_root or old.id,
    )
    ids = {agent_id: sibling_id(new.id) for agent_id in kept.agents}
    agents = AgentExecution.objects.filter(id__in=list(kept.agents))
    AgentExecution.objects.bulk_create([_copied(agent, new, ids, kept.agents[agent.id]) for agent in agents])
    with connection.cursor() as cursor:
        cursor.execute(_COPY_STEPS, {"steps": sorted(kept.steps), "agents": list(ids), "copies": list(ids.values())})
    return new


def _copied(agent: AgentExecution, new: Execution, ids: Mapping[UUID, UUID], status: AgentStatus) -> AgentExecution:
    live = status in LIVE_AGENTS
    return AgentExecution(
        id=ids[agent.id],
        execution=new,
        parent_id=ids[agent.parent_id] if agent.parent_id else None,
        agent_name=agent.agent_name,
        lineage=agent.lineage,
        task=agent.task,
        step_id=agent.step_id,
        status=status,
        modified=agent.modified,
        user_comment="" if live else agent.user_comment,
        user_content=agent.user_content,
        depends_on=[ids[other] for other in agent.depends_on],
        output=None if live else agent.output,
        error="" if live else agent.error,
        started_at=None if status is AgentStatus.PENDING else agent.started_at,
        ended_at=None if live else agent.ended_at,
    )
