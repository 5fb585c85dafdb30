"""A run of its own that tells the older part of a conversation in short (S159). Nobody waits for it and nobody asked
for it; what is told, and what becomes of the text, is decided by whoever starts it.
"""

from typing import Any

from agents.roles.summarizer import LIMIT_CHARS, summarise
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import Message, Role

NAME = "summary"


async def run(context: AgentContext, asked: dict[str, Any]) -> dict[str, Any]:
    """`asked`: history (the messages to be told), earlier (the summary of those before them) and options."""
    messages = [Message(role=Role(said["role"]), content=said["content"]) for said in asked["history"]]
    reply = await summarise(
        context, messages, earlier=str(asked.get("earlier") or ""), provider=asked["options"].get("provider")
    )
    return {"answer": reply.text.strip()[:LIMIT_CHARS], "sources": [], "model": reply.model}
