"""What is stored of a run: everything that the documents' states name can be read back from it, and nothing secret."""

import json
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.models import AgentExecution, Step
from tests.runtime.driving import Runners, ended, events, start
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.shown import shown

HANDOFF = json.dumps({"task_description": "Write the poem about rain", "context": "four lines, please"})
ASSIGNMENT = json.dumps({"writing_type": "poem", "tone": "calm", "audience": "a friend", "words": 40, "missing": []})


@pytest.mark.slow
@pytest.mark.spec("S6", "S19", "S50", "S51", "S52", "S54", "S65", "S66")
async def test_a_run_with_a_handoff_keeps_who_was_chosen_who_handed_over_and_what_was_shared(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    call = ScriptedCall(name="handoff_to_writing", arguments=HANDOFF)
    scripted_server.script(
        Script(match="Write me something", text="Somebody else does that better.", tool_calls=[call]),
        Script(text=ASSIGNMENT),
        Script(text="Rain on the roof."),
    )
    await make_runner(scripted_server.url)
    history = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"}]

    run = await ended(await start(alice, "Write me something", mode="chat", history=history))

    assert (run.status, run.answer) == ("completed", "Rain on the roof."), run.error_message
    assert (run.question, run.mode, run.input["history"], run.user_id) == (
        "Write me something",
        "chat",
        history,
        alice.pk,
    )
    assert (run.result["routing"]["agent"], run.result["routing"]["method"]) == ("chat", "explicit")
    said = await events(run.id)
    handoff = next(event for event in said if event["type"] == "handoff")
    assert (handoff["source_agent"], handoff["target_agent"]) == ("chat", "writing")
    assert handoff["task_description"] == "Write the poem about rain"
    assert shown(said) == run.answer, "what chat had said is taken back"
    agents = {row.agent_name: row for row in await _rows(AgentExecution, execution=run.id)}
    assert agents["writing"].parent_id == agents["chat"].id
    assert agents["writing"].output["shared"]["writing_draft"] == "Rain on the roof."
    assert agents["writing"].output["resource_usage"]["api_calls_made"] == 2
    stored = json.dumps([[row.request, row.response] for row in await _rows(Step, agent__execution=run.id)])
    assert '"k"' not in stored, "the provider's key"


@pytest.mark.spec("S22")
def test_nothing_of_langchain_or_langgraph_is_asked_for() -> None:
    locked = Path("requirements.txt").read_text() + Path("requirements-dev.txt").read_text()

    assert "django==" in locked
    assert "langchain" not in locked
    assert "langgraph" not in locked


@sync_to_async
def _rows(model: Any, **where: Any) -> list[Any]:
    return list(model.objects.filter(**where))
