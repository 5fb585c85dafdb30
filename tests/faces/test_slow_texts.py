"""Texts over which a pattern that looks ahead from each of their characters takes minutes or days: each of these is one
that did. What they give is asserted; that they come to an end is the point."""

import io
from datetime import UTC, datetime

import pytest

from conversations.searching.words import plain
from conversations.sharing.content import abroad_only
from memory.file_preview import preview_of
from memory.reading.kinds import doc_type_of
from memory.remembering.patterns import wishes_in
from memory.workspaces.files import FileFacts

pytestmark = pytest.mark.threat("T30")
HOUSE = "http://house.test"
CHARS = 200_000
BROKEN = ["[", "](", "[x](", "[x](<", "![", "[[x]]", "[a]: ", 'href="', "|"]
RUNS = [" ", "a", "\t ", "\n", "<", ">", "!"]
BEGINNINGS = ["[x](", "[x](\n", "[x](<", "[", "[a]: ", "href", "href=", "http://"]


@pytest.mark.parametrize("broken", BROKEN)
def test_an_excerpt_is_made_of_any_text(broken: str) -> None:
    assert plain("needle " + broken * (CHARS // len(broken))).startswith("needle")


@pytest.mark.parametrize("broken", BROKEN)
def test_any_answer_can_be_shared(broken: str) -> None:
    assert abroad_only("needle " + broken * (CHARS // len(broken)), HOUSE).startswith("needle ")


@pytest.mark.parametrize("run", RUNS, ids=ascii)
@pytest.mark.parametrize("beginning", BEGINNINGS, ids=ascii)
def test_any_answer_can_be_shared_in_which_something_begins_and_does_not_end(beginning: str, run: str) -> None:
    text = f"needle {beginning}{run * (CHARS // len(run))}"

    assert abroad_only(text, HOUSE).startswith("needle ")
    assert plain(text).startswith("needle")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[it](/c/1/)", "it"),
        ('![it](http://house.test/x.png "title")', "it"),
        ("[it](https://elsewhere.test/a)", "[it](https://elsewhere.test/a)"),
        ("[a [b] c](/c/1/)", "[a [b] c] (link removed)"),
        ("[it](/c/[1]/)", "[it] (link removed]/)"),
        ('[it](<javascript:x> "[")', '[it] (link removed> "[")'),
    ],
)
def test_no_link_of_a_shared_answer_leads_into_the_house(text: str, shown: str) -> None:
    assert abroad_only(text, HOUSE) == shown


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n", (("a", "b"), ("1", "2"))),
        ("a;b\n1,5;2\n", (("a", "b"), ("1,5", "2"))),
        ('"a;b"|c\n1|2\n', (("a;b", "c"), ("1", "2"))),
        ("one\ntwo\n", (("one",), ("two",))),
    ],
)
def test_a_table_is_divided_by_what_divides_its_first_line(text: str, rows: tuple[tuple[str, ...], ...]) -> None:
    assert preview_of(table_of(text), io.BytesIO(text.encode())).rows == rows


def test_a_table_of_quotes_is_shown() -> None:
    text = 'x,"b",c\n,' + '"' * 4_000 + "z\n"

    assert preview_of(table_of(text), io.BytesIO(text.encode())).kind == "table"


@pytest.mark.parametrize(("end", "kind"), [("x", "txt"), ("<!--", "txt"), ("<html>", "html")])
def test_a_file_may_begin_with_any_number_of_comments(end: str, kind: str) -> None:
    assert doc_type_of(f"{'<!---->' * 9_000}{end}".encode(), "a.txt") == kind


@pytest.mark.parametrize("space", ["\n", " ", "\t\n"], ids=["lines", "spaces", "both"])
@pytest.mark.parametrize("wish", ["remember", "forget", "please", "."])
def test_a_wish_may_be_followed_by_any_amount_of_space(wish: str, space: str) -> None:
    found = wishes_in(f"{wish}{space * 4_000}")

    assert (found.remember, found.forget) == ((), ())


def table_of(text: str) -> FileFacts:
    return FileFacts("t.csv", len(text), "text/csv", 1, "0" * 64, datetime.now(UTC))
