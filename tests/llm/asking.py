"""Requests and settings that the tests of the gateway share."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

from hyperagent.lib.llm import Delta, Message, ModelGateway, ModelReply, ModelRequest, Role, TextDelta, Tier, ToolSpec
from tests.scripted import ScriptedServer

KEY = "sk-scripted-0123456789abcdef"
SEARCH = ToolSpec(
    name="web_search",
    description="Searches the web.",
    parameters={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
)


def compatible(server: ScriptedServer, name: str = "mine", **more: Any) -> dict[str, Any]:
    models = {"max": "m-max", "pro": "m-pro", "flash": "m-flash"}
    return {"name": name, "base_url": f"{server.url}/v1", "api_key": KEY, "tier_models": models} | more


def env_for(server: ScriptedServer) -> dict[str, str]:
    """One OpenAI-compatible provider, `mine`."""
    return {"OPENAI_COMPATIBLE_PROVIDERS": json.dumps([compatible(server)])}


def providers(*items: dict[str, Any]) -> dict[str, str]:
    return {"OPENAI_COMPATIBLE_PROVIDERS": json.dumps(items)}


def ask(question: str = "hello", **fields: Any) -> ModelRequest:
    fields.setdefault("tier", Tier.PRO)
    return ModelRequest(messages=(Message(role=Role.USER, content=question),), **fields)


async def deltas_of(gateway: ModelGateway, request: ModelRequest) -> list[Delta]:
    async with aclosing(gateway.stream(request)) as items:
        return [item async for item in items]


def text_of(pieces: Sequence[Delta]) -> str:
    """What these pieces say. How a text is cut into them is up to the chunks in which it came."""
    assert all(isinstance(piece, TextDelta) for piece in pieces), pieces
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))


async def reply_of(gateway: ModelGateway, request: ModelRequest) -> ModelReply:
    return await gateway.complete(request)


async def seen(server: ScriptedServer, condition: Callable[[ScriptedServer], bool]) -> None:
    """Waits until the server has seen it."""
    await asyncio.to_thread(server.wait_until, condition)
