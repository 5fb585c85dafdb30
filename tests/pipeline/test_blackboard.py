"""What agents share: merged, cut to its budget at natural boundaries, and rendered the same each time."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.engine.events import Source
from agents.pipeline.blackboard import (
    FIELDS,
    PRIORITIES,
    TOTAL_CHARS,
    Board,
    SharedAgentMemory,
    allot,
    merge,
    render,
    within_budget,
)

TEXTS = [field.name for field in FIELDS if not field.is_list]
LISTS = [field.name for field in FIELDS if field.is_list]
needs = st.dictionaries(st.sampled_from(sorted(PRIORITIES)), st.integers(1, 20_000), max_size=10)
boards = st.fixed_dictionaries(
    {},
    optional={name: st.text(st.sampled_from("ab .\n"), min_size=1, max_size=400) for name in TEXTS}
    | {
        name: st.lists(st.dictionaries(st.sampled_from(["title", "url"]), st.text("xyz ", max_size=90)), max_size=4)
        for name in LISTS
    },
)


@pytest.mark.spec("S56")
def test_the_fields_are_the_documents() -> None:
    named = (
        "research_findings research_sources generated_code code_language execution_results writing_outline "
        "writing_draft data_analysis_plan data_visualizations additional_context"
    )

    assert {field.name for field in FIELDS} == set(SharedAgentMemory.__annotations__) == set(named.split())


@pytest.mark.spec("S58", "S59", "S60")
@pytest.mark.parametrize(
    ("priority", "names"),
    [
        (3, {"research_findings", "generated_code", "writing_draft"}),
        (
            2,
            {"research_sources", "execution_results", "writing_outline", "data_analysis_plan", "additional_context"},
        ),
        (1, {"code_language", "data_visualizations"}),
    ],
)
def test_the_priorities_are_the_documents(priority: int, names: set[str]) -> None:
    assert {name for name, given in PRIORITIES.items() if given == priority} == names


class TestAllot:
    @given(needs, st.integers(0, 12_000), st.integers(0, 400))
    def test_nothing_is_given_beyond_the_total_or_the_need_and_nothing_is_wasted(
        self, wanted: dict[str, int], total: int, minimum: int
    ) -> None:
        room = allot(wanted, total=total, minimum=minimum)

        assert all(0 <= room[name] <= wanted[name] for name in wanted)
        assert sum(room.values()) == min(total, sum(wanted.values()))

    @pytest.mark.spec("S57")
    @given(needs)
    def test_each_field_has_its_minimum(self, wanted: dict[str, int]) -> None:
        room = allot(wanted, total=8_000, minimum=200)

        assert all(room[name] >= min(need, 200) for name, need in wanted.items())

    @given(st.integers(1, 20_000), st.integers(0, 12_000))
    def test_of_equal_needs_the_more_important_never_gets_less(self, need: int, total: int) -> None:
        room = allot(dict.fromkeys(PRIORITIES, need), total=total, minimum=200)

        given_to = {priority: [room[n] for n in room if PRIORITIES[n] == priority] for priority in (1, 2, 3)}
        assert min(given_to[3]) >= max(given_to[2])
        assert min(given_to[2]) >= max(given_to[1])

    @pytest.mark.spec("S58")
    def test_three_greedy_fields_share_by_their_priorities(self) -> None:
        wanted = {"research_findings": 50_000, "additional_context": 50_000, "data_visualizations": 50_000}

        room = allot(wanted, total=8_000, minimum=200)

        assert room["research_findings"] > room["additional_context"] > room["data_visualizations"] > 200
        assert sum(room.values()) == 8_000

    def test_what_one_does_not_need_goes_to_the_others(self) -> None:
        room = allot({"research_findings": 300, "data_visualizations": 50_000}, total=8_000, minimum=200)

        assert room == {"research_findings": 300, "data_visualizations": 7_700}


class TestBudget:
    def test_a_board_that_fits_is_not_touched(self) -> None:
        board = {"research_findings": "x" * 7_000, "research_sources": [{"title": "t", "url": "u"}]}

        assert within_budget(board) == board

    @pytest.mark.spec("S57")
    def test_a_board_of_ten_full_fields_is_cut_to_the_total(self) -> None:
        board: dict[str, Any] = dict.fromkeys(TEXTS, "word " * 2000)
        board |= {name: [{"title": f"{number}", "text": "y" * 60} for number in range(200)] for name in LISTS}

        cut = within_budget(board)

        assert cut.keys() == board.keys()
        assert _length(cut) <= 8_000
        assert all(_length({name: cut[name]}) > 80 for name in cut)

    @given(boards, st.integers(0, 3_000), st.integers(0, 300))
    def test_a_board_is_never_longer_than_the_total(self, board: dict[str, Any], total: int, minimum: int) -> None:
        cut = within_budget(board, total=total, minimum=minimum)

        assert _length(cut) <= total
        assert within_budget(cut, total=total, minimum=minimum) == cut

    def test_items_of_a_list_stay_whole(self) -> None:
        sources = [{"title": f"Source {number}", "url": f"https://example.org/{number}"} for number in range(500)]

        cut = within_budget({"research_sources": sources}, total=1_000)

        assert cut["research_sources"] == sources[: len(cut["research_sources"])]
        assert len(cut["research_sources"]) > 5

    def test_an_item_that_is_too_long_keeps_its_short_values(self) -> None:
        source = {"title": "A report", "url": "https://example.org/a", "excerpt": "long " * 500, "raw": {"a": [1]}}

        cut = within_budget({"research_sources": [source]}, total=300)

        kept = cut["research_sources"][0]
        assert (kept["title"], kept["url"]) == ("A report", "https://example.org/a")
        assert len(kept["excerpt"]) <= 80
        assert "raw" not in kept


class TestMerge:
    def test_findings_of_two_agents_stand_one_after_the_other(self) -> None:
        board = merge({"research_findings": "first"}, {"research_findings": "second"})

        assert board == {"research_findings": "first\n\nsecond"}

    def test_a_new_draft_takes_the_place_of_the_old_one(self) -> None:
        board = merge({"writing_draft": "old", "generated_code": "1"}, {"writing_draft": "new", "generated_code": "2"})

        assert board == {"writing_draft": "new", "generated_code": "2"}

    def test_sources_are_added_without_doubles(self) -> None:
        one, two = {"url": "1", "title": "a"}, {"title": "b", "url": "2"}

        board = merge({"research_sources": [one]}, {"research_sources": [dict(reversed(one.items())), two, two]})

        assert board == {"research_sources": [one, two]}

    def test_what_has_no_field_is_kept_in_words(self) -> None:
        board = merge({}, {"weather": {"now": "rain"}, "additional_context": "On Monday."})

        assert board == {"additional_context": 'On Monday.\nweather: {"now": "rain"}'}

    def test_empty_values_and_unknown_fields_of_the_board_do_not_stay(self) -> None:
        assert merge({"research_findings": "", "old_name": "x"}, {"writing_draft": "", "code_language": None}) == {}

    def test_the_boards_that_were_given_are_not_changed(self) -> None:
        board = {"research_sources": [{"url": "1"}]}

        merge(board, {"research_sources": [{"url": "2"}]})

        assert board == {"research_sources": [{"url": "1"}]}

    @pytest.mark.slow
    @given(boards, boards)
    def test_to_add_the_same_again_changes_nothing(self, board: dict[str, Any], additions: dict[str, Any]) -> None:
        once = merge(board, additions)

        assert merge(once, additions) == once


class TestRender:
    def test_an_empty_board_is_no_text(self) -> None:
        assert render({}) == ""

    def test_the_fields_come_in_one_order_whatever_order_the_board_has(self) -> None:
        board = {"writing_draft": "D", "research_sources": [{"url": "u", "title": "t"}], "research_findings": "F"}

        text = render(board)

        assert text == render(dict(reversed(board.items())))
        assert text == '### Research findings\nF\n\n### Research sources\n- {"title": "t", "url": "u"}\n\n### Draft\nD'

    def test_code_stands_in_a_fence_that_it_cannot_close(self) -> None:
        text = render({"generated_code": "print('''\n```\n''')", "code_language": "python"})

        assert text.startswith("### Code\n````python\n")
        assert text.endswith("\n````")

    def test_a_language_without_code_is_said_all_the_same(self) -> None:
        assert render({"code_language": "sql"}) == "### Language of the code\nsql"


def _length(board: dict[str, Any]) -> int:
    return sum(len(value) if isinstance(value, str) else len(_json(value)) for value in board.values())


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


NOTHING = Board({}, {})
ONE, TWO, THREE = (Source(type="web", source=name, url=f"https://{name}.example") for name in ("one", "two", "three"))


@pytest.mark.spec("S56")
class TestBoard:
    def test_a_text_that_was_written_anew_counts_wherever_it_comes_from(self) -> None:
        first = NOTHING.added({"writing_draft": "one"})
        second = first.added({"writing_draft": "two"})
        beside = first.added({"generated_code": "x"})

        assert second.beside(beside).fields == beside.beside(second).fields == {
            "generated_code": "x",
            "writing_draft": "two",
        }  # fmt: skip

    def test_of_two_texts_that_know_nothing_of_each_other_the_later_counts(self) -> None:
        one, other = NOTHING.added({"writing_draft": "one"}), NOTHING.added({"writing_draft": "other"})

        assert one.beside(other).fields == {"writing_draft": "other"}

    def test_findings_that_grew_from_the_same_are_there_once(self) -> None:
        same = NOTHING.added({"research_findings": "A\n\nB"})
        left = same.added({"research_findings": "L"}).added({"research_findings": "M"})
        right = same.added({"research_findings": "R"})

        assert left.beside(right).fields == {"research_findings": "A\n\nB\n\nL\n\nM\n\nR"}
        assert right.beside(left).beside(right).fields == {"research_findings": "A\n\nB\n\nR\n\nL\n\nM"}

    def test_texts_that_grew_on_two_ways_name_their_sources_by_one_numbering(self) -> None:
        same = NOTHING.added({"research_findings": "A [1]."}, sources=[ONE])
        left = same.added({"research_findings": "L [1][2]."}, sources=[TWO, ONE])
        right = same.added({"research_findings": "R [1]."}, sources=[THREE])

        both = left.beside(right)

        assert both.fields == {"research_findings": "A [1].\n\nL [2][1].\n\nR [3]."}
        assert both.sources == (ONE, TWO, THREE)
        assert both.by_its_numbers("R [1].", [THREE]) == "R [3]."
        assert both.unnumbered().fields == {"research_findings": "A.\n\nL.\n\nR."}

    def test_a_program_has_no_numbers_of_sources(self) -> None:
        board = NOTHING.added({"research_findings": "A [1]."}, sources=[ONE]).added({"generated_code": "x = y[7]"})

        assert NOTHING.added({}, sources=[TWO]).beside(board).fields == {
            "generated_code": "x = y[7]",
            "research_findings": "A [2].",
        }

    def test_results_are_told_as_more_context_the_newest_first(self) -> None:
        same = NOTHING.added({"additional_context": "C"}, results=(("a", "A"),))
        left = same.added({}, results=(("b", "B"),)).added({}, results=(("c", "L"),))
        right = same.added({}, results=(("d", "R"),))

        both = left.beside(right)

        assert both.told() == {"additional_context": "c: L\n\nd: R\n\nb: B\n\na: A\n\nC"}
        assert both.fields == {"additional_context": "C"}

    @pytest.mark.spec("S57")
    def test_with_the_results_it_is_within_the_budget_and_what_is_the_oldest_goes(self) -> None:
        board = NOTHING.added({"writing_draft": "w " * 900})
        for name in "abc":
            board = board.added({}, results=((name, f"{name} " * 1_500),))

        context = board.told()["additional_context"]

        assert sum(map(len, board.told().values())) <= TOTAL_CHARS
        assert context.startswith(f"c: {'c ' * 1_500}".rstrip())
        assert "a" not in context.split("b: ")[1]
        assert [len(text) <= TOTAL_CHARS for _, text in board.results] == [True] * len(board.results)

    @pytest.mark.spec("S57")
    @given(boards, boards)
    def test_what_is_handed_on_is_within_the_budget(self, board: dict[str, Any], additions: dict[str, Any]) -> None:
        longer = {name: value * 60 for name, value in additions.items()}

        handed = Board(board, {}).added(longer).fields

        assert sum(len(one) if isinstance(one, str) else len(json.dumps(one)) for one in handed.values()) <= TOTAL_CHARS
