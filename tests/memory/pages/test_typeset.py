"""A page's text as parts to be drawn. Whatever the characters are, none is lost and none becomes markup."""

import pytest

from memory.kinds import BlockKind
from memory.typeset import CITED, FOUND, Mark, Part, Run, find_marks, set_page, snippet
from memory.values import Block


def said(*runs: Run) -> str:
    return "".join(run.text for run in runs)


def cells(part: Part) -> list[list[str]]:
    return [[said(*cell) for cell in row] for row in part.rows]


def marked(parts: tuple[Part, ...], kind: str) -> str:
    rows = (cell for part in parts for row in part.rows for cell in row)
    runs = [run for part in parts for run in part.runs] + [run for cell in rows for run in cell]
    return said(*(run for run in runs if kind in run.marks.split()))


def whole(text: str, kind: BlockKind, level: int = 0) -> list[Block]:
    return [Block(kind, 0, len(text), level)]


def test_what_is_in_no_block_is_drawn_too() -> None:
    text = "Before\n\n# Title\n\nbetween\n\n| a |\n\nafter"
    heading, table = text.index("# Title"), text.index("| a |")
    blocks = [Block(BlockKind.TABLE, table, table + 5), Block(BlockKind.HEADING, heading, heading + 7, 2)]

    parts = set_page(text, blocks, doc_type="md")

    assert [part.kind for part in parts] == ["paragraph", "heading", "paragraph", "table", "paragraph"]
    assert [said(*part.runs) for part in parts] == ["Before", "Title", "between", "", "after"]
    assert parts[1].level == 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("| a | b |", ["a", "b"]),
        ("a | b", ["a", "b"]),
        ("|a||c|", ["a", "", "c"]),
        (r"| a \| b | c |", [r"a \| b", "c"]),
        ("| a \\", ["a"]),
        ("|", [""]),
    ],
)
def test_a_row_is_cut_at_its_bars(line: str, expected: list[str]) -> None:
    [table] = set_page(line, whole(line, BlockKind.TABLE), doc_type="md")

    assert cells(table) == [expected]


def test_a_table_is_as_wide_as_its_widest_row_and_its_rule_is_no_row() -> None:
    text = "| a | b |\n| :-- | --- |\n| 1 |\n| 2 | 3 | 4 |\n| - | - |"

    [table] = set_page(text, whole(text, BlockKind.TABLE), doc_type="xlsx")

    assert cells(table) == [["a", "b", ""], ["1", "", ""], ["2", "3", "4"], ["-", "-", ""]]


def test_a_mark_is_cut_where_a_cell_and_another_mark_begin() -> None:
    text = "| one two | three |"
    marks = [Mark(text.index("two"), text.index("ree"), CITED), *find_marks(text, "WO")]

    parts = set_page(text, whole(text, BlockKind.TABLE), doc_type="md", marks=marks)

    assert parts[0].rows[0] == (
        (Run("one "), Run("t", CITED), Run("wo", f"{CITED} {FOUND}")),
        (Run("th", CITED), Run("ree")),
    )
    assert marked(parts, FOUND) == "wo"


@pytest.mark.parametrize(("doc_type", "kind"), [("md", "paragraph"), ("txt", "lines"), ("pdf", "lines")])
def test_lines_are_kept_where_they_mean_something(doc_type: str, kind: str) -> None:
    text = "Acme GmbH\nBerlin"

    [part] = set_page(text, whole(text, BlockKind.PARAGRAPH), doc_type=doc_type)

    assert (part.kind, said(*part.runs)) == (kind, text)


def test_blocks_that_lie_about_their_place_lose_nothing() -> None:
    text = "0123456789"
    blocks = [Block(BlockKind.CODE, 2, 99), Block(BlockKind.LIST, 0, 4), Block(BlockKind.PARAGRAPH, 50, 60)]

    parts = set_page(text, blocks, doc_type="txt")

    assert "".join(said(*part.runs, *(run for item in part.items for run in item.runs)) for part in parts) == text


def test_a_list_is_its_items_without_bullets_and_with_their_numbers() -> None:
    text = "- Journeys go by train\n  and by tram.\n  - First class: ask.\n3. Taxis after ten\n"

    (part,) = set_page(text, whole(text, BlockKind.LIST), doc_type="md", marks=[Mark(2, 10, CITED)])

    assert [(said(*item.runs), item.is_numbered, item.depth) for item in part.items] == [
        ("Journeys go by train\n  and by tram.", False, 0),
        ("First class: ask.", False, 1),
        ("3. Taxis after ten", True, 0),
    ]
    assert part.items[0].runs[0] == Run("Journeys", CITED)


def test_words_are_found_over_line_ends_without_regard_to_case() -> None:
    assert find_marks("Net\n Revenue (EUR)", "revenue (eur)") == [Mark(5, 18, FOUND)]
    assert find_marks("net\n  REVENUE", "Net revenue") == [Mark(0, 13, FOUND)]
    assert find_marks("a", "  ") == []


def test_a_snippet_is_one_line_about_the_words() -> None:
    text = "x " * 60 + "the very\nwords stand here" + " y" * 60

    runs = snippet(text, find_marks(text, "very words")[0], around=10)

    assert runs == (Run("… x x the "), Run("very words", FOUND), Run(" stand …"))


def test_a_row_of_dashes_that_is_no_rule_is_a_row_and_takes_no_longer_than_its_length() -> None:
    text = f"| a |\n| {'-' * 200_000}x |"

    (table,) = set_page(text, (Block(BlockKind.TABLE, 0, len(text)),), doc_type="csv")

    assert [len(row) for row in table.rows] == [1, 1]
