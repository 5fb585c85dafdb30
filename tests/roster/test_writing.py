"""The writing agent: what is wanted, an outline, a draft, and its revision."""

import pytest

from tests.loop.driving import offered
from tests.roster.driving import Cases, calls, found_by, prompt, says, task_for
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import fake_providers

LONG = {"writing_type": "article", "tone": "plain", "words": 800, "points": ["why ants"], "missing": ["a date"]}


@pytest.mark.spec("S39", "S54", "S138")
async def test_a_long_text_is_outlined_written_and_revised_and_only_the_last_is_the_answer(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(says(LONG), says("1. Ants"), says("The draft on ants."), says("The article on ants."))
    task = task_for("writing", "An article on ants", dependency_outputs={"web-1": found_by("web", "Ants are many.")})
    case = cases(task, fake_providers())

    output = await case.output()

    assert output.result == "The article on ants." == shown(case.all_events)
    assert [name for name, status in case.stages() if status == "completed"] == [
        "analyze", "outline", "write", "finalize"
    ]  # fmt: skip
    assert output.data == {
        "writing_type": "article",
        "tone": "plain",
        "outline": "1. Ants",
        "draft": "The draft on ants.",
        "final_content": "The article on ants.",
    }
    assert output.shared == {"writing_outline": "1. Ants", "writing_draft": "The article on ants."}
    tokens = "".join(event["content"] for event in case.events("token"))
    assert tokens == "The draft on ants.The article on ants.", "outline and analysis are not shown"
    assert "Ants are many." in prompt(scripted_server, 2)
    assert "Not known, so not to be claimed: a date" in prompt(scripted_server, 2)
    assert "The draft on ants." in prompt(scripted_server, 3)


async def test_a_short_text_is_written_once(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(says({"writing_type": "mail", "tone": "warm", "words": 40}), says("Thank you all."))
    case = cases(task_for("writing", "Thank the team in three lines"), fake_providers())

    output = await case.output()

    assert output.result == output.data["draft"] == shown(case.all_events) == "Thank you all."
    assert len(scripted_server.calls) == 2


async def test_a_revision_that_fails_leaves_the_draft(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(says(LONG), says("1. Ants"), says("The draft."), Script(text="The fi", cut_after=1))
    case = cases(task_for("writing", "An article on ants"), fake_providers())

    output = await case.output()

    assert output.task_done
    assert output.result == "The draft."
    assert shown(case.all_events) == "The draft."


@pytest.mark.spec("S41")
async def test_what_is_no_text_is_handed_over(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(
        says({"writing_type": "none", "tone": "plain", "handoff_to": "rag"}),
        says({"query": "revenue"}),
        says("42 million [1]."),
    )

    output = await cases(task_for("writing", "What was our revenue?"), fake_providers()).output()

    assert (output.agent_name, output.result) == ("rag", "42 million [1].")


@pytest.mark.spec("S41", "S45")
async def test_a_text_that_cannot_be_outlined_from_what_there_is_is_handed_over(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        says(LONG), calls("handoff_to_rag", task_description="What was our revenue?"), says({"query": "revenue"}),
        says("42 million [1]."),
    )  # fmt: skip

    output = await cases(task_for("writing", "An article on our revenue"), fake_providers()).output()

    assert offered(scripted_server, 1) == ["handoff_to_research", "handoff_to_rag"]
    assert (output.agent_name, output.result) == ("rag", "42 million [1].")


@pytest.mark.parametrize(("outline", "known"), [(says("1. Ants"), "## Outline\n1. Ants"), (Script(times=2), "")])
async def test_a_handoff_that_is_refused_or_an_outline_that_is_empty_keeps_no_text_from_being_written(
    scripted_server: ScriptedServer, cases: Cases, outline: Script, known: str
) -> None:
    refused = [calls("handoff_to_mail", task_description="Send it")] if known else []
    scripted_server.script(says(LONG), *refused, outline, says("The draft."), says("The article."))

    output = await cases(task_for("writing", "An article on ants"), fake_providers()).output()

    assert (output.result, output.data["outline"]) == ("The article.", known.removeprefix("## Outline\n"))
    assert known in prompt(scripted_server, -1)
