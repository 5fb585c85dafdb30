"""What agents and roles are told of the conversation before a question: the newest turns whole, and its summary."""

from typing import Any

import pytest

from agents import registry
from agents.craft.briefing import briefing
from agents.craft.earlier_turns import ONE_CHARS, SUMMARY_CHARS, SUMMARY_OF, TURN_CHARS, TURNS, earlier_turns
from agents.craft.exchange import AgentInput
from agents.roles.asking import conversation_of
from conversations.history import BranchMessage, told
from hyperagent.lib.clipping import MIDDLE
from tests.roster.driving import Cases, prompt, says, task_for
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeMailbox, fake_providers

LETTER = "Dear Ms Kern, " + "the heating is broken. " * 250 + "Yours, Ada OKAPI"
SUMMARY = {"role": "user", "content": f"{SUMMARY_OF.format(turns=9)}\nThe budget is 4,000 EUR."}


def turns(*said: str) -> tuple[dict[str, str], ...]:
    return tuple({"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(said))


def chars(told: list[dict[str, str]]) -> list[int]:
    return [len(turn["content"]) for turn in told]


def test_the_newest_answer_is_told_whole_and_what_it_answers_too() -> None:
    history = turns("x" * 900, "x" * 900, "Write a letter to our landlord", LETTER)

    assert earlier_turns(history) == list(history)
    assert LETTER in briefing(task_for("mail", "Send it to kern@example.org", conversation_history=history))


def test_the_newest_have_the_room_and_of_older_ones_their_beginning_and_end_are_told() -> None:
    long = "a" + "x" * 20_000 + "z"

    told = earlier_turns(turns(*[long] * 8))

    assert chars(told) == [TURN_CHARS] * (TURNS - 2) + [2_000, ONE_CHARS]
    assert all(turn["content"][0] == "a" and MIDDLE in turn["content"] and turn["content"][-1] == "z" for turn in told)


@pytest.mark.spec("S159")
def test_the_summary_is_told_however_many_turns_there_are() -> None:
    history = (SUMMARY, *turns(*(f"turn {number}" for number in range(8))))
    task = AgentInput(agent_id="rag-1", agent_name="rag", task="And the hotels?", conversation_history=history)

    assert [turn["content"] for turn in earlier_turns(history)] == [
        SUMMARY["content"], *(f"turn {number}" for number in range(2, 8)),
    ]  # fmt: skip
    for text in (briefing(task), conversation_of(history)):
        assert "The budget is 4,000 EUR." in text
        assert "turn 7" in text
    assert earlier_turns(()) == []
    assert chars(earlier_turns([{**SUMMARY, "content": SUMMARY["content"] + "y" * 9_000}])) == [SUMMARY_CHARS]


@pytest.mark.spec("S159")
def test_what_a_conversation_tells_of_itself_is_known_as_its_summary() -> None:
    messages = [
        BranchMessage(id=number, role=turn["role"], content=turn["content"], created_at=None)  # type: ignore[arg-type]
        for number, turn in enumerate(turns(*["x" * 5_000] * 12))
    ]
    messages[5] = messages[5]._replace(summary="The budget is 4,000 EUR.", turns=3)

    history = [{"role": said["role"], "content": said["content"]} for said in told(messages)]
    assert "The budget is 4,000 EUR." in earlier_turns(history)[0]["content"]


def test_a_role_that_only_chooses_is_told_little_of_each_turn() -> None:
    told = conversation_of(turns("Write a letter", "a" + "x" * 9_000 + "z"))

    assert told.count("x") < TURN_CHARS
    assert "user: Write a letter\nassistant: a" in told
    assert conversation_of(()) == ""


@pytest.fixture(params=sorted(registry.agents()))
def agent(request: Any) -> str:
    return str(request.param)


@pytest.mark.spec("S159")
async def test_each_agent_reads_the_answer_before_it_to_its_end_and_what_was_said_long_ago(
    agent: str, echoing: Cases
) -> None:
    history = (SUMMARY, *turns(*["Hello", "Hi"] * 4), *turns("Write a letter", LETTER))
    task = task_for(agent, registry.specs()[agent].typical_use_cases[0], conversation_history=history)

    await echoing(task, fake_providers()).output()

    first = prompt(echoing.server, 0)
    assert "Ada OKAPI" in first
    assert "The budget is 4,000 EUR." in first


async def test_a_small_model_is_told_no_more_of_the_conversation_than_it_can_read(agent: str, echoing: Cases) -> None:
    history = (SUMMARY, *turns("Write a letter", LETTER))
    task = task_for(agent, "Send it to kern@example.org", capable=False, conversation_history=history)

    await echoing(task, fake_providers()).output()

    assert all(len(prompt(echoing.server, number)) <= 2_400 for number in range(len(echoing.server.calls)))


async def test_a_draft_of_the_turn_before_is_sent_to_its_end(scripted_server: ScriptedServer, cases: Cases) -> None:
    history = turns("Write a letter to our landlord", LETTER)
    scripted_server.script(
        says({"action": "send", "to": ["kern@example.org"], "subject": "Heating", "say": "the letter"}),
        says({"greeting": "", "body": LETTER, "sign_off": ""}, match="Ada OKAPI"),
        says("Sent."),
    )
    mailbox = FakeMailbox()
    task = task_for("mail", "Send it to kern@example.org", conversation_history=history)

    output = await cases(task, fake_providers(mailbox=mailbox)).output()

    assert output.task_done
    assert mailbox.sent[0].body.strip().endswith("Ada OKAPI")
