"""What a page shows of a run's events: the property behind many tests is that it equals what the tables say."""

from typing import Any


def shown(said: list[dict[str, Any]]) -> str:
    """The answer's text after these events."""
    text = ""
    for event in said:
        if event["type"] == "token" and event["channel"] == "answer":
            text += event["content"]
        elif event["type"] == "token_reset" and event["channel"] == "answer":
            text = text[: event["keep"]]
    return text
