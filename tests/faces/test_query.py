"""One question by a program: waited for or streamed, with a real runner behind it."""

import asyncio
import json
import threading
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
import structlog
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.utils import timezone

from agents.engine.events import Complete
from agents.models import Event, Execution, Step
from conversations import actions
from conversations.api.serializers import QuerySerializer
from conversations.models import Conversation
from hitl.models import Request
from hyperagent.accounts.models import UserQuota
from hyperagent.accounts.quotas import Quota
from hyperagent.lib.conf import ExecutionMode
from tests.faces.conftest import token_of
from tests.faces.runs import append, make_run, tell, tokens
from tests.runtime.driving import Runners, ended, until
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

pytestmark = pytest.mark.usefixtures("in_threads")

QUERY, STREAM = "/api/v1/query", "/api/v1/query/stream"


class Program(AsyncClient):
    """Sends its token with each request. (Django's client takes headers at its making, and sends them under wrong
    names.)
    """

    token = ""

    async def request(self, **request: Any) -> Any:
        if self.token:
            request["headers"] = [*request.get("headers", []), (b"authorization", f"Bearer {self.token}".encode())]
        return await super().request(**request)


async def program_of(user: Any) -> Program:
    program = Program()
    program.token = await sync_to_async(token_of)(user)
    return program


@pytest.fixture
async def api(in_threads: None, alice: Any) -> Program:
    return await program_of(alice)


async def post(api: AsyncClient, url: str, body: Any, **options: Any) -> Any:
    return await api.post(url, json.dumps(body), content_type="application/json", **options)


