"""The OpenAI Agents SDK behind FastAPI: one agent over chat completions, streamed; it keeps nothing.

Run by the interpreter of its own environment (`benchmarks.environments`), as a file: its package is called `agents`,
as the project's own is.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent
from serving import Answer, options, serve

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled

GIVEN = options()


@asynccontextmanager
async def opened() -> AsyncIterator[Answer]:
    # It would send what it traced to OpenAI.
    set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=f"{GIVEN.upstream}/v1", api_key="k") as client:
        agent = Agent(name="chat", model=OpenAIChatCompletionsModel(GIVEN.model, openai_client=client))

        async def answer(text: str) -> AsyncIterator[str]:
            async for event in Runner.run_streamed(agent, text).stream_events():
                if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                    yield event.data.delta

        yield answer


serve(opened, port=GIVEN.port)
