"""What reading a model's stream costs: CPU a chunk on our path and on LiteLLM's wrapper, in one run on one machine.

`python -m benchmarks.read_path [--streams 50] [--rate 50] [--seconds 10]` prints JSON. The scripted server is a process
of its own, so only the reader's CPU is counted. Quote the ratio: lone times differ from machine to machine.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

from hyperagent.lib.llm import LLMSettings, Message, ModelGateway, ModelRequest, Role, Tier, adapter, resolve
from hyperagent.lib.llm.types import TextDelta

Listen = Callable[[ModelRequest], Awaitable[int]]
MODEL = "gpt-5-mini"
CALLS = 40


@dataclass(frozen=True)
class Load:
    streams: int
    rate: float
    seconds: float

    @property
    def tokens(self) -> int:
        return int(self.rate * self.seconds)


def request_for(load: Load, *, provider: str) -> ModelRequest:
    question = Message(role=Role.USER, content=f"say {load.tokens} tokens at {load.rate:g}/s")
    return ModelRequest(tier=Tier.PRO, provider=provider, model=MODEL, messages=(question,))


async def cpu_per_chunk_us(listen: Listen, load: Load, *, provider: str) -> float:
    """Streams that begin at once, each chunk counted; the CPU of this process alone."""
    await listen(request_for(Load(1, 1000, 0.05), provider=provider))  # connections, caches, first imports
    before = time.process_time()
    counts = await asyncio.gather(*(listen(request_for(load, provider=provider)) for _ in range(load.streams)))
    spent = time.process_time() - before
    heard = sum(counts)
    if heard != load.streams * load.tokens:
        raise RuntimeError(f"{heard} chunks of {load.streams * load.tokens} came")
    return spent / heard * 1e6


async def cpu_per_start_ms(listen: Listen, *, provider: str) -> float:
    """A call that answers one token, warm."""
    request = request_for(Load(1, 1000, 0.001), provider=provider)
    await listen(request)
    before = time.process_time()
    for _ in range(CALLS):
        await listen(request)
    return (time.process_time() - before) / CALLS * 1e3


def through_gateway(gateway: ModelGateway) -> Listen:
    async def listen(request: ModelRequest) -> int:
        async with aclosing(gateway.stream(request)) as items:
            return sum([1 async for item in items if isinstance(item, TextDelta)])

    return listen


def through_litellm(settings: LLMSettings) -> Listen:
    """LiteLLM's own wrapper and nothing of ours after it."""
    litellm = adapter.litellm_library().litellm

    async def listen(request: ModelRequest) -> int:
        (target,) = resolve.targets(settings, request)
        stream = await litellm.acompletion(
            model=f"openai/{target.model}",
            messages=[{"role": message.role.value, "content": message.content} for message in request.messages],
            stream=True,
            stream_options={"include_usage": True},
            api_base=target.provider.base_url,
            api_key=target.provider.secrets[0],
        )
        return sum([1 async for chunk in stream if chunk.choices and chunk.choices[0].delta.content])

    return listen


@contextmanager
def scripted_server() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-m", "tests.scripted"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


async def measure(url: str, load: Load) -> dict[str, Any]:
    plain = {"name": "plain", "base_url": f"{url}/v1", "api_key": "k", "tier_models": {"pro": MODEL}}
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_COMPATIBLE_PROVIDERS": json.dumps([plain])}
    settings = LLMSettings.from_env(env)
    adapter.preload()
    gateway = ModelGateway(settings)
    ours, wrapper = through_gateway(gateway), through_litellm(settings)
    fast = await cpu_per_chunk_us(ours, load, provider="openai")
    slow = await cpu_per_chunk_us(wrapper, load, provider="openai")
    figures = {
        "streams": load.streams,
        "tokens_per_s": load.rate,
        "seconds": load.seconds,
        "fast_us_per_chunk": round(fast, 1),
        "litellm_us_per_chunk": round(slow, 1),
        "ratio": round(fast / slow, 3),
        "start_plain_ms": round(await cpu_per_start_ms(ours, provider="plain"), 2),
        "start_built_by_litellm_ms": round(await cpu_per_start_ms(ours, provider="openai"), 2),
        "start_litellm_ms": round(await cpu_per_start_ms(wrapper, provider="openai"), 2),
    }
    await gateway.aclose()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    with scripted_server() as url:
        figures = asyncio.run(measure(url, Load(options.streams, options.rate, options.seconds)))
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