def parts(text: str) -> list[dict[str, Any]]:
    """The events of a stream, each checked against its frame."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            event = json.loads(fields["data"])
            assert (fields["id"], fields["event"]) == (str(event["seq"]), event["type"])
            events.append(event)
    return events


async def text_of(response: Any) -> str:
    return "".join([part.decode() async for part in response.streaming_content])


@pytest.mark.spec("S150", "S151")
async def test_a_question_is_answered_when_its_run_has_ended(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Forty-two."))
    await make_runner(scripted_server.url)

    answered = await post(api, QUERY, {"query": "What is the answer?", "mode": "chat", "task_id": "ticket-7"})

    said = answered.json()
    run = await Execution.objects.aget()
    assert answered.status_code == 200
    assert (said["status"], said["answer"], said["execution_id"]) == ("completed", "Forty-two.", str(run.id))
    assert said["conversation_id"] == str(run.conversation_id)
    assert (run.task_id, run.input["options"]["task_id"]) == ("ticket-7", "ticket-7")
    assert said["usage"]["prompt_tokens"] > 0
    step_ids = {agent["agent_name"]: agent["step_id"] for agent in said["agents"]}
    assert step_ids["chat"].startswith("chat_agent-"), "what was skipped is found by it among the agents"
    assert (said["sources"], said["skipped"]) == ([], [])


@pytest.mark.spec("S69")
async def test_the_trace_of_whoever_asked_goes_on_in_the_run_its_agents_and_their_logs(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    failing = Script(status=400, error_message="no", times=0)
    scripted_server.script(failing)
    await make_runner(scripted_server.url)
    header = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
    asked = {"query": "What is the answer?", "mode": "chat", "temporary": True}

    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        await post(api, QUERY, asked, headers=header)

    run = await Execution.objects.aget()
    assert (await api.get(f"/api/v1/executions/{run.id}")).json()["trace_id"] == trace_id
    forked = await Step.objects.aget(agent__execution=run, kind="fork")
    assert forked.request["input"]["input"]["metadata"]["trace_id"] == trace_id
    assert {line["trace_id"] for line in lines if line.get("execution_id") == str(run.id)} == {trace_id}


@pytest.mark.spec("S142")
async def test_the_stream_has_every_event_of_the_log_once_and_ends(
    api: Program, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url)

    response = await post(api, STREAM, {"query": "say 60 tokens at 200/s"})
    said = parts(await text_of(response))

    log = [json.loads(body) async for body in Event.objects.order_by("seq").values_list("body", flat=True)]
    assert response.headers["content-type"] == "text/event-stream"
    assert said == log
    assert said[-1]["type"] == "complete"
    assert said[-1]["answer"].split()[-1] == "w59"


@pytest.mark.slow
@pytest.mark.spec("S142")
async def test_who_comes_back_to_a_stream_gets_what_it_does_not_have_of_the_same_run(api: Program) -> None:
    async def streamed(**headers: str) -> Any:
        return await post(api, STREAM, {"query": "Hi"}, headers=headers)

    begun = await streamed(**{"idempotency-key": "key-1"})
    run = await Execution.objects.aget()
    await sync_to_async(append)(run, *tokens("a", "b", "c"), Complete(answer="abc"))
    whole = parts(await text_of(begun))
    rest = parts(await text_of(await streamed(**{"idempotency-key": "key-1", "last-event-id": "2"})))
    nothing = parts(await text_of(await streamed(**{"idempotency-key": "key-1", "last-event-id": "4"})))
    keyless = await streamed(**{"last-event-id": "2"})
    wrong = await streamed(**{"idempotency-key": "key-1", "last-event-id": "x"})
    unheard = await streamed(**{"idempotency-key": "key-2", "last-event-id": "2"})
    other = await Execution.objects.order_by("created_at").alast()
    assert other is not None
    await sync_to_async(append)(other, Complete(answer="d"))

    assert [event["seq"] for event in whole] == [1, 2, 3, 4]
    assert (rest, nothing) == (whole[2:], [])
    assert (keyless.status_code, list(keyless.json()["error"]["fields"])) == (400, ["Idempotency-Key"])
    assert (wrong.status_code, list(wrong.json()["error"]["fields"])) == (400, ["Last-Event-ID"])
    assert [event["seq"] for event in parts(await text_of(unheard))] == [1]
    assert await Execution.objects.acount() == 2


async def test_a_client_that_leaves_does_not_stop_the_run(
    api: Program, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url)
    response = await post(api, STREAM, {"query": "say 100 tokens at 200/s"})

    stream = aiter(response.streaming_content)
    await anext(stream)
    await anext(stream)
    await stream.aclose()

    run = await ended((await Execution.objects.aget()).id)
    assert (run.status, len(run.answer.split())) == ("completed", 100)


async def test_a_conversation_is_gone_on_with(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        Script(match="What the person wrote", text='{"found": false, "memories": []}'),
        Script(text="Hello Alice."),
        Script(text="You are Alice."),
    )
    await make_runner(scripted_server.url)

    first = (await post(api, QUERY, {"query": "I am Alice", "mode": "chat"})).json()
    second = (
        await post(api, QUERY, {"query": "Who am I?", "mode": "chat", "conversation_id": first["conversation_id"]})
    ).json()

    run = await Execution.objects.aget(id=second["execution_id"])
    assert second["answer"] == "You are Alice."
    assert [said["content"] for said in run.input["history"]] == ["I am Alice", "Hello Alice."]


@pytest.mark.slow
async def test_a_history_that_the_client_keeps_replaces_ours(api: Program, alice: Any) -> None:
    told = [{"role": "user", "content": "I am Bob"}, {"role": "assistant", "content": "Hello Bob"}]

    asking = asyncio.create_task(post(api, QUERY, {"query": "Who am I?", "messages": told, "task_id": "t1"}))
    run = await until(Execution.objects.afirst)
    await sync_to_async(append)(run, Complete(answer="Bob"))
    answered = await asking

    assert answered.json()["answer"] == "Bob"
    assert run.input["history"] == told
    assert run.input["options"] == {"task_id": "t1", "on_approval": "skip", "interactive": False}


@pytest.mark.slow
async def test_the_same_idempotency_key_asks_once(api: Program, charlie: Any) -> None:
    other = await program_of(charlie)

    async def answered(client: Program, body: dict[str, Any]) -> Any:
        return await post(client, QUERY, body, headers={"idempotency-key": "key-1"})

    asking = [asyncio.create_task(answered(api, {"query": "Hi"})) for _ in range(3)]
    run = await until(Execution.objects.afirst)
    await sync_to_async(append)(run, Complete(answer="Hello"))
    together = [(await one).json() for one in asking]
    later = await answered(api, {"query": "Hi"})
    reused = await answered(api, {"query": "Something else"})
    foreign = asyncio.create_task(answered(other, {"query": "Hi"}))
    await until(Execution.objects.filter(user=charlie).aexists)
    foreign.cancel()

    assert {one["execution_id"] for one in [*together, later.json()]} == {str(run.id)}
    assert (reused.status_code, reused.json()["error"]["code"]) == (409, "key_used")
    assert await Execution.objects.acount() == 2


@pytest.mark.slow
async def test_a_key_that_was_used_for_another_mode_or_conversation_is_refused(api: Program, alice: Any) -> None:
    one, other = [(await sync_to_async(actions.create)(alice)).id for _ in range(2)]
    here = {"conversation_id": str(one)}

    async def asked(key: str, **more: Any) -> Any:
        return await post(api, STREAM, {"query": "Hi", **more}, headers={"idempotency-key": key})

    firsts = [await asked("begun", mode="chat"), await asked("gone on with", **here)]
    same = [await asked("begun", mode="CHAT"), await asked("gone on with", **here)]
    differing = [
        await asked("begun", mode="research"),
        await asked("begun"),
        await asked("begun", mode="chat", **here),
        await asked("gone on with"),
        await asked("gone on with", conversation_id=str(other)),
        await asked("gone on with", mode="chat", **here),
    ]

    runs = [first["X-Execution-Id"] for first in firsts]
    assert [again["X-Execution-Id"] for again in same] == runs
    assert [(one.status_code, one.json()["error"]["code"]) for one in differing] == [(409, "key_used")] * 6
    assert await Execution.objects.acount() == 2


async def test_a_key_that_nobody_can_remember_is_refused_by_the_name_of_its_header(api: Program) -> None:
    refused = await post(api, QUERY, {"query": "Hi"}, headers={"idempotency-key": "k" * 101})

    error = refused.json()["error"]
    assert (refused.status_code, set(error["fields"])) == (400, {"Idempotency-Key"})
    assert error["message"].startswith("Idempotency-Key may have 100 printable characters")


@pytest.mark.spec("S150")
@pytest.mark.parametrize(
    ("url", "body", "headers"),
    [
        pytest.param(QUERY, {"query": "Hi"}, {"idempotency-key": "k"}, id="a query under a key"),
        pytest.param(STREAM, {"query": "Hi"}, {"idempotency-key": "k"}, id="a stream under a key"),
        pytest.param(
            "/v1/chat/completions",
            {"model": "hyperagent/chat", "user": "thread", "messages": [{"role": "user", "content": "Hi"}]},
            {},
            id="a completion of a thread",
        ),
    ],
)
async def test_what_is_too_much_begins_no_conversation(
    api: Program, alice: Any, url: str, body: Any, headers: dict[str, str]
) -> None:
    """A program that asks on and on would fill its person's list with empty ones."""
    await UserQuota.objects.acreate(user=alice, quota=Quota.RUNS_AT_ONCE, amount=1)
    await sync_to_async(actions.say_in_new)(alice, actions.Question("Is anybody there?"))

    refused = await post(api, url, body, headers=headers)

    assert refused.status_code == 429
    assert await Conversation.objects.acount() == 1


