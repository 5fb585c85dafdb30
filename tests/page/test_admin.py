"""The admin in a browser: its home, a list and a row's page fit both widths, keep axe's rules and run nothing."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.clean_page import axe_faults
from tests.page.conftest import FORMS


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_its_pages_fit_keep_axes_rules_and_run_nothing(form: str, visit: Any, person: Any, live_site: Any) -> None:
    root = person("Root", is_staff=True, is_superuser=True)
    hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
    live_site.query(
        "INSERT INTO agents_execution SELECT made.* FROM jsonb_populate_record(NULL::agents_execution, %s::jsonb) made"
        " RETURNING id",
        _run(run_id := uuid4(), root.id, hostile),
    )
    made = live_site.query(
        "INSERT INTO agents_verdict (execution_id, seq, agent_name, user_id, place, scanner, kind, certainty, action,"
        " reason, excerpt, tool, count, created_at)"
        " VALUES (%s, 7, 'chat', %s, 'content', 'injection', 'override', 'certain', 'quote', %s, %s, 'fetch_url', 3,"
        " now()) RETURNING id",
        run_id,
        root.id,
        hostile,
        hostile[:80],
    )
    verdict_id = made[0]["id"]
    watched = visit(root, **FORMS[form])
    page = watched.new_page()
    paths = (
        "/admin/", "/admin/agents/execution/", f"/admin/agents/execution/{run_id}/change/", "/admin/jobs/",
        "/admin/agents/verdict/", f"/admin/agents/verdict/{verdict_id}/change/",
    )  # fmt: skip

    for path in paths:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.goto(paths[5])
    page.get_by_role("button", name="Wrong").click()
    assert page.locator(".field-its_feedback").inner_text().split()[-1] == "wrong"
    page.goto(paths[2])
    assert hostile in page.locator(".field-question pre").inner_text()
    assert (watched.errors, watched.dialogs, watched.foreign) == ([], [], [])
    for path in paths:
        page.goto(path)
        assert (path, axe_faults(page)) == (path, [])


@pytest.mark.slow
def test_on_a_phone_its_head_has_two_lines_and_the_first_column_of_a_list_stays(visit: Any, person: Any) -> None:
    page = visit(person("Root", is_staff=True, is_superuser=True), **FORMS["phone and dark"]).new_page()
    page.goto("/admin/accounts/user/")

    links = page.locator("#user-tools :is(a, button):visible")
    tops = links.evaluate_all("links => links.map((link) => Math.round(link.getBoundingClientRect().top))")
    assert len(tops) == 6
    assert len(set(tops)) == 1, "all of them stand in one line"
    whose = page.locator("#result_list tbody th").first
    before = whose.evaluate("one => one.getBoundingClientRect().left")
    page.locator("#changelist .results").evaluate("box => box.scrollBy(200, 0)")
    after = whose.evaluate("one => one.getBoundingClientRect().left")
    assert page.locator("#changelist .results").evaluate("box => box.scrollLeft") > 100
    assert 0 <= after <= before


def _run(run_id: Any, user_id: Any, words: str) -> str:

    now = "2026-11-22T10:00:00Z"
    return json.dumps(
        {
            "id": str(run_id), "user_id": str(user_id), "status": "failed", "pipeline": "turn", "mode": "",
            "task_id": "",
            "question": words, "input": {"version": 1}, "answer": "", "error_code": "crashed", "error_message": words,
            "on_finish": "", "epoch": 1, "leased_by": "", "crashes": 0, "suspicion": 0, "lost_by": "", "last_seq": 0,
            "last_hash": "\\x" + "00" * 32, "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0,
            "created_at": now, "ended_at": now, "log_folded_at": now, "finish_handled_at": now,
        }
    )  # fmt: skip
