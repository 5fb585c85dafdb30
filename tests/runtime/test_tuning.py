"""What administrators chose for agents, in real runs: each choice has its effect, what goes before what, and that a run
keeps to its end what it began with.
"""

import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction

from agents import actions
from agents.craft.exchange import AgentInput, Options, meant
from agents.models import Execution
from agents.pipeline.work import commission
from agents.registry import specs
from agents.runtime import leases
from agents.runtime.driven import PipelineSettings
from agents.tuning.models import AgentTuning
from agents.tuning.snapshot import tunings_of
from agents.tuning.values import UNTUNED, Tuning
from agents.usage.models import ModelPrice
from hitl.kinds import RequestKind
from hyperagent.lib.llm.types import Message, Role, Tier
from tests.pipeline.graphs import CHAIN, QUESTION, SATISFIED, plan_text
from tests.runtime.approving import respond, the_request
from tests.runtime.driving import Runners, database_dsn, ended, events, execution, model_env, start, until
from tests.runtime.endings import agents_of, told, wholly_ended
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer

ONCE = {"LLM_ATTEMPTS": "1"}
PROVIDERS = "OPENAI_COMPATIBLE_PROVIDERS"
OF_THE_ENVIRONMENT = {"CHAT_MODEL": "scripted/named", "CHAT_TEMPERATURE": "0.3"}
retry = sync_to_async(actions.retry)


async def tune(agent: str, **chosen: Any) -> None:
    await AgentTuning.objects.aupdate_or_create(agent=agent, defaults=chosen)


def asked(server: ScriptedServer, *fields: str) -> list[Any]:
    """Of each call the model, and what else of its body is wanted."""
    return [(call.model, *(call.body.get(name) for name in fields)) if fields else call.model for call in server.calls]


async def cuts(id_: UUID) -> list[dict[str, Any]]:
    return told(await events(id_), "journal_cut")


# --- each choice


async def test_the_chat_agent_asks_the_chosen_model_at_the_chosen_temperature_whatever_the_environment_says(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(model="chosen", text="Hello."), Script(model="named", text="Hello again."))
    await tune("chat", model="scripted/chosen", temperature=1.5)
    await make_runner(scripted_server.url, env=OF_THE_ENVIRONMENT)

    tuned = await ended(await start(alice, "Hi"))
    await AgentTuning.objects.all().adelete()
    await ended(await start(alice, "Hi"))

    assert tuned.answer == "Hello."
    assert asked(scripted_server, "temperature") == [("chosen", 1.5), ("named", 0.3)]


async def test_every_agent_of_a_plan_obeys_and_nobody_else(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """The planning call of the writing agent keeps its own temperature; planner, verifier, composer are no agents."""
    assignment = json.dumps({"writing_type": "note", "tone": "plain", "words": 50})
    scripted_server.script(
        Script(model="scripted-pro", match=QUESTION, text=plan_text({"alpha": (), "beta": ()}, agent="writing")),
        *(Script(model="chosen", match="## Assignment", text="A note.") for _ in range(2)),
        *(Script(model="chosen", text=assignment) for _ in range(2)),
        Script(model="scripted-pro", text=SATISFIED),
        Script(model="scripted-pro", text="All of it."),
    )
    await tune("writing", model="scripted/chosen", temperature=1.2)
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, QUESTION))

    assert (run.status, run.answer) == ("completed", "All of it.")
    of_agents = [one for one in asked(scripted_server, "temperature") if one[0] == "chosen"]
    assert sorted(of_agents) == [("chosen", 0.1)] * 2 + [("chosen", 1.2)] * 2
    assert 1.2 not in [temperature for model, temperature in asked(scripted_server, "temperature") if model != "chosen"]


