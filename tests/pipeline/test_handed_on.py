"""What agents of a run hand on to each other beside their results, over more than one hop, handoffs and new plans."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agents.pipeline.blackboard import TOTAL_CHARS
from agents.tools.providers import Providers
from tests.doubles.memory_journal import Death
from tests.loop.driving import Cases, LoopCase, calls
from tests.pipeline.graphs import CHAIN, DIAMOND, QUESTION, SATISFIED, plan_text
from tests.pipeline.turn_driving import drive_case, turn_case
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeWeb, fake_providers

ANSWER = "The board reads: all of it was found."
TURN = {"question": QUESTION, "history": [{"role": "user", "content": "Hello"}], "mode": "", "options": {}}
SHORT = json.dumps({"writing_type": "note", "tone": "plain", "words": 20})
SEARCH = json.dumps({"action": "search_inbox", "query": "offer"})
LONG = f"{'A sentence of some length. ' * 110}It ends with the okapi."


def plan_of(graph: Mapping[str, Sequence[str]], **agents: str) -> str:
    """The planner's answer; whoever has no agent named here is chat, and mail only reads."""
    plan = json.loads(plan_text(graph))
    for task in plan["execution_plan"]:
        task["agent"] = agents.get(task["id"], "chat")
        task["tools"] = ["search_inbox"] if task["agent"] == "mail" else []
    return json.dumps(plan)


def of(name: str, text: str, **more: Any) -> Script:
    return Script(match=f"## Task\nWork on {name} now.", text=text, **more)


def written(name: str, text: str) -> list[Script]:
    """What the model says to a writing agent: what is wanted, and the text."""
    return [of(name, SHORT), of(name, text)]


def answered(plan: str, *lines: Script) -> list[Script]:
    return [
        Script(match=QUESTION, text=plan),
        *lines,
        Script(model="scripted-flash", match=QUESTION, text=SATISFIED),
        Script(match="## Results\n### ", text=ANSWER),
    ]


async def driven(cases: Cases, *lines: Script, providers: Providers | None = None) -> LoopCase:
    cases.server.script(*lines)
    case = turn_case(cases, TURN, providers or Providers())
    end, _ = await drive_case(case)
    assert (end.how, end.value and end.value["answer"]) == ("completed", ANSWER), end
    return case


def told(server: ScriptedServer, name: str) -> str:
    """All that the model was told in the last call for this task."""
    asked = [
        "\n".join(str(message["content"]) for message in call.messages)
        for call in server.calls
        if f"## Task\nWork on {name} now." in call.last_user
    ]
    return asked[-1]


def shared_by(case: LoopCase, name: str) -> dict[str, Any]:
    """The working memory as the agent of this task handed it on."""
    agents = case.store.agents(case.execution_id)
    (output,) = [agent.output for agent in agents if agent.step_id and agent.task == f"Work on {name} now."]
    shared: dict[str, Any] = output["shared"]
    return shared


