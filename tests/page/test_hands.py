"""A CSV that is analysed and plotted, from the file to the plot: in a browser, on the whole product with its real
sandbox. Only the model answers by script.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.test_approvals import card, press
from tests.scripted import Script

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap")

SALES = "month,north,south\nJan,980,850\nFeb,1010,905\nMar,1105,945\nApr,1190,1080\n"
QUESTION = "Analyse this CSV and plot it"
PROGRAM = """# Revenue by month
import json
import time

import pandas as pd

table = pd.read_csv("sales.csv")
table["total"] = table["north"] + table["south"]
print("Rows:", len(table), flush=True)
time.sleep(1.5)
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

figure, axes = plt.subplots()
axes.bar(table["month"], table["total"])
axes.set_title("Revenue by month")
figure.savefig("revenue.png")
table.to_csv("totals.csv", index=False)
print("Total:", int(table["total"].sum()))
data = {"labels": list(table["month"]), "datasets": [{"label": "Total", "data": table["total"].tolist()}]}
print("@chart", json.dumps({"title": "Revenue by month", "type": "bar", "data": data, "file": "revenue.png"}))
"""
PLAN = {"question": "How did revenue develop?", "steps": ["add both regions"], "charts": ["revenue by month"]}
ANSWER = "Revenue was **8,065** in all, and April was the best month."


@pytest.fixture
def killed_runners(live_site: Any) -> Iterator[None]:
    """Whoever was killed is there again for the next test."""
    yield
    live_site.mend()


def know(site: Any) -> None:
    """What the model answers in each stage, told by what only that stage is asked with."""
    site.model.script(
        Script(match="## The program's output", text=ANSWER),
        Script(match="## Files in the working folder", text=f"```python\n{PROGRAM}```"),
        Script(match="## The data", text=json.dumps(PLAN)),
    )


def attach(page: Page, folder: Path) -> None:
    (folder / "sales.csv").write_text(SALES)
    page.locator("input[type=file]").set_input_files(folder / "sales.csv")
    page.locator(".attachment.is-added, .attachment.is-known").wait_for()


def kill_its_runner(site: Any, run: Any) -> None:
    driver = site.execution(run)["leased_by"]
    [name] = [name for name in ("one", "two") if re.search(rf"\b{name}\b", driver)]
    site.kill(name)


def said_by(page: Page) -> str:
    """The answer with everything in it, without clocks and facts of the run."""
    page.locator(".chart").scroll_into_view_if_needed()
    page.locator(".chart-frame[data-drawn]").wait_for()
    answer = page.locator(".answer").last
    parts = answer.locator(".programs, .prose, .results")
    return re.sub(r"\b\d+(\.\d+)? s\b", "", "\n".join(parts.all_inner_texts()))


@pytest.mark.slow
@pytest.mark.spec("S55", "S139", "S177", "S195", "B1", "B5")
def test_a_csv_is_attached_analysed_after_a_yes_and_plotted_though_its_runner_is_killed(
    live_site: Any, sandboxes: None, killed_runners: None, person: Any, visit: Any, tmp_path: Path
) -> None:
    alice, charlie = person(), person("Charlie")
    know(live_site)
    watched = visit(alice)
    page = watched.new_page()
    page.goto(live_site.base_url)

    attach(page, tmp_path)
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_role("list", name="Attached files")).to_have_text("sales.csv")
    card(page).wait_for(timeout=60_000)
    expect(card(page)).to_contain_text("# Revenue by month")
    conversation = re.search(r"/c/([0-9a-f-]{36})/", page.url)
    assert conversation is not None
    place = f"files/conversation/{conversation[1]}/"
    # Before the yes there is what was attached, and nothing else has happened.
    assert [file["path"] for file in alice.get(place).json()["results"]] == ["sales.csv"]
    assert page.locator(".program").count() == 0
    [row] = live_site.query("SELECT id FROM agents_execution WHERE conversation_id = %s", conversation[1])

    press(page, "a")
    expect(page.get_by_label("Output", exact=True)).to_have_text("Rows: 4\n", timeout=60_000)
    kill_its_runner(live_site, row["id"])

    expect(page.locator(".prose")).to_contain_text("Revenue was 8,065 in all", timeout=60_000)
    expect(page.locator(".answer[data-status=completed]")).to_be_visible(timeout=30_000)
    expect(page.get_by_role("img", name="Bar chart: Revenue by month. Total. 4 values.")).to_be_visible()
    expect(page.get_by_role("group", name="Files").get_by_role("listitem")).to_contain_text(
        ["revenue.png", "totals.csv"]
    )
    told = live_site.events(row["id"])
    shown = page.locator(".program").evaluate_all("all => all.map((one) => [one.dataset.status, one.innerText])")
    told_of = [(event["type"], event.get("id"), event.get("reason")) for event in told]
    assert len(shown) == 1, (shown, [one for one in told_of if "terminal" in one[0] or "shut" in one[0]])
    page.get_by_role("button", name=re.compile("Ran Python")).click()
    expect(page.get_by_label("Output", exact=True)).to_have_text("Rows: 4\nTotal: 8065\n")
    expect(page.get_by_label("Program", exact=True)).to_contain_text('pd.read_csv("sales.csv")')

    kept = {file["path"] for file in alice.get(place).json()["results"]}
    assert kept == {"revenue.png", "sales.csv", "totals.csv"}
    assert alice.get(f"{place}revenue.png").content.startswith(b"\x89PNG")
    assert charlie.get(f"{place}revenue.png").status_code == charlie.get(place).status_code == 404
    assert [event["stdout"].split("\n@")[0] for event in told if event["type"] == "code_result"] == [
        "Rows: 4\nTotal: 8065"
    ]
    asked = "\n".join(call.last_user for call in live_site.model.calls)
    assert "Total: 8065" in asked
    live_site.check_log(row["id"])

    before = said_by(page)
    page.reload()
    page.get_by_role("button", name=re.compile("Ran Python")).click()
    assert said_by(page) == before
    assert (watched.errors, watched.foreign) == ([], [])
