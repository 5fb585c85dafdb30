"""Attached pictures for agents that go through fixed stages and cannot look at them by themselves."""

from typing import Final

from agents.craft.exchange import AgentInput, Attachment, AttachmentKind
from agents.runtime.context import AgentContext
from hyperagent.lib.clipping import beginning

MOST: Final = 4
ASKED: Final = "Say what it shows, with the words and figures in it, as far as they bear on this: {task}"
TASK_CHARS: Final = 2_000


async def pictures_told(context: AgentContext, task: AgentInput) -> str:
    """What the pictures show, as a part of the message to a model; empty where none is attached."""
    pictures = [one for one in task.options.attached or () if one.kind is AttachmentKind.PICTURE]
    if not pictures:
        return ""
    told = [await _told(context, one, task.task) for one in pictures[:MOST]]
    return "\n\n## What the attached pictures show\n" + "\n".join(told)


async def _told(context: AgentContext, picture: Attachment, task: str) -> str:
    question = ASKED.format(task=beginning(task, TASK_CHARS))
    reply = await context.tool("analyze_image", {"image": picture.id, "question": question})
    return f"{picture.told}\n{reply.content}"
