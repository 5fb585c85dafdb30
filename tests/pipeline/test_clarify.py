"""Questions that cannot be acted on: asked about, three rounds at most; ordinary ones cost nothing."""

import json
from typing import Any

import pytest

from agents.pipeline.clarify import clarified, doubt_about
from agents.pipeline.route import Route
from agents.runtime.context import AgentContext
from tests.loop.driving import LoopCase
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone

DOUBTFUL = "Send it to him"
CLEAR = json.dumps({"needs_clarification": False})


def unclear(*questions: Any) -> str:
    return json.dumps({"needs_clarification": True, "questions": list(questions), "reason": "It does not say."})


def clarifying(alone: Alone, question: str = DOUBTFUL, **more: Any) -> LoopCase:
    given: dict[str, Any] = {
        "interactive": True,
        "guess": Route("direct", "chat", "It is one short question."),
        **more,
    }

    async def program(context: AgentContext, value: Any) -> Any:
        return await clarified(context, question, **given)

    return alone(program)


@pytest.mark.spec("S96")
@pytest.mark.parametrize(
    "question",
    [
        "Send it to him",
        "Fix the file",
        "Please summarize this",
        "Translate that",
        "Send an email",
        "Forward the report to her",
        "Compare them",
        "Update the document.",
        "Write something",
        "Schick es ihm",
        "Fasse das zusammen",
        "Korrigiere den Fehler",
        "Schreibe eine Mail",
        "Bitte übersetze den Text",
    ],
)
def test_a_command_that_points_nowhere_is_doubtful(question: str) -> None:
    assert doubt_about(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Hello!",
        "What is the capital of France?",
        "Send an email to bob@example.org that I am late",
        "Write a poem about the sea",
        "Translate this: guten Tag",
        'Translate "guten Tag"',
        "Summarize this\nThe sea is deep.",
        "Fix the bug in this function: def f(): pass",
        "Search the web for bikes",
        "Find the Q3 revenue in our annual report",
        "Erkläre den Satz des Pythagoras",
        "Draw a red bicycle",
        "Plot sales.csv",
    ],
)
def test_an_ordinary_question_is_not(question: str) -> None:
    assert doubt_about(question) == ""


@pytest.mark.parametrize("more", [{"history_length": 2}, {"attached": True}])
def test_a_conversation_or_an_attachment_may_say_what_is_meant(more: dict[str, Any]) -> None:
    assert doubt_about("Summarize this", **more) == ""


@pytest.mark.parametrize(
    "more",
    [
        {"question": "What is the capital of France?"},
        {"history_length": 2},
        {"guess": Route("direct", "chat", "", skill="image_generation")},
    ],
)
async def test_nothing_is_asked_where_nothing_is_missing(alone: Alone, more: dict[str, Any]) -> None:
    question = more.pop("question", DOUBTFUL)

    end = await clarifying(alone, question, **more).drive()

    assert end.value == question


async def test_the_model_may_see_that_nothing_is_missing(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(Script(model="scripted-flash", text=CLEAR))

    end = await clarifying(alone).drive()

    assert end.value == DOUBTFUL


@pytest.mark.spec("S96", "S97")
async def test_the_person_is_asked_and_the_answer_completes_the_question(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.script(
        Script(text=unclear({"question": "To whom?", "options": ["Anna", "Bob"]})), Script(text=CLEAR)
    )
    case = clarifying(alone)

    assert (await case.drive()).how == "waiting"
    (request,) = case.open_requests
    assert (request.kind, request.question["question"], request.question["options"]) == (
        "input",
        "To whom?",
        ["Anna", "Bob"],
    )
    case.answer({"status": "answered", "choice": "Anna"})
    end = await case.drive()

    assert end.value.startswith(DOUBTFUL)
    assert "To whom?" in end.value
    assert "Anna" in end.value
    assert "Answer: Anna" in scripted_server.calls[1].last_user


async def test_what_is_said_beside_an_answer_counts(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(Script(text=unclear({"question": "To whom?", "options": ["Anna"]})), Script(text=CLEAR))
    case = clarifying(alone)
    await case.drive()
    case.answer({"status": "answered", "choice": "Anna", "instructions": "But not before Monday"})

    assert "Anna; But not before Monday" in (await case.drive()).value


async def test_several_questions_are_asked_at_once_and_never_more_than_three(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.script(Script(text=unclear("What?", "To whom?", "When?", "Why?")), Script(text=CLEAR))
    case = clarifying(alone)
    await case.drive()
    (request,) = case.open_requests

    assert request.question["question"] == "1. What?\n2. To whom?\n3. When?"
    case.answer({"status": "answered", "text": "The report, to Bob, now"})

    assert "The report, to Bob, now" in (await case.drive()).value


@pytest.mark.spec("S97")
async def test_after_three_rounds_it_goes_on_with_what_there_is(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(*(Script(text=unclear(f"Question {number}?")) for number in range(3)))
    case = clarifying(alone)
    for number in range(3):
        assert (await case.drive()).how == "waiting"
        case.answer({"status": "answered", "text": f"answer {number}"})

    end = await case.drive()

    assert end.how == "completed"
    assert all(f"answer {number}" in end.value for number in range(3))


@pytest.mark.spec("S97", "S104")
@pytest.mark.parametrize(
    "answer",
    [{"status": "denied"}, {"status": "timed_out"}, {"status": "expired"}, {"status": "answered", "text": " "}],
)
async def test_who_declines_or_is_silent_ends_it_gracefully(
    alone: Alone, scripted_server: ScriptedServer, answer: dict[str, Any]
) -> None:
    scripted_server.say(unclear("To whom?"))
    case = clarifying(alone)
    await case.drive()
    case.answer(answer)

    end = await case.drive()

    assert (end.how, end.value) == ("completed", None)


async def test_where_nobody_can_be_asked_it_is_assumed_and_said_so(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(unclear("To whom?"))

    end = await clarifying(alone, interactive=False).drive()

    assert end.value.startswith(DOUBTFUL)
    assert "To whom?" in end.value
    assert "say in the answer what was assumed" in end.value


@pytest.mark.parametrize("line", [Script(status=503), Script(text="Hm.", times=3)])
async def test_trouble_with_the_model_is_no_reason_not_to_try(
    alone: Alone, scripted_server: ScriptedServer, line: Script
) -> None:
    scripted_server.script(line)

    assert (await clarifying(alone).drive()).value == DOUBTFUL
