"""The role that tells older messages of a long conversation in a few lines (S86). Decides neither when nor which."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agents.craft.prompts import read_prompt
from agents.guardrails.quoting import WEAK
from agents.runtime.context import AgentContext
from hyperagent.lib.llm.types import Message, ModelReply, ModelRequest, Role, Tier

NAME: Final = "summarizer"
PROMPT = Path(__file__).parent / "summarizer_prompt.md"
LIMIT_CHARS: Final = 12_000
"""What is kept of an answer that is longer than it was asked to be."""
READ_CHARS: Final = 160_000
SHORTEST_CHARS: Final = 400
_MARKS: Final = re.compile(r"</?(?:message|notes_so_far)\b", re.IGNORECASE)


async def summarise(
    context: AgentContext, messages: Sequence[Message], *, earlier: str = "", provider: str | None = None
) -> ModelReply:
    """A summary of `messages` that takes over what `earlier` says of those before them. Raises StepFailed.

    `provider`: where the person chose one, what was said is not shown to another.
    """
    request = ModelRequest(
        tier=Tier.FLASH,
        messages=(
            Message(role=Role.SYSTEM, content=read_prompt(PROMPT)),
            Message(role=Role.USER, content=told(messages, earlier=earlier)),
        ),
        provider=provider,
        agent=NAME,
    )
    return await context.model(request, stage=NAME, shown=False)


def told(messages: Sequence[Message], *, earlier: str = "") -> str:
    """The messages as text; of each as much as all of them leave room for, from its beginning and its end."""
    limit = max(SHORTEST_CHARS, READ_CHARS // max(1, len(messages)))
    parts = [f"<notes_so_far>\n{earlier}\n</notes_so_far>"] if earlier else []
    parts += [f'<message from="{message.role.value}">\n{_said(message, limit)}\n</message>' for message in messages]
    return "\n\n".join(parts)


def _said(message: Message, limit: int) -> str:
    calls = [f"calls {call.name}({_clipped(call.arguments, limit)})" for call in message.tool_calls]
    text = "\n".join([*filter(None, [_clipped(message.content, limit)]), *calls])
    # What was said, or read from others, begins and ends no message here.
    return _MARKS.sub(lambda mark: mark[0].replace("<", WEAK["<"]), text)


def _clipped(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n[… {len(text) - limit} characters …]\n{text[-(limit - head) :]}"
