"""An effect of which nobody knows whether it happened: what a person is asked, and what is said when nobody answers."""

from typing import Any

import pytest

from agents.engine.states import EffectStatus
from agents.runtime.context import AgentContext
from agents.runtime.tool_door import ToolReply
from agents.tools.doubt import told_in_doubt
from agents.tools.gateway import Gateway
from agents.tools.registry import tools
from agents.tools.tool import ToolError
from hyperagent.lib.hashes import arguments_hash
from tests.tools.doubles import APPROVE_ALL, FakeMailbox, fake_providers
from tests.tools.driving import case_of

MAIL = {"to": ["bob@example.org"], "subject": "Q3", "body": "The figures."}


def sending(box: FakeMailbox) -> Any:
    async def program(context: AgentContext) -> Any:
        reply: ToolReply = await context.tool("send_email", MAIL)
        return [reply.content, reply.data, reply.is_error]

    return case_of(program, Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")


async def in_doubt() -> Any:
    async def silent() -> None:
        raise ToolError("The server broke off.", may_have_happened=True)

    case = sending(FakeMailbox(can_tell=False, after_send=silent))
    assert (await case.drive()).how == "waiting"
    return case


@pytest.mark.spec("B2")
async def test_the_question_says_what_may_have_happened_and_shows_the_mail() -> None:
    case = await in_doubt()

    (asked,) = case.open_requests
    question = asked.question
    (call,) = question["tool_calls"]

    assert asked.kind == "decision"
    assert question["question"].startswith(
        'send_email may have been carried out: a mail to bob@example.org with the subject "Q3". '
    )
    assert question["labels"].keys() == set(question["options"]) == {"done", "again", "skip"}
    assert (question["tool_names"], question["in_doubt"]) == (["send_email"], True)
    assert (call["preview"]["kind"], call["preview"]["body"]) == ("mail", "The figures.")
    assert call["arguments_hash"] == arguments_hash("send_email", call["arguments"])


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("answer", "code", "words", "status"),
    [
        ({"status": "timed_out"}, "in_doubt", "it is not known whether it happened", EffectStatus.IN_DOUBT),
        ({"status": "denied"}, "in_doubt", "it is not known whether it happened", EffectStatus.IN_DOUBT),
        ({"status": "answered", "choice": "skip"}, "skipped_by_person", "a person decided", EffectStatus.SKIPPED),
    ],
)
async def test_without_a_word_nobody_is_said_to_have_skipped_it(
    answer: dict[str, Any], code: str, words: str, status: EffectStatus
) -> None:
    case = await in_doubt()
    case.answer(answer)

    content, data, is_error = (await case.drive()).value

    assert (data["error"], is_error) == (code, True)
    assert words in content
    (row,) = case.store.effects(case.execution_id)
    assert row.status is status
    assert [event["already_done"] for event in case.events("tool_result")] == [False]


def test_a_tool_without_a_preview_of_its_own_is_named_with_its_arguments() -> None:
    tool = tools()["write_file"] if "write_file" in tools() else tools()["send_email"]
    given = {"path": "notes.md", "content": "x"} if tool.name == "write_file" else MAIL

    told = told_in_doubt(tool, tool.arguments.model_validate(given))

    assert told["may_have"].startswith(f"{tool.name} may have been carried out")
    assert told["tool_calls"][0]["arguments"]
