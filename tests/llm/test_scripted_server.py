"""The scripted server itself: its script is binding, and a client that is not ours understands it."""

import asyncio
import json
import subprocess
import sys
import time

import httpx
import openai
import pytest
from pydantic import BaseModel, Field

from hyperagent.lib.llm import LLMSettings, ModelGateway
from tests.llm.asking import KEY, ask, compatible, providers
from tests.scripted import Script, ScriptedCall, ScriptedServer
from tests.scripted.script import stamped_word, stamps_in

US = 1_000


def _client(server: ScriptedServer) -> openai.OpenAI:
    return openai.OpenAI(api_key=KEY, base_url=f"{server.url}/v1", max_retries=0)


def test_openais_client_reads_a_stream(scripted_server: ScriptedServer) -> None:
    scripted_server.script(Script(text="Hello world", tool_calls=[ScriptedCall(name="f", arguments='{"a": 1}')]))

    chunks = list(
        _client(scripted_server).chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "hi"}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )

    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "Hello world"
    calls = [call.function for delta in deltas for call in delta.tool_calls or ()]
    assert "".join(call.arguments or "" for call in calls if call) == '{"a": 1}'
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 2


def test_openais_client_reads_a_whole_answer_models_and_embeddings(scripted_server: ScriptedServer) -> None:
    client = _client(scripted_server)
    scripted_server.say("Hello world")

    answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])

    assert answer.choices[0].message.content == "Hello world"
    assert client.models.list().data[0].id == "scripted"
    assert len(client.embeddings.create(model="e", input="text").data[0].embedding) == 8


def test_openais_client_understands_the_faults(scripted_server: ScriptedServer) -> None:
    client = _client(scripted_server)
    scripted_server.script(Script(status=429, retry_after="3"), Script(status=401), Script(status=500))

    for kind in (openai.RateLimitError, openai.AuthenticationError, openai.InternalServerError):
        with pytest.raises(kind):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


def test_a_call_without_a_line_fails_the_test() -> None:
    server = ScriptedServer().start()
    try:
        with pytest.raises(openai.BadRequestError):
            _client(server).chat.completions.create(model="m", messages=[{"role": "user", "content": "surprise"}])
        with pytest.raises(AssertionError, match="surprise"):
            server.verify()
    finally:
        server.stop()


def test_a_line_without_a_call_fails_the_test() -> None:
    server = ScriptedServer()
    server.say("never asked for")

    with pytest.raises(AssertionError, match="never asked for"):
        server.verify()


def test_lines_are_matched_by_the_question_and_by_the_model(scripted_server: ScriptedServer) -> None:
    client = _client(scripted_server)
    scripted_server.script(
        Script(match="title", text="A title"), Script(model="small", text="from small"), Script(text="anything")
    )

    said = [
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": question}])
        for model, question in (("big", "hello"), ("small", "hello"), ("big", "a title please"))
    ]

    assert [answer.choices[0].message.content for answer in said] == ["anything", "from small", "A title"]


def test_a_time_is_read_as_it_was_written_to_the_microsecond() -> None:
    now = time.monotonic_ns()
    times = [now - ago_s * 10**9 for ago_s in (0, 1, 3_600, 5 * 3_600)]

    stamps = stamps_in(" ".join(stamped_word(at) for at in times))

    assert stamps == [at // US * US for at in times]
    assert stamps_in("A question of quantity, quoted.") == []


async def test_echo_says_the_tokens_that_were_asked_for(echo_server: ScriptedServer) -> None:
    gateway = ModelGateway(LLMSettings.from_env(providers(compatible(echo_server))))

    plain = await gateway.complete(ask("say 5 tokens"))
    before = time.monotonic_ns()
    stamped = await gateway.complete(ask("say 3 tokens at 200/s stamped"))
    other = await gateway.complete(ask("how are you?"))

    assert plain.text == "w0 w1 w2 w3 w4"
    stamps = stamps_in(stamped.text)
    assert len(stamps) == 3
    assert before - US < stamps[0] < stamps[1] < stamps[2] < time.monotonic_ns()
    assert other.text == "You said: how are you?"
    await gateway.aclose()


async def test_a_wrong_key_is_refused_where_one_is_set() -> None:
    server = ScriptedServer(echo=True, api_key="right").start()
    try:
        async with httpx.AsyncClient() as client:
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            url = f"{server.url}/v1/chat/completions"
            wrong = await client.post(url, json=body, headers={"Authorization": "Bearer wrong"})
            right = await client.post(url, json=body, headers={"Authorization": "Bearer right"})
    finally:
        server.stop()

    assert (wrong.status_code, right.status_code) == (401, 200)


@pytest.mark.slow
async def test_it_runs_as_a_process_and_is_told_over_http() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.scripted", "--strict", stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    url = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
    try:
        async with httpx.AsyncClient(base_url=url) as client:
            await client.post("/_script", json=[{"text": "told", "match": "hi"}, {"text": "left over"}])
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            answer = (await client.post("/v1/chat/completions", json=body)).json()
            calls = (await client.get("/_calls")).json()
            verdict = await client.get("/_verify")
            await client.post("/_reset")
            after = await client.get("/_verify")
    finally:
        process.terminate()
        await process.wait()

    assert answer["choices"][0]["message"]["content"] == "told"
    assert [call["last_user"] for call in calls] == ["hi"]
    assert verdict.status_code == 409
    assert "left over" in json.dumps(verdict.json())
    assert after.status_code == 200


async def test_echo_answers_a_schema_with_its_smallest_instance(echo_server: ScriptedServer) -> None:
    class Plan(BaseModel):
        title: str = Field(min_length=2)
        steps: list[str] = Field(min_length=1)
        done: bool

    gateway = ModelGateway(LLMSettings.from_env(providers(compatible(echo_server))))

    answer = await gateway.structured(ask("plan it"), Plan)

    assert answer.value == Plan(title="xx", steps=["x"], done=False)
    await gateway.aclose()
