"""Tools whose inner steps are recorded: asking the person, child agents, handoffs, skills."""

import asyncio
from typing import Any

import pytest

from agents.craft.exchange import AgentInput, AgentOutput, HandoffInfo, Options, OutputMetadata
from agents.engine.errors import StepFailed
from agents.engine.events import Source
from agents.engine.tree import Undone
from agents.pipeline.handoffs import MATRIX
from agents.runtime.context import AgentContext
from agents.runtime.driven import PipelineSettings
from agents.skills.registry import skills
from agents.tools.gateway import Gateway
from agents.tools.registry import tools
from tests.engine.driving import until
from tests.tools.doubles import FakeWeb, fake_providers
from tests.tools.driving import call_once, case_of, replies, seen

TASK = AgentInput(agent_id="chat-1", agent_name="chat", task="Plan my party", options=Options(tier="max"))


def gateway() -> Gateway:
    return Gateway(fake_providers())


def calling(name: str, arguments: dict[str, Any]) -> Any:
    async def program(context: AgentContext) -> Any:
        return seen(await context.tool(name, arguments))

    return program


async def finished(context: AgentContext, value: dict[str, Any]) -> Any:
    """A child agent that does its task."""
    task = AgentInput.model_validate(value["input"])
    source = Source(type="web", source="Acme", url="https://acme.example")
    return AgentOutput(
        agent_id=task.agent_id,
        agent_name=task.agent_name,
        task_description=task.task,
        task_done=True,
        result=f"{task.agent_name} did: {task.task}",
        metadata=OutputMetadata(sources=(source,)),
    ).model_dump(mode="json")


# --- asking the person


@pytest.mark.spec("S111", "S112", "S195")
@pytest.mark.parametrize(
    ("arguments", "kind", "answer", "told"),
    [
        ({"question": "Red or blue?", "options": ["red", "blue"]}, "decision", {"choice": "red"}, "answered: red"),
        ({"question": "Which city?"}, "input", {"text": "Rome"}, "answered: Rome"),
        ({"question": "Which city?"}, "input", {"text": "Rome", "instructions": "Not in May"}, "Rome. Not in May"),
        ({"question": "A or b?", "options": ["a", "b"], "kind": "input"}, "input", {"text": "c"}, "answered: c"),
    ],
)
async def test_the_person_is_asked_and_the_answer_goes_to_the_model(
    arguments: dict[str, Any], kind: str, answer: dict[str, Any], told: str
) -> None:
    case = case_of(calling("ask_user", arguments), gateway(), task=TASK)

    assert (await case.drive()).how == "waiting"
    (asked,) = case.open_requests
    assert (asked.kind, asked.question["question"]) == (kind, arguments["question"])
    case.answer({"status": "answered", **answer})
    reply = (await case.drive()).value

    assert reply["content"].endswith(told)
    assert not reply["is_error"]
    assert len(case.events("tool_call")) == len(case.events("tool_result")) == 1


@pytest.mark.spec("S107")
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"status": "denied"}, "does not want to answer. Go on"),
        ({"status": "denied", "text": "None yet"}, "does not want to answer. They said: None yet. Go on"),
        ({"status": "denied", "instructions": "Ask Bob"}, "does not want to answer. They said: Ask Bob. Go on"),
        ({"status": "timed_out"}, "Nobody answered in time"),
        ({"status": "expired"}, "Nobody answered in time"),
        ({"status": "answered"}, "does not want to answer"),
    ],
)
async def test_no_answer_is_told_as_such_and_the_agent_goes_on(answer: dict[str, Any], told: str) -> None:
    case = case_of(calling("ask_user", {"question": "Which city?"}), gateway(), task=TASK)
    await case.drive()
    case.answer(answer)

    reply = (await case.drive()).value

    assert told in reply["content"]
    assert not reply["is_error"]


async def test_nobody_is_asked_in_a_run_that_nobody_watches() -> None:
    alone = TASK.model_copy(update={"options": Options(interactive=False)})

    reply = await call_once(gateway(), "ask_user", {"question": "Which city?"}, task=alone)

    assert reply["content"].startswith("Error: Nobody can be asked in this run.")


async def test_a_decision_needs_something_to_choose_from() -> None:
    reply = await call_once(gateway(), "ask_user", {"question": "?", "kind": "decision", "options": ["a", "a"]})

    assert "needs at least two different options" in reply["content"]


