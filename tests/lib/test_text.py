"""Text as it crosses a boundary: what of it people would not see."""

import re
import sys
from pathlib import Path

import pytest

from hitl.line_diff import Line, line_diff
from hyperagent.lib.text import revealed

PLAIN_TEXT_JS = Path(__file__).parents[2] / "static" / "js" / "plain_text.js"
NINE = "\n".join("123456789")


@pytest.mark.slow
@pytest.mark.threat("T20")
def test_server_and_page_name_the_same_signs() -> None:
    (written,) = re.findall(r"const HIDDEN = /(.+)/gu;", PLAIN_TEXT_JS.read_text("utf-8"))
    page = re.compile(re.sub(r"\\u\{(\w+)\}", lambda found: f"\\U{found[1]:0>8}", written))
    signs = [chr(number) for number in range(sys.maxunicode + 1) if not 0xD800 <= number <= 0xDFFF]

    assert [sign for sign in signs if (revealed(sign) != sign) != bool(page.match(sign))] == []
    assert revealed("a\u202eb\tc\n") == "a⟨U+202E⟩b\tc\n"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a", "a", []),
        (None, "a\nb", ["+ a", "+ b"]),
        ("a\nb", "", ["- a", "- b"]),
        ("a\nb\nc", "a\nB\nc", ["  a", "- b", "+ B", "  c"]),
        (NINE, NINE.replace("5", "X"), ["…", "  2", "  3", "  4", "- 5", "+ X", "  6", "  7", "  8", "…"]),
        (NINE, NINE.replace("1", "0").replace("9", "0"),
         ["- 1", "+ 0", "  2", "  3", "  4", "…", "  6", "  7", "  8", "- 9", "+ 0"]),
    ],
)  # fmt: skip
def test_two_texts_are_compared_line_by_line(before: str | None, after: str, shown: list[str]) -> None:
    signs = {Line.GONE: "- ", Line.NEW: "+ ", Line.SAME: "  ", Line.LEFT_OUT: "…"}

    assert [signs[line] + text for line, text in line_diff(before, after)] == shown


def test_of_lines_that_are_nearly_all_the_same_no_comparison_is_made() -> None:
    before, after = "same\n" * 1_000 + "a", "same\n" * 1_000 + "b"

    found = line_diff(before, after)

    assert [line for line, _ in found] == [Line.GONE] * 1_001 + [Line.NEW] * 1_001
