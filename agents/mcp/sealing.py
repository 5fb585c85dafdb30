"""What is secret of a server, as it is stored: one sealed text of headers, variables and OAuth's tokens."""

import json
from collections.abc import Mapping
from typing import Any, Final

from hyperagent.lib.secrets import Purpose, seal, unseal

LOST: Final = (
    "The stored secrets of this server cannot be read, because SECRET_KEY was changed. Enter them, or sign in, again."
)


def sealed(values: Mapping[str, Any]) -> str:
    """`values`: headers, env and oauth, each an object. Empty text where there is nothing to hide."""
    kept = {name: value for name, value in values.items() if value}
    return seal(json.dumps(kept), Purpose.MCP_SERVER) if kept else ""


def opened(text: str) -> dict[str, Any]:
    """Raises Unreadable; people are told LOST."""
    found: dict[str, Any] = json.loads(unseal(text, Purpose.MCP_SERVER)) if text else {}
    return found
