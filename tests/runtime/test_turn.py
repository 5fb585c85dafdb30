"""A turn through the real runner: claimed, streamed, stored, announced, ended; and what goes wrong on its way."""

import asyncio
from itertools import groupby
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents import actions
from agents.craft.exchange import AgentInput
from agents.engine.effects import Effect
from agents.engine.errors import StepFailed
from agents.engine.events import ToolCall
from agents.log import agent_reading
from agents.models import AgentExecution, Execution, Step
from agents.pipeline.work import commission
from agents.runtime import cut_short, leases
from agents.runtime.runner import Runner
from agents.usage.models import ModelCall
from tests.runtime.driving import Runners, ended, events, start, until
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakeWeb, fake_providers


@pytest.mark.spec("B9", "S76")
async def test_a_question_is_answered_and_everything_people_saw_is_stored(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Hello Alice, nice to see you."))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Hi"))

    assert (run.status, run.answer) == ("completed", "Hello Alice, nice to see you.")
    said = await events(run.id)
    assert [event["seq"] for event in said] == list(range(1, len(said) + 1))
    assert shown(said) == run.answer
    assert (said[-1]["type"], said[-1]["answer"]) == ("complete", run.answer)
    assert run.last_seq == said[-1]["seq"]
    assert said[-1]["usage"]["prompt_tokens"] == run.prompt_tokens > 0
    assert [event["status"] for event in said if event["type"] == "status_changed"] == ["running"]


@pytest.mark.parametrize(
    ("said", "stands"),
    [("One, two and", "One, two and"), ("So:\n```python\nprint(", "So:\n```python\nprint(\n```")],
    ids=["words", "code"],
)
async def test_an_answer_that_ends_because_it_is_as_long_as_it_may_be_says_so(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners, said: str, stands: str
) -> None:
    scripted_server.script(Script(text=said, finish_reason="length"))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Count to a million", mode="chat"))

    assert (run.status, run.answer) == ("completed", f"{stands}\n\n{cut_short.NOTICE}")
    assert shown(await events(run.id)) == run.answer


@pytest.mark.spec("S92")
async def test_an_agent_that_ran_has_all_that_was_said_in_its_run_once(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    search = [ScriptedCall(id=f"c{n}", name="web_search", arguments=f'{{"query": "pumps {n}"}}') for n in range(2)]
    scripted_server.script(
        Script(text="I look.", tool_calls=search[:1]), Script(tool_calls=search[1:]), Script(text="Many were sold.")
    )
    await make_runner(scripted_server.url, providers=fake_providers(web=FakeWeb()))

    run = await ended(await start(alice, "How many pumps were sold?", mode="chat"))

    agents = await sync_to_async(lambda: list(AgentExecution.objects.filter(execution=run)))()
    root, chat = [await sync_to_async(agent_reading.messages_of)(agent) for agent in agents]
    assert [message["content"] for message in root] == ["How many pumps were sold?", "Many were sold."]
    roles = ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [message["role"] for message in chat] == roles
    assert [message.get("tool_call_id") for message in chat[2::2]] == ["c0", "c1"]
    assert (chat[0]["content"], chat[-1]["content"]) == ("How many pumps were sold?", "Many were sold.")


@pytest.mark.spec("S145", "S147")
async def test_what_is_done_in_a_stage_is_told_with_its_name(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text='{"query": "pumps"}'), Script(text="Many were sold [1]."))
    await make_runner(scripted_server.url, providers=fake_providers(web=FakeWeb()))

    run = await ended(await start(alice, "How many pumps were sold?", mode="web"))

    told = await events(run.id)
    stages = {event["type"]: event.get("stage") for event in told}
    assert (stages["tool_call"], stages["tool_result"], stages["source"]) == ("search", "search", "search")
    assert [event["stage"] for event in told if event["type"] == "usage"] == ["search", "synthesize"]
    assert (stages["routing"], stages["stage"], stages["complete"]) == (None, None, None)