async def test_an_agent_that_takes_over_or_is_forked_obeys_its_own(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    prompt = json.dumps({"prompt": "Count to three", "agent": "data"})
    handoff = ScriptedCall(name="handoff_to_code", arguments='{"task_description": "Write it"}')
    scripted_server.script(
        Script(model="of-chat", tool_calls=[ScriptedCall(name="fork", arguments=prompt)]),
        Script(model="of-chat", tool_calls=[handoff]),
        Script(model="of-data", text="```python\nprint(3)\n```", times=0),
        Script(model="of-code", text="```python\nprint(1)\n```", times=0),
    )
    for agent in ("chat", "data", "code"):
        await tune(agent, model=f"scripted/of-{agent}", max_retries=0)
    await make_runner(scripted_server.url, env=ONCE)

    run = await ended(await start(alice, "What is in it?", mode="chat"), timeout_s=30)

    assert {"of-chat", "of-code"} <= set(asked(scripted_server)) <= {"of-chat", "of-code", "of-data"}
    forked = [agent.agent_name for agent in await agents_of(run.id)]
    assert {"chat", "data", "code"} <= set(forked)


async def test_a_chosen_tier_is_asked_and_its_fallback_follows(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(model="strongest", status=500), Script(model="next", text="Hello."))
    await tune("chat", tier="max")
    env = {"MAX_MODEL": "scripted/strongest", "MAX_FALLBACKS": "scripted/next", **OF_THE_ENVIRONMENT, **ONCE}
    await make_runner(scripted_server.url, env=env)

    run = await ended(await start(alice, "Hi"))

    assert (run.answer, asked(scripted_server)) == ("Hello.", ["strongest", "next"])


@pytest.mark.parametrize("fallbacks", ["", "scripted/next"])
async def test_a_chosen_model_that_cannot_be_reached_has_the_tiers_fallbacks_and_is_told_in_words(
    fallbacks: str, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(*([Script(model="next", text="Hello.")] if fallbacks else []))
    nobody = {"name": "nobody", "base_url": "http://127.0.0.1:9/v1", "tier_models": {"pro": "p"}}
    both = [*json.loads(model_env(scripted_server.url)[PROVIDERS]), nobody]
    await tune("chat", model="nobody/there")
    await make_runner(scripted_server.url, env={PROVIDERS: json.dumps(both), "PRO_FALLBACKS": fallbacks, **ONCE})

    run, _ = await wholly_ended(await start(alice, "Hi"))

    if fallbacks:
        assert (run.status, run.answer) == ("completed", "Hello.")
    else:
        assert (run.status, run.error_code) == ("failed", "model_unavailable")
        assert "nobody" in run.error_message


async def test_a_chosen_model_whose_provider_is_gone_is_told_in_words(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await tune("chat", model="openai/gpt-5.4")
    await make_runner(scripted_server.url)

    run, _ = await wholly_ended(await start(alice, "Hi"))

    assert run.status == "failed"
    assert "'openai' is no configured model provider" in run.error_message


@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 1])
async def test_time_limit_and_retries_are_the_chosen_ones(
    retries: int, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """Of its own the agent has two retries of ten minutes."""
    scripted_server.script(Script(text="never", silence_after=0, times=0))
    await tune("chat", timeout_s=1, max_retries=retries)
    await make_runner(scripted_server.url)

    run, _ = await wholly_ended(await start(alice, "Hi"))

    assert (run.status, run.error_code) == ("failed", "timed_out")
    assert "took longer than 1 s" in run.error_message
    assert len(scripted_server.calls) == 1 + retries


async def test_the_limits_hold_for_an_agent_that_another_handed_its_task_to(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    handoff = ScriptedCall(name="handoff_to_code", arguments='{"task_description": "Write it"}')
    scripted_server.script(
        Script(model="scripted-pro", tool_calls=[handoff]), Script(model="of-code", text="never", silence_after=0)
    )
    await tune("code", model="scripted/of-code", timeout_s=1, max_retries=0)
    await make_runner(scripted_server.url)

    run, _ = await wholly_ended(await start(alice, "What is in it?", mode="chat"))

    assert (run.status, run.error_code) == ("failed", "timed_out")
    assert "code took longer than 1 s" in run.error_message


async def test_a_person_is_asked_before_the_agent_begins_where_that_was_chosen(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Hello."))
    await tune("chat", approval="before_agent")
    await make_runner(scripted_server.url)
    id_ = await start(alice, "Hi")

    request = await the_request(id_)
    before = len(scripted_server.calls)
    await respond(alice, request, "approved")
    run = await ended(id_)

    assert (request.kind, request.stage, before) == (RequestKind.APPROVAL, "agent", 0)
    assert request.question["question"] == "May the chat agent begin?"
    assert run.answer == "Hello."


async def test_what_a_plan_is_reckoned_at_is_what_the_chosen_model_costs(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """Of the usual model the plan costs nothing, of the chosen one 3 tasks * 5 rounds * (4,000 + 800) tokens."""
    scripted_server.script(Script(match=QUESTION, text=plan_text(CHAIN)))
    for name, usd in (("scripted/scripted-pro", 0), ("scripted/dear", 100)):
        await ModelPrice.objects.acreate(model=name, input_usd=Decimal(usd), output_usd=Decimal(usd))
    await tune("chat", model="scripted/dear")
    await make_runner(scripted_server.url, pipeline=PipelineSettings(plan_asks_above_usd=1))

    request = await the_request(await start(alice, QUESTION))

    assert request.kind == RequestKind.PLAN
    assert request.question["cost"]["reckoned_usd"] == 7.2


# --- what goes before what


@pytest.mark.parametrize(
    ("options", "model"),
    [
        ({"model": "scripted/asked"}, "asked"),
        ({"provider": "scripted"}, "scripted-pro"),
        ({"tier": "flash"}, "cheap"),
        ({}, "chosen"),
    ],
)
async def test_what_the_question_names_goes_before_what_administrators_chose(
    options: dict[str, str], model: str, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text="Hello."))
    await tune("chat", model="scripted/chosen", tier="max", temperature=1.5)
    env = {"FLASH_MODEL": "scripted/cheap", **OF_THE_ENVIRONMENT}
    await make_runner(scripted_server.url, env=env)

    await ended(await start(alice, "Hi", mode="chat", options=options))

    [call] = [call for call in scripted_server.calls if call.body.get("temperature") == 1.5]
    assert call.model == model


@pytest.mark.parametrize(
    ("options", "tuning", "means"),
    [
        (Options(), UNTUNED, {}),
        (Options(), Tuning(temperature=0.5, timeout_s=3), {}),
        (Options(), Tuning(model="a/b"), {"agent_model": "a/b"}),
        (Options(), Tuning(tier=Tier.MAX), {"agent_model": "", "tier": Tier.MAX}),
        (Options(tier="flash"), Tuning(model="a/b", tier=Tier.MAX), {"agent_model": "", "tier": Tier.FLASH}),
        (Options(tier="flash"), UNTUNED, {"tier": Tier.FLASH}),
        (Options(provider="mine"), Tuning(model="a/b", tier=Tier.MAX), {"provider": "mine", "tier": Tier.MAX}),
        (Options(model="c/d"), Tuning(model="a/b"), {"model": "c/d"}),
    ],
)
def test_which_model_is_meant(options: Options, tuning: Tuning, means: dict[str, Any]) -> None:
    usual = {"tier": Tier.PRO, "provider": None, "model": None, "agent_model": None}

    assert meant(options, tuning, Tier.PRO) == usual | means


def test_what_asks_in_another_name_than_the_agents_is_not_tuned() -> None:
    task = AgentInput(agent_id="1", agent_name="chat", task="q").tuned_by(Tuning(model="a/b", temperature=2))
    messages = (Message(role=Role.USER, content="q"),)

    own = task.request(agent="chat", tier=Tier.PRO, messages=messages, temperature=0.1)
    planning = task.request(agent="chat", tier=Tier.PRO, messages=messages, temperature=0, keeps_temperature=True)
    skill = task.request(agent="web_research", tier=Tier.PRO, messages=messages, temperature=0.1)

    assert [(one.agent_model, one.temperature) for one in (own, planning, skill)] == [
        ("a/b", 2), ("a/b", 0), (None, 0.1),
    ]  # fmt: skip


def test_where_nobody_tunes_requests_and_forks_are_to_the_letter_what_they_were() -> None:
    task = AgentInput(agent_id="1", agent_name="chat", task="q")
    request = task.request(agent="chat", tier=Tier.PRO, messages=(), temperature=0.1)

    assert set(request.model_dump(mode="json")) == {
        "tier", "messages", "tools", "temperature", "max_tokens", "provider", "model", "response_schema", "agent",
    }  # fmt: skip
    assert "tuning" not in commission(task.tuned_by(Tuning(temperature=1)))["input"]
    assert task.tuned_by(UNTUNED) == task
    assert all(spec.tuned_by(UNTUNED) is spec for spec in specs().values())


# --- what a run keeps


async def test_a_change_while_a_run_is_under_way_is_for_the_next_one(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(
        Script(match=QUESTION, text=plan_text(CHAIN)),
        Script(model="first", match="Work on alpha now.", text="Found alpha.", held_after=1),
        *(
            Script(model="first", match=f"Work on {name} now.", text=f"Found {name}.")
            for name in CHAIN
            if name != "alpha"
        ),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="All of it."),
        Script(model="second", text="Hello."),
    )
    await tune("chat", model="scripted/first")
    await make_runner(scripted_server.url)
    id_ = await start(alice, QUESTION)
    await until(lambda: _holds_an_agent(scripted_server))

    await tune("chat", model="scripted/second")
    scripted_server.release()
    run = await ended(id_)
    after = await ended(await start(alice, "Hi"))

    assert (run.answer, after.answer) == ("All of it.", "Hello.")
    assert (run.tuning, after.tuning) == (
        {"version": 1, "agents": {"chat": {"model": "scripted/first"}}},
        {"version": 1, "agents": {"chat": {"model": "scripted/second"}}},
    )


async def _holds_an_agent(server: ScriptedServer) -> bool:
    return any(call.model == "first" and call.tokens_sent for call in server.calls)


async def test_another_runner_goes_on_with_what_the_run_began_with(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """The first is stopped while a person is asked; then all that was chosen is changed."""
    scripted_server.script(Script(model="first", text="Hello."))
    await tune("chat", model="scripted/first", temperature=1.1, approval="before_agent", timeout_s=77)
    await make_runner(scripted_server.url)
    id_ = await start(alice, "Hi")
    request = await the_request(id_)
    await make_runner.stop()

    await tune("chat", model="scripted/second", temperature=0.2, approval="", timeout_s=None)
    await respond(alice, request, "approved")
    await make_runner(scripted_server.url, name="runner-2")
    run = await ended(id_)

    assert (run.answer, await cuts(id_)) == ("Hello.", [])
    assert asked(scripted_server, "temperature") == [("first", 1.1)]


async def test_a_run_whose_runner_was_lost_keeps_it(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    """Claimed by a runner that died before it stored a step."""
    scripted_server.script(Script(model="first", text="Hello."))
    await tune("chat", model="scripted/first")
    id_ = await start(alice, "Hi")
    await _claimed_by("thief")
    await tune("chat", model="scripted/second")
    await sync_to_async(leases.recover_runner)("thief")

    await make_runner(scripted_server.url)

    assert (await ended(id_)).answer == "Hello."


async def _claimed_by(runner: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as line:
        assert await leases.claim(line, runner=runner, limit=9, lease_s=60, suspects=False)


@pytest.mark.django_db(transaction=True)
async def test_what_a_runner_of_before_had_begun_is_begun_without(alice: Any) -> None:
    id_ = await start(alice, "Hi")
    await Execution.objects.filter(pk=id_).aupdate(epoch=1)
    await tune("chat", model="scripted/first")

    await _claimed_by("runner")

    assert (await execution(id_)).tuning is None


async def test_another_try_keeps_what_its_journal_was_made_with_and_a_new_beginning_takes_what_holds_now(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    failing = Script(model="first", match="Work on beta now.", status=400)
    scripted_server.script(
        Script(match=QUESTION, text=plan_text({"alpha": (), "beta": ()})),
        Script(model="first", match="Work on alpha now.", text="Found alpha."),
        failing,
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="Half of it."),
        Script(model="first", match="Work on beta now.", text="Found beta."),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="All of it."),
    )
    await tune("chat", model="scripted/first", timeout_s=77)
    await make_runner(scripted_server.url, env=ONCE)
    first = await ended(await start(alice, QUESTION))
    await tune("chat", model="scripted/second", timeout_s=88)

    second = await ended((await retry(first.id, by=alice)).id)

    assert (first.answer, second.answer) == ("Half of it.", "All of it.")
    assert second.tuning == first.tuning
    assert await cuts(second.id) == []


async def test_another_try_of_what_was_begun_without_stays_without(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(status=400), Script(model="scripted-pro", text="Hello."))
    await make_runner(scripted_server.url, env=ONCE)
    first = await ended(await start(alice, "Hi"))
    await tune("chat", model="scripted/second")

    second = await ended((await retry(first.id, by=alice)).id)

    assert (first.status, first.tuning) == ("failed", None)
    assert (second.answer, tunings_of(second.tuning)) == ("Hello.", {})


async def test_a_try_that_keeps_nothing_takes_what_holds_now(alice: Any, make_runner: Runners) -> None:
    id_ = await start(alice, "Hi")
    await Execution.objects.filter(pk=id_).aupdate(
        status="failed", ended_at="2026-01-01T00:00:00Z", tuning={"version": 1, "agents": {"chat": {"tier": "max"}}}
    )
    await tune("chat", tier="flash")

    again = await sync_to_async(_copied_without_steps)(id_)
    await _claimed_by("runner")

    assert tunings_of((await execution(again)).tuning) == {"chat": Tuning(tier=Tier.FLASH)}


def _copied_without_steps(id_: UUID) -> UUID:
    from agents import copies
    from agents.engine.copying import Kept

    with transaction.atomic():
        return copies.begin(Execution.objects.get(pk=id_), Kept({}, frozenset())).id


# --- how it is stored


@pytest.mark.django_db(transaction=True)
async def test_a_claim_takes_all_that_was_chosen_and_nothing_where_nobody_chose(alice: Any) -> None:
    chosen: dict[str, Any] = {
        "model": "a/b", "tier": "max", "temperature": 0.7, "timeout_s": 5, "max_retries": 0, "approval": "before_agent",
    }  # fmt: skip
    untuned = await start(alice, "Hi")
    await _claimed_by("runner")
    await tune("chat", **chosen)
    await tune("web", temperature=0)
    tuned = await start(alice, "Hi")
    await _claimed_by("runner")

    assert (await execution(untuned)).tuning is None
    assert (await execution(tuned)).tuning == {"version": 1, "agents": {"chat": chosen, "web": {"temperature": 0}}}
    assert tunings_of((await execution(tuned)).tuning) == {
        "chat": Tuning.model_validate(chosen),
        "web": Tuning(temperature=0),
    }


def test_what_the_first_version_stored_is_read() -> None:
    stored = {"version": 1, "agents": {"chat": {"model": "a/b", "temperature": 0.5}, "gone": {"max_retries": 5}}}

    assert tunings_of(stored) == {"chat": Tuning(model="a/b", temperature=0.5), "gone": Tuning(max_retries=5)}
    assert tunings_of({}) == tunings_of(None) == {}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [
        {"tier": "best"},
        {"approval": "never"},
        {"temperature": 2.1},
        {"temperature": -0.1},
        {"timeout_s": 0},
        {"max_retries": 6},
    ],
)
def test_the_database_refuses_what_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        AgentTuning.objects.create(agent="chat", **wrong)


@pytest.mark.django_db
def test_an_agent_is_tuned_once() -> None:
    AgentTuning.objects.create(agent="chat", tier="max")

    with pytest.raises(IntegrityError), transaction.atomic():
        AgentTuning.objects.create(agent="chat", tier="pro")