# --- child agents


@pytest.mark.spec("S99", "S102", "S110")
async def test_forked_agents_run_side_by_side_and_wait_gives_their_results() -> None:
    inside: list[str] = []
    both = asyncio.Event()

    async def child(context: AgentContext, value: Any) -> Any:
        inside.append(value["input"]["task"])
        if len(inside) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 5)
        return await finished(context, value)

    async def program(context: AgentContext) -> Any:
        handles = [
            (await context.tool("fork", {"prompt": prompt, "agent": "web"})).data["handle"] for prompt in ("a", "b")
        ]
        return [seen(await context.tool("wait", {"handle": handle})) for handle in handles]

    case = case_of(program, gateway(), task=TASK, others={"web": child})
    end = await case.drive()

    said = [reply["content"] for reply in end.value]
    assert said == [f'<untrusted source="web agent">\nweb did: {task}\n</untrusted>' for task in ("a", "b")]
    assert end.value[0]["sources"][0]["source"] == "Acme"
    assert [agent.task for agent in case.store.agents(case.execution_id) if agent.parent_id] == ["a", "b"]


@pytest.mark.spec("S69", "S102")
async def test_a_forked_agent_knows_the_person_and_the_options_but_nothing_else_of_its_parents_work() -> None:
    given: list[AgentInput] = []

    async def child(context: AgentContext, value: Any) -> Any:
        given.append(AgentInput.model_validate(value["input"]))
        return await finished(context, value)

    async def program(context: AgentContext) -> Any:
        handle = (await context.tool("fork", {"prompt": "Find a place"})).data["handle"]
        return (await context.tool("wait", {"handle": handle})).content

    parent = TASK.model_copy(update={"speaks": True, "long_term_memory": {"critical": {"user_name": "Alice"}}})
    case = case_of(program, gateway(), task=parent, others={"chat": child})
    await case.drive()

    (task,) = given
    assert (task.agent_name, task.task, task.speaks) == ("chat", "Find a place", False)
    assert (task.options, task.long_term_memory) == (parent.options, parent.long_term_memory)
    assert task.agent_id.startswith("chat-")
    assert task.agent_id != parent.agent_id


@pytest.mark.spec("B1", "S102")
async def test_a_forked_agent_is_the_same_after_a_restart() -> None:
    begun: list[str] = []

    async def child(context: AgentContext, value: Any) -> Any:
        begun.append(value["input"]["task"])
        return await finished(context, value)

    async def program(context: AgentContext) -> Any:
        handle = (await context.tool("fork", {"prompt": "a"})).data["handle"]
        first = (await context.tool("wait", {"handle": handle})).content
        await context.ask("input", {"question": "?", "options": []})
        return [handle, first, (await context.tool("wait", {"handle": handle})).content]

    case = case_of(program, gateway(), task=TASK, others={"chat": child})
    assert (await case.drive()).how == "waiting"
    case.answer({"status": "answered", "text": "y"})
    end = await case.drive()

    (agent,) = [agent for agent in case.store.agents(case.execution_id) if agent.parent_id]
    said = '<untrusted source="chat agent">\nchat did: a\n</untrusted>'
    assert end.value == [str(agent.id), said, said]
    assert begun == ["a"]


@pytest.mark.spec("S102")
@pytest.mark.parametrize("handle", ["nonsense", "00000000-0000-4000-8000-000000000000"])
async def test_an_unknown_handle_is_an_error_that_names_the_open_ones(handle: str) -> None:
    told: list[str] = []

    async def program(context: AgentContext) -> Any:
        before = (await context.tool("wait", {"handle": handle})).content
        one = (await context.tool("fork", {"prompt": "a"})).data["handle"]
        told.append((await context.tool("wait", {"handle": handle})).content)
        await context.tool("fork", {"prompt": "b"})
        await context.ask("input", {"question": "?", "options": []})
        return [before, told[-1], one]

    case = case_of(program, gateway(), task=TASK, others={"chat": finished})
    await case.drive()
    case.answer({"status": "answered", "text": "y"})
    before, after, one = (await case.drive()).value

    assert "You have not started an agent: call fork." in before
    assert after.endswith(f"Your handles are: {one} (chat).")
    assert told[0] == told[1], "what was forked later is not named on a replay"


