"""The plan as a list: for the page, for the file, and for the agent at work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.engine.events import TodoItem
from agents.pipeline.effective_task import Intent, effective_task
from agents.pipeline.plans import Plan, PlanTask
from agents.pipeline.todo import active_context, checklist, items

PLAN = Plan(
    intent="compare revenues",
    tasks=(
        PlanTask(id="rag_agent-1", agent="rag", task="Find our revenue\nin the reports"),
        PlanTask(id="web_agent-2", agent="web", task="Find theirs"),
        PlanTask(id="code_agent-3", agent="code", task="Plot both", depends_on=("rag_agent-1", "web_agent-2")),
    ),
)


@pytest.mark.spec("S16", "S148")
def test_each_task_is_an_item_with_its_state() -> None:
    found = items(PLAN, {"rag_agent-1": "completed", "web_agent-2": "failed"})

    assert found == (
        TodoItem(id="rag_agent-1", text="Find our revenue in the reports", status="completed"),
        TodoItem(id="web_agent-2", text="Find theirs", status="failed"),
        TodoItem(id="code_agent-3", text="Plot both", status="pending"),
    )


@pytest.mark.parametrize(
    ("state", "status"),
    [("running", "running"), ("awaiting_user", "running"), ("cancelled", "skipped"), ("deleted", "deleted")],
)
def test_states_of_agents_are_told_in_the_words_of_the_list(state: str, status: str) -> None:
    assert items(PLAN, {"web_agent-2": state})[1].status == status


def test_a_task_that_was_changed_stands_there_as_it_is_now() -> None:
    task = effective_task("Find theirs", "find the press release", Intent.OVERRIDE)
    plan = Plan(tasks=(PlanTask(id="a", agent="web", task=task),))

    assert items(plan, {})[0].text == "find the press release"


@pytest.mark.spec("S62")
def test_the_checklist_is_markdown() -> None:
    text = checklist(PLAN, {"rag_agent-1": "completed", "web_agent-2": "skipped"})

    assert text == (
        "# compare revenues\n\n"
        "- [x] rag: Find our revenue in the reports\n"
        "- [ ] web: Find theirs (skipped)\n"
        "- [ ] code: Plot both\n"
    )


@pytest.mark.spec("S63")
def test_the_agent_at_work_sees_the_plan_with_its_own_task_marked() -> None:
    text = active_context(PLAN, {"rag_agent-1": "completed"}, current="web_agent-2")

    assert text == (
        "[Active Task Context]\n"
        "The whole: compare revenues\n"
        "- [x] rag: Find our revenue in the reports\n"
        "- [ ] web: Find theirs  <- your task\n"
        "- [ ] code: Plot both"
    )


@pytest.mark.spec("S63")
def test_sixteen_long_tasks_are_cut_to_their_beginnings_and_all_of_them_stay() -> None:
    plan = long_plan(16, words=60)

    text = active_context(plan, {}, current="t7")

    assert len(text) <= 2_000
    assert all(f"agent{number}:" in text for number in range(16))
    assert f"agent7: {'word ' * 59}word  <- your task" in text


@pytest.mark.spec("S63")
def test_of_a_hundred_tasks_those_around_the_current_one_stay_and_the_others_are_counted() -> None:
    text = active_context(long_plan(100, words=60), {}, current="t50")

    assert len(text) <= 2_000
    assert "agent50:" in text
    assert "<- your task" in text
    shown = text.count("- [ ]")
    left = [int(line.split()[0][1:]) for line in text.splitlines() if line.startswith("(")]
    assert shown > 10
    assert shown + sum(left) == 100


@pytest.mark.spec("S63")
@given(st.integers(1, 60), st.integers(0, 300), st.data())
def test_it_is_never_longer_than_2000_characters_and_always_has_the_current_task(
    count: int, words: int, data: st.DataObject
) -> None:
    current = data.draw(st.integers(0, count - 1))

    text = active_context(long_plan(count, words=words), {"t0": "completed"}, current=f"t{current}")

    assert len(text) <= 2_000
    assert text.count("<- your task") == 1
    assert f"agent{current}:" in text


def long_plan(count: int, *, words: int) -> Plan:
    tasks = (PlanTask(id=f"t{n}", agent=f"agent{n}", task=" ".join(["word"] * words)) for n in range(count))
    return Plan(intent="a long intent " * 40, tasks=tuple(tasks))
