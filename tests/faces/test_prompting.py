"""How a request looks at a terminal, where somebody is about to say yes to it."""

from typing import Any

import pytest

from conversations.prompting import shown
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
