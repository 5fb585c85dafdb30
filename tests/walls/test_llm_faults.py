"""Models that answer wrongly, in whole turns: a run ends as something that people understand, whatever its model does;
no tool runs on a call that cannot be read; and nothing of an exception is shown.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async

from agents.engine.states import ExecutionStatus
from agents.models import Execution, Step
from hyperagent.accounts.models import User
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners, ended, events, start
from tests.walls.faulty_model import FaultyModel

__all__ = ["make_runner"]

OWN = {
    "truncated_json": '{"steps":[{"agent":"web","task":"find',
    "cycle": '{"steps":[{"id":"a","depends_on":["b"]},{"id":"b","depends_on":["a"]}]}',
    "nul_bytes": "a\x00b",
    "unknown_tool": '{"tool":"rm_rf","args":{}}',
    "args_not_object": '{"tool":"send_email","args":"bob"}',
    "finish_reason_length": "",
    "stream_error_midway": "",
    "endless_same_tool": "",
    "http_401": "",
    "html_error_page": "",
}
# In these no call can be read, or names no tool that there is.
NO_CALL = {"unknown_tool", "args_not_object", "args_string_json", "finish_reason_length"}
UNREACHED = {"connect_refused", "connect_timeout"}
MOST_CALLS = 80
NEVER_SHOWN = ("Traceback", "Error(", "Exception", "aiohttp", "litellm", "pydantic", "asyncio", 'File "', "127.0.0.1")
ENDS = {ExecutionStatus.COMPLETED, ExecutionStatus.FAILED}
IMPATIENT = {
    "LLM_CONNECT_TIMEOUT_SECONDS": "2",
    "LLM_FIRST_TOKEN_TIMEOUT_SECONDS": "2",
    "LLM_TOKEN_TIMEOUT_SECONDS": "1",
    "LLM_ATTEMPTS": "3",
    "LLM_RETRY_BUDGET_SECONDS": "3",
}


def faults() -> dict[str, str]:
    """Payloads by the faults' names."""
    folder = os.environ.get("BENCH_DATA")
    if not folder:
        return OWN
    lines = Path(folder, "security", "llm_faults", "data.jsonl").read_text().splitlines()
    return {row["name"]: row["payload"] for row in map(json.loads, lines)}


@contextmanager
def nowhere() -> Iterator[dict[str, str]]:
    """A port at which nobody listens, and one whose line is full, so that nobody is answered."""
    with socket.socket() as closed, socket.socket() as full, socket.socket() as first, socket.socket() as second:
        closed.bind(("127.0.0.1", 0))
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        ports = {"connect_refused": closed.getsockname()[1], "connect_timeout": full.getsockname()[1]}
        yield {name: f"http://127.0.0.1:{port}/v1" for name, port in ports.items()}


def providers(main: str, others: dict[str, str]) -> str:
    everybody = {"scripted": f"{main}/v1", **others}
    return json.dumps(
        [
            {"name": name, "base_url": url, "api_key": "k", "tier_models": {"pro": "scripted-pro"}}
            for name, url in everybody.items()
        ]
    )


@sync_to_async
def somebody(name: str) -> User:
    """A person for each: how many runs one may have at once is another matter."""
    return User.objects.create(email=f"{name}@example.org", password="!")


@sync_to_async
def tool_steps(run: Execution) -> list[str]:
    return list(
        Step.objects.filter(agent__execution=run, kind="tool", status="finished").values_list("name", flat=True)
    )


async def wrong_with(name: str, mode: str, run: Execution, model: FaultyModel) -> list[str]:
    found = [] if run.status in ENDS else [f"it ended as {run.status}"]
    told = [event for event in await events(run.id) if event["type"] not in ("token", "tool_call")]
    shown = f"{run.error_message}\n{run.answer[:2000]}\n{json.dumps(told)}"
    found += [f"it shows {word!r}" for word in NEVER_SHOWN if word in shown]
    if run.status == ExecutionStatus.FAILED and (not run.error_message or run.error_code in ("", "internal")):
        found.append(f"it failed without a reason: {run.error_code!r} {run.error_message!r}")
    if name in NO_CALL and (ran := await tool_steps(run)):
        found.append(f"it ran {ran}")
    if model.asked[name] > 2 * MOST_CALLS:
        found.append(f"it asked {model.asked[name]} times")
    return [f"{name} in {mode}: {one}" for one in found]


@pytest.mark.slow
@pytest.mark.threat("T34", "T30")
@pytest.mark.timeout(240)
async def test_whatever_a_model_does_a_run_ends_in_words_for_people(
    transactional_db: None, make_runner: Runners
) -> None:
    wanted = faults()
    with nowhere() as unreached:
        async with FaultyModel(wanted) as model:
            env = {**IMPATIENT, "OPENAI_COMPATIBLE_PROVIDERS": providers(model.url, unreached)}
            await make_runner(model.url, concurrency=128, env=env, lease_s=60)
            runs = {}
            for name in wanted:
                for mode in ("chat", "task"):
                    options = {"provider": name} if name in UNREACHED else {}
                    asked = f"Compare our offers and then write a report of them. fault={name}"
                    person = await somebody(f"{name}-{mode}")
                    runs[name, mode] = await start(person, asked, mode=mode, options=options)
            found = []
            for (name, mode), id_ in runs.items():
                found += await wrong_with(name, mode, await ended(id_, timeout_s=120), model)

            assert found == []
            assert all(model.asked[name] for name in set(wanted) - UNREACHED)
