"""What an agent has changed in the world, told with its output: no other plan does it again, and people hear of it."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from agents.craft.exchange import AgentOutput
from agents.engine.journal import is_within
from agents.engine.states import EffectStatus
from agents.runtime.context import AgentContext
from agents.runtime.driven import DrivenRun
from agents.tools.registry import tools

CARRIED_OUT: Final = "carried_out"
"""Where an output has it, in its partial data: the names of the tools."""
# What was tried and failed, or was left alone, is nothing that happened.
_HAPPENED: Final = frozenset({EffectStatus.STARTED, EffectStatus.FINISHED, EffectStatus.IN_DOUBT})


async def noted(context: AgentContext, agent_id: UUID) -> list[str]:
    """The tools by which an agent that has ended, and those below it, changed the world, or may have: what it began may
    have happened. A note, for the ledger goes on."""
    names: list[str] = await context.note(CARRIED_OUT, lambda: _carried_out(context.run, agent_id))
    return names


async def with_carried_out(context: AgentContext, output: AgentOutput, agent_id: UUID) -> AgentOutput:
    """The output of an agent that has ended, with that."""
    names = await noted(context, agent_id)
    if not names:
        return output
    return output.model_copy(update={"partial_data": {**output.partial_data, CARRIED_OUT: names}})


def carried_out(output: AgentOutput) -> tuple[str, ...]:
    """What stands there."""
    return tuple(output.partial_data.get(CARRIED_OUT, ()))


def as_clause(names: Sequence[str]) -> str:
    """For models, and for people."""
    return f"{' and '.join(names)} {'were' if len(names) > 1 else 'was'} carried out, or begun"


def _carried_out(run: DrivenRun, agent_id: UUID) -> list[str]:
    """By the ledger; also what had happened before, in another try of the run, and was found done. Files of the user's
    own workspace are not meant: they can be written again."""
    lineage = run.agent(agent_id).lineage
    agents = {one.id for one in run.loaded.agents.values() if is_within(one.lineage, lineage)}
    found = {step.effect_key for id_ in agents for step in run.steps_of(id_).values() if step.effect_key}
    names = {
        effect.tool
        for key, effect in run.loaded.effects.items()
        if (key in found or effect.agent_id in agents) and effect.status in _HAPPENED
    }
    return sorted(name for name in names if name not in tools() or tools()[name].own_files is None)
