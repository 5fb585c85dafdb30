"""Text that is too long for its place: never longer than the place afterwards, and untouched where it fits."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperagent.lib.clipping import (
    TRUNCATED,
    at_a_boundary,
    beginning,
    both_ends,
    ending,
    in_strings,
    one_line,
    tidy_beginning,
    whole_words,
)

CUTS = (beginning, tidy_beginning, whole_words, at_a_boundary, ending, both_ends)


@pytest.mark.parametrize("cut", CUTS)
@given(text=st.text(st.sampled_from("ab .,!\n字。"), max_size=120), limit=st.integers(0, 130))
def test_nothing_is_longer_than_its_limit_and_what_fits_stays(
    cut: Callable[[str, int], str], text: str, limit: int
) -> None:
    shown = cut(text, limit)

    assert len(shown) <= limit
    assert shown == text or len(text) > limit


@pytest.mark.parametrize(
    ("cut", "shown"),
    [
        (beginning, "Dear Alice, …"),
        (tidy_beginning, "Dear Alice,…"),
        (whole_words, "Dear Alice…"),
        (ending, "…rds from Bob"),
        (both_ends, "Dear \n[…]\nBob"),
    ],
)
def test_each_says_that_something_is_left_out(cut: Callable[[str, int], str], shown: str) -> None:
    assert cut("Dear Alice, kind regards from Bob", 13) == shown


def test_of_one_long_word_as_much_stays_as_there_is_room_for() -> None:
    assert whole_words("x" * 100, 5) == "xxxx…"


def test_two_thirds_of_the_room_are_for_the_beginning_whatever_the_mark() -> None:
    assert both_ends("a" * 50 + "z" * 50, 32, mark="--") == "a" * 20 + "--" + "z" * 10


def test_one_line_has_no_white_space_but_single_spaces() -> None:
    assert one_line(" a\t\u00a0b\r\n\n c ") == "a b c"


def test_strings_are_cut_however_deep_and_names_stay() -> None:
    value = {"a longer name": [{"b": "long", "c": 1}, None, "ab"]}

    assert in_strings(value, lambda text: text[:2]) == {"a longer name": [{"b": "lo", "c": 1}, None, "ab"]}


class TestAtABoundary:
    def test_what_fits_is_left_alone(self) -> None:
        assert at_a_boundary("short", 5) == "short"

    @pytest.mark.spec("S61")
    def test_it_ends_after_a_paragraph_that_keeps_more_than_60_percent(self) -> None:
        text = "a" * 61 + "\n\n" + "b. " * 30

        assert at_a_boundary(text, 100) == "a" * 61

    @pytest.mark.spec("S61")
    def test_it_ends_after_a_sentence_where_the_paragraph_would_keep_too_little(self) -> None:
        text = "a" * 60 + "\n\n" + "b" * 20 + '." ' + "c" * 50

        assert at_a_boundary(text, 100) == "a" * 60 + "\n\n" + "b" * 20 + '."'

    @pytest.mark.spec("S61")
    def test_it_ends_after_a_word_where_the_sentence_would_keep_too_little(self) -> None:
        text = "a" * 48 + ". " + "b" * 30 + " " + "c" * 50

        assert at_a_boundary(text, 100) == "a" * 48 + ". " + "b" * 30

    @pytest.mark.spec("S61")
    def test_it_ends_anywhere_and_says_so_where_a_word_would_keep_too_little(self) -> None:
        text = "a" * 39 + " " + "b" * 200

        cut = at_a_boundary(text, 100)

        assert cut == text[: 100 - len(TRUNCATED)] + "[...truncated]"
        assert len(cut) == 100

    @pytest.mark.spec("S61")
    @pytest.mark.parametrize(("paragraph", "kept"), [(60, 72), (61, 61)])
    def test_exactly_60_percent_are_not_enough_for_a_paragraph(self, paragraph: int, kept: int) -> None:
        text = "a" * paragraph + "\n\n" + "b" * 9 + ". " + "c" * 100

        assert len(at_a_boundary(text, 100)) == kept

    @pytest.mark.spec("S61")
    @pytest.mark.parametrize(("sentence", "kept"), [(50, 70), (51, 51)])
    def test_exactly_50_percent_are_not_enough_for_a_sentence(self, sentence: int, kept: int) -> None:
        text = "a" * (sentence - 1) + ". " + "b" * (69 - sentence) + " " + "c" * 100

        assert len(at_a_boundary(text, 100)) == kept

    @pytest.mark.spec("S61")
    @pytest.mark.parametrize(("word", "kept"), [(40, 100), (41, 41)])
    def test_exactly_40_percent_are_not_enough_for_a_word(self, word: int, kept: int) -> None:
        assert len(at_a_boundary("a" * word + " " + "b" * 200, 100)) == kept

    def test_a_point_within_a_number_ends_no_sentence(self) -> None:
        text = "a" * 45 + " 3" + ".14159" * 30

        assert at_a_boundary(text, 100) == "a" * 45

    def test_a_language_without_spaces_has_sentences_too(self) -> None:
        text = "字" * 55 + "。" + "字" * 100

        assert at_a_boundary(text, 100) == "字" * 55 + "。"

    @pytest.mark.parametrize("limit", [0, 1, len(TRUNCATED) - 1])
    def test_there_may_be_no_room_for_the_mark(self, limit: int) -> None:
        assert at_a_boundary("x" * 100, limit) == "x" * limit

    @given(st.text(st.sampled_from("ab .!?\n字。"), max_size=300), st.integers(0, 320))
    def test_it_is_never_longer_than_the_limit_and_always_a_beginning(self, text: str, limit: int) -> None:
        cut = at_a_boundary(text, limit)

        assert len(cut) <= limit
        assert text.startswith(cut.removesuffix(TRUNCATED))
        assert cut == text or len(cut) > 0.4 * limit or limit == 0