async def test_an_agent_cannot_wait_for_one_that_another_agent_forked() -> None:
    async def child(context: AgentContext, value: Any) -> Any:
        other = value["input"]["task"]
        reply = await context.tool("wait", {"handle": other})
        return AgentOutput(
            agent_id="x", agent_name="web", task_description="", task_done=True, result=reply.content
        ).model_dump(mode="json")

    async def program(context: AgentContext) -> Any:
        mine = (await context.tool("fork", {"prompt": "a", "agent": "chat"})).data["handle"]
        spy = (await context.tool("fork", {"prompt": mine, "agent": "web"})).data["handle"]
        return (await context.tool("wait", {"handle": spy})).content

    told = await replies(program, gateway(), task=TASK, others={"chat": finished, "web": child})

    assert "there is no agent with the handle" in told


async def test_a_child_that_failed_is_told_in_words_and_the_parent_goes_on() -> None:
    async def child(context: AgentContext, value: Any) -> Any:
        raise StepFailed("model_busy", "The model provider is busy.")

    async def program(context: AgentContext) -> Any:
        handle = (await context.tool("fork", {"prompt": "a"})).data["handle"]
        return seen(await context.tool("wait", {"handle": handle}))

    reply = await replies(program, gateway(), task=TASK, others={"chat": child})

    assert reply["content"] == (
        "Error: the chat agent did not finish: The model provider is busy. Go on without its result."
    )


@pytest.mark.spec("S102", "B2")
@pytest.mark.parametrize("undone", [False, True], ids=["failed", "undone"])
async def test_what_a_child_did_before_it_failed_is_told_so_that_nobody_does_it_again(undone: bool) -> None:
    async def child(context: AgentContext, value: Any) -> Any:
        draft = {"to": ["bob@example.org"], "subject": "Party", "body": "Come!"}
        assert not (await context.tool("draft_email", draft)).is_error
        if not undone:
            raise StepFailed("model_busy", "The model provider is busy.")
        output = {"agent_id": "m", "agent_name": "mail", "task_description": "", "task_done": False, "error": "errors"}
        return Undone(AgentOutput.model_validate(output).model_dump(mode="json"), "errors")

    async def program(context: AgentContext) -> Any:
        handle = (await context.tool("fork", {"prompt": "a", "agent": "mail"})).data["handle"]
        return (await context.tool("wait", {"handle": handle})).content

    told = await replies(program, gateway(), task=TASK, others={"mail": child})

    assert " draft_email was carried out, or begun: do not do it again." in told


async def test_an_agent_that_is_not_there_cannot_be_forked() -> None:
    for name in ("wbe", "turn", "composer"):
        reply = await call_once(gateway(), "fork", {"prompt": "a", "agent": name}, task=TASK)
        assert reply["content"].startswith(f"Error: there is no agent '{name}'.")


@pytest.mark.spec("S107")
async def test_one_who_forks_without_end_is_told_to_stop() -> None:
    async def program(context: AgentContext) -> Any:
        return [(await context.tool("fork", {"prompt": str(number)})).is_error for number in range(6)]

    case = case_of(program, gateway(), task=TASK, others={"chat": finished})
    end = await case.drive()

    assert end.value == [False] * 4 + [True] * 2
    assert "the most that it may have" in case.events("tool_result")[-1]["content"]


async def test_a_child_that_nobody_waited_for_is_ended_with_its_parent() -> None:
    begun = asyncio.Event()
    ended: list[str] = []

    async def child(context: AgentContext, value: Any) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("child")

    async def program(context: AgentContext) -> Any:
        await context.tool("fork", {"prompt": "a"})
        await begun.wait()
        return "done"

    assert await replies(program, gateway(), task=TASK, others={"chat": child}) == "done"
    await until(lambda: ended == ["child"])


# --- handoffs


@pytest.mark.spec("S41", "S45")
def test_there_is_a_handoff_tool_for_each_target_and_it_is_for_those_who_may() -> None:
    for source, targets in MATRIX.items():
        offered = {name for name, found in tools().items() if name.startswith("handoff_to_") and found.is_for(source)}
        assert offered == {f"handoff_to_{target}" for target in targets}


