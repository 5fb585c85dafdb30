"""The data agent: a plan, a program, figures and charts; and figures of its own where no program can be run."""

import pytest

from agents.exchange import Options
from agents.roster.data.charts import taken_out
from agents.roster.data.table import described, number_of, table_in
from agents.tools.values import CodeRun
from tests.roster.driving import Cases, found_by, prompt, says, task_for
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakeSandbox, fake_providers

CSV = "month,revenue\nJan,10\nFeb,20\nMar,60"
CODE = "print('total 90')"
PLAN = {"question": "How did revenue develop?", "steps": ["sum it"], "charts": ["revenue by month"]}
CHART = '{"title": "Revenue", "type": "bar", "data": {"labels": ["Jan"], "datasets": [{"label": "r", "data": [10]}]}}'


@pytest.mark.spec("S40", "S55")
async def test_a_table_is_planned_computed_drawn_and_explained(scripted_server: ScriptedServer, cases: Cases) -> None:
    sandbox = FakeSandbox(outputs={CODE: CodeRun(code=CODE, stdout=f"total 90\n@chart {CHART}\n", exit_code=0)})
    scripted_server.script(says(PLAN), says(f"```python\n{CODE}\n```"), says("Revenue was 90 in all."))
    case = cases(task_for("data", f"How did revenue develop?\n{CSV}"), fake_providers(sandbox=sandbox))

    output = await case.output()

    assert output.result == "Revenue was 90 in all." == shown(case.all_events)
    assert sandbox.files["task.txt"].endswith(CSV)
    assert "sum 90" in prompt(scripted_server, 0)
    assert "`task.txt`" in prompt(scripted_server, 1)
    assert "total 90" in prompt(scripted_server, 2)
    assert "@chart" not in prompt(scripted_server, 2)
    assert output.data["stdout"] == "total 90"
    assert [chart["title"] for chart in output.data["visualizations"]] == ["Revenue"]
    (drawn,) = case.events("visualization")
    assert (drawn["title"], drawn["spec"]["type"]) == ("Revenue", "bar")
    assert output.shared["data_visualizations"] == output.data["visualizations"]
    assert output.shared["data_analysis_plan"].startswith("Question: How did revenue develop?")
    assert [name for name, status in case.stages() if status == "completed"] == [
        "plan", "generate", "execute", "summarize"
    ]  # fmt: skip


async def test_it_works_on_what_the_agents_before_it_found(scripted_server: ScriptedServer, cases: Cases) -> None:
    sandbox = FakeSandbox()
    before = {"rag-1": found_by("rag", "See the table.", chunks=[{"text": CSV}])}
    scripted_server.script(says(PLAN), says(f"```python\n{CODE}\n```"), says("So it is."))

    await cases(task_for("data", "Analyse it", dependency_outputs=before), fake_providers(sandbox=sandbox)).output()

    assert sorted(sandbox.files) == ["found_1_2.txt", "inputs.json"]
    assert sandbox.files["found_1_2.txt"] == CSV


async def test_it_reads_the_files_that_belong_to_the_question(scripted_server: ScriptedServer, cases: Cases) -> None:
    sandbox = FakeSandbox()
    scripted_server.script(says(PLAN), says(f"```python\n{CODE}\n```"), says("So it is."))
    options = Options(document_ids=("d1", "d2"), interactive=False)

    await cases(task_for("data", "Analyse both", options=options), fake_providers(sandbox=sandbox)).output()

    assert sorted(sandbox.files) == ["1_report.pdf", "2_report.pdf"]
    assert sandbox.files["1_report.pdf"].startswith("page 1")
    assert "`2_report.pdf`" in prompt(scripted_server, 1)


async def test_without_a_sandbox_the_figures_of_the_table_are_the_answer(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(says(PLAN), says(f"```python\n{CODE}\n```"), says("In all it was 90, 30 on average."))

    output = await cases(task_for("data", f"How did revenue develop?\n{CSV}")).output()

    assert output.task_done
    assert output.confidence_score == 0.5
    assert output.data["exit_code"] is None
    assert "SANDBOX_PROVIDER" in output.result
    assert "sum 90, mean 30" in prompt(scripted_server, -1)


async def test_without_a_sandbox_and_without_a_table_nothing_is_done(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(says(PLAN), says(f"```python\n{CODE}\n```"), says("There was nothing to compute."))

    output = await cases(task_for("data", "How did revenue develop?")).output()

    assert (output.task_done, output.error) == (False, "not_run")


async def test_the_small_model_puts_figures_into_words_that_are_not_its_own(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.say("It grew.")

    output = await cases(task_for("data", f"How did revenue develop?\n{CSV}", capable=False)).output()

    assert output.result.startswith("It grew.\n\n")
    assert "10 to 60, sum 90" in output.result


@pytest.mark.parametrize(
    "text",
    [
        f"Please look:\n\n{CSV}\n\nand tell me, then, how it went",
        "| month | revenue |\n|---|---:|\n| Jan | 10 |\n| Feb | 20 |\n| Mar | 60 |",
        "month;revenue\nJan;10\nFeb;20\nMar;60",
        'Data: [{"month": "Jan", "revenue": 10}, {"month": "Feb", "revenue": 20}, {"month": "Mar", "revenue": 60}]',
        '{"rows": [{"month": "Jan", "revenue": 10}, {"month": "Feb", "revenue": 20}, {"month": "Mar", "revenue": 60}]}',
    ],
)
def test_a_table_is_found_in_whatever_form_it_comes(text: str) -> None:
    table = table_in(text)

    assert table is not None
    assert table.columns == ("month", "revenue")
    assert table.column(1) == ["10", "20", "60"]
    assert "revenue: number, 10 to 60, sum 90, mean 30, median 20" in described(table)


@pytest.mark.parametrize("text", ["", "Dear Bob, hello\nHow are you, my friend\nI am fine, thanks", "[1, 2, 3]", "{"])
def test_prose_is_no_table(text: str) -> None:
    assert table_in(text) is None


@pytest.mark.parametrize(
    ("cell", "number"), [("1,234.5", 1234.5), ("12 %", 12), ("$5", 5), ("-3e2", -300), ("12a", None), ("1,2", None)]
)
def test_a_number_is_read_with_its_signs(cell: str, number: float | None) -> None:
    assert number_of(cell) == number


def test_only_whole_charts_are_taken_from_the_output() -> None:
    text, charts = taken_out(
        f'a\n@chart {CHART}\n@chart {{"type": "bar"}}\n@chart no json\n@chart {{"type": "evil"}}\nb'
    )

    assert text == "a\nb"
    assert [(chart.title, chart.spec["type"]) for chart in charts] == [("Revenue", "bar")]