@pytest.mark.slow
async def test_many_runs_are_driven_at_once_and_none_is_mixed_with_another(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url, concurrency=32)

    ids = [await start(alice, f"say {number} tokens at 200/s") for number in range(10, 40)]
    runs = [await ended(id_) for id_ in ids]

    assert {run.status for run in runs} == {"completed"}
    for number, run in zip(range(10, 40), runs, strict=True):
        assert run.answer.split() == [f"w{word}" for word in range(number)]
        assert shown(await events(run.id)) == run.answer


async def test_a_stream_that_is_cut_begins_again_and_people_are_told_to_take_the_text_back(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="one two three four", cut_after=2), Script(text="one two three four"))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Count"))

    said = await events(run.id)
    assert run.answer == "one two three four"
    assert [event["keep"] for event in said if event["type"] == "token_reset"] == [0]
    assert shown(said) == run.answer


async def test_a_provider_with_a_wrong_key_fails_the_run_in_words_for_people(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(status=401))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Hi"))

    assert (run.status, run.error_code) == ("failed", "model_refused")
    assert "does not accept its key" in run.error_message
    assert (await events(run.id))[-1]["type"] == "error"


@pytest.mark.spec("B16")
async def test_what_was_read_before_a_provider_broke_off_for_good_stays_above_the_error(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        Script(text="one two three four", cut_after=3),
        Script(text="one two three four", cut_after=2),
        Script(status=503),
    )
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Hi", mode="chat"))

    assert (run.status, run.error_code, run.answer) == ("failed", "model_busy", "one two ")
    told = await events(run.id)
    assert shown(told) == run.answer
    kinds = [event["type"] for event in told if event["type"] in ("token", "token_reset", "error")]
    last = [kind for kind, _together in groupby(kinds)][-3:]
    assert last == ["token_reset", "token", "error"], "taken back for what came in its place, and not at the end"


async def test_text_that_postgres_cannot_store_is_replaced_not_refused(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="a\x00b c 😀"))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Hi"))

    assert run.answer == "a\ufffdb c 😀"
    assert shown(await events(run.id)) == run.answer


@pytest.mark.spec("B16")
async def test_cancel_in_mid_answer_stops_the_model_and_keeps_what_was_said(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url)
    id_ = await start(alice, "say 2000 tokens at 50/s")
    await until(lambda: _has_tokens(id_))

    await sync_to_async(actions.cancel)(id_, by=alice)
    run = await ended(id_, timeout_s=3)

    assert run.status == "cancelled"
    assert run.answer.startswith("w0 w1")
    assert shown(await events(id_)) == run.answer
    await asyncio.to_thread(echo_server.wait_until, lambda server: all(call.over for call in server.calls), timeout_s=3)
    again = await sync_to_async(actions.cancel)(id_, by=alice)
    assert (again.status, again.last_seq) == ("cancelled", run.last_seq)


@pytest.mark.slow
@pytest.mark.spec("B16")
async def test_a_cancel_while_nobody_drives_the_run_keeps_what_was_said(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url)
    id_ = await start(alice, "say 2000 tokens at 50/s", mode="chat")
    await until(lambda: _has_tokens(id_))
    await make_runner.stop()

    await sync_to_async(actions.cancel)(id_, by=alice)
    await make_runner(echo_server.url, name="runner-2")
    run = await ended(id_)

    assert run.status == "cancelled"
    assert run.answer.startswith("w0 w1")
    assert shown(await events(id_)) == run.answer


