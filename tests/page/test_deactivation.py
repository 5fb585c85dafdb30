"""F22 on the whole product: an administrator deactivates somebody in mid-run, with a question that waits and a program
that runs in a real sandbox. Only the model answers by script.
"""

import shutil
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx
import pytest
from playwright.sync_api import Page

from tests.scripted import Script

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap")

STARTED = "it has begun"
PROGRAM = f'import time\nprint("{STARTED}", flush=True)\ntime.sleep(90)\nopen("effect.txt", "w").write("late")\n'
# What was promised is five seconds; a crowded machine gets some more.
SOON_S = 15
LISTEN = """() => {
    const socket = new WebSocket(`ws://${location.host}/ws/inbox/`)
    window.ended = new Promise((resolve) => { socket.onclose = (event) => resolve(event.code) })
    return new Promise((resolve) => { socket.onmessage = () => resolve(true) })
}"""


def until(condition: Callable[[], Any], what: str, *, within_s: float = 60) -> Any:
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {within_s} s for {what}"
        time.sleep(0.1)
    return found


def pending(person: Any, run: UUID) -> list[dict[str, Any]]:
    listed = person.get("hitl/requests?status=pending").json()["results"]
    return [one for one in listed if one["execution_id"] == str(run)]


def ask_for_a_program(site: Any, person: Any) -> UUID:
    """Its question for a yes is there."""
    site.model.script(Script(text=f"```python\n{PROGRAM}```"))
    run: UUID = person.ask("Write a program that waits and run it", mode="code")
    until(lambda: pending(person, run), "the question for a yes")
    return run


def deactivate_on_the_page(page: Page, person: Any) -> None:
    page.goto(f"/people/?q={person.email}")
    page.get_by_role("link", name="Alice").click()
    assert page.get_by_text("Runs now").locator("..").inner_text().split() == ["Runs", "now", "3"]
    page.get_by_text("Deactivate…").click()
    page.get_by_role("button", name="Deactivate", exact=True).click()
    page.get_by_text("What they had going is stopped").wait_for()


@pytest.mark.slow
@pytest.mark.spec("F22", "B21")
def test_f22_a_person_who_is_deactivated_in_mid_run_is_out_at_once_and_nothing_of_theirs_goes_on(
    live_site: Any, sandboxes: None, person: Any, visit: Any
) -> None:
    alice, bob = person(), person("Bob", is_staff=True)
    logs_before = len(live_site.logs())
    waiting = ask_for_a_program(live_site, alice)
    working = ask_for_a_program(live_site, alice)
    [asked] = pending(alice, working)
    said = alice.post("hitl/respond", {"request_id": asked["request_id"], "decision": "approved"})
    assert said.status_code == 200, said.text
    until(lambda: STARTED in str(live_site.events(working)), "the program to run")
    streaming = alice.ask("say 4000 tokens at 20/s")
    live_site.until_tokens(streaming)
    runs = [waiting, working, streaming]
    alices = visit(alice).new_page()
    alices.goto("/settings/")
    alices.evaluate(LISTEN)

    deactivate_on_the_page(visit(bob).new_page(), alice)
    began_s = time.monotonic()
    ended = live_site.until_ended(*runs, timeout_s=SOON_S)
    took_s = time.monotonic() - began_s
    boxes = "SELECT ended_because FROM agents_sandboxsession WHERE user_id = %s AND ended_at IS NOT NULL"
    because = until(lambda: live_site.query(boxes, alice.id), "the box to end", within_s=SOON_S)
    code = alices.evaluate("window.ended")
    last = {run: live_site.events(run)[-1]["seq"] for run in runs}

    print(f"all runs ended {took_s:.1f} s after the page said so")
    assert [run["status"] for run in ended] == ["cancelled"] * 3
    assert [row["ended_because"] for row in because] == ["removed"]
    assert code == 4401
    assert alice.get("me").status_code in (401, 403)
    assert alice.post("conversations", {}).status_code in (401, 403)
    asked_of = "SELECT status FROM hitl_request WHERE execution_id = ANY(%s) ORDER BY created_at"
    assert [row["status"] for row in live_site.query(asked_of, runs)] == ["cancelled", "approved"]
    login = httpx.post(live_site.url("auth/token"), json={"email": alice.email, "password": alice.password})
    assert login.status_code == 401
    told = "SELECT actor_id FROM audit_event WHERE kind = 'user.deactivated' AND target_id = %s"
    assert [row["actor_id"] for row in live_site.query(told, str(alice.id))] == [bob.id]
    # Afterwards there is silence: no event, no effect, no error.
    effects = "SELECT key FROM agents_effect WHERE execution_id = ANY(%s)"
    assert live_site.query(effects, runs) == []
    assert {run: live_site.events(run)[-1]["seq"] for run in runs} == last
    errors = live_site.logs()[logs_before:]
    assert "IntegrityError" not in errors
    assert "Traceback" not in errors, errors[-3000:]