async def test_a_run_that_fails_answers_in_the_error_shape_with_its_id(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(status=401))
    await make_runner(scripted_server.url)

    failed = await post(api, QUERY, {"query": "Hi"})

    error = failed.json()["error"]
    run = await Execution.objects.aget()
    assert failed.status_code in {502, 503}
    assert "retry-after" not in failed.headers, "somebody must mend the key first"
    assert (error["code"], error["message"]) == (run.error_code, run.error_message)
    assert error["execution_id"] == str(run.id)
    assert "Traceback" not in error["message"]


async def test_where_the_provider_is_busy_it_is_said_that_and_when_to_ask_again(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(status=429, retry_after="100", times=0))
    await make_runner(scripted_server.url)

    failed = await post(api, QUERY, {"query": "Hi", "mode": "chat"})
    last = parts(await text_of(await post(api, STREAM, {"query": "Hi", "mode": "chat"})))[-1]

    assert (failed.status_code, failed.json()["error"]["code"]) == (503, "model_busy")
    assert int(failed.headers["retry-after"]) > 0
    assert (last["type"], last["code"], last["retryable"]) == ("error", "model_busy", True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status"), [("budget", 422), ("not_stored", 500), ("model_refused", 502)], ids=["budget", "house", "model"]
)
@pytest.mark.parametrize("url", [QUERY, "/v1/chat/completions"], ids=["query", "completions"])
async def test_the_status_says_whose_fault_it_was_that_a_run_failed(
    api: Program, url: str, code: str, status: int
) -> None:
    asked = (
        {"query": "Hi"} if url == QUERY else {"model": "hyperagent", "messages": [{"role": "user", "content": "Hi"}]}
    )
    asking = asyncio.create_task(post(api, url, asked))
    run = await until(Execution.objects.afirst)
    failed = {"status": "failed", "error_code": code, "error_message": "No.", "ended_at": timezone.now()}
    await Execution.objects.filter(id=run.id).aupdate(**failed)

    answer = await asking

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.slow
async def test_a_run_that_waits_for_a_person_is_answered_with_202(api: Program, alice: Any) -> None:
    asking = asyncio.create_task(post(api, QUERY, {"query": "Hi", "on_approval": "wait"}))
    run = await until(Execution.objects.afirst)
    asked = await Request.objects.acreate(
        execution_id=run.id, agent_id=run.id, agent_name="chat", user=alice, kind="input", question={"text": "Which?"}
    )
    await Execution.objects.filter(id=run.id).aupdate(status="awaiting_user")

    waiting = await asking

    assert (waiting.status_code, waiting.json()["status"]) == (202, "awaiting_user")
    assert [one["request_id"] for one in waiting.json()["requests"]] == [str(asked.request_id)]


