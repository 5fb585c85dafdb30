"""The loop of reasoning and acting, against a model that speaks HTTP."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from agents.craft.exchange import HandoffInfo
from agents.engine.copying import Kept
from agents.engine.events import Source
from agents.engine.states import AgentStatus, InterventionKind
from agents.runtime.tool_door import ToolReply
from hyperagent.lib.llm.types import Message, Role
from tests.engine.driving import ROOT
from tests.loop.driving import SECRET, SPEC, TASK, Cases, LoopCase, Refused, calls, looped, offered, sent
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.shown import shown


def found(arguments: dict[str, Any]) -> str:
    return f"found {arguments.get('query', 'nothing')}"


def refuse(arguments: dict[str, Any]) -> str:
    raise Refused("the service is away")


@pytest.mark.spec("S17", "S37", "S75")
async def test_the_model_reasons_acts_and_answers(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(calls(("search", {"query": "figure"})), Script(text="It is 42."))

    result = await looped(cases({"search": found}))

    assert (result.text, result.stopped, result.notice) == ("It is 42.", None, "")
    assert [called.reply.content for called in result.calls] == ["found figure"]
    assert [message["role"] for message in sent(scripted_server, 1)] == ["system", "user", "assistant", "tool"]
    assert sent(scripted_server, 1)[-1]["content"] == "found figure"
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert result.model_used == "scripted-pro"


async def test_without_a_message_the_model_gets_the_task_and_with_a_conversation_exactly_that(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text="one"), Script(text="two"))
    before = (Message(role=Role.USER, content="Hi"), Message(role=Role.ASSISTANT, content="Hello"))

    await looped(cases({}, tools=()))
    await looped(cases({}, tools=(), messages=before, user="And now?"))

    assert [message["content"] for message in sent(scripted_server, 0)] == ["You help.", "Find the figure"]
    assert [message["content"] for message in sent(scripted_server, 1)] == ["You help.", "Hi", "Hello", "And now?"]


async def test_what_is_said_before_tool_calls_is_taken_back_and_shown_as_reasoning(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        calls(("search", {"query": "figure"}), text="I will look it up first."), Script(text="It is 42.")
    )
    case = cases({"search": found})

    result = await looped(case)

    assert shown(case.all_events) == result.text == "It is 42."
    assert [event["description"] for event in case.events("stage")] == ["I will look it up first."]


async def test_of_an_agent_that_does_not_speak_nothing_is_shown_as_answer(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(calls(("search", {}), text="Looking."), Script(text="It is 42."))
    case = cases({"search": found}, task=TASK.model_copy(update={"speaks": False}))

    await looped(case)

    assert case.events("token") == case.events("token_reset") == []
    assert [event["description"] for event in case.events("stage")] == ["Looking."]


async def test_six_calls_of_one_reply_run_at_the_same_time_and_their_results_keep_the_order(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    everybody = asyncio.Barrier(6)

    async def meet(arguments: dict[str, Any]) -> str:
        await asyncio.wait_for(everybody.wait(), 10)
        return f"met {arguments['number']}"

    scripted_server.script(calls(*(("search", {"number": n}) for n in range(6))), Script(text="All met."))

    result = await looped(cases({"search": meet}))

    results = [message["content"] for message in sent(scripted_server, 1) if message["role"] == "tool"]
    assert results == [called.reply.content for called in result.calls] == [f"met {n}" for n in range(6)]


@pytest.mark.spec("S17")
async def test_a_tool_that_asks_a_person_waits_and_the_loop_goes_on_with_the_answer(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(calls(("search", {"query": "figure"}), ("ask_user", {})), Script(text="For 2025: 42."))
    case = cases({"search": found}, tools=("search", "ask_user"))

    waiting = await case.drive()
    case.answer({"status": "answered", "text": "2025"})
    result = await looped(case)

    assert waiting.how == "waiting"
    assert [message["content"] for message in sent(scripted_server, 1)[-2:]] == ["found figure", "2025"]
    assert case.door is not None
    assert len(case.door.performed) == 1
    assert result.text == "For 2025: 42."


async def test_of_forty_calls_in_one_reply_sixteen_are_made_and_all_are_answered(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(calls(*(("search", {"query": n}) for n in range(40))), Script(text="Enough."))
    case = cases({"search": found})

    await looped(case)

    results = [message["content"] for message in sent(scripted_server, 1) if message["role"] == "tool"]
    assert case.door is not None
    assert len(case.door.performed) == 16
    assert len(results) == 40
    assert "at most 16 tools" in results[16]


@pytest.mark.spec("S79")
async def test_what_goes_wrong_with_a_tool_is_told_to_the_model(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(calls(("search", {}), ("fly", {}), ("read", '{"broken')), Script(text="Then without."))

    result = await looped(cases({"search": refuse, "read": found}))

    results = [message["content"] for message in sent(scripted_server, 1) if message["role"] == "tool"]
    assert results == [
        "Error: the service is away",
        "Error: there is no tool 'fly' for you.",
        "Error: the arguments are no JSON object.",
    ]
    assert (result.text, result.stopped) == ("Then without.", None)


@pytest.mark.spec("S107")
async def test_a_model_that_never_ends_is_made_to_answer_when_its_steps_are_used(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(*(calls(("search", {"query": n})) for n in range(5)), Script(text="As far as I see, 42."))

    result = await looped(cases({"search": found}))

    assert (result.text, result.stopped) == ("As far as I see, 42.", "iterations")
    assert "All 5 steps" in result.notice
    assert len(result.calls) == 5
    assert "Answer now with what you have" in sent(scripted_server, 5)[-1]["content"]


@pytest.mark.spec("S87", "S88")
async def test_the_last_request_keeps_the_schemas_and_forbids_calls(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(*(calls(("search", {"query": n})) for n in range(2)), Script(text="42."))

    await looped(cases({"search": found}, max_iterations=2))

    first, second, last = (call.body for call in scripted_server.calls)
    assert first["tools"] == second["tools"] == last["tools"] != []
    assert [body.get("tool_choice") for body in (first, second, last)] == [None, None, "none"]


async def test_where_there_are_no_tools_no_calls_are_forbidden(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(calls(("search", {})), Script(text="42."))

    await looped(cases({}, tools=(), max_iterations=1))

    assert all("tools" not in call.body and "tool_choice" not in call.body for call in scripted_server.calls)


async def test_a_model_that_calls_tools_even_in_the_last_round_leaves_what_was_found_as_the_answer(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(*(calls(("search", {"query": n})) for n in range(3)))
    case = cases({"search": found}, max_iterations=2)

    result = await looped(case)

    assert result.stopped == "iterations"
    assert result.text.startswith("I could not finish this. All 2 steps")
    assert "- search: found 0\n- search: found 1" in result.text
    assert case.door is not None
    assert len(case.door.performed) == 2
    assert result.messages[-1].role is Role.TOOL


async def test_where_every_call_failed_the_answer_tells_what_the_last_of_them_said(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(*(calls(("search", {"query": n})) for n in range(3)))

    result = await looped(cases({"search": refuse}, max_iterations=2))

    assert result.text.endswith("What was tried last: search: the service is away")


async def test_a_model_without_tools_that_calls_some_is_told_so_and_ends(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(*(calls(("search", {"query": n})) for n in range(2)), Script(text="I cannot search."))
    case = cases({"search": found}, tools=(), max_iterations=2)

    result = await looped(case)

    assert case.door is not None
    assert case.door.performed == []
    assert all(called.reply.is_error for called in result.calls)
    assert (result.text, result.stopped) == ("I cannot search.", "iterations")


@pytest.mark.spec("S83", "S107")
async def test_the_same_failing_tool_for_ever_is_varied_at_three_and_ended_at_six(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    same = ['{"a": 1, "b": 2}', '{"b": 2, "a": 1}']
    scripted_server.script(*(calls(("search", same[n % 2])) for n in range(6)), Script(text="It does not work."))
    case = cases({"search": refuse}, max_iterations=20)

    result = await looped(case)

    notices = [
        [message["content"] for message in sent(scripted_server, n) if "same tool calls" in str(message["content"])]
        for n in range(6)
    ]
    assert [len(said) for said in notices] == [0, 0, 0, 1, 2, 3]
    assert "3 times in a row" in notices[3][0]
    assert case.door is not None
    assert len(case.door.performed) == 5
    assert (result.text, result.stopped) == ("It does not work.", "repetition")
    assert "6 times in a row" in result.notice


@pytest.mark.spec("S84", "S107")
async def test_nothing_but_errors_asks_for_another_plan_at_five_and_ends_at_eight(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(*(calls(("search", {"query": n})) for n in range(8)), Script(text="The service is away."))
    case = cases({"search": refuse}, max_iterations=20)

    result = await looped(case)

    revised = [
        any("Change your plan" in str(message["content"]) for message in sent(scripted_server, n)) for n in range(9)
    ]
    assert revised == [False] * 5 + [True] * 4
    assert (result.text, result.stopped) == ("The service is away.", "errors")
    assert len(result.calls) == 8


@pytest.mark.spec("S84")
async def test_in_a_loop_of_five_rounds_the_last_request_asks_for_another_plan(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(*(calls(("search", {"query": n})) for n in range(5)), Script(text="The service is away."))

    result = await looped(cases({"search": refuse}, max_iterations=5))

    last = sent(scripted_server, 5)[-1]["content"]
    assert "Your last 5 tool calls have all failed" in last
    assert "Change your plan: reach the goal without tools as far as that goes" in last
    assert (result.stopped, result.came_to_nothing) == ("iterations", True)


@pytest.mark.spec("S83", "S84")
async def test_the_same_failing_call_is_varied_before_another_plan_is_asked_for(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(*(calls(("search", {})) for _ in range(5)), Script(text="It does not work."))

    await looped(cases({"search": refuse}, max_iterations=5))

    told = [
        [words for words in ("same tool calls", "Change your plan") if words in str(sent(scripted_server, n))]
        for n in range(6)
    ]
    assert told == [[], [], [], ["same tool calls"], ["same tool calls"], ["same tool calls", "Change your plan"]]


@pytest.mark.spec("S84", "S107")
async def test_each_failed_call_of_a_round_counts_and_no_loop_ends_by_errors_before_it_was_told(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    nine = calls(*(("search", {"query": n}) for n in range(9)))
    three = calls(*(("read", {"query": n}) for n in range(3)))
    scripted_server.script(nine, three, Script(text="Both are away."))

    result = await looped(cases({"search": refuse, "read": refuse}, max_iterations=5))

    revised = ["Change your plan" in str(sent(scripted_server, n)) for n in range(3)]
    assert revised == [False, True, True]
    assert (result.text, result.stopped, result.came_to_nothing) == ("Both are away.", "errors", True)
    assert "12 tool calls in a row" in result.notice


@pytest.mark.spec("S107")
async def test_a_model_that_answers_nothing_is_asked_once_more_and_then_left(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(calls(("search", {"query": "figure"})), Script(), Script())

    result = await looped(cases({"search": found}))

    assert result.stopped == "empty"
    assert "gave an empty answer" in result.notice
    assert result.notice in result.text
    assert "- search: found figure" in result.text
    assert "Your last answer was empty" in sent(scripted_server, 2)[-1]["content"]


async def test_a_model_that_answers_nothing_once_goes_on(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(Script(), Script(text="Here I am."))

    result = await looped(cases({}))

    assert (result.text, result.stopped) == ("Here I am.", None)


@pytest.mark.spec("S78")
async def test_trouble_with_the_provider_goes_up_and_what_was_done_stays(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(calls(("search", {"query": "figure"})), Script(status=401))
    case = cases({"search": found})

    end = await case.drive()

    assert (end.how, end.value["code"]) == ("failed", "model_refused")
    assert len(case.steps_named("search")) == 1


@pytest.mark.spec("S190")
async def test_what_the_model_thought_goes_back_to_it(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(calls(("search", {}), thinking="Where is it?"), Script(text="It is 42."))

    await looped(cases({"search": found}))

    assert sent(scripted_server, 1)[2]["reasoning_content"] == "Where is it?"


async def test_a_handoff_that_is_accepted_ends_the_loop(scripted_server: ScriptedServer, cases: Cases) -> None:
    given = HandoffInfo(source_agent="helper", target_agent="code", task_description="Compute it")

    def hand_off(arguments: dict[str, Any]) -> ToolReply:
        return ToolReply("Accepted.", data=given.model_dump(mode="json"))

    scripted_server.script(calls(("search", {}), ("handoff_to_code", {}), text="Code shall do it."))
    case = cases({"search": found, "handoff_to_code": hand_off}, tools=("search", "handoff_to_code"))

    result = await looped(case)

    assert (result.handoff, result.stopped) == (given, None)
    assert shown(case.all_events) == ""


async def test_a_handoff_that_is_refused_lets_the_loop_go_on(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(calls(("handoff_to_code", {})), Script(text="Then I do it myself."))

    result = await looped(cases({"handoff_to_code": refuse}, tools=("handoff_to_code",)))

    assert (result.handoff, result.text) == (None, "Then I do it myself.")


async def test_an_agent_is_offered_its_tools_and_the_handoffs_of_the_matrix(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text="one"), Script(text="two"))
    spec = SPEC.model_copy(update={"name": "code"})

    await looped(cases({}, spec=spec))
    await looped(cases({}, spec=spec.model_copy(update={"handoffs": False})))

    assert offered(scripted_server, 0) == ["search", "read", "handoff_to_data"]
    assert offered(scripted_server, 1) == ["search", "read"]


async def test_what_a_person_says_meanwhile_is_heard_in_the_next_round_and_after_an_answer(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    def steered(arguments: dict[str, Any]) -> str:
        case.intervene(InterventionKind.COMMENT, "Only for 2025", lineage=ROOT, run=case.run)
        return "found"

    scripted_server.script(calls(("search", {})), Script(text="For 2025 it is 42."))
    case = cases({"search": steered})

    await looped(case)

    assert sent(scripted_server, 1)[-1]["content"] == "[Message from the user while you work] Only for 2025"


async def test_what_a_person_says_while_the_answer_is_written_is_answered_below_what_they_have_read(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text="It is 42.", first_delay_s=0.2), Script(text="In euros it is 40."))
    case = cases({})

    await said_to_the_answer(case, scripted_server, "In euros, please")

    assert case.looped is not None
    assert shown(case.all_events) == case.looped.text == "It is 42.\n\nIn euros it is 40."
    assert case.events("token_reset") == []
    [told] = case.events("stage")
    assert told["heard"] == {"text": "In euros, please", "at": len("It is 42.")}
    assert [message["content"] for message in sent(scripted_server, 1)][-2:] == [
        "It is 42.",
        "[Message from the user while you work] In euros, please",
    ]


async def test_what_was_read_before_words_were_added_stays_when_tools_are_called_for_them(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        Script(text="It is 42.", first_delay_s=0.2),
        calls(("search", {"query": "rate"}), text="I look up the rate."),
        Script(text="In euros it is 40."),
    )
    case = cases({"search": found})

    await said_to_the_answer(case, scripted_server, "In euros, please")

    assert case.looped is not None
    assert shown(case.all_events) == case.looped.text == "It is 42.\n\nIn euros it is 40."
    assert [reset["keep"] for reset in case.events("token_reset")] == [len("It is 42.\n\n")]


async def test_an_agent_that_nobody_reads_answers_anew_with_what_was_added(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text="It is 42.", first_delay_s=0.2), Script(text="In euros it is 40."))
    case = cases({}, task=TASK.model_copy(update={"speaks": False}))

    await said_to_the_answer(case, scripted_server, "In euros, please")

    assert case.looped is not None
    assert case.looped.text == "In euros it is 40."
    assert case.events("token") == []


async def test_a_run_that_took_its_answer_back_for_what_was_added_goes_on_as_it_began(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text="It is 42.", first_delay_s=0.2), Script(text="In euros it is 40."))
    case = cases({})
    await said_to_the_answer(case, scripted_server, "In euros, please")
    as_if_never_said(case)

    result = await looped(case)

    assert result.text == "In euros it is 40."
    assert case.events("journal_cut") == []


async def said_to_the_answer(case: LoopCase, server: ScriptedServer, text: str) -> None:
    """A run to its end, in which a person says `text` while the first answer is on its way."""
    async with case.driving() as (run, driving):
        await asyncio.to_thread(server.wait_until, lambda server: len(server.calls) == 1)
        case.intervene(InterventionKind.COMMENT, text, lineage=ROOT, run=run)
        await driving


def as_if_never_said(case: LoopCase) -> None:
    """The run is one that stopped at its end, by a version that did not let its first answer stay."""
    [agent] = case.store.past(case.execution_id)
    *before, said, anew = case.store.steps(case.execution_id)
    assert [step.name for step in (said, anew)] == ["said", "agent"]
    kept = {step.id for step in agent.steps if step.path in {one.path for one in before}}
    case.copy(Kept({agent.id: AgentStatus.RUNNING}, frozenset(kept)))
    case.store.apply(case.execution_id, [replace(anew, agent_id=case.agent().id, path=said.path)])


async def test_sources_come_without_doubles_and_what_tools_share_is_put_together(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    def search(arguments: dict[str, Any]) -> ToolReply:
        sources = (
            Source(type="web", source="A", url="https://a.example", relevance_score=0.1 * arguments["n"]),
            Source(type="web", source=f"B{arguments['n']}"),
        )
        return ToolReply("found", {"shared": {"research_findings": f"finding {arguments['n']}"}}, sources=sources)

    scripted_server.script(calls(("search", {"n": 1}), ("search", {"n": 2})), Script(text="Done."))

    result = await looped(cases({"search": search}))

    assert [source.source for source in result.sources] == ["A", "B1", "B2"]
    assert result.sources[0].relevance_score == 0.1
    assert "finding 1" in result.shared["research_findings"]
    assert "finding 2" in result.shared["research_findings"]


async def test_a_small_model_gets_no_tools_no_context_and_little_room(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text="Short."))
    task = TASK.model_copy(update={"capable": False, "active_context": "- [ ] helper: find"})

    await looped(cases({"search": found}, task=task))

    assert offered(scripted_server, 0) == []
    assert [message["content"] for message in sent(scripted_server, 0)] == ["You help.", "Find the figure"]
    assert scripted_server.calls[0].body["max_tokens"] == 400


@pytest.mark.spec("S66")
async def test_no_secret_is_recorded(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(calls(("search", {"query": "figure"})), Script(text="It is 42."))
    case = cases({"search": found})

    await looped(case)

    assert SECRET in scripted_server.calls[0].headers["authorization"]
    history = case.store.history(case.execution_id)
    assert len(history) > 5
    assert SECRET not in json.dumps([repr(record) for record in history])
