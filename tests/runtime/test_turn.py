"""A turn through the real runner: claimed, streamed, stored, announced, ended."""

from typing import Any

from tests.runtime.driving import Runners, ended, events, start
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer


async def test_a_question_is_answered_and_everything_people_saw_is_stored(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Hello Alice, nice to see you."))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Hi"))

    assert (run.status, run.answer) == ("completed", "Hello Alice, nice to see you.")
    said = await events(run.id)
    assert [event["seq"] for event in said] == list(range(1, len(said) + 1))
    assert "".join(event["content"] for event in said if event["type"] == "token") == run.answer
    assert said[-1]["type"] == "complete"
    assert said[-1]["answer"] == run.answer