@pytest.mark.slow
async def test_fifty_questions_that_wait_hold_no_thread_each(api: Program) -> None:
    before = threading.active_count()
    asking = [asyncio.create_task(post(api, QUERY, {"query": f"Question {number}"})) for number in range(50)]

    async def all_asked() -> bool:
        return await Execution.objects.acount() == 50

    await until(all_asked, timeout_s=60)

    assert threading.active_count() - before < 20
    for one in asking:
        one.cancel()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"query": ""}, 400, "question_empty"),
        ({"query": "x" * 1_000_000}, 400, "question_too_long"),
        ({"query": "Hi", "mode": "juggling"}, 400, "unknown_mode"),
        ({"query": "Hi", "conversation_id": str(uuid.uuid4())}, 404, "not_found"),
        ({"query": "Hi", "conversation_id": "mine"}, 400, "invalid"),
        ({"query": "Hi", "document_ids": ["1"]}, 400, "no_such_document"),
        ({"query": "Hi", "attachment_ids": [str(uuid.uuid4())]}, 400, "no_such_document"),
        ({"query": "Hi", "attachment_ids": [str(uuid.uuid4())] * 11}, 400, "too_many_documents"),
        ({"query": "Hi", "attachment_ids": "all"}, 400, "invalid"),
        ({"query": "Hi", "messages": "Hello"}, 400, "invalid"),
        ({"query": "Hi", "messages": [{"role": "pope", "content": "Hello"}]}, 400, "invalid"),
        ({"query": "Hi", "messages": [{"role": "user", "content": "x" * 201_000}]}, 400, "invalid"),
        ({"query": "Hi", "on_approval": "perhaps"}, 400, "invalid"),
        ({"query": "Hi", "show_plan": "perhaps"}, 400, "invalid"),
        ({"query": "Hi", "depth": 5}, 400, "invalid"),
        ({"query": "Hi", "provider": ["openai"]}, 400, "invalid"),
        ([], 400, "invalid"),
        ({}, 400, "invalid"),
        ("[" * 100_000, 400, "not_json"),
        ('{"query": "Hi", "x": ' + "[" * 600 + "]" * 600 + "}", 400, "not_json"),
    ],
)
@pytest.mark.parametrize("url", [QUERY, STREAM])
async def test_what_cannot_be_asked_is_refused_at_once(
    api: Program, url: str, body: Any, status: int, code: str
) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    refused = await api.post(url, text, content_type="application/json")

    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert await Execution.objects.acount() == 0
    assert await Conversation.objects.acount() == 0


async def test_an_unknown_mode_names_those_that_there_are(api: Program) -> None:
    error = (await post(api, QUERY, {"query": "Hi", "mode": "juggling"})).json()["error"]

    assert "chat" in error["message"]
    assert {"task", "chat"} <= set(error["allowed"])


@pytest.mark.parametrize("url", [QUERY, STREAM])
async def test_who_has_no_token_or_a_wrong_one_asks_nothing(in_threads: None, url: str) -> None:
    unknown = Program()
    unknown.token = f"ha_{'x' * 43}"

    answers = [await post(client, url, {"query": "Hi"}) for client in (AsyncClient(), unknown)]

    assert [answer.status_code for answer in answers] == [401, 401]
    assert "www-authenticate" in answers[1].headers


