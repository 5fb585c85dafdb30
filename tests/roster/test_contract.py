"""What holds for every agent of the roster, and for one that is added: nothing here names any of them."""

import re
from pathlib import Path
from typing import Any

import pytest

from agents import registry, roster
from agents.craft.exchange import AgentInput, AgentOutput, Options
from agents.engine.states import InterventionKind
from agents.registry import Agent
from agents.tools.providers import PROVIDER_NAMES, Providers
from agents.tools.registry import tools
from agents.tuning.values import Tuning
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.llm.types import Tier
from tests.doubles.memory_journal import Death
from tests.roster.driving import Cases, RosterCase, found_by, prompt, task_for, without_usage
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import fake_providers

AGENTS = sorted(registry.agents())
FOLDER = Path(next(iter(roster.__path__)))
# The bundled model reads about 90 tokens a second, and its prompts are to stay under 600.
SMALL_PROMPT_CHARS = 2_400
PROVIDER = '[{"name": "scripted", "base_url": "http://127.0.0.1:9/v1", "tier_models": {"pro": "p"}}]'
MEMORY = {"critical": {"user_name": "Alice Ames"}, "preferences": {"tone": "brief"}}


@pytest.fixture(params=AGENTS)
def agent(request: Any) -> Agent:
    return registry.agents()[request.param]


def _task(agent: Agent, **more: Any) -> AgentInput:
    return task_for(agent.spec.name, agent.spec.typical_use_cases[0], long_term_memory=MEMORY, **more)


@pytest.mark.spec("S183", "S186")
def test_an_agent_says_who_it_is_and_what_it_is_for(agent: Agent) -> None:
    spec = agent.spec

    assert len(set(spec.typical_use_cases)) == len(spec.typical_use_cases)
    assert len(set(spec.tools)) == len(spec.tools)
    assert set(spec.needs) <= set(PROVIDER_NAMES)
    assert spec.described()["name"] == spec.name


@pytest.mark.spec("S182", "S185")
def test_an_agent_s_tools_are_there_and_are_for_it(agent: Agent) -> None:
    known = tools()

    assert [name for name in agent.spec.tools if name not in known] == []
    assert [name for name in agent.spec.tools if not known[name].is_for(agent.spec.name)] == []


def test_an_agent_s_prompts_are_all_used(agent: Agent) -> None:
    folder = FOLDER / agent.spec.name
    code = "\n".join(path.read_text() for path in folder.glob("*.py"))

    unused = [path.name for path in folder.glob("*.md") if path.name not in code and f'"{path.stem}"' not in code]
    assert unused == []


def test_an_agent_that_has_a_way_for_the_small_model_does_not_look_at_who_serves(agent: Agent) -> None:
    """Whoever begins it has chosen. One without `run_small` has one way only, and looks itself. It may tell a child."""
    code = "\n".join(path.read_text() for path in (FOLDER / agent.spec.name).glob("*.py"))

    looked_at = re.findall(r"(?<!capable=)\b\w+\.capable\b", code)
    assert agent.run_small is None or looked_at == []


@pytest.mark.spec("S184")
async def test_an_agent_s_temperature_is_the_one_that_is_set_for_it_but_for_calls_that_plan(
    agent: Agent, echoing: Cases
) -> None:
    case = echoing(_task(agent), fake_providers())
    set_by_hand = LLMSettings.from_env({f"{agent.spec.name.upper()}_TEMPERATURE": "1.3"})
    case.models.settings = case.models.settings.model_copy(update={"agents": set_by_hand.agents})

    await case.output()

    sent = [call.body.get("temperature") for call in echoing.server.calls]
    assert 1.3 in sent
    assert set(sent) <= {1.3, 0, 0.1}


@pytest.mark.parametrize("capable", [True, False])
async def test_an_agent_asks_the_model_that_administrators_chose_for_it_at_their_temperature(
    agent: Agent, capable: bool, echoing: Cases
) -> None:
    """Those that it forks have their own choice, which is the same here. Of the short ones, mail asks no model."""
    name = agent.spec.name
    case = echoing(_task(agent, capable=capable), fake_providers())
    case.tunings = dict.fromkeys(AGENTS, Tuning(model="scripted/chosen", temperature=1.4))
    by_hand = LLMSettings.from_env({f"{name.upper()}_TEMPERATURE": "1.3", f"{name.upper()}_MODEL": "scripted/named"})
    case.models.settings = case.models.settings.model_copy(update={"agents": by_hand.agents})

    await case.output()

    sent = [(call.model, call.body.get("temperature")) for call in echoing.server.calls]
    assert ("chosen", 1.4) in sent or (name, capable, sent) == ("mail", False, [])
    assert set(sent) <= {("chosen", 1.4), ("chosen", 0), ("chosen", 0.1)}


async def test_a_tier_that_administrators_chose_goes_before_the_model_that_the_environment_names(
    agent: Agent, echoing: Cases
) -> None:
    case = echoing(_task(agent), fake_providers())
    case.tunings = {agent.spec.name: Tuning(tier=Tier.MAX)}
    env = {f"{agent.spec.name.upper()}_MODEL": "scripted/named", "MAX_MODEL": "scripted/strongest"}
    by_hand = LLMSettings.from_env({"OPENAI_COMPATIBLE_PROVIDERS": PROVIDER, **env})
    case.models.settings = case.models.settings.model_copy(update={"agents": by_hand.agents, "tiers": by_hand.tiers})

    await case.output()

    assert {call.model for call in echoing.server.calls} == {"strongest"}