class TestWorkingMemory:
    @pytest.mark.spec("S1", "S51", "S56")
    async def test_it_is_read_by_the_third_of_a_chain_too(self, cases: Cases, scripted_server: ScriptedServer) -> None:
        plan = plan_of(CHAIN, alpha="writing")

        await driven(cases, *answered(plan, *written("alpha", "A draft on ants."), of("beta", "B."), of("gamma", "G.")))

        for name in ("beta", "gamma"):
            assert "### Draft\nA draft on ants." in told(scripted_server, name), name

    @pytest.mark.spec("S56")
    async def test_what_was_written_anew_on_one_way_of_a_diamond_is_what_counts(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        lines = [*written("alpha", "The first draft."), *written("beta", "The second draft."), of("gamma", "G.")]

        await driven(cases, *answered(plan_of(DIAMOND, alpha="writing", beta="writing"), *lines, of("delta", "D.")))

        assert "### Draft\nThe first draft." in told(scripted_server, "gamma")
        assert "### Draft\nThe second draft." in told(scripted_server, "delta")
        assert "### Draft\nThe first draft." not in told(scripted_server, "delta")

    @pytest.mark.spec("S57")
    async def test_what_is_handed_on_is_within_the_budget(self, cases: Cases) -> None:
        long = " ".join(["ants"] * TOTAL_CHARS)
        plan = plan_of(CHAIN, alpha="writing")

        case = await driven(cases, *answered(plan, *written("alpha", long), of("beta", "B."), of("gamma", "G.")))

        for name in CHAIN:
            assert 0 < len(shared_by(case, name)["writing_draft"]) <= TOTAL_CHARS, name

    @pytest.mark.spec("S51", "S56")
    async def test_a_handoff_takes_it_along_to_those_after_it(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        """Beta's agent gives it to the code agent: the draft of alpha is there after it, and so is its program."""
        arguments = {"task_description": "Write a program that counts ants."}
        onward = calls(("handoff_to_code", arguments), match="## Task\nWork on beta now.")
        program = Script(match="## Task\nWrite a program that counts ants.", text="```python\nprint(3)\n```", times=2)

        await driven(
            cases,
            *answered(
                plan_of(CHAIN, alpha="writing"),
                *written("alpha", "A draft on ants."), onward, program, of("gamma", "G."),
            ),
        )  # fmt: skip

        assert "### Draft\nA draft on ants." in told(scripted_server, "gamma")
        assert "### Code\n```python\nprint(3)\n```" in told(scripted_server, "gamma")


@pytest.mark.spec("S29", "S56")
class TestResults:
    """What an agent says is read to its end by those after it, also where it has no field of its own for it."""

    async def test_a_text_of_chat_is_read_by_mail(self, cases: Cases, scripted_server: ScriptedServer) -> None:
        plan = plan_of({"alpha": (), "beta": ("alpha",)}, beta="mail")

        lines = (of("alpha", LONG), of("beta", SEARCH), of("beta", "B."))
        await driven(cases, *answered(plan, *lines), providers=fake_providers())

        assert LONG in told(scripted_server, "beta")

    async def test_what_mail_found_is_read_by_writing(self, cases: Cases, scripted_server: ScriptedServer) -> None:
        plan = plan_of({"alpha": (), "beta": ("alpha",)}, alpha="mail", beta="writing")

        lines = (of("alpha", SEARCH), of("alpha", LONG), *written("beta", "B."))
        await driven(cases, *answered(plan, *lines), providers=fake_providers())

        assert LONG in told(scripted_server, "beta")

    async def test_it_is_read_by_the_third_of_a_chain_behind_what_is_newer(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        await driven(cases, *answered(plan_of(CHAIN), of("alpha", LONG), of("beta", "B." * 900), of("gamma", "G.")))

        notes = told(scripted_server, "gamma")
        assert LONG in notes
        assert notes.index("B." * 900) < notes.index(LONG)

    async def test_of_two_letters_that_end_the_same_way_each_has_its_end(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        graph = {"alpha": (), "beta": (), "gamma": ("alpha", "beta")}
        letters = [f"Dear {who},\n\n{'welcome to all of us. ' * 30}\n\nKind regards" for who in ("Ann", "Bob")]

        lines = (of("alpha", letters[0]), of("beta", letters[1]), of("gamma", "G."))
        await driven(cases, *answered(plan_of(graph), *lines))

        assert all(letter in told(scripted_server, "gamma") for letter in letters)

    async def test_what_stands_in_a_field_is_told_once(self, cases: Cases, scripted_server: ScriptedServer) -> None:
        plan = plan_of({"alpha": (), "beta": ("alpha",)}, alpha="writing")

        await driven(cases, *answered(plan, *written("alpha", LONG), of("beta", "B.")))

        assert told(scripted_server, "beta").count("okapi") == 1


def composed_of(server: ScriptedServer) -> str:
    """What the composer was told."""
    return server.calls[-1].last_user


@pytest.mark.spec("S29", "S31")
class TestNumbersOfSources:
    OURS, THEIRS = "Ours is 42 million", "Theirs is 12 %"

    def found(self) -> list[Script]:
        query = json.dumps({"query": "revenue"})
        return [
            *(of("alpha", text) for text in (query, f"{self.OURS} [1].")),
            *(of("beta", text) for text in (query, f"{self.THEIRS} [1].")),
        ]

    async def test_a_text_from_two_agents_findings_names_the_sources_of_both(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        plan = plan_of({"alpha": (), "beta": (), "gamma": ("alpha", "beta")}, alpha="rag", beta="web", gamma="writing")
        providers = fake_providers(web=FakeWeb(results=FakeWeb.results[:1]))

        lines = (*self.found(), *written("gamma", "First [1], second [2]."))
        await driven(cases, *answered(plan, *lines), providers=providers)

        read = told(scripted_server, "gamma")
        ours, theirs = ({*re.findall(rf"{said} \[(\d)\]", read)} for said in (self.OURS, self.THEIRS))
        assert ours | theirs == {"1", "2"}
        assert len(ours) == len(theirs) == 1, "the same wherever it is told"
        composed = composed_of(scripted_server)
        assert "[1] report.pdf" in composed
        assert "[2] Acme grows" in composed
        assert ("First [1], second [2]." if ours == {"1"} else "First [2], second [1].") in composed

    async def test_they_are_kept_over_an_agent_that_found_nothing_itself(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        lines = (*self.found()[:2], of("beta", "In dollars 46 [1]."), *written("gamma", "It was 46 [1]."))
        plan = plan_of(CHAIN, alpha="rag", gamma="writing")
        await driven(cases, *answered(plan, *lines), providers=fake_providers())

        assert "In dollars 46 [1]." in told(scripted_server, "gamma")
        assert "It was 46 [1]." in composed_of(scripted_server)

    async def test_an_agent_that_numbers_its_own_sources_reads_those_of_others_without_numbers(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        plan = plan_of({"alpha": (), "beta": ("alpha",)}, alpha="rag", beta="web")

        await driven(cases, *answered(plan, *self.found()), providers=fake_providers())

        read = told(scripted_server, "beta")
        assert f"{self.OURS}." in read
        assert f"{self.OURS} [1]" not in read
        assert f"{self.OURS} [1]." in composed_of(scripted_server)


def checklist(server: ScriptedServer, name: str) -> list[str]:
    """The plan as the agent of this task was told it: which boxes are ticked, by the names of the tasks."""
    lines = told(server, name).split("[Active Task Context]")[1].splitlines()
    return [f"{line[3]}{line.split('Work on ')[1].split()[0]}" for line in lines if line.startswith("- [")]


@pytest.mark.spec("S63")
class TestChecklist:
    async def test_what_is_done_is_ticked_however_far_away_it_is(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        await driven(cases, *answered(plan_of(CHAIN), of("alpha", "A."), of("beta", "B."), of("gamma", "G.")))

        assert checklist(scripted_server, "alpha") == [" alpha", " beta", " gamma"]
        assert checklist(scripted_server, "beta") == ["xalpha", " beta", " gamma"]
        assert checklist(scripted_server, "gamma") == ["xalpha", "xbeta", " gamma"]

    async def test_of_a_diamond_the_last_is_told_of_all_before_it(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        await driven(cases, *answered(plan_of(DIAMOND), *(of(name, f"{name}.") for name in DIAMOND)))

        assert checklist(scripted_server, "delta") == ["xalpha", "xbeta", "xgamma", " delta"]

    async def test_what_an_earlier_plan_has_done_is_ticked_for_all_agents_of_the_next(
        self, cases: Cases, scripted_server: ScriptedServer
    ) -> None:
        more = Script(match="What is still wrong or missing", text=plan_of({"delta": (), "epsilon": ("delta",)}))
        unsatisfied = json.dumps({"satisfied": False, "feedback": "The rest is missing.", "redo": []})
        lines = [*(of(name, f"{name}.") for name in (*CHAIN, "delta", "epsilon"))]

        looked = Script(model="scripted-flash", match=QUESTION, text=unsatisfied)
        await driven(cases, more, looked, *answered(plan_of(CHAIN), *lines))

        assert checklist(scripted_server, "delta") == ["xalpha", "xbeta", "xgamma", " delta", " epsilon"]
        assert checklist(scripted_server, "epsilon") == ["xalpha", "xbeta", "xgamma", "xdelta", " epsilon"]


@pytest.mark.slow
@pytest.mark.spec("B1", "S29", "S56", "S63")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("death", Death)
async def test_what_is_handed_on_is_the_same_wherever_the_run_is_killed(
    death: Death, cases: Cases, scripted_server: ScriptedServer
) -> None:
    lines = [line.model_copy(update={"times": 0}) for line in (
        Script(model="scripted-flash", match="## Results", text=SATISFIED),
        of("alpha", SHORT, model="scripted-flash"), of("alpha", "A draft."), of("beta", "B."), of("gamma", "G."),
        Script(match="## Results\n### ", text=ANSWER),
        Script(match=QUESTION, text=plan_of(CHAIN, alpha="writing")),
    )]  # fmt: skip
    scripted_server.script(*lines)
    _, writes = await drive_case(turn_case(cases, TURN, Providers()))
    first = told(scripted_server, "gamma")

    for at in range(1, writes + 1, 3):
        scripted_server.calls.clear()
        case = turn_case(cases, TURN, Providers())
        end, _ = await drive_case(case, death, at)
        if end.how == "killed":
            end, _ = await drive_case(case)

        assert (end.how, end.value["answer"]) == ("completed", ANSWER), at
        assert told(scripted_server, "gamma") == first, at
        assert case.events("journal_cut") == [], at