async def test_a_session_without_the_csrf_token_asks_nothing(alice: Any) -> None:
    browser = AsyncClient(enforce_csrf_checks=True)
    await browser.aforce_login(alice)

    answers = [
        await post(browser, QUERY, {"query": "Hi"}),
        await post(browser, QUERY, {"query": "Hi"}, headers={"origin": "http://evil.example"}),
        await browser.post(QUERY, '{"query": "Hi"}', content_type="text/plain"),
    ]

    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert await Execution.objects.acount() == 0


@pytest.mark.spec("S143")
async def test_the_events_of_a_run_are_read_from_any_number_as_pages_or_as_a_stream(api: Program, alice: Any) -> None:
    run = await sync_to_async(make_run)(alice)
    await sync_to_async(append)(run, *tokens("a", "b", "c"), Complete(answer="abc"))
    url = f"/api/v1/executions/{run.id}/events"

    first = (await api.get(f"{url}?limit=3")).json()
    second = (await api.get(first["next"])).json()
    stream = await api.get(f"{url}?after=1", headers={"accept": "text/event-stream", "last-event-id": "2"})
    streamed = parts(await text_of(stream))

    assert [event["seq"] for event in first["results"] + second["results"]] == [1, 2, 3, 4]
    assert (first["previous"], second["next"]) == (None, None)
    assert streamed == [first["results"][2], second["results"][0]]


@pytest.mark.spec("B10")
async def test_a_reader_of_a_log_that_lost_its_end_gets_the_run_anew(api: Program, alice: Any) -> None:
    run = await sync_to_async(make_run)(alice)
    await sync_to_async(append)(run, *tokens("a", "b", "c", "lost", "lost"))
    url = f"/api/v1/executions/{run.id}/events"
    stream: Any = await api.get(f"{url}?after=1", headers={"accept": "text/event-stream"})
    heard = ""

    async for part in stream.streaming_content:
        heard += part.decode()
        if "id: 5" in heard and "resync" not in heard and run.last_seq == 5:
            await run.events.filter(seq__gt=3).adelete()
            run.last_seq = 3
            await sync_to_async(tell)(run, *tokens("d"))
        elif "resync" in heard and run.status == "running":
            await sync_to_async(tell)(run, Complete(answer="abcd"))
    again = parts(await text_of(await api.get(f"{url}?after=9", headers={"accept": "text/event-stream"})))

    told = parts(heard)
    forgotten = [event["type"] for event in told].index("resync")
    assert [event["seq"] for event in told[:forgotten]] == [2, 3, 4, 5]
    anew = [{"type": "resync", "seq": 0, "execution_id": str(run.id)}, *(await api.get(url)).json()["results"]]
    assert told[forgotten:] == anew
    assert again == anew


@pytest.mark.spec("B10")
async def test_a_reader_of_a_log_that_lost_its_end_and_went_on_unheard_gets_the_run_anew(
    api: Program, alice: Any
) -> None:
    run = await sync_to_async(make_run)(alice)
    await sync_to_async(append)(run, *tokens("a", "b", "lost"))
    url = f"/api/v1/executions/{run.id}/events"
    stream: Any = await api.get(f"{url}?after=1", headers={"accept": "text/event-stream"})
    heard = ""

    async for part in stream.streaming_content:
        heard += part.decode()
        if "id: 3" in heard and run.last_seq == 3:
            await run.events.filter(seq__gt=1).adelete()
            run.last_seq = 1
            await sync_to_async(append)(run, *tokens("B", "C", "D"), Complete(answer="aBCD"))

    assert [event.get("content", event["type"]) for event in parts(heard)] == [
        *("b", "lost", "resync"),
        *("a", "B", "C", "D", "complete"),
    ]


@pytest.mark.parametrize("after", ["-1", "x", "99999999999999999999", "1e3"])
async def test_a_number_that_is_none_is_refused(api: Program, alice: Any, after: str) -> None:
    run = await sync_to_async(make_run)(alice)

    refused = await api.get(
        f"/api/v1/executions/{run.id}/events?after={after}", headers={"accept": "text/event-stream"}
    )

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid")


