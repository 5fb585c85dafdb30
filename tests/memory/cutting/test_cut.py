"""Whatever the pages are: each character lies in one piece, no piece is too long, and the same comes out again."""

import itertools
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.cutting.cut import pieces
from memory.kinds import BlockKind
from memory.tokens import count_tokens, token_ids
from memory.values import Block, Page

Count = Callable[[str], int]

LIMIT, TARGET = 24, 10


def words(text: str) -> int:
    return len(text.split())


def letters(text: str) -> int:
    """Not a sum of its parts: rounded up, spaces included."""
    return -(-len(text) // 4)


COUNTS = st.sampled_from([words, letters])
WORDS = st.sampled_from(["net", "sales", "rose.", "It", "| a | b |", "x" * 70, "é", "\n", "\n\n", "   ", "1,024", "。", "| --- |"])  # fmt: skip  # noqa: E501


@st.composite
def some_pages(draw: st.DrawFn) -> list[Page]:
    drawn = []
    for number in range(1, 1 + draw(st.integers(0, 5))):
        text, blocks = "", []
        for _ in range(draw(st.integers(0, 6))):
            text += draw(st.sampled_from(["", " ", "\n\n", "loose ", "\n"]))
            start = len(text)
            text += " ".join(draw(st.lists(WORDS, max_size=30)))
            kind = draw(st.sampled_from(list(BlockKind)))
            blocks.append(Block(kind, start, len(text), draw(st.integers(1, 3)) if kind is BlockKind.HEADING else 0))
        drawn.append(Page(number, text, tuple(blocks), draw(st.sampled_from(["", "", "Sheet 1", "Sheet 2"]))))
    return drawn


def document_text(pages: list[Page]) -> str:
    return "\n\n".join(page.text for page in pages)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(some_pages(), COUNTS)
def test_each_character_lies_in_one_piece(pages: list[Page], count: Count) -> None:
    document = document_text(pages)

    cut = list(pieces(pages, count_tokens=count, limit=LIMIT, target=TARGET))

    covered = [0] * len(document)
    for piece in cut:
        for index in range(piece.start, piece.end):
            covered[index] += 1
    assert all(times == 1 for times, letter in zip(covered, document, strict=True) if not letter.isspace())
    assert max(covered, default=0) <= 1


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(some_pages(), COUNTS)
def test_a_piece_is_the_document_at_its_span_but_for_a_repeated_header(pages: list[Page], count: Count) -> None:
    document = document_text(pages)

    for piece in pieces(pages, count_tokens=count, limit=LIMIT, target=TARGET):
        own = document[piece.start : piece.end]
        if piece.text != own:
            header = piece.text.removesuffix("\n" + own)
            assert header != piece.text
            assert piece.kind is BlockKind.TABLE
            assert document.index(header) < piece.start


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(some_pages(), COUNTS)
def test_no_piece_is_longer_than_the_limit(pages: list[Page], count: Count) -> None:
    for piece in pieces(pages, count_tokens=count, limit=LIMIT, target=TARGET):
        assert 0 < piece.tokens == count(piece.text) <= LIMIT


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(some_pages(), COUNTS)
def test_ordinals_have_no_gaps_and_parents_begin_their_sections(pages: list[Page], count: Count) -> None:
    cut = list(pieces(pages, count_tokens=count, limit=LIMIT, target=TARGET))

    assert [piece.ordinal for piece in cut] == list(range(len(cut)))
    for piece in cut:
        if piece.parent is not None:
            parent = cut[piece.parent]
            assert parent.ordinal < piece.ordinal
            assert parent.parent is None
            assert parent.section_title == piece.section_title


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(some_pages(), COUNTS)
def test_pages_and_spans_go_forward_and_agree(pages: list[Page], count: Count) -> None:
    starts = dict(zip((page.number for page in pages), _starts(pages), strict=True))

    last = 0
    for piece in pieces(pages, count_tokens=count, limit=LIMIT, target=TARGET):
        assert last <= piece.start < piece.end
        last = piece.end
        assert starts[piece.page] <= piece.start < starts[piece.page] + len(pages[piece.page - 1].text)
        assert starts[piece.last_page] < piece.end <= starts[piece.last_page] + len(pages[piece.last_page - 1].text)


@settings(max_examples=100, deadline=None)
@given(some_pages(), COUNTS)
def test_the_same_pages_give_the_same_pieces(pages: list[Page], count: Count) -> None:
    again = pieces(iter(pages), count_tokens=count, limit=LIMIT, target=TARGET)

    assert list(again) == list(pieces(pages, count_tokens=count, limit=LIMIT, target=TARGET))


def test_ten_thousand_pages_are_cut_as_they_come() -> None:
    taken = 0

    def coming() -> Iterator[Page]:
        nonlocal taken
        for number in range(1, 10_001):
            taken = number
            yield page_of(number, ("paragraph", "All is well. " * 20))

    cut = pieces(coming(), count_tokens=words)
    first = next(cut)

    assert first.page == 1
    assert taken < 20
    assert next(itertools.islice(cut, 2000, None)).ordinal == 2001


@pytest.mark.spec("S166")
def test_a_table_is_kept_whole_where_it_fits() -> None:
    table = "| Item | Sum |\n" + "\n".join(f"| row {number} | {number} |" for number in range(30))
    page = page_of(1, ("paragraph", "Before. " * 30), ("table", table), ("paragraph", "After. " * 30))

    cut = list(pieces([page], count_tokens=words, limit=300, target=40))

    assert any(table in piece.text for piece in cut)


@pytest.mark.spec("S166")
def test_a_longer_table_is_cut_between_rows_and_repeats_its_header() -> None:
    rows = [f"| row {number} | {number * 7} |" for number in range(100)]
    header = "| Item | Sum |\n| --- | --- |"
    page = page_of(1, ("table", header + "\n" + "\n".join(rows)))

    cut = list(pieces([page], count_tokens=words, limit=60, target=60))

    assert len(cut) > 5
    assert all(piece.text.startswith(header + "\n") for piece in cut)
    assert [line for piece in cut for line in piece.text.split("\n")[2:]] == rows
    assert all("Item" not in page.text[piece.start : piece.end] for piece in cut[1:])


@pytest.mark.spec("S165", "S166")
def test_sections_go_over_pages_and_name_the_headings_above_them() -> None:
    pages = [
        page_of(1, ("heading1", "Annual report"), ("heading2", "Sales"), ("paragraph", "They rose. " * 30)),
        page_of(2, ("paragraph", "And then they fell. " * 30), ("heading2", "Costs"), ("paragraph", "None. " * 30)),
    ]

    cut = list(pieces(pages, count_tokens=words, limit=200, target=60))

    assert [(piece.section_title, piece.page, piece.parent) for piece in cut] == [
        ("Annual report › Sales", 1, None),
        ("Annual report › Sales", 2, 0),
        ("Annual report › Sales", 2, 0),
        ("Annual report › Costs", 2, None),
    ]
    assert cut[0].text.startswith("Annual report\n\nSales\n\nThey rose.")


def test_short_pages_of_one_section_stand_together_and_long_ones_apart() -> None:
    short = [page_of(number, ("paragraph", "A few words here.")) for number in range(1, 5)]
    long = [page_of(number, ("paragraph", "Many words stand here. " * 12)) for number in range(1, 5)]

    together = list(pieces(short, count_tokens=words, limit=100, target=60))
    apart = list(pieces(long, count_tokens=words, limit=100, target=60))

    assert [(piece.page, piece.last_page) for piece in together] == [(1, 4)]
    assert [(piece.page, piece.last_page) for piece in apart] == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_few_words_before_a_heading_below_take_no_section_under_their_title() -> None:
    page = page_of(
        1,
        ("heading1", "Debt"), ("paragraph", "In short:"), ("heading2", "Notes"), ("paragraph", "We owe much. " * 10),
        ("heading1", "Cash"), ("paragraph", "Little."), ("heading1", "Land"), ("paragraph", "None. " * 40),
    )  # fmt: skip

    cut = list(pieces([page], count_tokens=words, limit=100, target=60))

    assert [(piece.section_title, piece.text[:11]) for piece in cut] == [
        ("Debt", "Debt\n\nIn sh"),
        ("Debt › Notes", "Notes\n\nWe o"),
        ("Cash", "Cash\n\nLittl"),
        ("Land", "Land\n\nNone."),
    ]


@pytest.mark.spec("S165")
def test_words_before_the_first_heading_take_no_section_for_their_own() -> None:
    page = page_of(1, ("paragraph", "A handbook."), ("heading1", "Holidays"), ("paragraph", "Thirty days."))

    cut = list(pieces([page], count_tokens=words))

    assert [(piece.section_title, piece.text) for piece in cut] == [
        ("", "A handbook."),
        ("Holidays", "Holidays\n\nThirty days."),
    ]


@pytest.mark.spec("S165", "S166")
def test_what_stands_above_a_section_is_not_cited_under_it() -> None:
    rule = "Hotels: 120 euro."
    page = page_of(
        1,
        ("heading1", "Travel policy"), ("paragraph", rule),
        ("heading2", "Trains"), ("paragraph", "Second class. " * 40),
        ("heading2", "Planes"), ("paragraph", "Never. " * 30),
    )  # fmt: skip

    cut = list(pieces([page], count_tokens=words, limit=100, target=60))

    assert [(piece.section_title, piece.parent) for piece in cut] == [
        ("Travel policy", None),
        ("Travel policy › Trains", None),
        ("Travel policy › Planes", None),
    ]
    assert cut[0].text == f"Travel policy\n\n{rule}"


def test_a_heading_with_nothing_below_it_names_no_passage() -> None:
    page = page_of(1, ("heading1", "Part one"), ("heading1", "Part two"), ("heading2", "Trains"), ("paragraph", "Go."))

    (piece,) = pieces([page], count_tokens=words)

    assert piece.section_title == "Part two › Trains"


@pytest.mark.spec("S166")
def test_a_passage_is_of_the_kind_that_most_of_it_is() -> None:
    table = ("table", "| Train | Class |\n| night | first |")
    sentences = ("paragraph", "A sentence of five words. " * 14)

    mixed, more_table = (
        next(pieces([page_of(1, ("heading1", "A long heading of many words " * 3), *blocks)], count_tokens=words))
        for blocks in ((sentences, table), (("paragraph", "See:"), table))
    )
    split = next(pieces([page_of(1, sentences, table)], count_tokens=words, limit=100, target=40))

    assert (mixed.kind, more_table.kind, split.kind) == (BlockKind.PARAGRAPH, BlockKind.TABLE, BlockKind.PARAGRAPH)


def test_a_section_title_keeps_its_ends_when_it_is_too_long() -> None:
    names = [f"Chapter {number} about {'very ' * 20}much" for number in range(1, 6)]
    blocks = [(f"heading{min(3, number)}", name) for number, name in enumerate(names[:3], 1)]
    page = page_of(1, *blocks, ("paragraph", "Words."))

    (piece,) = pieces([page], count_tokens=words)

    assert len(piece.section_title) <= 200
    assert piece.section_title.startswith("Chapter 1 about")
    assert "Chapter 3 about" in piece.section_title


def test_each_sheet_is_a_section_with_its_name() -> None:
    pages = [page_of(1, ("table", "| a |\n| 1 |"), title="Costs"), page_of(2, ("table", "| b |\n| 2 |"), title="Sales")]

    cut = list(pieces(pages, count_tokens=words, limit=100, target=60))

    assert [(piece.section_title, piece.text) for piece in cut] == [
        ("Costs", "| a |\n| 1 |"),
        ("Sales", "| b |\n| 2 |"),
    ]


def test_a_sentence_is_not_torn_where_it_fits() -> None:
    sentences = [f"Sentence number {number} says a little something." for number in range(60)]
    page = page_of(1, ("paragraph", " ".join(sentences)))

    cut = list(pieces([page], count_tokens=words, limit=100, target=50))

    assert all(piece.text.startswith("Sentence number") and piece.text.endswith("something.") for piece in cut)
    assert max(piece.tokens for piece in cut) < 75


@pytest.mark.parametrize(
    "whole",
    [
        "§ 5 Abs. 2 BGB",
        "Rechnung Nr. 4711",
        "am 3. März 2026",
        "z. B. Dr. Ott",
        "bei J. R. Ewing",
        "see Fig. 7 (no. 2)",
    ],
)
def test_no_sentence_ends_within_what_belongs_together(whole: str) -> None:
    text = "".join(f"Wort {'und ' * number}hier gilt {whole} ganz. " for number in range(8))

    cut = [
        piece.text
        for piece in pieces([page_of(1, ("paragraph", text.strip()))], count_tokens=words, limit=60, target=20)
    ]

    assert len(cut) > 1
    assert sum(piece.count(whole) for piece in cut) == 8


def test_the_tokens_of_the_local_model_are_counted() -> None:
    text = "Net sales rose by 7.5 %."

    assert count_tokens(text) == len(token_ids(text)) == 9
    assert count_tokens("sales " * 1000) == 1000


def page_of(number: int, *blocks: tuple[str, str], title: str = "") -> Page:
    """A page of (kind, text), where the kind of a heading ends in its level."""
    text, made = "", list[Block]()
    for kind, words_of_it in blocks:
        text += "\n\n" if text else ""
        level = int(kind[-1]) if kind[-1].isdigit() else 0
        made.append(Block(BlockKind(kind.rstrip("123")), len(text), len(text) + len(words_of_it), level))
        text += words_of_it
    return Page(number, text, tuple(made), title)


def _starts(pages: list[Page]) -> list[int]:
    lengths = [len(page.text) + 2 for page in pages]
    return [sum(lengths[:index]) for index in range(len(lengths))]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (BlockKind.TABLE, "| a |\n| " + "-" * 300_000 + "x |\n| b |"),
        (BlockKind.PARAGRAPH, "a" + " " * 300_000 + "b"),
        (BlockKind.CODE, "a" + " " * 300_000 + "b\nc"),
    ],
    ids=["a row of dashes that is no rule", "a gap", "a gap in code"],
)
def test_no_text_takes_longer_than_its_length_to_be_cut(kind: BlockKind, text: str) -> None:
    """A row or a gap that is looked through again from each of its signs takes a quarter of an hour."""
    cut = list(pieces([Page(1, text, (Block(kind, 0, len(text)),))], count_tokens=lambda piece: len(piece) // 4 + 1))

    assert cut[0].text.startswith(text[0])
    assert cut[-1].text.endswith(text[-1])
