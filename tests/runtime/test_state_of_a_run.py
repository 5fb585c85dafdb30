"""What is stored of a run: everything that the documents' states name can be read back from it, and nothing secret."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.log import shapes
from agents.log.plan_reading import Told
from agents.models import AgentExecution, Step
from agents.runtime.driven import About
from agents.tools.providers import Providers
from agents.tools.values import SearchPage
from tests.runtime.driving import Runners, ended, events, start
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakeWeb

HANDOFF = json.dumps({"task_description": "Write the poem about rain", "context": "four lines, please"})
ASSIGNMENT = json.dumps({"writing_type": "poem", "tone": "calm", "audience": "a friend", "words": 40, "missing": []})


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

    options = {"attachment_ids": ["3f2b0f63-6a0e-4f0a-9a55-0f4d1b7a6c11"], "model": "scripted/scripted-pro"}
    run = await ended(await start(alice, "Write me something", mode="chat", history=history, options=options))

    assert (run.status, run.answer) == ("completed", "Rain on the roof."), run.error_message
    assert (run.question, run.mode, run.input["history"], run.user_id) == (
        "Write me something",
        "chat",
        history,
        alice.pk,
    )
    assert {name: run.input["options"][name] for name in options} == options
    routing = run.result["routing"]
    assert (routing["agent"], routing["method"], routing["confidence"]) == ("chat", "explicit", 1.0)
    assert routing["reason"] == "The mode 'chat' was chosen."
    said = await events(run.id)
    handoff = next(event for event in said if event["type"] == "handoff")
    assert (handoff["source_agent"], handoff["target_agent"]) == ("chat", "writing")
    assert handoff["task_description"] == "Write the poem about rain"
    assert shown(said) == run.answer, "what chat had said is taken back"
    agents = {row.agent_name: row for row in await _rows(AgentExecution, execution=run.id)}
    assert agents["writing"].parent_id == agents["chat"].id
    assert agents["writing"].output["shared"]["writing_draft"] == "Rain on the roof."
    assert agents["writing"].output["resource_usage"]["api_calls_made"] == 2
    steps = await _rows(Step, agent__execution=run.id)
    counted = [row for row in steps if (row.kind, row.name, row.response) == ("note", "handoff", "")]
    assert len(counted) == len([event for event in said if event["type"] == "handoff"]) == 1, "the handoff count"
    assert {(row.usage["provider"], row.usage["model"]) for row in steps if row.usage} == {("scripted", "scripted-pro")}
    stored = json.dumps([[row.request, row.response] for row in steps])
    assert '"k"' not in stored, "the provider's key"


@pytest.mark.spec("S50", "S52", "S53")
async def test_a_run_keeps_why_it_was_routed_so_and_each_round_of_its_agent_with_all_that_the_model_was_told(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        Script(tool_calls=[ScriptedCall(name="list_skills")]),
        Script(tool_calls=[ScriptedCall(name="list_skills", arguments=json.dumps({}))]),
        Script(text="Nothing that helps. But here is one."),
    )
    await make_runner(scripted_server.url)
    history = [{"role": "user", "content": "I like birds"}, {"role": "assistant", "content": "So do I"}]

    run = await ended(await start(alice, "Tell me a joke about penguins", history=history))

    assert run.status == "completed", run.error_message
    routing = run.result["routing"]
    assert (routing["agent"], routing["method"], routing["is_low_confidence"]) == ("chat", "heuristic", False)
    assert 0.7 <= routing["confidence"] < 1
    assert routing["reason"]
    (chat,) = await _rows(AgentExecution, execution=run.id, agent_name="chat")
    steps = await _rows(Step, agent=chat)
    rounds = sorted((row for row in steps if row.kind == "model"), key=lambda row: row.path)
    assert (len(rounds), len([row for row in steps if row.name == "list_skills"])) == (3, 2), "the rounds of tools"
    system, *said = rounds[0].request["messages"]
    assert system["role"] == "system"
    assert "You are HyperAgent's chat agent" in system["content"]
    assert [(one["role"], one["content"]) for one in said if one["role"] != "system"] == [
        *((turn["role"], turn["content"]) for turn in history),
        ("user", "Tell me a joke about penguins"),
    ]
    last = [one["role"] for one in rounds[-1].request["messages"] if one["role"] != "system"]
    assert last[-5:] == ["user", "assistant", "tool", "assistant", "tool"]


class Overheard(FakeWeb):
    """A search that remembers for whom it searched."""

    def __init__(self) -> None:
        super().__init__()
        self.abouts: list[About] = []

    async def search(self, about: About, query: str, **how: Any) -> SearchPage:
        self.abouts.append(about)
        return await super().search(about, query, **how)


@pytest.mark.spec("S69")
async def test_whose_run_it_is_reaches_every_agent_every_subagent_and_every_tool(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    part = {"question": "How many bees live in a hive?", "agent": "web"}
    search = ScriptedCall(name="web_search", arguments=json.dumps({"query": "bees"}))
    scripted_server.script(
        Script(match=part["question"], text=json.dumps({"query": "bees in a hive"})),
        Script(match=part["question"], text="Fifty thousand [1].", times=0),
        Script(match="## Focus", tool_calls=[search]),
        Script(match="## Focus", text="Bees are found everywhere.", times=0),
        Script(match="Tell of bees", text=json.dumps({"depth": "standard", "focus": "bees", "subquestions": [part]})),
    )
    web = Overheard()
    await make_runner(scripted_server.url, providers=Providers(web=web))

    run = await ended(await start(alice, "Tell of bees", mode="research"))

    assert run.status == "completed", run.error_message
    assert len(web.abouts) == 2, "the agent's search, and its subagent's"
    trace_id = await sync_to_async(lambda: shapes.detailed(run, [], Told())["trace_id"])()
    assert re.fullmatch("[0-9a-f]{32}", trace_id)
    assert {(about.user_id, about.execution_id, about.trace_id) for about in web.abouts} == {
        (alice.pk, run.id, trace_id)
    }
    forks = [row for row in await _rows(Step, agent__execution=run.id) if row.kind == "fork"]
    assert sorted(row.name for row in forks) == ["research", "web"]
    told = [row.request["input"]["input"]["metadata"] for row in forks]
    whose = {"user_id": str(alice.pk), "query_id": str(run.id), "session_id": None}
    assert told == [{**whose, "trace_id": trace_id}] * 2


@pytest.mark.spec("S22")
def test_nothing_of_langchain_or_langgraph_is_asked_for() -> None:
    locked = Path("requirements.txt").read_text() + Path("requirements-dev.txt").read_text()

    assert "django==" in locked
    assert "langchain" not in locked
    assert "langgraph" not in locked


@sync_to_async
def _rows(model: Any, **where: Any) -> list[Any]:
    return list(model.objects.filter(**where))
