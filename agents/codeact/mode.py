"""When scripts may act, and what they may call. Pure."""

from typing import Final

from agents import registry
from agents.craft.exchange import AgentInput
from hyperagent.lib.conf import ExecutionMode

SCRIPT_TOOL: Final = "execute_script"
PROGRAMMERS: Final = ("code", "data", "chat")
FUNCTIONS: Final = (
    "web_search",
    "fetch_url",
    "search_documents",
    "list_files",
    "read_file",
    "write_file",
    "fork",
    "wait",
    "ask_user",
)
"""The tools for which the library has a function."""
# And what is of use to a program besides. The gateway still asks whether each is for the agent at work.
FOR_SCRIPTS: Final = (
    *FUNCTIONS,
    "browser_navigate",
    "web_search_news",
    "web_search_deep",
    "read_document",
    "list_documents",
    "generate_image",
    "analyze_image",
    "list_skills",
    "invoke_skill",
)
# A program runs others by itself; and it does not hand its agent's task over.
_NOT_FROM_SCRIPTS: Final = (SCRIPT_TOOL, "execute_code")
_HANDOFFS: Final = ("handoff_to_", "delegate_to_")


def is_codeact(task: AgentInput | None) -> bool:
    return task is not None and task.capable and task.options.execution_mode == ExecutionMode.CODEACT


def callable_from_scripts(agent: str) -> tuple[str, ...]:
    """The tools that a script of this agent may call: its own, and what every script may."""
    spec = registry.specs().get(agent)
    own = spec.tools if spec is not None else ()
    return tuple(
        name
        for name in dict.fromkeys((*own, *FOR_SCRIPTS))
        if name not in _NOT_FROM_SCRIPTS and not name.startswith(_HANDOFFS)
    )
