"""What people are told of an effect of which nobody knows whether it happened: what it would have done. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from agents.tools.tool import Tool
from agents.tools.verdicts import CallAsked
from hyperagent.lib.clipping import one_line
from hyperagent.lib.text import clean_value

NAMES_TOLD: Final = 5
WORDS_CHARS: Final = 120


def told_in_doubt(tool: Tool, values: BaseModel) -> dict[str, Any]:
    """For `Effect.told`: the call as an approval shows it, and a sentence that says what may have happened."""
    call = CallAsked.about(tool, values).as_json("")
    del call["schema"]
    what = _what(call["preview"])
    may_have = f"{tool.name} may have been carried out{f': {what}' if what else ''}."
    told: dict[str, Any] = clean_value({"may_have": may_have, "tool_calls": [call]})
    return told


def _what(preview: Mapping[str, Any]) -> str:
    match preview.get("kind"):
        case "mail":
            to = preview["to"][:NAMES_TOLD] + (["others"] if len(preview["to"]) > NAMES_TOLD else [])
            parts = ["an answer to a mail" if preview["in_reply_to"] else "a mail"]
            parts += [f"to {', '.join(to)}"] if to else []
            parts += [f'with the subject "{_short(preview["subject"])}"'] if preview["subject"] else []
            return " ".join(parts)
        case "code":
            return f"a program in {_short(preview['language'])}"
        case "diff":
            return f"a change of {_short(preview['path'])}"
        case _:
            return ""


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= WORDS_CHARS else f"{line[:WORDS_CHARS]}…"
