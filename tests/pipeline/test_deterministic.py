"""Plans by patterns: who works on what, and who waits for whom, from a question's own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pipeline.deterministic import plan_by_patterns
from agents.pipeline.plans import MAX_TASKS, Plan, faults_of, stages
from tests.pipeline.rosters import ROSTER

# A question, and its tasks as (agent, positions of the tasks that it waits for).
Shape = list[tuple[str, list[int]]]
CASES: list[tuple[str, Shape]] = [
    # Beside each other.
    ("Search my docs for Q3 revenue AND find the latest news about our competitor", [("rag", []), ("web", [])]),
    ("Search my documents for the revenue and the web for benchmarks", [("rag", []), ("web", [])]),
    ("Write a poem about cats and write a haiku about dogs", [("writing", []), ("writing", [])]),
    ("Suche in meinen Dokumenten nach dem Umsatz und im Internet nach Vergleichszahlen", [("rag", []), ("web", [])]),
    # One after the other.
    (
        "Find sales data in my docs, write Python code to analyze the trend, then email the report to my manager",
        [("rag", []), ("code", [0]), ("mail", [1])],
    ),
    ("First find the sales data in my docs, then write Python code to analyze the trend", [("rag", []), ("code", [0])]),
    ("Search my documents for the Q3 revenue and email it to anna@example.org", [("rag", []), ("mail", [0])]),
    ("Step 1: search the web for e-bike prices. Step 2: make a chart of them.", [("web", []), ("data", [0])]),
    ("Research heat pumps and write a Python script that estimates the savings", [("research", []), ("code", [0])]),
    ("Look up the weather in Paris and draft an email to my sister about it", [("web", []), ("mail", [0])]),
    (
        "Get the exchange rate online, then sum up orders.csv with it, and finally send the result to f@example.org",
        [("web", []), ("data", [0]), ("mail", [1])],
    ),
    ("Check my inbox for the invoice and then summarize the contract in my documents", [("mail", []), ("rag", [0])]),
    ("Search the web for X, then search the web for Y based on it", [("web", []), ("web", [0])]),
    (
        "Research competitors, then draft a press release about our advantages, and finally mail it to p@example.org",
        [("research", []), ("writing", [0]), ("mail", [1])],
    ),
    ("Suche zuerst im Internet nach Strompreisen, dann erstelle ein Diagramm davon", [("web", []), ("data", [0])]),
    (
        "Suche in unseren Unterlagen nach der Garantie. Schreibe danach eine Mail an den Kunden.",
        [("rag", []), ("mail", [0])],
    ),
    (
        "Finde in unserem Handbuch die Regel, vergleiche sie mit dem Gesetz im Internet und maile sie an das Team",
        [("rag", []), ("web", [0]), ("mail", [1])],
    ),
    (
        "Zuerst die Daten in verkauf.csv analysieren, dann einen Blogartikel darüber schreiben",
        [("data", []), ("writing", [0])],
    ),
    ("Durchsuche meine Dokumente nach dem Budget und schicke es per Mail an Tom", [("rag", []), ("mail", [0])]),
    # Apart, and together again.
    (
        "Search my docs for the budget, also find public benchmarks online, then write code to compare them",
        [("rag", []), ("web", []), ("code", [0, 1])],
    ),
    ("search my docs for A and find B on the web, then compare", [("rag", []), ("web", []), ("chat", [0, 1])]),
    (
        "1. Read the contract in my documents\n2. Look up the current law online\n3. Write a memo on the differences",
        [("rag", []), ("web", []), ("writing", [0, 1])],
    ),
    (
        "1) find the price list in my files 2) find the market prices online 3) compare both and 4) email it to Jo",
        [("rag", []), ("web", []), ("chat", [0, 1]), ("mail", [2])],
    ),
    (
        "First search the web for A and my docs for B. Then compare them. Finally mail the comparison to Tom.",
        [("web", []), ("rag", []), ("chat", [0, 1]), ("mail", [2])],
    ),
    (
        "Suche in meinen Dokumenten nach dem Umsatz und im Internet nach Vergleichszahlen, dann vergleiche beides",
        [("rag", []), ("web", []), ("chat", [0, 1])],
    ),
    (
        "Durchsuche unser Handbuch nach der Reiseregel, finde im Internet das Gesetz dazu und fasse beides zusammen",
        [("rag", []), ("web", [0]), ("chat", [1])],
    ),
    # No plan.
    ("What is the capital of France?", []),
    ("Write a Python script and run it", []),
    ("Explain recursion and give an example", []),
    ("Read the csv, compute the average of the price column and plot it", []),
    ("Analyze and compare our three suppliers", []),
    ("Schreibe ein Skript und führe es aus", []),
    ("", []),
    ("👍", []),
]


def shape_of(plan: Plan | None) -> Shape:
    if plan is None:
        return []
    place = {id_: number for number, id_ in enumerate(plan.ids)}
    return [(task.agent, [place[other] for other in task.depends_on]) for task in plan.tasks]


@pytest.mark.spec("S28")
@pytest.mark.parametrize(("question", "shape"), CASES)
def test_the_words_of_a_question_make_its_plan(question: str, shape: Shape) -> None:
    plan = plan_by_patterns(question, ROSTER)

    assert shape_of(plan) == shape
    if plan is not None:
        assert faults_of(plan, agents=ROSTER) == []
        assert plan.origin == "patterns"
        assert plan.intent


@pytest.mark.spec("S25")
def test_a_task_is_what_was_said_and_has_an_id_of_its_own() -> None:
    plan = plan_by_patterns("First find the Q3 revenue in my docs, then email it to anna@example.org.", ROSTER)

    assert plan is not None
    assert [task.task for task in plan.tasks] == ["Find the Q3 revenue in my docs", "Email it to anna@example.org"]
    assert [id_.split("-")[0] for id_ in plan.ids] == ["rag_agent", "mail_agent"]


def test_chat_does_the_work_of_agents_that_are_not_there() -> None:
    plan = plan_by_patterns("Search my docs for A, then search the web for B", {"chat": 0, "web": 0})

    assert plan is not None
    assert [task.agent for task in plan.tasks] == ["chat", "web"]


def test_more_steps_than_a_plan_may_have_are_no_plan() -> None:
    steps = "\n".join(f"{number}. Search the web for item {number}" for number in range(1, MAX_TASKS + 2))

    assert plan_by_patterns(steps, ROSTER) is None


@given(
    st.lists(
        st.sampled_from([question for question, _ in CASES] + [", then ", " and ", ". ", "\n1. ", "it"]), max_size=5
    )
)
def test_whatever_is_said_a_plan_can_be_run(parts: list[str]) -> None:
    plan = plan_by_patterns("".join(parts), ROSTER)

    if plan is not None:
        assert faults_of(plan, agents=ROSTER) == []
        assert sum(map(len, stages(plan))) == len(plan.tasks)
