"""A change of a file is shown as one: what the file has against what it would have."""

from typing import Any

import pytest

from agents.tools import previews
from agents.tools.gateway import Gateway
from agents.tools.previews import Change
from agents.tools.replacing import with_passage
from agents.tools.tool import ToolError
from hitl.kinds import PolicyAction
from hitl.policy import PolicyFacts
from hyperagent.lib.hashes import arguments_hash
from tests.doubles.lookups import MemoryLookups
from tests.tools.doubles import FakeWorkspace, fake_providers
from tests.tools.driving import ToolCase, case_of, seen
from tests.tools.test_approval import edited, outcome, waits, yes

Json = dict[str, Any]
ALWAYS = PolicyFacts("Ask", action=PolicyAction.ASK)
OLD = "retries = 3\ncolour = false\n"


class Drawer(FakeWorkspace):
    """With one file that is no text."""

    async def read_file(self, about: Any, path: str, *, scope: str) -> Any:
        if path == "picture.png":
            raise ToolError("picture.png is no text.")
        return await super().read_file(about, path, scope=scope)


def calling(workspace: Any, name: str, **arguments: Any) -> ToolCase:
    async def program(context: Any) -> Any:
        return seen(await context.tool(name, arguments, call_id="call-1"))

    return case_of(program, Gateway(fake_providers(workspace=workspace)), lookups=MemoryLookups(policies=(ALWAYS,)))


async def shown(name: str, workspace: Any = None, **arguments: Any) -> Json:
    case = calling(workspace or Drawer({"a.toml": OLD, "picture.png": "\x89PNG"}), name, **arguments)
    await waits(case)
    (call,) = case.open_requests[0].question["tool_calls"]
    preview: Json = call["preview"]
    return preview


@pytest.mark.spec("S132", "B5")
async def test_a_file_that_is_written_is_shown_as_it_is_against_what_it_would_be() -> None:
    case = calling(Drawer({"a.toml": OLD}), "write_file", path="a.toml", content="retries = 5\n")

    await waits(case)

    (call,) = case.open_requests[0].question["tool_calls"]
    assert case.open_requests[0].question["question"] == "Make this change?"
    assert call["preview"] == {"kind": "diff", "path": "a.toml", "before": OLD, "after": "retries = 5\n"}
    assert call["arguments"] == {"path": "a.toml", "content": "retries = 5\n", "scope": "conversation"}
    assert call["arguments_hash"] == arguments_hash("write_file", call["arguments"])


async def test_a_passage_that_is_replaced_is_shown_within_its_file() -> None:
    preview = await shown("edit_file", path="a.toml", old="retries = 3", new="retries = 5")

    assert preview == {"kind": "diff", "path": "a.toml", "before": OLD, "after": OLD.replace("3", "5")}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("write_file", {"path": "new.md", "content": "Hi"}, {"before": "", "after": "Hi", "notes": ["new"]}),
        (
            "write_file",
            {"path": "picture.png", "content": "Hi"},
            {"before": "", "after": "Hi", "notes": ["unreadable"]},
        ),
        ("edit_file", {"path": "new.md", "old": "a", "new": "b"}, {"before": "a", "after": "b", "notes": ["misfit"]}),
        ("edit_file", {"path": "a.toml", "old": "e", "new": "b"}, {"before": "e", "after": "b", "notes": ["misfit"]}),
    ],
)
async def test_what_cannot_be_shown_of_a_file_is_said(name: str, arguments: Json, expected: Json) -> None:
    assert await shown(name, **arguments) == {"kind": "diff", "path": arguments["path"], **expected}


async def test_a_workspace_that_cannot_be_looked_at_does_not_keep_people_from_being_asked() -> None:
    class Broken(FakeWorkspace):
        async def read_file(self, about: Any, path: str, *, scope: str) -> Any:
            raise RuntimeError("bug")

    assert await shown("write_file", Broken(), path="a.toml", content="x") == {"kind": "arguments"}


