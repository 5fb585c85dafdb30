"""The research agent: its plan, helpers at its side, a search, the weighing of what came, and a report with sources."""

from typing import Any

import pytest

from agents import registry
from agents.craft.exchange import Options
from agents.roster.research.config import Proposal, Subquestion, config_of
from agents.roster.research.report import NO_SECOND
from agents.roster.research.scenarios import DEPTHS, SCENARIOS
from agents.roster.research.subquestions import child_of
from agents.tools.tool import ToolError
from agents.tools.values import FetchedPage
from tests.roster.driving import Cases, calls, prompt, says, task_for
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakePages, FakeWeb, fake_providers

SALES, LAW = "How many heat pumps were sold?", "What does our contract say about heat pumps?"
PROPOSAL: dict[str, Any] = {
    "depth": "standard",
    "scenario": "market",
    "focus": "Heat pumps in Austria",
    "subquestions": [{"question": SALES, "agent": "web"}, {"question": LAW, "agent": "rag"}],
}
PAGE = FetchedPage(url="https://news.example.org/acme", title="Acme grows", text="THE WHOLE REPORT ON PUMPS")


@pytest.mark.spec("S34", "S35", "S36", "S53", "S98")
async def test_a_question_is_split_searched_weighed_and_reported_with_one_numbering(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    web, pages = FakeWeb(), FakePages({PAGE.url: PAGE})
    scripted_server.script(
        says(PROPOSAL, match="Research heat pumps"),
        # The two children, by their own words.
        says({"query": "sales"}, match=SALES),
        says("Sold: 12,000 [1].", match=SALES),
        says({"query": "contract"}, match=LAW),
        says("The contract says 42 [1].", match=LAW),
        # The search loop: tools come as messages of their own, so its last user message stays its task.
        Script(match="## Focus", tool_calls=calls("web_search", query="heat pumps").tool_calls),
        Script(match="## Focus", tool_calls=calls("fetch_url", url=PAGE.url).tool_calls),
        says("Notes: pumps are popular (https://news.example.org/acme).", match="## Focus"),
        says("ANALYSIS: good sources [1].", match="## Sources"),
        says("SYNTHESIS: they grow [1].", match="## Analysis"),
        says("# Report\nThey grow [1], as agreed [3].", match="## Synthesis"),
    )
    case = cases(task_for("research", "Research heat pumps in Austria"), fake_providers(web=web, pages=pages))

    output = await case.output()

    assert output.result == "# Report\nThey grow [1], as agreed [3]."
    assert [name for name, status in case.stages() if status == "completed" and not name.startswith("s")] == [
        "init_config", "analyze", "write_report"
    ]  # fmt: skip
    assert {"search_loop", "synthesize"} <= {name for name, _ in case.stages()}
    agents = {agent.name: agent for agent in case.store.agents(case.execution_id)}
    assert {"research", "web", "rag"} <= set(agents)
    assert agents["web"].parent_id == agents["rag"].parent_id == agents["research"].id
    assert (output.data["depth"], output.data["scenario"]) == ("standard", "market")
    assert output.data["subquestions"] == [
        {"question": SALES, "agent": "web", "answered": True},
        {"question": LAW, "agent": "rag", "answered": True},
    ]
    assert (output.data["analysis"], output.data["synthesis"]) == (
        "ANALYSIS: good sources [1].", "SYNTHESIS: they grow [1]."
    )  # fmt: skip
    assert [source.source for source in output.metadata.sources] == ["Acme grows", "other.example.org", "report.pdf"]
    assert output.metadata.citations == (1, 3)
    assert output.shared["research_findings"] == output.result, "those after it read the report"
    told = prompt(scripted_server, -1)
    assert "THE WHOLE REPORT ON PUMPS" in told
    child = '<untrusted source="rag agent">\nThe contract says 42 [3].\n</untrusted>'
    assert child in told, "a child's numbers are those of the report"
    assert SCENARIOS["market"].report in told
    research_tokens = [
        event["content"] for event in case.events("token") if event["agent_id"] == str(agents["research"].id)
    ]
    assert "".join(research_tokens) == output.result == shown(case.all_events)


@pytest.mark.spec("S98", "S182")
@pytest.mark.parametrize("agent", registry.names())
def test_a_helper_works_within_its_own_limits(agent: str) -> None:
    child = child_of(task_for("research", "Research heat pumps"), agent, SALES, name="research-1.1")

    spec = registry.specs()[agent]
    assert (child.retry_config.timeout_s, child.retry_config.max_retries) == (spec.timeout_s, spec.max_retries)


@pytest.mark.spec("S107")
async def test_a_subquestion_that_fails_costs_its_own_answer_only(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    proposal = {**PROPOSAL, "subquestions": [{"question": SALES, "agent": "web"}]}
    scripted_server.script(
        says(proposal, match="Research heat pumps"),
        Script(match=SALES, status=401),
        says("Notes: nothing.", match="## Focus"),
        says("ANALYSIS", match="## Sources"),
        says("SYNTHESIS", match="## Analysis"),
        says("The report.", match="## Synthesis"),
    )

    output = await cases(task_for("research", "Research heat pumps"), fake_providers()).output()

    assert output.task_done
    assert output.data["subquestions"] == [{"question": SALES, "agent": "web", "answered": False}]
    assert "It was not answered." in prompt(scripted_server, -1)
    assert output.confidence_score < 0.3


QUICK = Options(depth="quick")


@pytest.mark.spec("S84")
async def test_a_search_whose_calls_have_all_failed_is_no_research(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    async def away() -> None:
        raise ToolError("The search is away.")

    searches = [calls("web_search", query=f"try {n}").tool_calls for n in range(3)]
    scripted_server.script(
        says({**PROPOSAL, "subquestions": []}),
        *(Script(tool_calls=[*one, *one]) for one in searches),
        says("Nothing could be searched.", match="Change your plan"),
        says("# Report\nNothing was found."),
    )
    task = task_for("research", "Research heat pumps", options=QUICK)

    output = await cases(task, fake_providers(web=FakeWeb(happens=away))).output()

    assert (output.result, output.task_done, output.error) == ("# Report\nNothing was found.", False, "errors")
    assert output.partial_data["sources"] == []


WHICH = {"question": "For Austria or for all of Europe?", "options": ["Austria", "Europe"]}


def asking_first(*more: ScriptedCall) -> Script:
    """The report's own model wants to know something first."""
    return Script(text="I ask first.", tool_calls=[*calls("ask_user", **WHICH).tool_calls, *more])


@pytest.mark.spec("S101", "S104", "S112")
async def test_before_the_report_one_last_question_may_be_asked_and_its_answer_is_used(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    second = ScriptedCall(name="ask_user", arguments='{"question": "And for when?"}')
    scripted_server.script(
        says({**PROPOSAL, "subquestions": []}),
        says("Notes."),
        asking_first(second),
        says("# Report\nOn Austria."),
    )
    case = cases(task_for("research", "Research heat pumps", options=QUICK), fake_providers())

    end = await case.drive()

    assert end.how == "waiting"
    (asked,) = case.open_requests
    assert (asked.kind, asked.question["question"]) == ("decision", WHICH["question"])
    assert next(agent.status for agent in case.store.agents(case.execution_id) if agent.name == "research") == (
        "awaiting_user"
    )
    case.answer({"status": "answered", "choice": "Austria"})
    output = await case.output()
    assert output.result == "# Report\nOn Austria." == shown(case.all_events)
    assert "The person answered: Austria" in prompt(scripted_server, -1)
    assert NO_SECOND in prompt(scripted_server, -1)
    assert [call.body.get("tool_choice") for call in scripted_server.calls[-2:]] == [None, "none"], "it is the last one"
    assert "ask_user" not in names_of(scripted_server, 1), "the search itself asks nobody"


@pytest.mark.spec("S97", "S101", "S107")
@pytest.mark.parametrize("answer", [{"status": "denied"}, {"status": "timed_out"}])
async def test_who_does_not_answer_the_last_question_gets_the_report_all_the_same(
    answer: dict[str, Any], scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        says({**PROPOSAL, "subquestions": []}), says("Notes."), asking_first(), says("On Europe, as I assume.")
    )
    case = cases(task_for("research", "Research heat pumps", options=QUICK), fake_providers())
    await case.drive()

    case.answer(answer)

    assert (await case.output()).result == "On Europe, as I assume."
    assert "Go on without it" in prompt(scripted_server, -1)


@pytest.mark.spec("S101", "B8")
async def test_where_nobody_can_be_asked_the_report_is_written_without_a_last_question(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(says({**PROPOSAL, "subquestions": []}), says("Notes."), says("The report."))
    options = Options(depth="quick", interactive=False)
    case = cases(task_for("research", "Research heat pumps", options=options), fake_providers())

    assert (await case.output()).result == "The report."
    assert names_of(scripted_server, -1) == []
    assert "ask_user" not in prompt(scripted_server, -1)


def names_of(server: ScriptedServer, number: int) -> list[str]:
    """The tools that the model was offered in its request `number`."""
    return [tool["function"]["name"] for tool in server.calls[number].body.get("tools") or ()]


@pytest.mark.spec("S35")
async def test_what_whoever_asked_chose_goes_before_what_the_model_proposes(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(says(PROPOSAL), says("Notes."), says("The short report."))
    options = Options(depth="quick", scenario="academic", interactive=False)

    output = await cases(task_for("research", "Research heat pumps", options=options), fake_providers()).output()

    assert (output.data["depth"], output.data["scenario"]) == ("quick", "academic")
    assert (output.data["subquestions"], output.data["analysis"]) == ([], "")
    assert output.result == "The short report."
    assert SCENARIOS["academic"].search in prompt(scripted_server, 1)


async def test_without_any_search_the_report_says_so_and_no_child_is_started(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        says(PROPOSAL), says("ANALYSIS"), says("SYNTHESIS"), says("Nothing could be searched; in general, pumps are …")
    )
    case = cases(task_for("research", "Research heat pumps"))

    output = await case.output()

    assert output.task_done
    assert output.confidence_score <= 0.3
    assert output.metadata.sources == ()
    assert "## There was no search" in prompt(scripted_server, -1)
    assert "TAVILY_API_KEY" in prompt(scripted_server, -1)
    assert [agent.name for agent in case.store.agents(case.execution_id)] == ["root", "research"]


async def test_a_report_is_written_from_the_findings_where_weighing_them_fails(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        says({**PROPOSAL, "subquestions": []}), says("Notes."), Script(status=401), says("The report [4].")
    )

    output = await cases(task_for("research", "Research heat pumps"), fake_providers()).output()

    assert (output.result, output.data["analysis"]) == ("The report.", ""), "there is no source 4"


@pytest.mark.spec("S41")
async def test_what_needs_no_research_is_handed_over(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(says({**PROPOSAL, "handoff_to": "rag"}), says({"query": "revenue"}), says("42 million [1]."))

    output = await cases(task_for("research", "What does our report say?"), fake_providers()).output()

    assert (output.agent_name, output.result) == ("rag", "42 million [1].")


@pytest.mark.spec("S41", "S45")
async def test_a_search_that_shows_that_another_is_needed_hands_over_with_what_was_found(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    proposal = {**PROPOSAL, "subquestions": [{"question": SALES, "agent": "web"}]}
    scripted_server.script(
        says(proposal, match="Research heat pumps"),
        says({"query": "sales"}, match=SALES),
        says("Sold: 12,000 [1].", match=SALES),
        Script(match="## Focus", tool_calls=calls("web_search", query="heat pumps").tool_calls),
        Script(match="## Focus", tool_calls=calls("handoff_to_data", task_description="Plot the sales").tool_calls),
        says({"question": "The sales?"}, match="Plot the sales"),
        says("```python\nprint(1)\n```", match="## The plan"),
        says("It is plotted.", match="## The plan"),
    )
    case = cases(task_for("research", "Research heat pumps"), fake_providers())

    output = await case.output()

    assert (output.agent_name, output.result) == ("data", "It is plotted.")
    assert {f"handoff_to_{agent}" for agent in ("code", "data", "rag", "web")} <= {
        name for number in range(len(scripted_server.calls)) for name in names_of(scripted_server, number)
    }
    told = next(call for call in scripted_server.calls if call.last_user.startswith("## Task\nPlot the sales"))
    assert "Sold: 12,000" in told.last_user
    assert "Acme grows" in told.last_user


async def test_the_small_model_sends_one_child_to_look_it_up(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.say("By 12 % [1].")
    case = cases(task_for("research", "How did Acme do?", capable=False), fake_providers())

    output = await case.output()

    assert output.result == "By 12 % [1]."
    assert [agent.name for agent in case.store.agents(case.execution_id)] == ["root", "research", "web"]
    assert output.metadata.sources


def test_subquestions_go_to_agents_that_can_work_and_are_no_more_than_the_depth_allows() -> None:
    asked = [Subquestion(question=f"q{number}", agent="rag") for number in range(6)]
    proposal = Proposal(depth="deep", subquestions=[*asked, asked[0]])

    without_documents = config_of(Options(), proposal, lacking={"web": "", "documents": "not there"})
    without_all = config_of(Options(), proposal, lacking={"web": "no", "documents": "no"})
    unknown = config_of(Options(depth="bottomless"), proposal, lacking={})

    assert [one.agent for one in without_documents.subquestions] == ["web"] * 4
    assert without_all.subquestions == ()
    assert unknown.depth_name == "deep"
    assert max(depth.subquestions for depth in DEPTHS.values()) == 4
    assert len({one.question for one in unknown.subquestions}) == 4
