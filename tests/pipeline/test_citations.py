"""Citations: numbered over several texts, checked, and left alone where they are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.engine.events import Source
from agents.pipeline.citations import check, cited, number, renumber


def web(url: str, **more: object) -> Source:
    return Source.model_validate({"type": "web", "source": f"Page {url}", "url": url} | more)


def page(file: str, number: int, section: str | None = None) -> Source:
    return Source(type="document", source=file, page=number, section=section)


class TestNumber:
    @pytest.mark.spec("S31")
    def test_sources_of_several_texts_get_one_numbering_without_doubles(self) -> None:
        a, b, c = web("https://a.org"), web("https://b.org"), web("https://c.org")

        numbered = number([(a, b), (c, a)])

        assert numbered.sources == (a, b, c)
        assert numbered.mappings == ({1: 1, 2: 2}, {1: 3, 2: 1})

    @pytest.mark.spec("S173")
    def test_a_document_counts_by_file_page_and_section(self) -> None:
        sources = (page("q3.pdf", 3, "Revenue"), page("q3.pdf", 3, "Costs"), page("q3.pdf", 4), page("q3.pdf", 4))

        assert number([sources]).mappings == ({1: 1, 2: 2, 3: 3, 4: 3},)

    def test_a_page_is_the_same_at_another_place_in_it(self) -> None:
        same = (web("https://a.org/x"), web("https://a.org/x/#part"), web("https://a.org/x", excerpt="other words"))

        assert number([same]).sources == same[:1]

    def test_the_same_name_of_another_kind_is_another_source(self) -> None:
        mail = Source(type="mail", source="Report")
        document = Source(type="document", source="Report")

        assert number([(mail, document)]).sources == (mail, document)

    def test_no_sources_give_no_numbers(self) -> None:
        assert number([(), ()]).mappings == ({}, {})


class TestRenumber:
    @pytest.mark.spec("S31")
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Revenue rose [1].", "Revenue rose [4]."),
            ("Both say so [1][2].", "Both say so [4][5]."),
            ("Both say so [1, 2] and [2;1].", "Both say so [4][5] and [5][4]."),
            ("All three [1-3].", "All three [4][5]."),
            ("One twice [1, 3].", "One twice [4]."),
            ("Gone [9].", "Gone."),
            ("One of two [1, 9].", "One of two [4]."),
            ("word[2] and more", "word[5] and more"),
        ],
    )
    def test_each_number_becomes_its_new_one(self, text: str, expected: str) -> None:
        assert renumber(text, {1: 4, 2: 5, 3: 4}) == expected

    def test_numbers_that_swap_do_not_run_into_each_other(self) -> None:
        assert renumber("[1] [2] [1]", {1: 2, 2: 1}) == "[2] [1] [2]"


class TestCheck:
    @pytest.mark.spec("S31")
    def test_a_number_without_a_source_is_taken_out_with_its_space(self) -> None:
        assert check("A [1] b [3] c [2, 7].", 2) == "A [1] b c [2]."

    @pytest.mark.parametrize(
        "text",
        [
            "see [9](https://example.org) there",
            r"the cube root $\sqrt[3]{x}$ of 2 is in $[3, 5]$",
            r"\(x \in [3, 4]\) and \[ [3,4] \]",
            "$$\nx \\in [3, 4]\n$$",
            "in 2025 [2025] and [x] and [] and [ ]",
            "an index a[0] and [0-9] and [9-5]",
            "the marks were between [10-90]",
            "`row[9]` and ``a `b` [9]``",
            "```python\nprint(rows[9])\n```",
            "~~~\nrows[9]\n~~~",
            "```\nnobody closes this: rows[9]",
        ],
    )
    def test_what_is_no_citation_is_left_alone(self, text: str) -> None:
        assert check(text, 2) == text

    def test_a_code_span_does_not_reach_into_the_next_paragraph(self) -> None:
        assert check("a lone ` here\n\nand [9] there ` too", 2) == "a lone ` here\n\nand there ` too"

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("It costs $5 [9], not 10$ [1].", "It costs $5, not 10$ [1]."),
            ("From $5 [9] to $7 [1].", "From $5 to $7 [1]."),
            (r"For $x$ [9] and \$5 [9] or $", r"For $x$ and \$5 or $"),
        ],
        ids=["prices", "a span of them", "beside formulas"],
    )
    def test_prices_make_no_formula(self, text: str, expected: str) -> None:
        assert check(text, 2) == expected

    @pytest.mark.parametrize("sign", ["$", "$$", "\\[", "\\("], ids=["dollars", "pairs", "brackets", "parentheses"])
    def test_many_beginnings_of_formulas_take_no_time(self, sign: str) -> None:
        assert check(f"{sign}a " * 20_000, 2).count("a") == 20_000

    def test_what_is_left_makes_no_new_citation(self) -> None:
        assert check("a [[9]9] b", 2) == "a b"

    @given(st.text(st.sampled_from("[]`,-13 \n"), max_size=60), st.integers(0, 4))
    def test_checked_once_is_checked_for_good(self, text: str, count: int) -> None:
        once = check(text, count)

        assert check(once, count) == once
        # A range that is not all known is none of ours, and stays.
        assert "-" in once or all(number <= count for number in cited(once, 999))


class TestCited:
    def test_it_gives_the_known_numbers_in_order(self) -> None:
        assert cited("Third [3], first [1][3], and [7].", 3) == (1, 3)

    def test_numbers_in_code_and_links_do_not_count(self) -> None:
        assert cited("`a[1]` and [2](https://example.org) and [3]", 3) == (3,)

    def test_a_range_counts_whole(self) -> None:
        assert cited("as [1–3] say", 3) == (1, 2, 3)

    def test_without_sources_nothing_is_cited(self) -> None:
        assert cited("[1]", 0) == ()