@pytest.mark.spec("B11", "B16")
async def test_a_call_that_was_stopped_on_its_way_was_paid_for(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    await make_runner(echo_server.url)
    id_ = await start(alice, "say 2000 tokens at 50/s", mode="chat")
    await until(lambda: _has_tokens(id_))

    await sync_to_async(actions.cancel)(id_, by=alice)
    run = await ended(id_, timeout_s=3)

    words = len(run.answer.split())
    usage = (await events(id_))[-1]["usage"]
    assert words <= usage["completion_tokens"] <= words + 50
    assert usage["prompt_tokens"] > 100
    assert (run.prompt_tokens, run.completion_tokens) == (usage["prompt_tokens"], usage["completion_tokens"])
    [call] = [call async for call in ModelCall.objects.filter(execution_id=id_)]
    assert (call.user_id, call.provider, call.model) == (alice.pk, "scripted", "scripted-pro")
    assert call.completion_tokens == usage["completion_tokens"]
    counting = Step.objects.filter(agent__execution_id=id_, kind="model", cut_at=None)
    assert not await counting.aexists(), "another try of the run asks again"


async def test_what_was_under_way_when_a_run_was_stopped_is_told(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    begun = asyncio.Event()

    async def sends(context: Any, turn: dict[str, Any]) -> dict[str, Any]:
        async def perform(key: str) -> Any:
            begun.set()
            await asyncio.sleep(3600)

        await context.effect(Effect("send_parcel", {"to": "Bob"}, perform))
        return {"answer": "Sent.", "sources": []}

    await make_runner(echo_server.url, extra={"sends": sends})
    id_ = await start(alice, "q", pipeline="sends")
    await asyncio.wait_for(begun.wait(), 30)
    await sync_to_async(actions.cancel)(id_, by=alice)
    run = await ended(id_)

    assert run.status == "cancelled"
    assert "“Send parcel” was under way when this ended: it may or may not have happened." in run.answer
    assert (await events(id_))[-1]["answer"] == run.answer


async def test_what_was_under_way_when_a_run_failed_is_told_with_the_failure(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    async def sends(context: Any, turn: dict[str, Any]) -> dict[str, Any]:
        async def perform(key: str) -> Any:
            raise StepFailed("broken", "It broke.")

        await context.effect(Effect("send_parcel", {"to": "Bob"}, perform))
        return {"answer": "Sent.", "sources": []}

    await make_runner(echo_server.url, extra={"sends": sends})
    run = await ended(await start(alice, "q", pipeline="sends"))

    assert (run.status, run.error_code, run.answer) == ("failed", "broken", "")
    assert run.error_message.startswith("It broke. “Send parcel” was under way when this ended")
    assert (await events(run.id))[-1]["message"] == run.error_message


async def test_a_runner_that_is_stopped_gives_its_runs_back_and_another_goes_on(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    first = await make_runner(echo_server.url)
    id_ = await start(alice, "say 30 tokens at 50/s")
    await until(lambda: _has_tokens(id_))

    first.stop()
    await make_runner(echo_server.url, name="runner-2")
    run = await ended(id_)

    assert run.answer.split() == [f"w{word}" for word in range(30)]
    assert shown(await events(id_)) == run.answer
    assert run.crashes == 0


@pytest.mark.slow
async def test_a_run_whose_lease_another_took_writes_nothing_more(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    """What SIGSTOP does to a runner: the world goes on without it, and then it wakes up."""
    runner = await make_runner(echo_server.url)
    id_ = await start(alice, "say 100 tokens at 50/s")
    await until(lambda: _has_tokens(id_))

    await sync_to_async(_take_over)(id_)
    await until(lambda: _drives_nothing(runner))
    before = await events(id_)
    await make_runner(echo_server.url, name="runner-2")
    await sync_to_async(leases.recover_runner)("thief")
    run = await ended(id_)

    said = await events(id_)
    assert said[: len(before)] == before
    assert run.answer.split() == [f"w{word}" for word in range(100)]
    assert [event["seq"] for event in said] == list(range(1, len(said) + 1))


async def test_a_run_that_lost_three_runners_alone_is_failed_with_that_reason(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    id_ = await start(alice, "say 3 tokens at 50/s")

    for number in range(3):
        await sync_to_async(_take_over)(id_)
        assert await sync_to_async(leases.recover_runner)("thief") == 1, number
    await make_runner(echo_server.url)
    run = await ended(id_)

    assert (run.status, run.error_code) == ("failed", "crashed_worker")
    assert "crashed the worker 3 times" in run.error_message


@pytest.mark.slow
async def test_runs_that_were_merely_near_a_crash_are_not_failed_for_it(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    ids = [await start(alice, f"say {number} tokens at 200/s") for number in range(3, 9)]

    for _ in range(4):
        for id_ in ids:
            await sync_to_async(_take_over)(id_)
        await sync_to_async(leases.recover_runner)("thief")
    await make_runner(echo_server.url)

    assert {(await ended(id_)).status for id_ in ids} == {"completed"}


async def test_what_people_have_read_of_a_run_that_fails_stays(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    async def fails(context: Any, turn: dict[str, Any]) -> dict[str, Any]:
        await context.say("one two")
        raise StepFailed("budget", "The budget of this run is used up.")

    await make_runner(scripted_server.url, extra={"fails": fails})
    run = await ended(await start(alice, "q", pipeline="fails"))

    assert (run.status, run.error_code, run.answer) == ("failed", "budget", "one two")
    assert shown(await events(run.id)) == run.answer


async def test_recorded_steps_are_not_asked_again_after_a_loss(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    async def twice(context: Any, turn: dict[str, Any]) -> dict[str, Any]:
        first = await context.wait(await context.fork("chat", turn["task"]))
        await context.ask("input", {"question": "Go on?"})
        second = await context.wait(await context.fork("chat", turn["task"]))
        return {"answer": first["result"] + second["result"], "sources": []}

    task = commission(AgentInput(agent_id="chat_agent-1", agent_name="chat", task="q"))
    scripted_server.script(Script(text="first "), Script(text="second"))
    await make_runner(scripted_server.url, extra={"twice": lambda context, turn: twice(context, turn | {"task": task})})
    id_ = await start(alice, "q", pipeline="twice")
    await until(lambda: _is(id_, "awaiting_user"))
    await make_runner.stop()

    await sync_to_async(_answer_all)(alice, id_)
    await make_runner(
        scripted_server.url,
        name="runner-2",
        extra={"twice": lambda context, turn: twice(context, turn | {"task": task})},
    )
    run = await ended(id_)

    assert run.answer == "first second"
    assert await sync_to_async(Step.objects.filter(agent__execution=id_, kind="model").count)() == 2
    scripted_server.verify()


def _take_over(id_: Any) -> None:
    Execution.objects.filter(id=id_).update(status="running", leased_by="thief")
    execution = Execution.objects.get(id=id_)
    execution.epoch += 1
    execution.save(update_fields=["epoch"])


def _answer_all(user: Any, id_: Any) -> None:
    from hitl.actions import decide
    from hitl.models import Request, RequestStatus

    for request in Request.objects.filter(execution_id=id_, status="pending"):
        decide(request.request_id, by=user, status=RequestStatus.ANSWERED, answer={"text": "yes"})


async def _has_tokens(id_: Any) -> bool:
    return [event["type"] for event in await events(id_)].count("token") > 2


async def _drives_nothing(runner: Runner) -> bool:
    return len(runner.driving) == 0


async def _is(id_: Any, status: str) -> bool:
    return await Execution.objects.filter(id=id_, status=status).aexists()


async def test_a_run_of_which_something_cannot_be_stored_fails_and_says_so(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    async def counts_too_far(context: Any, turn: dict[str, Any]) -> dict[str, Any]:
        context.emit(ToolCall(tool="count", args={"to": 1 << 70}))
        await context.now()
        return {"answer": "never", "sources": []}

    await make_runner(scripted_server.url, extra={"counts": counts_too_far})

    run = await ended(await start(alice, "q", pipeline="counts"))

    assert (run.status, run.error_code) == ("failed", "not_stored")
    said = await events(run.id)
    assert [event["seq"] for event in said] == list(range(1, len(said) + 1))
    assert said[-1]["type"] == "error"
