"""What a page shows of a run's events: the property behind many tests is that it equals what the tables say."""

from typing import Any


def shown(said: list[dict[str, Any]]) -> str:
    """The answer's text after these events: what each agent's frames gave, in the order in which they began."""
    texts: dict[str | None, str] = {}
    for event in said:
        agent = event.get("agent_id")
        if event["type"] == "token" and event["channel"] == "answer":
            texts[agent] = texts.get(agent, "") + event["content"]
        elif event["type"] == "token_reset" and event["channel"] == "answer":
            texts[agent] = texts.get(agent, "")[: event["keep"]]
    return "".join(texts.values())
