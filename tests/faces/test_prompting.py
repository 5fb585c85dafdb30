"""How a request looks at a terminal, where somebody is about to say yes to it."""

import io
import json
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.run_budget import Standing, Used, question_of
from conversations.management.commands.ask import _Text
from conversations.prompting import Prompter, keys_of, shown
from hitl.models import Request
from hitl.shapes import request_shape
from hyperagent.accounts.budgets import Unit
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


@pytest.mark.spec("B5")
@pytest.mark.threat("T20")
def test_signs_that_cannot_be_seen_or_that_act_on_the_terminal_are_named(alice: Any) -> None:
    question = mail_question()
    question["tool_calls"][0]["arguments"] |= {
        "to": ["bob@corp.com\u200b.evil.example"],
        "body": "1\u00a0kg\r\nall\rnone",
    }

    text = shown(request_shape(ask(alice, question=question)))

    assert "bob@corp.com⟨U+200B⟩.evil.example" in text
    assert "1\u00a0kg\n       all⟨U+000D⟩none" in text


@pytest.mark.spec("S132")
def test_what_of_a_file_would_go_and_come_stands_below_the_call(alice: Any) -> None:
    question = mail_question(question="Make this change?")
    kept = "".join(f"line {number}\n" for number in range(9))
    preview = {"kind": "diff", "path": "a.toml", "before": f"old\n{kept}", "after": f"new\x1b\n{kept}"}
    question["tool_calls"][0]["preview"] = preview

    text = shown(request_shape(ask(alice, question=question)))

    told = text[text.index("     changes of a.toml:") :].splitlines()
    assert told[1:] == [f"     {line}" for line in ("- old", "+ new⟨U+001B⟩", "  line 0", "  line 1", "  line 2", "… ")]


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


def budget_question(unit: Unit = Unit.TOKENS) -> dict[str, Any]:
    """As a run asks whose budget is at its end."""
    used = Used(tokens=10_000, cost_usd=Decimal(2))
    return question_of(Standing(max_tokens=10_000, max_cost_usd=Decimal(2)), used, unit, asking="web")


@pytest.mark.spec("B12")
def test_the_choices_at_the_end_of_a_budget_are_named_with_the_new_limit(alice: Any) -> None:
    question = budget_question()
    shape = request_shape(ask(alice, "budget", question=question))

    assert keys_of(shape) == {
        "1": "[1] Raise the limit to 20,000 tokens",
        "2": "[2] Finish with what there is",
        "3": "[3] Stop the run",
        "n": "[n]o answer",
        "l": "[l]ater",
    }


@pytest.mark.slow
@pytest.mark.spec("B12")
@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize(
    ("unit", "typed", "answer", "prompt"),
    [
        (Unit.TOKENS, "1\n\n", {"choice": "raise", "text": "20000"}, "Another limit, in tokens (empty: 20000): "),
        (Unit.TOKENS, "1\n 50000 \n", {"choice": "raise", "text": "50000"}, "in tokens"),
        (Unit.TOKENS, "1\nlots\n1\n50000\n", {"choice": "raise", "text": "50000"}, "'lots' is not a whole number"),
        (Unit.USD, "1\n7.50\n", {"choice": "raise", "text": "7.50"}, "Another limit, in dollars (empty: 4"),
        (Unit.TOKENS, "2\n", {"choice": "finish"}, "[2] Finish"),
    ],
)
async def test_a_limit_is_raised_at_the_prompt_to_the_one_that_is_suggested_or_another(
    alice: Any, transactional_db: None, unit: Unit, typed: str, answer: dict[str, str], prompt: str
) -> None:
    request = await sync_to_async(ask)(alice, "budget", question=budget_question(unit))
    words = io.StringIO()

    await Prompter(alice, always=False, words=words, typed=io.StringIO(typed))._settle(request.request_id)

    decided = await Request.objects.aget(pk=request.pk)
    assert (decided.status, decided.answer) == ("answered", {**answer, "unit": unit.value})
    assert prompt in words.getvalue()


@pytest.mark.spec("B12")
@pytest.mark.usefixtures("in_threads")
async def test_nothing_is_raised_where_the_input_ends_before_the_limit(alice: Any, transactional_db: None) -> None:
    request = await sync_to_async(ask)(alice, "budget", question=budget_question())

    await Prompter(alice, always=False, words=io.StringIO(), typed=io.StringIO("1\n"))._settle(request.pk)

    assert (await Request.objects.aget(pk=request.pk)).status == "pending"


@pytest.mark.spec("S107", "S119")
@pytest.mark.usefixtures("in_threads")
async def test_who_declines_a_question_at_the_prompt_says_why(alice: Any, transactional_db: None) -> None:
    request = await sync_to_async(ask)(alice, "input")

    await Prompter(alice, always=False, words=io.StringIO(), typed=io.StringIO("n\nAsk Bob.\n"))._settle(request.pk)

    decided = await Request.objects.aget(pk=request.pk)
    assert (decided.status, decided.answer) == ("denied", {"instructions": "Ask Bob."})


@pytest.mark.spec("S112")
@pytest.mark.usefixtures("in_threads")
async def test_each_of_ten_options_is_chosen_by_its_number_and_one_that_there_is_not_by_none(
    alice: Any, transactional_db: None
) -> None:
    options = [f"Option {number}" for number in range(1, 11)]
    question = {"question": "Which?", "options": options}
    request = await sync_to_async(ask)(alice, "decision", question=question)

    await Prompter(alice, always=False, words=io.StringIO(), typed=io.StringIO("11\n10\n"))._settle(request.pk)

    assert (await Request.objects.aget(pk=request.pk)).answer == {"choice": "Option 10"}


@pytest.mark.spec("S111", "S112")
@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize(
    ("typed", "answer"),
    [("a\nThe green one.\n", {"text": "The green one."}), ("2\n", {"choice": "Blue"})],
    ids=["own words", "a suggestion"],
)
async def test_a_question_with_suggestions_is_answered_by_one_of_them_or_in_words_of_ones_own(
    alice: Any, transactional_db: None, typed: str, answer: dict[str, str]
) -> None:
    request = await sync_to_async(ask)(alice, "input", question={"question": "Which file?", "options": ["Red", "Blue"]})

    await Prompter(alice, always=False, words=io.StringIO(), typed=io.StringIO(typed))._settle(request.pk)

    decided = await Request.objects.aget(pk=request.pk)
    assert (decided.status, decided.answer) == ("answered", answer)


@pytest.mark.parametrize(
    ("encoding", "printed"),
    [("utf-8", "5\u00a0km → 10\u202f000\u3000あ"), ("latin-1", "5\u00a0km ? 10?000??")],
    ids=["all signs", "few signs"],
)
def test_an_answer_is_printed_whole_but_for_what_acts_on_the_terminal(
    monkeypatch: pytest.MonkeyPatch, encoding: str, printed: str
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", out)
    text = _Text()

    text.print(json.dumps({"type": "token", "content": "5\u00a0km \x1b→ 10\u202f000\u3000あ"}))

    assert out.buffer.getvalue().decode(encoding) == printed
