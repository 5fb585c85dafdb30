"""How a run leaves its driver: what is stored of it, what is said last, and what stays of its words. Pure, but for the
records of its agents."""

from dataclasses import dataclass
from typing import Any

from agents.engine.errors import GivenBack, Suspended
from agents.engine.events import AgentShutdown, Body, Check, Complete, Error, Source, StatusChanged
from agents.engine.records import AgentRecord
from agents.engine.states import (
    LIVE_AGENTS,
    AgentStatus,
    EffectStatus,
    ExecutionStatus,
)
from agents.engine.tree import ended, with_event
from agents.guardrails.output import screened
from agents.runtime import leases
from agents.runtime.driven import DrivenRun
from agents.runtime.leases import Claim
from agents.runtime.outbox import Moved
from agents.tools.taint import taint_of
from hyperagent.lib.tool_labels import quoted_tool

UNSETTLED = (EffectStatus.STARTED, EffectStatus.IN_DOUBT)
IN_THE_MIDST = (
    "was under way when this ended: it may or may not have happened. Look for yourself before you have it done again."
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run leaves its driver: what is stored, what is said last, and what becomes of its root."""

    moved: Moved
    last: Body
    root: AgentStatus


def why_given_up(claim: Claim) -> str:
    blamed = f"This run crashed the worker {claim.crashes} times and was stopped."
    suspected = f"{claim.suspicion} workers in a row were lost with this run before it got any further; it was stopped."
    said = blamed if claim.crashes >= leases.MAX_CRASHES else suspected
    return f"{said} Try it again with another question, or tell an administrator."


def end_agents(run: DrivenRun, root: AgentRecord) -> None:
    """The run is over, and so is every agent of it that still seems to work."""
    for agent in list(run.loaded.agents.values()):
        if agent.id != root.id and agent.status in LIVE_AGENTS:
            run.record(*with_event(ended(agent, AgentStatus.CANCELLED, None)))
    run.record(*with_event(root))


def completed(run: DrivenRun, result: dict[str, Any]) -> Ending:
    """`result`: what the run's program gave."""
    answer = result["answer"]
    sources = tuple(Source.model_validate(source) for source in result["sources"])
    checks = tuple(Check.model_validate(check) for check in result.get("checks", ()))
    model = result.get("model")
    complete = Complete(answer=answer, sources=sources, checks=checks, usage=run.usage(), model=model)
    facts = {
        "provider": run.provider_of(model),
        "first_token_ms": run.outbox.first_token_ms,
        "thought_ms": run.outbox.thought_ms,
        "tainted_by": taint_of(run).as_json(),
    }
    return Ending(Moved(ExecutionStatus.COMPLETED, answer, {**result, **facts}), complete, AgentStatus.COMPLETED)


def paused(signal: Suspended | GivenBack) -> Ending:
    if isinstance(signal, Suspended):
        waiting = ExecutionStatus.AWAITING_USER
        return Ending(Moved(waiting), StatusChanged(status=waiting), AgentStatus.RUNNING)
    return Ending(Moved(ExecutionStatus.PENDING), AgentShutdown(reason="drain"), AgentStatus.RUNNING)


def failed(code: str, message: str, *, retryable: bool = True, run: DrivenRun | None = None) -> Ending:
    """`run`: whose words until then stay, where they can be stored; what it left in doubt is told with the failure."""
    answer = "\n\n".join(filter(None, _said_until_now(run))) if run is not None else ""
    message = " ".join([message, *_left_in_doubt(run)]) if run is not None else message
    moved = Moved(ExecutionStatus.FAILED, answer, _made_of(run, answer), error_code=code, error_message=message)
    return Ending(moved, Error(code=code, message=message, retryable=retryable), AgentStatus.FAILED)


def cancelled(run: DrivenRun, *, why: str = "") -> Ending:
    """What was written until then stays as the answer. `why`: what a person made of a question of the run itself."""
    answer = max(_said_until_now(run), key=len, default="")
    if why:
        answer = "\n\n".join(filter(None, [answer or _brought(run), f"> {why}"]))
    answer = "\n\n".join(filter(None, [answer, *(f"> {told}" for told in _left_in_doubt(run))]))
    complete = Complete(answer=answer, usage=run.usage(), status="cancelled")
    return Ending(Moved(ExecutionStatus.CANCELLED, answer, _made_of(run, answer)), complete, AgentStatus.CANCELLED)


def _said_until_now(run: DrivenRun) -> list[str]:
    """What people read of each agent that writes for them: as it streamed, or as it was recorded."""
    agents = [agent.id for agent in run.loaded.agents.values()]
    return [max(str(run.streamed.get(id_, "")), run.said_by(id_), key=len) for id_ in agents]


def _left_in_doubt(run: DrivenRun) -> list[str]:
    """What the run had begun to change in the world and nobody knows the end of: whoever reads on has to look."""
    own = {agent.id for agent in run.loaded.agents.values()}
    begun = [effect for effect in run.loaded.effects.values() if effect.agent_id in own and effect.status in UNSETTLED]
    return [f"{quoted_tool(effect.tool)} {IN_THE_MIDST}" for effect in begun]


def _made_of(run: DrivenRun | None, answer: str) -> dict[str, Any] | None:
    """What was written until then stands in the conversation, and with it what it was made of."""
    taint = taint_of(run) if run is not None and answer else None
    return {"tainted_by": taint.as_json()} if taint else None


def _brought(run: DrivenRun) -> str:
    """What the agents that had ended have for people, where nobody had begun to write the answer."""
    texts = {}
    for agent in run.loaded.agents.values():
        given = agent.output.get("result") if isinstance(agent.output, dict) else None
        if isinstance(given, str) and given.strip():
            texts[agent.task or agent.name] = given.strip()
    return screened(run, "\n\n".join(f"### {task}\n\n{text}" for task, text in texts.items())).text