@pytest.mark.spec("S175", "S176")
@pytest.mark.parametrize("providers", [fake_providers, Providers])
@pytest.mark.parametrize("capable", [True, False])
async def test_an_agent_comes_to_an_output_whatever_is_configured(
    agent: Agent, providers: Any, capable: bool, echoing: Cases
) -> None:
    case = echoing(_task(agent, capable=capable), providers())

    output = await case.output()

    assert (output.agent_id, output.agent_name) == (f"{agent.spec.name}-1", agent.spec.name)
    assert output.result.strip()
    assert 0 <= output.confidence_score <= 1
    assert AgentOutput.model_validate_json(output.model_dump_json()) == output
    if output.task_done:
        assert set(agent.spec.data_fields) <= set(output.data)
    else:
        assert output.error
    _check_stages(case)
    _check_prompts(echoing.server, capable=capable)


def _check_stages(case: RosterCase) -> None:
    """What begins ends, and its end is told after its beginning."""
    open_stages: list[str] = []
    for event in case.events("stage"):
        if event["status"] == "running":
            open_stages.append(event["name"])
        elif event["name"] in open_stages:
            open_stages.remove(event["name"])
    assert open_stages == []


def _check_prompts(server: ScriptedServer, *, capable: bool) -> None:
    for number, call in enumerate(server.calls):
        text = prompt(server, number)
        assert not re.search(r"\{\{\s*\w+\s*\}\}", text), "a placeholder was not filled"
        if not capable:
            assert len(text) <= SMALL_PROMPT_CHARS
            assert not call.body.get("tools")


@pytest.mark.spec("S187")
async def test_an_agent_s_model_is_told_the_task_what_others_found_and_whose_run_it_is(
    agent: Agent, echoing: Cases
) -> None:
    before = {"web-0": found_by("web", "ZEBRA " + "z" * 600)}
    task = _task(agent, entities={"names": ["OKAPI"]}, dependency_outputs=before)
    case = echoing(task, fake_providers())

    await case.output()

    told = prompt(echoing.server, 0)
    assert task.task in told
    assert "ZEBRA" in told
    assert "z" * 600 not in told
    assert "OKAPI" in told
    assert "Alice Ames" in told


async def test_every_model_of_an_agent_is_told_the_day_at_the_end_of_its_system_prompt(
    agent: Agent, echoing: Cases
) -> None:
    """Where providers keep what they read before it."""
    options = Options(interactive=False, today="Thursday, 2026-03-12")
    await echoing(_task(agent, options=options), fake_providers()).output()

    systems = [str(call.messages[0]["content"]) for call in echoing.server.calls]
    assert systems
    assert all(system.endswith("\n\nToday is Thursday, 2026-03-12.") for system in systems)
    assert {system.count("Today is") for system in systems} == {1}


@pytest.mark.spec("S93", "S100")
@pytest.mark.parametrize("capable", [True, False])
async def test_what_a_person_says_to_a_run_reaches_the_models_of_its_agents(
    agent: Agent, capable: bool, echoing: Cases
) -> None:
    case = echoing(_task(agent, capable=capable), fake_providers())
    case.store.intervene(case.execution_id, InterventionKind.STEER, "Answer in French.")

    await case.output()

    told = ["Answer in French." in prompt(echoing.server, number) for number in range(len(echoing.server.calls))]
    assert all(told), told


@pytest.mark.spec("S138")
async def test_what_people_saw_of_an_agent_is_how_its_result_begins(agent: Agent, echoing: Cases) -> None:
    case = echoing(_task(agent), fake_providers())

    output = await case.output()

    assert output.result.startswith(shown(case.all_events))


async def test_an_agent_that_does_not_speak_shows_nothing(agent: Agent, echoing: Cases) -> None:
    case = echoing(_task(agent, speaks=False), fake_providers())

    await case.output()

    assert case.events("token") == []


@pytest.mark.spec("B1")
@pytest.mark.timeout(300)
async def test_an_agent_that_is_killed_at_any_record_goes_on_where_it_was(agent: Agent, echoing: Cases) -> None:
    reference = echoing(_task(agent), fake_providers())
    expected = without_usage(await reference.output())
    asked = len(echoing.server.calls)
    assert reference.journal is not None

    # A write that is lost is the same as one before it that was stored. The last two are the ends of the agents.
    for at in range(1, reference.journal.writes - 1):
        echoing.server.reset()
        case = echoing(_task(agent), fake_providers())
        end = await case.drive(death=Death.WRITE_IS_LOST, at=at)
        recorded, before = case.replies_recorded(), len(echoing.server.calls)
        output = await case.output()

        assert end.how == "killed", at
        assert without_usage(output) == expected, at
        assert len(echoing.server.calls) - before == asked - recorded, at
        assert case.events("journal_cut") == [], at
        assert shown(case.all_events) == shown(reference.all_events), at
