"""Files of the sandbox that go along with a handoff (S47-S49). The pipeline calls these; no agent has them among its
tools."""

from typing import Annotated

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.pipeline.handoffs import ARTIFACT_PATTERNS, MAX_ARTIFACTS, MAX_ARTIFACTS_MB
from agents.tools.tool import ANY_AGENT, Call, Reply, Sends, tool
from agents.tools.values import Artifacts

Paths = Annotated[tuple[str, ...], "Paths in the working folder", Field(max_length=MAX_ARTIFACTS)]


@tool(
    label=gettext_noop("Collect files from the sandbox"),
    agents=ANY_AGENT,
    needs=("sandbox",),
    untrusted=True,
    sends=Sends.NOWHERE,
)
async def collect_artifacts(
    call: Call,
    patterns: Annotated[tuple[str, ...], "What their names are like", Field(max_length=50)] = ARTIFACT_PATTERNS,
    max_files: Annotated[int, "How many at most", Field(ge=1, le=100)] = MAX_ARTIFACTS,
    max_size_mb: Annotated[float, "How much at most, all of them together", Field(gt=0, le=500)] = MAX_ARTIFACTS_MB,
) -> Reply:
    """Keeps the files of the sandbox that the next agent is going to need, the newest first."""
    found = await call.providers.sandbox.collect_artifacts(
        call.about, patterns, max_files=max_files, max_size_mb=max_size_mb, only_over=call.only_over
    )
    return Reply(content=told(found, none="There are no files to give along."), data=found)


@tool(
    label=gettext_noop("Put files back into the sandbox"),
    agents=ANY_AGENT,
    needs=("sandbox",),
    untrusted=True,
    sends=Sends.NOWHERE,
)
async def restore_artifacts(
    call: Call,
    paths: Paths,
    only_look: Annotated[bool, "Put nothing there; only say which of them lie there already"] = False,
) -> Reply:
    """Puts files that were given along into the sandbox, as far as they do not lie there."""
    sandbox = call.providers.sandbox
    found = await (sandbox.lying_there if only_look else sandbox.restore_artifacts)(call.about, paths)
    return Reply(content=told(found, none="None of them is there."), data=found)


@tool(label=gettext_noop("Clean up files of the sandbox"), agents=ANY_AGENT, needs=("sandbox",), sends=Sends.NOWHERE)
async def cleanup_artifacts(call: Call, paths: Paths) -> str:
    """Removes files that were given along from the sandbox; in the workspace they stay."""
    await call.providers.sandbox.cleanup_artifacts(call.about, paths)
    return "They are gone from the sandbox."


def told(found: Artifacts, *, none: str) -> str:
    lines = [f"{file.path} ({file.size_bytes:,} bytes)" for file in found.files] or [none]
    if found.left_out:
        lines.append(f"Not among them: {'; '.join(found.left_out)}")
    return "\n".join(lines)
