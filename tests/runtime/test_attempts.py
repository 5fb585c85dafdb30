"""Which of an agent's calls its output has to tell of."""

import pytest

from agents.runtime.attempts import DENIED, INSTRUCTED, TIMED_OUT, Attempt, blocked, instructed, is_after, reasons


@pytest.mark.parametrize(
    ("position", "other", "after"),
    [
        ((2,), (1,), True),
        ((1,), (2,), False),
        ((1,), (1,), False),
        ((1, 0, 0), (1, 1, 0), False),  # branches beside each other
        ((1, 1, 5), (1, 0, 0), False),
        ((1, 1, 5), (1, 1, 2), True),
        ((2, 0, 0), (1, 1, 9), True),
        ((1, 0, 3, 0, 0), (1, 0, 2), True),
        ((1, 0, 3, 1, 0), (1, 0, 3, 0, 7), False),
    ],
)
def test_a_call_comes_after_another_unless_they_stand_beside_each_other(
    position: tuple[int, ...], other: tuple[int, ...], after: bool
) -> None:
    assert is_after(position, other) is after


@pytest.mark.spec("S122")
def test_a_refused_call_is_forgotten_once_its_tool_was_carried_out_at_a_later_one() -> None:
    refused = Attempt((1, 0, 0), "pin", DENIED, "no")
    beside, later, another = Attempt((1, 1, 0), "pin"), Attempt((3, 0, 0), "pin"), Attempt((3, 0, 0), "look")

    assert blocked([refused, beside, another]) == [refused]
    assert blocked([refused, beside, later]) == []
    assert blocked([later, refused]) == []


def test_what_merely_went_wrong_is_told_by_the_agent_itself() -> None:
    assert blocked([Attempt((1,), "pin", "bad_arguments"), Attempt((2,), "pin", "tool_failed")]) == []


def test_what_is_told_stands_in_the_order_of_the_calls() -> None:
    late = Attempt((4, 0, 0), "pin", TIMED_OUT, "Nobody answered.")
    early = Attempt((1, 0, 0), "look", DENIED, "no")
    said = Attempt((2,), "pin", INSTRUCTED, "be brief", instructions="be brief", intent="enhance")

    assert blocked([late, early]) == [early, late]
    assert reasons([early, late, early]) == "no Nobody answered."
    assert instructed([late, said, early]) == [said]


def test_instructions_on_a_call_within_another_count_once() -> None:
    inner = Attempt((2,), "pin", INSTRUCTED, "x", instructions="be brief", intent="enhance")
    outer = Attempt((2,), "invoke_skill", INSTRUCTED, "x", instructions="be brief", intent="enhance")

    assert len(instructed([inner, outer])) == 1
