"""A roster for tests of routing and planning: the eight agents' names and tools, without their code."""

from agents.spec import AgentSpec

_TOOLS = {
    "chat": ("web_search", "ask_user"),
    "code": ("execute_code", "sandbox_file"),
    "data": ("execute_code", "read_document"),
    "mail": ("search_inbox", "read_message", "send_email"),
    "rag": ("search_documents", "read_document"),
    "research": ("web_search", "fetch_url"),
    "web": ("web_search", "fetch_url"),
    "writing": (),
}


def spec_of(name: str, tools: tuple[str, ...]) -> AgentSpec:
    return AgentSpec(
        name=name,
        description=f"Does all that belongs to {name}, and nothing else.",
        capabilities=(f"{name} work",),
        typical_use_cases=(f"Do some {name} work", f"Do more {name} work"),
        tools=tools,
    )


ROSTER = {name: spec_of(name, tools) for name, tools in _TOOLS.items()}
