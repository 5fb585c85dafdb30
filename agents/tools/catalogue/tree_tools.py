"""Child agents that an agent starts by itself and waits for (S99, S102). One that nobody waits for is cancelled."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents import registry
from agents.craft.exchange import AgentInput, AgentOutput
from agents.engine.canonical import canonical
from agents.engine.context import Ended, Handle
from agents.engine.journal import still_counting
from agents.engine.records import AgentRecord
from agents.engine.run import forked_in
from agents.engine.states import AgentStatus
from agents.pipeline import carried_out
from agents.pipeline.work import commission, retry_config
from agents.runtime.context import AgentContext
from agents.tools.arguments import closest
from agents.tools.tool import ANY_AGENT, Reply, ToolError, composite
from agents.tools.untrusted import marked_untrusted


@composite(label=gettext_noop("Begin subagents"), agents=ANY_AGENT)
async def fork(
    context: AgentContext,
    prompt: Annotated[str, "The whole task: the agent knows nothing else of yours", Field(min_length=1)],
    agent: Annotated[str, "Which agent works on it, such as chat, research, web, rag, code or data"] = "chat",
) -> Reply:
    """Starts another agent on a task of its own, beside you, and gives a handle for wait.

    For parts that can be worked on at the same time. Not for what you can do yourself in a step or two.
    """
    names = registry.names()
    if agent not in names:
        near = closest(agent, names)
        meant = f" Did you mean {near}?" if near else ""
        raise ToolError(f"there is no agent '{agent[:80]}'.{meant} The agents are: {', '.join(names)}.")
    task = _task_for(agent, prompt, parent=context.task_input)
    handle = await context.fork(agent, commission(task), task=prompt, limited=True)
    text = f"The {agent} agent has begun. Its handle is {handle.agent_id}: call wait with it for the result."
    return Reply(content=text, data={"handle": str(handle.agent_id), "agent": agent})


@composite(label=gettext_noop("Wait for subagents"), agents=ANY_AGENT)
async def wait(
    context: AgentContext, handle: Annotated[str, "What fork gave", Field(min_length=1, max_length=100)]
) -> Reply:
    """Waits until an agent that you started with fork has ended, and gives its result."""
    child = _child(context, handle.strip())
    if child is None:
        started: list[str] = await context.note("forked", lambda: _open(context))
        listed = f"Your handles are: {', '.join(started)}." if started else "You have not started an agent: call fork."
        raise ToolError(f"there is no agent with the handle '{handle[:80]}'. {listed}")
    end = await context.outcome(Handle(child.id, child.name))
    is_done = end.status is AgentStatus.COMPLETED and end.output["task_done"]
    did = [] if is_done else await carried_out.noted(context, child.id)
    return _result(end, did)


def _task_for(agent: str, prompt: str, *, parent: AgentInput | None) -> AgentInput:
    """The child's input: the person's profile and options, and of the parent's work only the prompt."""
    of = parent.agent_id if parent else ""
    spec = registry.specs()[agent]
    agent_id = f"{agent}-{hashlib.sha256(canonical([of, agent, prompt]).encode()).hexdigest()[:6]}"
    return AgentInput(
        agent_id=agent_id,
        agent_name=agent,
        task=prompt,
        tools=spec.tools,
        retry_config=retry_config(spec),
        **_handed_down(parent),
    )


def _handed_down(parent: AgentInput | None) -> dict[str, Any]:
    if parent is None:
        return {}
    return {
        "long_term_memory": parent.long_term_memory,
        "metadata": parent.metadata,
        "capable": parent.capable,
        "options": parent.options,
        "handoffs": parent.handoffs,
    }


def _child(context: AgentContext, handle: str) -> AgentRecord | None:
    """The agent that this one forked under this id."""
    try:
        wanted = UUID(handle)
    except ValueError:
        return None
    return next((agent for agent in _children(context) if agent.id == wanted), None)


def _open(context: AgentContext) -> list[str]:
    children = [agent for agent in _children(context) if agent.status is not AgentStatus.CANCELLED]
    return [f"{agent.id} ({agent.name})" for agent in children]


def _children(context: AgentContext) -> list[AgentRecord]:
    forked = forked_in(still_counting(context.run.steps_of(context.agent.id).values()))
    return [agent for lineage, agent in context.run.loaded.agents.items() if lineage in forked]


def _result(end: Ended, did: Sequence[str]) -> Reply:
    """The child's result, or what became of it. Raises ToolError where there is no result, with what it did all the
    same."""
    once = f" {carried_out.as_clause(did)}: do not do it again." if did else ""
    if end.status is AgentStatus.DELETED:
        raise ToolError(f"a person stopped the {end.name} agent before it was done.{once} Go on without its result.")
    if end.status is not AgentStatus.COMPLETED:
        raise ToolError(f"the {end.name} agent did not finish: {end.message}{once} Go on without its result.")
    output = AgentOutput.model_validate(end.output)
    why = "" if output.task_done else f"It could not do all of it ({output.error or 'no reason given'}).{once}\n"
    said = marked_untrusted(output.result or "It gave no text.", source=f"{end.name} agent")
    return Reply(content=f"{why}{said}", data=end.output, sources=output.metadata.sources)