async def test_a_number_that_came_by_the_header_is_refused_by_its_name(api: Program, alice: Any) -> None:
    run = await sync_to_async(make_run)(alice)

    refused = await api.get(
        f"/api/v1/executions/{run.id}/events", headers={"accept": "text/event-stream", "last-event-id": "abc"}
    )

    error = refused.json()["error"]
    assert (refused.status_code, set(error["fields"])) == (400, {"Last-Event-ID"})
    assert error["message"].startswith("Last-Event-ID: ")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("TEXT/EVENT-STREAM", "text/event-stream"),
        ("text/event-stream; charset=utf-8", "text/event-stream"),
        ("application/json, text/event-stream", "text/event-stream"),
        ("*/*;q=0.1, text/event-stream", "text/event-stream"),
        ("text/event-stream;q=0, application/json", "application/json"),
        ("text/event-stream;q=0.5, application/json", "application/json"),
        ("text/event-streams", "application/json"),
        ("*/*", "application/json"),
    ],
)
async def test_who_prefers_a_stream_gets_one(api: Program, alice: Any, accept: str, kind: str) -> None:
    run = await sync_to_async(make_run)(alice)
    await sync_to_async(append)(run, Complete(answer="abc"))

    answer = await api.get(f"/api/v1/executions/{run.id}/events", headers={"accept": accept})

    assert answer["content-type"] == kind


async def test_a_run_is_cancelled_over_the_api_once_or_twice(
    api: Program, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url)
    asking = asyncio.create_task(post(api, QUERY, {"query": "say 2000 tokens at 50/s"}))
    run = await until(Execution.objects.filter(status="running", events__seq__gt=4).afirst)

    twice = [await post(api, f"/api/v1/executions/{run.id}/cancel", {}) for _ in range(2)]
    answered = await asking

    assert [one.status_code for one in twice] == [202, 202]
    assert (answered.status_code, answered.json()["status"]) == (200, "cancelled")
    assert (await post(api, f"/api/v1/executions/{run.id}/cancel", {})).json()["status"] == "cancelled"


@pytest.mark.spec("S143")
async def test_a_question_that_was_said_by_socket_streams_over_the_api(api: Program, alice: Any) -> None:
    conversation = await sync_to_async(actions.create)(alice)
    said = await sync_to_async(actions.say)(alice, conversation.id, actions.Question("Hi"))
    await sync_to_async(append)(said.execution, *tokens("a"), Complete(answer="a"))

    response = await api.get(f"/api/v1/executions/{said.execution.id}/events", headers={"accept": "text/event-stream"})

    assert [event["type"] for event in parts(await text_of(response))] == ["token", "complete"]


@pytest.mark.spec("S124", "S150")
async def test_what_was_chosen_for_a_run_is_what_it_is_told(api: Program) -> None:
    chosen = {"depth": "deep", "scenario": "market", "execution_mode": "codeact", "tier": "MAX", "show_plan": True}
    bodies = [(QUERY, {}), (QUERY, {"on_approval": "wait"}), (STREAM, {})]
    told = {}

    for number, (url, more) in enumerate(bodies):
        asking = asyncio.create_task(post(api, url, {"query": f"Question {number}", **chosen, **more}))
        run = await until(Execution.objects.filter(question=f"Question {number}").afirst)
        told[number] = run.input["options"]
        asking.cancel()

    assert told[0] == {**chosen, "tier": "max", "on_approval": "skip", "interactive": False}
    assert told[1] == {**chosen, "tier": "max", "on_approval": "wait", "interactive": True}
    assert told[2] == {**chosen, "tier": "max", "on_approval": "ask", "interactive": True}


@pytest.mark.parametrize(
    ("model", "provider"), [("mine/mine-pro", "mine"), ("house/house-pro", None), ("any-model", None)]
)
async def test_who_names_a_model_of_another_provider_chooses_that_for_all_that_the_run_asks(
    api: Program, monkeypatch: pytest.MonkeyPatch, model: str, provider: str | None
) -> None:
    providers = [
        {"name": name, "base_url": "http://127.0.0.1:9/v1", "api_key": "k", "tier_models": {"pro": f"{name}-pro"}}
        for name in ("house", "mine")
    ]
    monkeypatch.setenv("OPENAI_COMPATIBLE_PROVIDERS", json.dumps(providers))

    asking = asyncio.create_task(post(api, QUERY, {"query": "Hi", "model": model}))
    run = await until(Execution.objects.filter(question="Hi").afirst)
    asking.cancel()

    assert (run.input["options"]["model"], run.input["options"].get("provider")) == (model, provider)


