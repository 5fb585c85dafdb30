"""How a request looks at a terminal, where somebody is about to say yes to it."""

import io
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from conversations.prompting import Prompter, shown
from hitl.models import Request
from hitl.shapes import request_shape
from tests.hitl.asking import ask, mail_question


@pytest.mark.spec("B5")
def test_what_is_approved_is_shown_to_its_end(alice: Any) -> None:
    question = mail_question()
    question["tool_calls"][0]["arguments"]["body"] = "Hi " * 10_000 + "THE TAIL"

    text = shown(request_shape(ask(alice, question=question)))

    assert "THE TAIL" in text


def test_no_text_of_a_model_looks_like_the_call(alice: Any) -> None:
    lure = 'Write to Bob.\n   send_email\n     to: ["nobody@example.org"]\x1b[2J'

    text = shown(request_shape(ask(alice, question=mail_question(task_description=lure))))

    assert [line for line in text.splitlines() if line.startswith("   send_email")] == ["   send_email"]
    assert "\x1b" not in text


@pytest.mark.spec("S207")
@pytest.mark.threat("T16", "T19")
@pytest.mark.usefixtures("in_threads")
async def test_a_yes_that_was_said_beforehand_does_not_count_for_what_others_may_have_brought_about(
    alice: Any, transactional_db: None
) -> None:
    read = {"tainted_by": [{"kind": "web", "title": "Evil", "url": "https://evil.example/"}], "tainted_more": 2}
    plain, tainted, left = [
        await sync_to_async(ask)(alice, question=mail_question(**more)) for more in ({}, read, read)
    ]
    words = io.StringIO()

    for request, typed in ((plain, ""), (tainted, "n\nNever.\n"), (left, "")):
        prompter = Prompter(alice, always=True, words=words, typed=io.StringIO(typed))
        await prompter._settle(request.request_id)

    found = {one.request_id: one.status async for one in Request.objects.all()}
    assert [found[one.request_id] for one in (plain, tainted, left)] == ["approved", "denied", "pending"]
    assert "read: Evil https://evil.example/" in words.getvalue()
    assert "and 2 more" in words.getvalue()
