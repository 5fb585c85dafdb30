"""Files that go along with a handoff: chosen and kept when an agent gives its task away, put back when the next begins.

What cannot go along keeps nobody from going on: the call at the gateway says why, and people see it there.
"""

from typing import Final

from agents.exchange import AgentInput, HandoffInfo
from agents.pipeline.handoffs import MAX_ARTIFACTS
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec

PROGRAMS: Final = frozenset({"execute_code", "execute_script", "sandbox_file"})
"""Who has called one of these has files in a sandbox; who may call one can use them."""
COLLECT: Final = "collect_artifacts"
RESTORE: Final = "restore_artifacts"


async def given_along(context: AgentContext, handoff: HandoffInfo) -> HandoffInfo:
    """With what this agent's programs made, besides the files that it named itself."""
    used = any(attempt.tool in PROGRAMS and not attempt.refusal for attempt in context.attempts)
    if not used or len(handoff.artifacts) >= MAX_ARTIFACTS:
        return handoff
    reply = await context.tool(COLLECT, {"max_files": MAX_ARTIFACTS - len(handoff.artifacts)})
    if reply.is_error or not isinstance(reply.data, dict):
        return handoff
    made = [str(file["path"]) for file in reply.data.get("files", ())]
    paths = tuple(dict.fromkeys([*handoff.artifacts, *made]))
    return handoff.model_copy(update={"artifacts": paths[:MAX_ARTIFACTS]})


async def put_back(context: AgentContext, task: AgentInput, spec: AgentSpec) -> None:
    """Before an agent begins that can run programs: what was given along lies in its sandbox."""
    paths = task.handoffs[-1].artifacts if task.handoffs else ()
    if paths and PROGRAMS & set(spec.tools):
        await context.tool(RESTORE, {"paths": list(paths)})
