"""What a budget's end asks, what an answer to it means, and what is no answer. Pure."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from agents.run_budget import Choice, RunBudget, Used, question_of, standing_of, unit_at_end, used_by, written_plainly
from hitl.answers import Response, answer_to
from hitl.kinds import RequestKind, RequestStatus
from hyperagent.accounts.budgets import Unit
from hyperagent.lib.refusals import Refused

TOKENS = RunBudget(max_tokens=1_000)
BOTH = RunBudget(max_tokens=1_000, max_cost_usd=0.1)


def usage(tokens: int, cost_usd: str | None, model: str = "m") -> dict[str, Any]:
    return {"model": model, "prompt_tokens": tokens, "completion_tokens": 0, "cost_usd": cost_usd}


def raised(text: str, unit: str = "tokens") -> dict[str, Any]:
    return {"status": "answered", "choice": "raise", "text": text, "unit": unit}


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("used", "unit"),
    [
        (Used(999, Decimal("0.0999")), None),
        (Used(1_000, Decimal(0)), Unit.TOKENS),
        (Used(5, Decimal("0.1")), Unit.USD),
        (Used(1_000, Decimal("0.1")), Unit.TOKENS),
    ],
)
def test_a_limit_is_at_its_end_when_it_is_reached(used: Used, unit: Unit | None) -> None:
    assert unit_at_end(standing_of(BOTH, []), used) is unit
    assert unit_at_end(standing_of(RunBudget(), []), used) is None


@pytest.mark.spec("B12")
def test_each_raise_holds_for_its_own_limit_and_the_last_one_counts() -> None:
    standing = standing_of(BOTH, [raised("2000"), raised("0.50", "usd"), raised("5000")])

    assert (standing.max_tokens, standing.max_cost_usd) == (5_000, Decimal("0.50"))
    assert (standing.ends, standing.decided) == (3, None)


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("answer", "decided", "why"),
    [
        ({"status": "answered", "choice": "finish"}, Choice.FINISH, "A person chose to finish"),
        ({"status": "answered", "choice": "stop"}, Choice.STOP, "A person chose to stop"),
        ({"status": "timed_out"}, Choice.FINISH, "Nobody said in time"),
        ({"status": "expired"}, Choice.FINISH, "Nobody said in time"),
        (raised("many"), Choice.FINISH, "A person chose to finish"),
        (raised("NaN"), Choice.FINISH, "A person chose to finish"),
        (raised("-5"), Choice.FINISH, "A person chose to finish"),
        (None, Choice.FINISH, "A person chose to finish"),
    ],
)
def test_whatever_is_not_a_clear_raise_ends_the_work_and_says_why(answer: Any, decided: Choice, why: str) -> None:
    standing = standing_of(TOKENS, [answer])

    assert standing.decided is decided
    assert standing.why.startswith("The budget of this run of 1,000 tokens does not suffice for another call.")
    assert why in standing.why


@pytest.mark.spec("B11", "B12")
def test_a_model_without_a_known_price_is_named_and_not_taken_for_free() -> None:
    used = used_by([usage(600, "0.06"), usage(500, None, "llama"), usage(1, None, "llama")])

    question = question_of(standing_of(BOTH, []), used, Unit.TOKENS, asking="research")

    assert used == Used(1_101, Decimal("0.06"), ("llama",))
    assert "What llama cost is not known, and is not counted." in question["question"]
    assert (question["used_cost_usd"], question["known_cost_usd"]) == (None, 0.06)
    assert question["unpriced_models"] == ["llama"]


@pytest.mark.spec("B12")
def test_the_question_says_what_was_used_and_which_agent_needs_more() -> None:
    question = question_of(
        standing_of(TOKENS, [raised("2000")]), Used(2_345, Decimal("0.25")), Unit.TOKENS, asking="web"
    )

    assert question["question"] == (
        "This run has used 2,345 tokens, and its budget is 2,000 tokens. The web agent needs more to go on. "
        "What shall be done?"
    )
    assert question["options"] == list(question["labels"]) == ["raise", "finish", "stop"]
    assert (question["used"], question["limit"], question["suggested"], question["unit"]) == (
        2_345,
        2_000,
        4_000,
        "tokens",
    )
    assert (question["end"], question["used_cost_usd"], question["asking"]) == (2, 0.25, "web")


@pytest.mark.parametrize(
    ("limit", "spent", "suggested"), [(0.01, "0.010001", 0.02), (0.0001, "0.05", 0.07), (1.0, "3.2", 4.0)]
)
def test_the_suggested_sum_is_above_what_was_spent(limit: float, spent: str, suggested: float) -> None:
    used = Used(1, Decimal(spent))

    question = question_of(standing_of(RunBudget(max_cost_usd=limit), []), used, Unit.USD, asking="web")

    assert question["suggested"] == suggested > question["used"]


def test_sums_are_told_as_people_write_them() -> None:
    assert written_plainly(Decimal(12000), Unit.TOKENS) == "12,000 tokens"
    assert written_plainly(Decimal("0.5"), Unit.USD) == "$0.50"
    assert written_plainly(Decimal(1234), Unit.USD) == "$1,234.00"
    assert written_plainly(Decimal("0.0004"), Unit.USD) == "$0.0004"


@pytest.mark.parametrize("given", [{"max_tokens": 0}, {"max_tokens": -1}, {"max_cost_usd": 0}, {"max_token": 5}])
def test_a_limit_that_is_none_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RunBudget.model_validate(given)


# --- what a person may answer

QUESTION = question_of(standing_of(TOKENS, []), Used(1_200, Decimal("0.02")), Unit.TOKENS, asking="web")
IN_USD = question_of(standing_of(RunBudget(max_cost_usd=0.1), []), Used(9, Decimal("0.12")), Unit.USD, asking="web")
APPROVED, DENIED, ANSWERED = RequestStatus.APPROVED, RequestStatus.DENIED, RequestStatus.ANSWERED


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("question", "response", "answer"),
    [
        (QUESTION, Response(ANSWERED, choice="raise", text=" 5000 "), {"choice": "raise", "text": "5000"}),
        (QUESTION, Response(ANSWERED, choice="raise"), {"choice": "raise", "text": "2000"}),
        (QUESTION, Response(APPROVED), {"choice": "raise", "text": "2000"}),
        (QUESTION, Response(APPROVED, text="1201"), {"choice": "raise", "text": "1201"}),
        (QUESTION, Response(DENIED), {"choice": "finish"}),
        (QUESTION, Response(ANSWERED, choice="finish"), {"choice": "finish"}),
        (QUESTION, Response(ANSWERED, choice="stop"), {"choice": "stop"}),
        (IN_USD, Response(ANSWERED, choice="raise", text="2.50"), {"choice": "raise", "text": "2.50"}),
        (IN_USD, Response(APPROVED), {"choice": "raise", "text": "0.2"}),
    ],
)
def test_an_answer_is_whole_and_is_understood(question: Any, response: Response, answer: dict[str, Any]) -> None:
    given = answer_to(RequestKind.BUDGET, question, response)

    assert given == {**answer, "unit": question["unit"]}
    standing = standing_of(BOTH, [{"status": response.decision.value, **given}])
    assert (standing.decided is None) == (answer["choice"] == "raise")
    if standing.decided is None:
        assert standing.limit(Unit(question["unit"])) == Decimal(answer["text"])


@pytest.mark.spec("B12")
@pytest.mark.parametrize(
    ("question", "response", "field"),
    [
        (QUESTION, Response(ANSWERED), "choice"),
        (QUESTION, Response(ANSWERED, choice="more"), "choice"),
        (QUESTION, Response(APPROVED, choice="stop"), "choice"),
        (QUESTION, Response(DENIED, choice="raise"), "choice"),
        (QUESTION, Response(DENIED, text="5000"), "text"),
        (QUESTION, Response(ANSWERED, choice="finish", text="5000"), "text"),
        *[
            (QUESTION, Response(ANSWERED, choice="raise", text=text), "text")
            for text in ("1200", "0", "-3000", "many", "", "2000.5", "1e6", "٣٠٠٠", "9" * 14, "NaN", "2,000")
        ],
        *[
            (IN_USD, Response(ANSWERED, choice="raise", text=text), "text")
            for text in ("0.12", "0.1", "$1", "1.2345678", "inf", "2000000")
        ],
    ],
)
def test_what_is_no_answer_is_refused_and_named(question: Any, response: Response, field: str) -> None:
    with pytest.raises(Refused) as refused:
        answer_to(RequestKind.BUDGET, question, response)

    assert list(refused.value.fields) == [field]
