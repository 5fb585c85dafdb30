"""An answer that ended because its model may write no more at once: whoever reads it is told so below it."""

import re
from typing import Final

from hyperagent.lib.llm.types import FinishReason, ModelReply

NOTICE: Final = "> The answer breaks off here: it had become as long as it may be at once. Ask for the rest."
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def with_its_end(reply: ModelReply) -> ModelReply:
    """The reply as it is, or with the notice below what it says. A block of code that is still open is closed first."""
    if reply.finish_reason is not FinishReason.LENGTH or reply.tool_calls or not reply.text.strip():
        return reply
    return reply.model_copy(update={"text": f"{reply.text.rstrip()}{_open_fence(reply.text)}\n\n{NOTICE}"})


def breaks_off(answer: str) -> bool:
    """Whether it ends with the notice; other notices of ours may stand below."""
    for paragraph in reversed(answer.rstrip().split("\n\n")):
        if paragraph == NOTICE:
            return True
        if not paragraph.startswith("> "):
            break
    return False


def _open_fence(text: str) -> str:
    fence = ""
    for mark in _FENCE.findall(text):
        if not fence:
            fence = mark
        elif mark.startswith(fence):
            fence = ""
    return f"\n{fence}" if fence else ""
