"""Connects to a server once, to see what tools it has. Imports mcp: open this file late."""

import asyncio
from typing import Final

from agents.mcp.connecting import Broken, Failed, NotConnected, Transports, connected, definitions_of
from agents.mcp.sessions import Listing
from agents.mcp.values import ServerConfig

LOOK_S: Final = 30.0


async def listed(config: ServerConfig, transports: Transports, *, limit_s: float = LOOK_S) -> Listing:
    """`limit_s`: for all of it, and longer than usual where a person signs in meanwhile. Raises NotConnected."""
    try:
        async with asyncio.timeout(limit_s), connected(config, transports, limit_s=limit_s) as client:
            return Listing(*await definitions_of(client))
    except Failed as error:
        raise NotConnected(f"'{config.name}' does not tell its tools: {error.said or 'it gave no reason'}") from error
    except (Broken, TimeoutError) as error:
        # A time that is over has no words.
        said = f"'{config.name}' connected, and then did not tell its tools. {error}"
        raise NotConnected(said.strip()) from error
