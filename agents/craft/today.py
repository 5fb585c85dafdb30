"""The day that a run goes by, where the person is whose run it is; told to every model that can make something of it.
Pure.
"""

from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hyperagent.lib.llm.types import Message, Role

TODAY_IS: Final = "Today is {today}."


def day_in(zone: str, moment: datetime) -> str:
    """The day of `moment` in a time zone, as models are told of it. UTC's, where there is no zone of this name here."""
    try:
        found: tzinfo = ZoneInfo(zone) if zone else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        found = UTC
    return f"{moment.astimezone(found):%A, %Y-%m-%d}"


def dated(messages: tuple[Message, ...], today: str) -> tuple[Message, ...]:
    """With the day at the end of the system prompt: what stands before it stays what a provider has cached."""
    if not today or not messages or messages[0].role is not Role.SYSTEM:
        return messages
    return (messages[0].model_copy(update={"content": _dated(messages[0].content, today)}), *messages[1:])


@lru_cache(maxsize=64)
def _dated(system: str, today: str) -> str:
    """Held once for all runs of a day, as prompts are."""
    return f"{system}\n\n{TODAY_IS.format(today=today)}"
