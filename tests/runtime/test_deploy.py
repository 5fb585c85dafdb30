"""Old and new code at once, as in a rolling deploy: what waits under the old goes on under the new, and vice versa."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.engine.effects import Effect
from agents.models import Execution, Step
from hitl.actions import decide
from hitl.models import Request, RequestStatus
from tests.runtime.driving import Runners, ended, events, start, until
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

RUNS = 10


class Outbox:
    """The world: what was posted into it, by the key of each effect."""

    def __init__(self) -> None:
        self.posted: list[str] = []

    def post(self, text: str) -> Effect:
        async def perform(key: str) -> str:
            self.posted.append(f"{text} {key}")
            return text

        return Effect("post", {"text": text}, perform)


@pytest.mark.spec("B1")
async def test_f26_runs_that_wait_for_approval_survive_a_rolling_deploy_and_repeat_no_effect(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    world = Outbox()

    async def old(context: Any, turn: dict[str, Any]) -> dict[str, Any]:
        await context.effect(world.post("before"))
        answer = await context.ask("approval", {"question": "Go on?"})
        await context.effect(world.post("after"))
        return {"answer": answer["status"], "sources": []}

    async def new(context: Any, turn: dict[str, Any]) -> dict[str, Any]:
        await context.note("version", lambda: 2)
        await context.effect(world.post("before"))
        answer = await context.ask("approval", {"question": "Go on?"})
        await context.effect(world.post("after"))
        return {"answer": f"new: {answer['status']}", "sources": []}

    await make_runner(echo_server.url, name="old", extra={"deployed": old})
    ids = [await start(alice, f"run {number}", pipeline="deployed") for number in range(RUNS)]
    await until(lambda: _waiting(RUNS))
    await make_runner(echo_server.url, name="new", extra={"deployed": new})

    async def all_over() -> bool:
        await sync_to_async(_approve_all)(alice)
        return not await Execution.objects.filter(ended_at=None).aexists()

    await until(all_over, timeout_s=60)

    runs = [await ended(id_) for id_ in ids]
    assert {run.status for run in runs} == {"completed"}
    assert {run.answer for run in runs} <= {"approved", "new: approved"}
    assert len(world.posted) == len(set(world.posted)) == 2 * RUNS, "an effect happened twice, or never"
    for run in runs:
        said = await events(run.id)
        assert [event["seq"] for event in said] == list(range(1, len(said) + 1))
        cuts = [event["reason"] for event in said if event["type"] == "journal_cut"]
        assert cuts or run.answer == "approved", "who goes on with other code says so"


@pytest.mark.slow
async def test_f26_a_run_that_a_newer_version_began_with_a_setting_more_goes_on_under_an_older_one(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="one two three four", held_after=2, times=0))
    await make_runner(scripted_server.url, name="new")
    id_ = await start(alice, "Count", mode="chat")
    await asyncio.to_thread(
        scripted_server.wait_until, lambda server: bool(server.calls and server.calls[0].tokens_sent)
    )
    await make_runner.stop()
    noted = await Step.objects.aget(agent__execution_id=id_, kind="note", name="models")
    of_pipeline = noted.response["pipeline"]
    guards = of_pipeline["guards"] | {"guards_of_tomorrow": True}
    noted.response["pipeline"] = of_pipeline | {"setting_of_tomorrow": 1, "guards": guards}
    await noted.asave(update_fields=["response"])

    scripted_server.release()
    await make_runner(scripted_server.url, name="old")
    run = await ended(id_)

    assert (run.status, run.answer) == ("completed", "one two three four"), run.error_message


async def test_f26_a_run_that_another_version_began_is_refused_with_a_sentence_and_no_model_is_asked(
    alice: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    id_ = await start(alice, "say 3 tokens")
    await Execution.objects.filter(id=id_).aupdate(input={"version": 99, "history": [], "options": {}})

    await make_runner(echo_server.url, name="old")
    run = await ended(id_)

    assert (run.status, run.error_code) == ("failed", "other_version")
    assert "begun by another version of HyperAgent (its input has the form 99" in run.error_message
    assert (await events(id_))[-1]["message"] == run.error_message
    assert echo_server.calls == []


async def _waiting(count: int) -> bool:
    return await Execution.objects.filter(status="awaiting_user").acount() == count


def _approve_all(user: Any) -> None:
    for request in Request.objects.filter(status="pending"):
        decide(request.request_id, by=user, status=RequestStatus.APPROVED)