@pytest.mark.parametrize(
    ("field", "value", "way_out"),
    [
        ("provider", "nope", "There is no provider 'nope'"),
        ("tier", "huge", "Use max, pro, flash or lite"),
        ("model", "groqqq/gpt-9", "There is no model 'groqqq/gpt-9' here"),
        ("model", "gpt-9", "There is no model 'gpt-9' here"),
        ("depth", "bottomless", "Use one of: quick, standard, deep"),
        ("scenario", "gossip", "Use one of: academic, market, technical, news"),
        ("execution_mode", "yolo", "Use one of: standard, codeact"),
        ("on_approval", "perhaps", "Use one of: skip, wait, deny"),
        ("document_ids", ["1"], "There is no document '1' that you may see"),
        ("query", " ", "The question is empty"),
        ("query", "x" * 300_000, "at most 200,000"),
    ],
)
def test_a_choice_that_there_is_not_is_refused_under_its_own_name_with_the_way_out(
    alice: Any, api_of: Callable[..., Any], field: str, value: Any, way_out: str
) -> None:
    answer = api_of(alice).post("/api/v1/query", {"query": "Hi", field: value}, format="json")

    assert answer.status_code == 400
    fields = answer.json()["error"]["fields"]
    assert set(fields) == {field}
    assert way_out in fields[field][0]
    assert not Execution.objects.filter(user=alice).exists()


