"""Runs in which agents work with their hands, as their event logs tell them. Nothing here opens a browser."""

from agents.engine import events as e
from tests.page.recorded import ROOT, Recorded

PROGRAM = """# Revenue by month, and its trend
import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

table = pd.read_csv("sales.csv", parse_dates=["month"])
table["total"] = table["north"] + table["south"]
best = table.loc[table["total"].idxmax()]
print(f"Rows: {len(table)}")
print(f"Total: {table['total'].sum():,.0f}")
print(f"Best month: {best['month']:%B} with {best['total']:,.0f}")
growth = table["total"].iloc[-1] / table["total"].iloc[0] - 1
print(f"Growth: {growth:.1%}")

figure, axes = plt.subplots(figsize=(8, 4.5))
axes.plot(table["month"], table["total"])
figure.savefig("revenue.png", dpi=150)
"""
OUTPUT = "Rows: 6\nTotal: 12,840\nBest month: June with 2,610\nGrowth: 42.6%\n"
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"]
BARS = {
    "type": "bar",
    "data": {
        "labels": MONTHS,
        "datasets": [
            {"label": "North", "data": [980, 1010, 1105, 1190, 1240, 1410]},
            {"label": "South", "data": [850, 905, None, 1080, 1130, 1200]},
        ],
    },
    "options": {"scales": {"y": {"title": {"text": "Revenue in thousands"}}}},
}
LINE = {
    "type": "line",
    "data": {"labels": MONTHS, "datasets": [{"label": "Total", "data": [1830, 1915, 2050, 2270, 2370, 2610]}]},
}
PIE = {
    "type": "doughnut",
    "data": {"labels": ["North", "South", "East"], "datasets": [{"data": [6935, 5905, 1200]}]},
}
ANSWER = (
    "Revenue grew by **42.6 %** from January to June, to 2,610. *June* was the best month; the north leads throughout."
)


def analysing(*, until_output: bool = False) -> Recorded:
    """The data agent runs a program; with `until_output` it still runs."""
    run = Recorded()
    run.tell(ROOT, e.Config(values={"model": "gpt-5.2", "provider": "openai"}))
    run.tell(ROOT, e.Routing(agent="data", reason="figures", method="heuristic", confidence=0.9))
    run.agent("data", "data", "running", task="Analyse this CSV and plot it")
    run.tell("data", e.Stage(name="execute", description="Running the program", status=e.StageStatus.RUNNING))
    run.tell("data", e.ToolCall(tool="execute_code", args={"code": PROGRAM, "language": "python"}, id="x1"))
    run.tell("data", e.TerminalCommand(command=PROGRAM, id="p1", language="python"))
    run.wait(0.4)
    run.tell("data", e.TerminalOutput(content="Rows: 6\nTotal: 12,840\n", id="p1"))
    run.tell("data", e.TerminalError(content="\u001b[33mwarning\u001b[0m: one value is missing\n", id="p1"))
    if until_output:
        return run
    run.tell("data", e.TerminalOutput(content="Best month: June with 2,610\nGrowth: 42.6%\n", id="p1"))
    run.wait(1.3)
    ended(run)
    return run


def ended(run: Recorded) -> None:
    run.tell("data", e.TerminalComplete(exit_code=0, id="p1", seconds=1.8))
    run.tell("data", e.CodeResult(code=PROGRAM, stdout=OUTPUT, exit_code=0, language="python", id="p1"))
    for version in (1, 2):
        update = e.WorkspaceUpdate(
            path="revenue.png", operation="written", size_bytes=38_120, media_type="image/png", version=version
        )
        run.tell("data", update)
    run.tell("data", e.WorkspaceUpdate(path="tables/by month.csv", operation="written", size_bytes=412, version=1))
    run.tell("data", e.WorkspaceUpdate(path="scratch.txt", operation="written", size_bytes=1, version=1))
    run.tell("data", e.WorkspaceUpdate(path="scratch.txt", operation="deleted"))
    run.tell("data", e.Image(path="revenue.png", alt="Revenue by month", version=2))
    run.tell("data", e.ToolResult(tool="execute_code", content=OUTPUT, id="x1"))
    run.tell("data", e.Stage(name="execute", description="Running the program", status=e.StageStatus.COMPLETED))
    run.tell("data", e.Visualization(title="Revenue by region", spec=BARS))
    run.tell("data", e.Visualization(title="Revenue", spec=LINE, path="drawn.png"))
    run.tell("data", e.WorkspaceUpdate(path="drawn.png", operation="written", size_bytes=20_000, version=1))
    run.tell("data", e.Image(path="drawn.png", alt="The same as the line"))


def analysed() -> Recorded:
    run = analysing()
    run.say("data", ANSWER)
    run.agent("data", "data", "completed")
    run.finish(ANSWER)
    return run


def building() -> Recorded:
    """Commands of a shell, one of which fails, a browser, an app and a skill; it goes on."""
    run = Recorded()
    run.agent("build", "code", "running", task="Build a small shop")
    commands = (
        ("npm create vite@latest shop", "Scaffolding project\nDone.\n", 0),
        ("npm install", "added 61 packages in 3s\n", 0),
        ("npm test", "1 failing\n  expected 2 to be 3\n", 1),
        ("npm test", "2 passing\n", 0),
        ("npm run build", "built in 812 ms\n", 0),
    )
    for number, (command, output, code) in enumerate(commands):
        run.tell("build", e.TerminalCommand(command=command, id=f"c{number}"))
        run.wait(0.9)
        stream = e.TerminalError if code else e.TerminalOutput
        run.tell("build", stream(content=output, id=f"c{number}"))
        run.tell("build", e.TerminalComplete(exit_code=code, id=f"c{number}"))
    run.tell("build", e.AppPreview(url="/previews/0a1b2c3d-0000-4000-8000-000000000001/", title="Shop", port=5173))
    opened = e.BrowserAction(action="navigate", url="http://127.0.0.1:5173/", title="Shop", screenshot="shots/1.png")
    run.tell("build", opened)
    run.tell("build", e.BrowserAction(action="click", target="Add to basket", screenshot="shots/2.png"))
    found = {"question": "What sells?", "charts": 2, "files": ["a.csv", "b.csv"], "empty": ""}
    run.tell("build", e.SkillOutput(skill_id="data_analysis", output=found))
    return run
