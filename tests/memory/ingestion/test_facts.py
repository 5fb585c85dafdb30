"""What a document is described by where no model does it: its own words, without what a form is drawn with."""

from memory.ingestion.facts import description_of
from memory.kinds import BlockKind
from memory.values import Block, Page


def page_of(*parts: tuple[BlockKind, str]) -> Page:
    blocks, text = [], ""
    for kind, part in parts:
        blocks.append(Block(kind, len(text), len(text) + len(part)))
        text += part + "\n\n"
    return Page(1, text, tuple(blocks))


def test_a_form_is_described_by_its_words() -> None:
    """Rules, lines to write on and boxes to tick are none."""
    form = page_of(
        (BlockKind.HEADING, "FORM 10-Q ________"),
        (BlockKind.PARAGRAPH, "____________________________________"),
        (BlockKind.PARAGRAPH, "(Mark One) ☒ Quarterly report pursuant to section 13 ------ for the quarter"),
        (BlockKind.PARAGRAPH, "☐ Transition report pursuant to section 13 or 15(d)."),
    )
    assert description_of([form], title="") == (
        "(Mark One) Quarterly report pursuant to section 13 for the quarter "
        "Transition report pursuant to section 13 or 15(d). Sections: FORM 10-Q."
    )


def test_what_is_written_with_few_of_such_signs_stays() -> None:
    text = "The flag --dry-run of snake_case_tools writes nothing … to disk."
    assert description_of([page_of((BlockKind.PARAGRAPH, text))], title="") == text


def test_a_text_without_words_has_no_description() -> None:
    assert (
        description_of([page_of((BlockKind.PARAGRAPH, "_" * 40), (BlockKind.PARAGRAPH, "12 34 " * 8))], title="") == ""
    )