@pytest.mark.spec("B1", "B5")
@pytest.mark.threat("T18")
async def test_whoever_takes_the_run_over_shows_what_was_shown_though_the_file_has_changed_meanwhile() -> None:
    workspace = FakeWorkspace({"a.toml": OLD})
    case = calling(workspace, "write_file", path="a.toml", content="new")
    await waits(case)
    before = case.open_requests[0].question
    workspace.files["a.toml"] = "other"

    await waits(case)
    case.answer(yes(case))
    reply = await outcome(case)

    assert before["tool_calls"][0]["preview"]["before"] == OLD
    assert (reply["is_error"], workspace.files) == (False, {"a.toml": "new"})


async def test_a_call_that_is_asked_about_again_keeps_its_preview_and_other_arguments_have_none() -> None:
    workspace = FakeWorkspace({"a.toml": OLD})
    case = calling(workspace, "write_file", path="a.toml", content="new")
    await waits(case)
    shown_first = case.open_requests[0].question["tool_calls"][0]["preview"]

    case.answer(edited(case, content=7))
    await waits(case)

    (call,) = case.open_requests[0].question["tool_calls"]
    assert "cannot be used" in case.open_requests[0].question["why"]
    assert call["preview"] == shown_first


# --- what is left out (pure)


def lines(count: int, **changed: str) -> str:
    return "".join(f"{changed.get(f'n{number}', f'line {number}')}\n" for number in range(count))


def test_of_a_long_file_the_lines_around_the_change_are_shown() -> None:
    long = previews.diff("a", Change(lines(5_000), lines(5_000, n2500="other")), is_there=True)

    assert long["before"].splitlines() == [f"line {number}" for number in range(2480, 2521)]
    assert [line for line in long["after"].splitlines() if line not in long["before"].splitlines()] == ["other"]
    assert "notes" not in long


@pytest.mark.parametrize("after", ["other\n" * 5_000, "x" * 100_000])
def test_of_a_long_change_the_beginning_is_shown_and_it_says_so(after: str) -> None:
    long = previews.diff("a", Change("", after, previews.UNREADABLE), is_there=False)

    assert after.startswith(long["after"])
    assert len(long["after"]) <= previews.DIFF_CHARS
    assert len(long["after"].splitlines()) <= previews.DIFF_LINES
    assert long["notes"] == ["new", "clipped"]


def test_a_text_that_gets_shorter_at_its_end_is_shown_to_its_end() -> None:
    long = previews.diff("a", Change(lines(3_000), lines(2_999)), is_there=True)

    assert long["before"].splitlines()[-1] == "line 2999"
    assert long["after"].splitlines()[-1] == "line 2998"


def test_a_passage_is_replaced_as_the_file_has_it() -> None:
    assert with_passage("a\r\nb\r\nc", "a\nb", "x") == ("x\r\nc", 1)
    assert with_passage("a a", "a", "x") == ("a a", 2)
    assert with_passage("a", "b", "x") == ("a", 0)


@pytest.mark.parametrize(
    ("text", "old", "changed"),
    [
        ("one <b> two", "one ‹b› two", "x"),
        ("one [1] two", "⟦quoted: one ⦗1⦘⟧ two", "x"),
        ("a\u200bo\u200cne tw\u2060o\u200b.", "one two", "a\u200bx\u200b."),
        ("\u200b\u200bone two", "one two", "\u200b\u200bx"),
        ("one\u200b", "one", "x\u200b"),
    ],
    ids=["marks", "quotation", "unseen", "unseen before it", "unseen behind it"],
)
def test_a_passage_is_found_as_a_model_was_told_it(text: str, old: str, changed: str) -> None:
    assert with_passage(text, old, "x") == (changed, 1)


def test_a_passage_that_stands_there_twice_as_a_model_was_told_it_is_told_as_such() -> None:
    assert with_passage("<a> <a>", "‹a›", "x") == ("<a> <a>", 2)
