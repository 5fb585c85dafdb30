"""The chat agent: its window, its tools, a mode that begins with a skill, and handing over."""

import pytest

from agents.roster.chat.window import recent_turns
from agents.tools.tool import ToolError
from tests.loop.driving import offered
from tests.roster.driving import Cases, calls, prompt, says, task_for
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakeWeb, fake_providers

HISTORY = (
    {"role": "user", "content": "My name is Alice."},
    {"role": "assistant", "content": "Hello Alice."},
)


@pytest.mark.spec("S37", "S53")
async def test_chat_looks_something_up_and_answers_from_it(scripted_server: ScriptedServer, cases: Cases) -> None:
    web = FakeWeb()
    scripted_server.script(calls("web_search", query="Acme revenue"), says("Acme's revenue rose by 12 %."))
    case = cases(task_for("chat", "How did Acme do?", conversation_history=HISTORY), fake_providers(web=web))

    output = await case.output()

    assert output.result == "Acme's revenue rose by 12 %." == shown(case.all_events)
    assert [asked[0] for asked in web.asked] == ["Acme revenue"]
    assert [source.url for source in output.metadata.sources][:1] == ["https://news.example.org/acme"]
    first = scripted_server.calls[0].messages
    assert [message["role"] for message in first[:4]] == ["system", "user", "assistant", "user"]
    assert first[3]["content"] == "How did Acme do?"


@pytest.mark.spec("S41", "S46")
async def test_chat_is_offered_its_tools_and_the_handoffs_that_the_matrix_allows(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.say("Hello.")

    await cases(task_for("chat", "Hi"), fake_providers()).output()

    names = offered(scripted_server, 0)
    assert {"web_search", "ask_user", "fork", "wait", "invoke_skill", "list_skills", "delegate_to_research"} <= set(
        names
    )
    assert {name for name in names if name.startswith("handoff_to_")} == {
        f"handoff_to_{agent}" for agent in ("research", "code", "writing", "data", "rag", "web", "mail")
    }


async def test_chat_hands_its_task_over_and_the_other_agent_answers(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        calls("handoff_to_writing", task_description="Write one sentence about ants"),
        says({"writing_type": "sentence", "tone": "plain", "words": 20}),
        says("Ants live together."),
    )
    case = cases(task_for("chat", "Let somebody write about ants"), fake_providers())

    output = await case.output()

    assert (output.agent_name, output.result) == ("writing", "Ants live together.")
    assert shown(case.all_events) == output.result


@pytest.mark.spec("S10")
async def test_a_mode_with_a_skill_calls_it_before_any_model_is_asked(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.say("There is no such skill here; I drew nothing.")
    case = cases(task_for("chat", "A red bicycle", skill="no_such_skill"), fake_providers())

    output = await case.output()

    kinds = [event["type"] for event in case.all_events if event["type"] in ("tool_call", "token")]
    assert kinds[0] == "tool_call"
    call = case.events("tool_call")[0]
    assert (call["tool"], call["args"]["skill_id"]) == ("invoke_skill", "no_such_skill")
    assert [message["role"] for message in scripted_server.calls[0].messages] == ["system", "user", "assistant", "tool"]
    assert output.result == "There is no such skill here; I drew nothing."


@pytest.mark.spec("S10")
async def test_a_skill_gets_the_task_as_the_text_that_it_needs(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(says({"code": "print(1)", "language": "python", "explanation": "Prints 1."}), says("Here."))
    case = cases(task_for("chat", "Print one", skill="code_generation"), fake_providers())

    output = await case.output()

    assert output.result == "Here."
    assert "Task: Print one" in prompt(scripted_server, 0)
    assert "print(1)" in prompt(scripted_server, 1)


async def test_chat_s_small_model_gets_a_short_prompt_and_the_newest_turns(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.say("You are Alice.")
    long = ({"role": "user", "content": "x" * 5_000}, *HISTORY)
    case = cases(task_for("chat", "Who am I?", conversation_history=long, capable=False), fake_providers())

    output = await case.output()

    assert output.result == "You are Alice."
    assert "My name is Alice." in prompt(scripted_server, 0)
    assert "xxx" not in prompt(scripted_server, 0)


async def test_a_loop_that_was_stopped_says_so_in_its_output(scripted_server: ScriptedServer, cases: Cases) -> None:
    for number in range(5):
        scripted_server.script(calls("web_search", query=f"try {number}"))
    scripted_server.say("I searched five times and found nothing more.")
    case = cases(task_for("chat", "Look"), fake_providers())

    output = await case.output()

    assert output.task_done
    assert output.data["stopped"] == "iterations"
    assert output.confidence_score < 0.9


def test_the_window_keeps_the_newest_turns_whole() -> None:
    history = [{"role": "user", "content": "a" * 10}, {"role": "assistant", "content": "b" * 10}]

    assert [message.content for message in recent_turns(history, budget_chars=15)] == ["b" * 10]
    assert recent_turns(history, budget_chars=5) == ()
    assert len(recent_turns(history, budget_chars=20)) == 2


async def test_a_small_model_is_told_of_an_answer_that_is_longer_than_it_reads(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    answer = f"Plants make sugar of light. {'And so on. ' * 300}That is all."
    history = ({"role": "user", "content": "How do plants eat?"}, {"role": "assistant", "content": answer})
    scripted_server.say("They eat light.")

    await cases(task_for("chat", "Shorter, please", conversation_history=history, capable=False)).output()

    told = prompt(scripted_server, 0)
    assert ("Plants make sugar of light." in told, "That is all." in told) == (True, True)
    assert len(told) < 4_000


@pytest.mark.spec("S84")
async def test_chat_whose_tools_only_fail_has_not_done_its_task(scripted_server: ScriptedServer, cases: Cases) -> None:
    """So that a planned run plans again."""
    scripted_server.script(*(calls("web_search", query=f"try {n}") for n in range(5)), says("The search is away."))

    async def away() -> None:
        raise ToolError("The search is away.")

    task = task_for("chat", "How did Acme do?")
    output = await cases(task, fake_providers(web=FakeWeb(happens=away))).output()

    assert "Change your plan" in prompt(scripted_server, -1)
    assert (output.result, output.task_done, output.error) == ("The search is away.", False, "errors")
    assert "All 5 steps" in output.partial_data["reason"]
