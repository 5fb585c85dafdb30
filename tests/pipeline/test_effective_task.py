"""A task with what a person said of it: put together, taken apart, recognised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pipeline.effective_task import Intent, Parts, effective_task, heading, is_override, parts

words = st.text(st.sampled_from("ab #\nOriginal Task"), min_size=1, max_size=60)


@pytest.mark.spec("S128")
def test_enhanced_the_task_has_both_sections() -> None:
    task = effective_task("Search for AI trends", "also include GPU growth", Intent.ENHANCE)

    assert task == (
        "Complete BOTH the original task AND the additional user instructions below.\n\n"
        "### Original Task\nSearch for AI trends\n\n"
        "### User Enhanced Instructions\nalso include GPU growth"
    )


@pytest.mark.spec("S128")
def test_overridden_the_instructions_come_instead_and_the_task_is_for_reference() -> None:
    task = effective_task("Search for AI trends", "search about cricket instead", Intent.OVERRIDE)

    assert task == (
        "IMPORTANT — The user wants you to follow these override instructions\nINSTEAD of the original task.\n\n"
        "### User Override Instructions\nsearch about cricket instead\n\n"
        "### Original Task (for reference only)\nSearch for AI trends"
    )


@pytest.mark.spec("S128")
@pytest.mark.parametrize("instructions", ["", "  \n"])
@pytest.mark.parametrize("intent", list(Intent))
def test_without_instructions_the_task_is_unchanged(instructions: str, intent: Intent) -> None:
    assert effective_task("Deploy version 2.3.1", instructions, intent) == "Deploy version 2.3.1"


@given(words, words.filter(str.strip), st.sampled_from(list(Intent)))
def test_what_was_put_together_comes_apart_again(task: str, instructions: str, intent: Intent) -> None:
    text = effective_task(task, instructions, intent)

    assert parts(text) == Parts(task, instructions.strip(), intent)


def test_a_task_that_was_changed_twice_comes_apart_layer_by_layer() -> None:
    once = effective_task("Find trends", "find cricket", Intent.OVERRIDE)
    twice = effective_task(once, "and the scores", Intent.ENHANCE)

    assert parts(twice) == Parts(once, "and the scores", Intent.ENHANCE)
    assert parts(parts(twice).task) == Parts("Find trends", "find cricket", Intent.OVERRIDE)
    assert heading(twice) == "find cricket"


@pytest.mark.spec("S33")
def test_an_override_is_recognised_also_under_what_was_added_later() -> None:
    overridden = effective_task("a", "b", Intent.OVERRIDE)

    assert is_override(overridden)
    assert is_override(effective_task(overridden, "c", Intent.ENHANCE))


@pytest.mark.spec("S33")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "Write about override instructions INSTEAD of the original task.",
        effective_task("a", "b", Intent.ENHANCE),
        "Translate this:\n" + effective_task("a", "b", Intent.OVERRIDE),
        "IMPORTANT — The user wants you to follow these override instructions\nINSTEAD of the original task.",
    ],
)
def test_words_that_only_look_like_an_override_are_none(text: str) -> None:
    assert not is_override(text)


def test_an_untouched_task_is_its_own_heading() -> None:
    assert parts("Find it") == Parts("Find it")
    assert heading("Find it") == "Find it"
