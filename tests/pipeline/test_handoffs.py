"""Who may hand off to whom, how often, and what goes along."""

import itertools

import pytest

from agents.craft.exchange import HandoffInfo
from agents.pipeline.handoffs import (
    ARTIFACT_PATTERNS,
    MATRIX,
    File,
    HandoffManager,
    handoff_context,
    select_artifacts,
    targets_of,
)
from hyperagent.lib.clipping import TRUNCATED

MB = 1024 * 1024


def handed(*agents: str) -> tuple[HandoffInfo, ...]:
    return tuple(
        HandoffInfo(source_agent=source, target_agent=target, task_description=f"work for {target}")
        for source, target in itertools.pairwise(agents)
    )


@pytest.mark.spec("S41")
@pytest.mark.parametrize(
    ("source", "targets"),
    [
        ("chat", {"research", "code", "writing", "data", "rag", "web", "mail"}),
        ("research", {"code", "data", "rag", "web"}),
        ("writing", {"research", "rag"}),
        ("code", {"data"}),
        ("data", {"code"}),
        ("rag", set()),
        ("web", set()),
        ("mail", set()),
    ],
)
def test_the_matrix_is_the_documents_with_the_rulings_extension(source: str, targets: set[str]) -> None:
    assert set(targets_of(source)) == targets


@pytest.mark.spec("S42")
def test_for_every_pair_a_handoff_is_allowed_exactly_where_the_matrix_says_so() -> None:
    for source, target in itertools.product(MATRIX, repeat=2):
        allowed = HandoffManager().can_handoff(source, target)

        assert allowed == (target in MATRIX[source]), (source, target)


def test_an_agent_that_is_not_in_the_matrix_hands_off_to_nobody() -> None:
    assert targets_of("translator") == ()
    assert "only to: nobody" in HandoffManager((), 0, 3).why_not("translator", "chat")


@pytest.mark.spec("S42")
def test_the_work_does_not_come_back_to_an_agent_that_handed_it_on() -> None:
    refused = HandoffManager(handed("code", "data"), 1, 3).why_not("data", "code")

    assert "'code' has handed this task on already" in refused


@pytest.mark.spec("S42")
def test_it_does_not_come_back_in_a_wider_circle_either() -> None:
    refused = HandoffManager(handed("research", "code", "data"), 2, 9).why_not("data", "code")

    assert "'code' has handed this task on already" in refused


@pytest.mark.spec("S42", "S6")
@pytest.mark.parametrize(("count", "allowed"), [(0, True), (2, True), (3, False), (4, False)])
def test_a_run_has_three_handoffs_whoever_makes_them(count: int, allowed: bool) -> None:
    refused = HandoffManager((), count, 3).why_not("chat", "web")

    assert (refused == "") is allowed
    assert allowed or "used its 3 handoffs" in refused


@pytest.mark.spec("S44")
def test_a_recorded_handoff_gives_a_new_value_and_leaves_the_old_one_as_it_was() -> None:
    before = HandoffManager()
    first, second = handed("chat", "research", "code")

    after = before.record_handoff(first).record_handoff(second)

    assert before == HandoffManager()
    assert (after.handoff_count, after.max_handoffs) == (2, 3)
    assert after.visited_agents == ("chat", "research", "code")
    assert after.handoff_history == (first, second)
    assert after.get_handoff_summary() == "1. chat -> research: work for research\n2. research -> code: work for code"


@pytest.mark.spec("S44")
def test_handoffs_of_other_agents_of_the_run_count_too() -> None:
    (handoff,) = handed("chat", "research")
    second = HandoffManager(handoff_count=1).record_handoff(handoff)

    assert second.can_handoff("research", "code") is True
    assert second.record_handoff(handoff).can_handoff("research", "code") is False


@pytest.mark.spec("S43", "S47")
def test_the_next_agent_reads_where_the_task_comes_from_and_what_goes_along() -> None:
    chain = (
        HandoffInfo(
            source_agent="chat",
            target_agent="research",
            task_description="compare the two",
            context="The user is in a hurry.",
            artifacts=("plan.md", "data/q3.csv"),
        ),
    )

    told = handoff_context(chain)

    assert "1. chat -> research: compare the two" in told
    assert "What chat says of it:\nThe user is in a hurry." in told
    assert "Files that chat gives along: plan.md, data/q3.csv" in told


def test_an_agent_that_got_its_task_first_hand_is_told_nothing() -> None:
    assert handoff_context(()) == ""


def test_a_context_without_end_is_cut() -> None:
    chain = (HandoffInfo(source_agent="chat", target_agent="web", task_description="t", context="x" * 9_000),)

    assert len(handoff_context(chain)) < 2_200
    assert handoff_context(chain).endswith(TRUNCATED)


@pytest.mark.spec("S49")
def test_the_default_patterns_are_the_documents() -> None:
    assert ARTIFACT_PATTERNS == ("*.py", "*.csv", "*.json", "*.txt", "*.md", "*.html", "*.js", "*.ts")


@pytest.mark.spec("S48", "S49")
def test_files_go_along_by_their_names_wherever_they_lie() -> None:
    files = [File("a.py", 1), File("deep/b.csv", 1), File("c.exe", 1), File("data.json.bak", 1), File("notes.md", 1)]

    selection = select_artifacts(files)

    assert [file.path for file in selection.chosen] == ["a.py", "deep/b.csv", "notes.md"]
    assert selection.left_out == ()


@pytest.mark.spec("S48")
def test_ten_files_go_along_and_the_others_are_named() -> None:
    selection = select_artifacts([File(f"{number}.txt", 1) for number in range(12)])

    assert len(selection.chosen) == 10
    assert [(left.path, left.why) for left in selection.left_out] == [
        ("10.txt", "more than 10 files"),
        ("11.txt", "more than 10 files"),
    ]


@pytest.mark.spec("S48")
def test_together_they_have_fifty_megabytes_and_a_small_one_goes_along_after_one_too_large() -> None:
    files = [File("a.csv", 30 * MB), File("b.csv", 20 * MB + 1), File("c.csv", 20 * MB), File("d.csv", 1)]

    selection = select_artifacts(files)

    assert [file.path for file in selection.chosen] == ["a.csv", "c.csv"]
    assert [left.path for left in selection.left_out] == ["b.csv", "d.csv"]


@pytest.mark.parametrize("path", ["/etc/passwd.txt", "../secret.json", "a/../../b.md"])
def test_a_file_outside_of_the_workspace_never_goes_along(path: str) -> None:
    selection = select_artifacts([File(path, 1)])

    assert selection.chosen == ()
    assert selection.left_out[0].why == "lies outside of the workspace"


def test_the_patterns_can_be_others() -> None:
    selection = select_artifacts([File("a.py", 1), File("b.parquet", 1)], ["*.parquet"], max_files=1, max_size_mb=0.5)

    assert [file.path for file in selection.chosen] == ["b.parquet"]