@pytest.mark.spec("S43", "S47")
async def test_a_handoff_gives_who_hands_what_to_whom() -> None:
    arguments = {"task_description": "Count the rows", "context": "It is a CSV", "artifacts": ["a.csv"]}
    case = case_of(calling("handoff_to_data", arguments), gateway(), task=TASK)

    reply = (await case.drive()).value

    assert HandoffInfo.model_validate(reply["data"]) == HandoffInfo(
        source_agent="chat",
        target_agent="data",
        task_description="Count the rows",
        context="It is a CSV",
        artifacts=("a.csv",),
    )
    assert case.events("handoff") == [], "that it happens is told when it is known what goes along"


@pytest.mark.spec("S42")
async def test_an_agent_does_not_get_its_task_back() -> None:
    came_from = HandoffInfo(source_agent="code", target_agent="data", task_description="x")
    task = TASK.model_copy(update={"handoffs": (came_from,)})
    case = case_of(calling("handoff_to_code", {"task_description": "you do it"}), gateway(), agent="data", task=task)

    reply = (await case.drive()).value

    assert reply["is_error"]
    assert "it cannot have it back" in reply["content"]


@pytest.mark.spec("S42")
async def test_a_run_has_no_more_handoffs_than_its_limit() -> None:
    async def program(context: AgentContext) -> Any:
        return [
            (await context.tool(f"handoff_to_{target}", {"task_description": "x"})).is_error
            for target in ("data", "code", "web", "rag")
        ]

    settings = PipelineSettings(max_handoffs=2)

    assert await replies(program, gateway(), task=TASK, settings=settings) == [False, False, True, True]


@pytest.mark.spec("S41", "S185")
async def test_a_handoff_that_the_matrix_does_not_have_is_refused() -> None:
    reply = await call_once(gateway(), "handoff_to_writing", {"task_description": "x"}, agent="mail")

    assert reply["data"] == {"error": "not_allowed"}


@pytest.mark.spec("S42")
async def test_a_limit_that_changes_while_a_run_waits_does_not_change_what_was_decided() -> None:
    async def program(context: AgentContext) -> Any:
        reply = await context.tool("handoff_to_data", {"task_description": "x"})
        await context.ask("input", {"question": "?", "options": []})
        return reply.is_error

    case = case_of(program, gateway(), task=TASK)
    await case.drive()
    case.settings = PipelineSettings(max_handoffs=0)
    case.answer({"status": "answered", "text": "y"})

    assert (await case.drive()).value is False


@pytest.mark.spec("S46")
async def test_the_older_name_of_the_handoff_to_research_works_for_chat() -> None:
    reply = await call_once(gateway(), "delegate_to_research", {"task_description": "x"}, task=TASK)

    assert (reply["is_error"], reply["data"]["target_agent"]) == (False, "research")


# --- skills


@pytest.mark.spec("S193")
async def test_the_skills_are_listed_with_their_parameters() -> None:
    reply = await call_once(gateway(), "list_skills", {}, task=TASK)

    assert [skill["id"] for skill in reply["data"]] == list(skills())
    for name, skill in skills().items():
        assert f"{name}: {skill.description}" in reply["content"]


@pytest.mark.spec("S193")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"skill_id": "no_such_skill", "params": {}}, "There is no skill 'no_such_skill'. There are: "),
        ({"skill_id": "code_generation", "params": {"tusk": 1}}, "task: Field required"),
        ({"skill_id": "code_generation"}, "params: is missing"),
    ],
)
async def test_a_skill_that_cannot_be_used_is_told_in_words(arguments: dict[str, Any], says: str) -> None:
    reply = await call_once(gateway(), "invoke_skill", arguments, task=TASK)

    assert reply["is_error"]
    assert says in reply["content"]


async def test_a_source_that_an_inner_call_has_shown_is_not_shown_twice() -> None:
    async def child(context: AgentContext, value: Any) -> Any:
        await context.tool("web_search", {"query": "x", "max_results": 1})
        return await finished(context, value)

    async def program(context: AgentContext) -> Any:
        handle = (await context.tool("fork", {"prompt": "a", "agent": "web"})).data["handle"]
        return seen(await context.tool("wait", {"handle": handle}))

    door = Gateway(fake_providers(web=FakeWeb()))
    case = case_of(program, door, task=TASK, others={"web": child})
    await case.drive()

    assert len(case.events("source")) == 1
