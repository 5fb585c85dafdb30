"""Pydantic AI behind FastAPI: one agent, streamed token by token; it keeps nothing.

Run by the interpreter of its own environment (`benchmarks.environments`).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from serving import Answer, options, serve

GIVEN = options()


@asynccontextmanager
async def opened() -> AsyncIterator[Answer]:
    provider = OpenAIProvider(base_url=f"{GIVEN.upstream}/v1", api_key="k")
    agent = Agent(OpenAIChatModel(GIVEN.model, provider=provider))

    async def answer(text: str) -> AsyncIterator[str]:
        async with agent.run_stream(text) as result:
            # By default it holds tokens back for a tenth of a second.
            async for piece in result.stream_text(delta=True, debounce_by=None):
                yield piece

    yield answer


serve(opened, port=GIVEN.port)