def test_what_a_question_may_leave_out_may_be_null(alice: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(alice)
    names: list[str] = [str(name) for name in QuerySerializer().fields if str(name) != "query"]
    conversation = actions.create(alice)

    begun = api.post("/api/v1/conversations", {"title": None, "project_id": None, "temporary": None}, format="json")
    said = api.post(
        f"/api/v1/conversations/{conversation.id}/messages",
        {"text": "Hi", "options": {"show_plan": None, "depth": None, "budget": None}},
        format="json",
    )
    streamed = api.post(STREAM, {"query": "Hi", **dict.fromkeys(names)}, format="json")
    nothing = api.post(STREAM, {"query": None}, format="json")

    assert (begun.status_code, said.status_code, streamed.status_code) == (201, 201, 200)
    assert begun.json()["is_temporary"] is False
    assert (nothing.status_code, list(nothing.json()["error"]["fields"])) == (400, ["query"])
    plain, whole = Execution.objects.order_by("created_at").values_list("input__options", flat=True)
    assert (plain, whole) == ({}, {"on_approval": "ask", "interactive": True})


def test_every_fault_of_a_question_is_named_at_once(alice: Any, api_of: Callable[..., Any]) -> None:
    answer = api_of(alice).post(
        "/api/v1/query", {"query": "Hi", "depth": "x", "scenario": "y", "tier": "z", "messages": 5}, format="json"
    )

    assert set(answer.json()["error"]["fields"]) == {"depth", "scenario", "tier", "messages"}


@pytest.mark.spec("S91", "S103", "S105")
async def test_the_older_stream_tells_a_run_in_chunks(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Forty-two."))
    await make_runner(scripted_server.url)

    response: Any = await api.get("/api/v1/agent/stream?prompt=What%20is%20the%20answer%3F")
    blocks = [block for block in (await text_of(response)).split("\n\n") if "data: " in block]
    chunks = [json.loads(block.partition("data: ")[2]) for block in blocks]

    assert "".join(chunk["textDelta"] for chunk in chunks if chunk["type"] == "text-delta") == "Forty-two."
    states = [chunk["state"] for chunk in chunks if chunk["type"] == "agent-state"]
    assert {"running", "completed"} <= {state["status"] for state in states}
    assert chunks[-1]["type"] == "complete"
    assert response.headers["x-execution-id"] == str((await Execution.objects.aget()).id)


@pytest.mark.spec("S91", "S105")
async def test_who_comes_back_to_the_older_stream_begins_no_other_run(api: Program, alice: Any, charlie: Any) -> None:
    url = "/api/v1/agent/stream?prompt=Hi"
    charlies = await program_of(charlie)

    async def again(last: str, client: Program = api) -> Any:
        return await client.get(url, headers={"last-event-id": last})

    begun: Any = await api.get(url)
    run = await Execution.objects.aget()
    await sync_to_async(append)(run, *tokens("a", "b", "c"), Complete(answer="abc"))
    ids = [line[4:] for line in (await text_of(begun)).splitlines() if line.startswith("id: ")]
    rest = await text_of(await again(ids[1]))
    done, foreign, wrong, number = [
        await again(ids[-1]),
        await again(ids[1], charlies),
        await again("x"),
        await again("2"),
    ]

    assert ids == [f"{run.id}:{seq}" for seq in (1, 2, 3, 4)]
    assert [line[4:] for line in rest.splitlines() if line.startswith("id: ")] == ids[2:]
    assert (done.status_code, foreign.status_code) == (204, 404)
    assert [(one.status_code, list(one.json()["error"]["fields"])) for one in (wrong, number)] == [
        (400, ["Last-Event-ID"])
    ] * 2
    assert await Execution.objects.acount() == 1


async def test_to_look_at_the_head_of_the_older_stream_begins_no_run(api: Program) -> None:
    answer = await api.head("/api/v1/agent/stream?prompt=Hi")

    assert answer.status_code == 405
    assert await Execution.objects.acount() == 0


@pytest.mark.spec("S91")
async def test_a_run_of_the_older_stream_is_held_to_what_the_installation_says(api: Program, settings: Any) -> None:
    own = {"run_budget_tokens": 9_000, "execution_mode": ExecutionMode.CODEACT}
    settings.CONFIG = settings.CONFIG.model_copy(update=own)

    begun = await api.get("/api/v1/agent/stream?prompt=What%20is%20the%20answer%3F")

    assert begun.status_code == 200
    options = (await Execution.objects.aget()).input["options"]
    assert options["budget"] == {"max_tokens": 9_000}
    assert options["execution_mode"] == "codeact"
    assert (options["on_approval"], options["interactive"]) == ("ask", True)


async def test_the_older_stream_takes_messages_whose_last_one_is_the_question(
    api: Program, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="You said Alice."))
    await make_runner(scripted_server.url)
    messages = [
        {"role": "user", "content": "My name is Alice."},
        {"role": "assistant", "content": "Hello Alice."},
        {"role": "user", "content": "What is my name?"},
    ]

    response: Any = await api.get(f"/api/v1/agent/stream?{urlencode({'messages': json.dumps(messages)})}")
    told = await text_of(response)

    assert "Alice" in told
    run = await Execution.objects.aget()
    assert (run.question, run.input["history"]) == ("What is my name?", messages[:2])


@pytest.mark.spec("S91")
@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ({"prompt": "Hi", "agentId": "agent-1"}, ("agentId", "read them from the stream")),
        ({"prompt": "Hi", "parentId": "agent-0"}, ("parentId", "read them from the stream")),
        ({"prompt": "Hi", "messages": '[{"role": "user", "content": "Hi"}]'}, ("messages", "either")),
        ({"messages": "no JSON"}, ("messages", "no JSON")),
        ({"messages": "[]"}, ("messages", "last message")),
        ({"messages": '[{"role": "assistant", "content": "Hi"}]'}, ("messages", "last message")),
    ],
)
async def test_what_the_older_stream_cannot_take_is_refused_by_its_name(
    asked: dict[str, str], fault: tuple[str, str], api: Program
) -> None:
    refused = await api.get(f"/api/v1/agent/stream?{urlencode(asked)}")

    name, words = fault
    assert refused.status_code == 400
    fields = refused.json()["error"]["fields"]
    assert list(fields) == [name]
    assert words in fields[name][0]
    assert await Execution.objects.acount() == 0


async def test_a_cookie_alone_starts_no_run_by_a_get(alice: Any, api: Program) -> None:
    cookie_only = AsyncClient()
    await cookie_only.aforce_login(alice)

    refused = await cookie_only.get("/api/v1/agent/stream?prompt=Hi")
    empty = await api.get("/api/v1/agent/stream?prompt=")
    none = await api.get("/api/v1/agent/stream")

    assert refused.status_code == 401
    assert (empty.status_code, list(empty.json()["error"]["fields"])) == (400, ["prompt"])
    assert (none.status_code, list(none.json()["error"]["fields"])) == (400, ["prompt"])
    assert await Execution.objects.acount() == 0
