"""What is secret of a server, as it is stored: one sealed text of headers, variables and OAuth's tokens."""

import json
from collections.abc import Mapping
from typing import Any, Final

from hyperagent.lib import secrets

PURPOSE: Final = "secrets of MCP servers, version 1"
LOST: Final = (
    "The stored secrets of this server cannot be read, because SECRET_KEY was changed. Enter them, or sign in, again."
)


class SecretsLost(Exception):
    """The message is a sentence for people."""

    def __init__(self) -> None:
        super().__init__(LOST)


def sealed(values: Mapping[str, Any]) -> str:
    """`values`: headers, env and oauth, each an object. Empty text where there is nothing to hide."""
    kept = {name: value for name, value in values.items() if value}
    return secrets.seal(json.dumps(kept), purpose=PURPOSE, keys=secrets.installation_keys()) if kept else ""


def opened(text: str) -> dict[str, Any]:
    """Raises SecretsLost."""
    if not text:
        return {}
    try:
        found: dict[str, Any] = json.loads(secrets.unseal(text, purpose=PURPOSE, keys=secrets.installation_keys()))
    except secrets.Unreadable:
        raise SecretsLost from None
    return found
