"""Files that go along with a handoff: chosen and kept when an agent gives its task away, put back when the next begins,
and cleared away when that one has ended.

What cannot go along keeps nobody from going on: the call at the gateway says why, and people see it there.
"""

from collections.abc import Sequence
from typing import Final

from agents.craft.exchange import AgentInput, HandoffInfo
from agents.engine.events import Handoff
from agents.pipeline.handoffs import MAX_ARTIFACTS
from agents.runtime.context import AgentContext
from agents.runtime.driven import DrivenRun
from agents.runtime.tool_door import ToolReply
from agents.spec import AgentSpec

PROGRAMS: Final = frozenset({"execute_code", "execute_script", "sandbox_file"})
"""Who has called one of these has files in a sandbox; who may call one can use them."""
COLLECT: Final = "collect_artifacts"
RESTORE: Final = "restore_artifacts"
CLEAN_UP: Final = "cleanup_artifacts"


async def given_along(context: AgentContext, handoff: HandoffInfo) -> HandoffInfo:
    """With what this agent's programs made, besides the files that it named itself. People are told of the handoff."""
    handoff = await _with_files(context, handoff)
    context.emit(Handoff(**handoff.model_dump()))
    return handoff


async def _with_files(context: AgentContext, handoff: HandoffInfo) -> HandoffInfo:
    used = any(attempt.tool in PROGRAMS and not attempt.refusal for attempt in context.attempts)
    if not used or len(handoff.artifacts) >= MAX_ARTIFACTS:
        return handoff
    reply = await context.tool(COLLECT, {"max_files": MAX_ARTIFACTS - len(handoff.artifacts)})
    if reply.is_error or not isinstance(reply.data, dict):
        return handoff
    made = [str(file["path"]) for file in reply.data.get("files", ())]
    paths = tuple(dict.fromkeys([*handoff.artifacts, *made]))
    return handoff.model_copy(update={"artifacts": paths[:MAX_ARTIFACTS]})


async def put_back(context: AgentContext, task: AgentInput, spec: AgentSpec) -> tuple[str, ...]:
    """Before an agent begins that can run programs: what was given along lies in its sandbox. The paths of what had to
    be put there for it.

    What lay there is looked at before, in a step that is durable by then: whoever is killed while it puts files there,
    and does it again, would find them all.
    """
    paths = task.handoffs[-1].artifacts if task.handoffs else ()
    if not paths or not PROGRAMS & set(spec.tools):
        return ()
    before = await context.tool(RESTORE, {"paths": list(paths), "only_look": True})
    if before.is_error:
        return ()
    missing = [path for path in paths if path not in _paths_of(before)]
    if not missing:
        return ()
    await context.run.journal.committed()
    return tuple(sorted(_paths_of(await context.tool(RESTORE, {"paths": missing}))))


def _paths_of(reply: ToolReply) -> set[str]:
    files = reply.data.get("files", ()) if not reply.is_error and isinstance(reply.data, dict) else ()
    return {str(file["path"]) for file in files}


async def clear_away(context: AgentContext, put: Sequence[str]) -> None:
    """What was put into the sandbox for an agent that has ended is gone from there. In the workspace it stays, and so
    does in the sandbox what lay there anyway: it belongs to the conversation.

    An agent that was stopped comes by here no more: what was put there for it goes at the end of its run
    (`agents.tools.gateway.Gateway.clear_up`)."""
    if put:
        await context.tool(CLEAN_UP, {"paths": list(put)})


def may_lie_there(run: DrivenRun) -> bool:
    """Whether files may have been put into the sandbox for an agent of this run, as far as its journal knows. It has
    forgotten it of an agent that a person gave other instructions."""
    if any(agent.modified for agent in run.loaded.agents.values()):
        return True
    return any(step.name == RESTORE for steps in run.loaded.steps.values() for step in steps.values())
