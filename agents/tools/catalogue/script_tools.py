"""A script that acts: one program that calls the agent's tools itself (S198, S200)."""

from typing import Annotated

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.codeact.mode import PROGRAMMERS, SCRIPT_TOOL, callable_from_scripts
from agents.codeact.running import run_script
from agents.runtime.context import AgentContext
from agents.tools import previews
from agents.tools.tool import Reply, Sends, composite
from hyperagent.lib.conf import ExecutionMode


@composite(
    label=gettext_noop("Run a script"),
    agents=PROGRAMMERS,
    needs=("scripts",),
    requires_approval=True,
    only_in=ExecutionMode.CODEACT.value,
    preview=previews.code,
    sends=Sends.NETWORK,
    name=SCRIPT_TOOL,
)
async def execute_script(
    context: AgentContext,
    code: Annotated[str, "The whole Python program; it prints what is wanted", Field(min_length=1, max_length=400_000)],
) -> Reply:
    """Runs a Python program in the closed sandbox that calls your other tools itself, by `import hyperagent`.

    For work of several calls, with loops and conditions between them: one script in the place of many single calls.
    """
    door = context.run.tools
    assert door is not None  # it came through it
    allowed = (*callable_from_scripts(context.agent.name), *context.connected)
    return await run_script(context, code, tool=SCRIPT_TOOL, scripts=door.provider("scripts"), allowed=allowed)
