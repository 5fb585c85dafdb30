"""A conversation on paper."""

from typing import Any

import pypdfium2
import pytest

from tests.page.recorded import plain
from tests.page.stage import Stage, Turn

TALL = "\n\n".join(f"Paragraph {number} of a long answer." for number in range(40))


@pytest.mark.slow
def test_all_that_is_here_is_printed_and_not_only_what_was_drawn(open_stage: Any) -> None:
    turns = [Turn(plain(TALL), question=f"Question {number}?", status="completed") for number in range(1, 11)]
    stage: Stage = open_stage(*turns)
    assert stage.page.locator("article[data-message]").count() < 20

    pages = pypdfium2.PdfDocument(stage.page.pdf())

    text = "\n".join(page.get_textpage().get_text_bounded() for page in pages)
    assert [number for number in range(1, 11) if f"Question {number}?" not in text] == []
    assert text.count("Paragraph 39 of a long answer.") == 10


def test_on_paper_everything_is_dark_on_light(open_stage: Any) -> None:
    page = open_stage(Turn(plain(TALL), status="completed"), color_scheme="dark").page
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert page.evaluate(scheme) == "dark"

    page.emulate_media(media="print")

    assert page.evaluate(scheme) == "light"
