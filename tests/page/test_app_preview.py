"""An app that is built, served and seen: in a browser, on the whole product with its real sandbox. Only the model
answers by script."""

import json
import shutil
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page.test_approvals import card, press
from tests.scripted import Script

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap")]

PLAN = {"title": "Canteen till", "template": "react", "files": [{"path": "app.js", "purpose": "the till"}]}
APP = """import htm from "./vendor/htm.module.js";
const { createElement, useState } = window.React;
const html = htm.bind(createElement);
function Till() {
  const [sum, setSum] = useState(0);
  const [reached, setReached] = useState("");
  const look = () => fetch("/previews/").then((answer) => setReached(String(answer.status)), () => setReached("no"));
  const leave = () => fetch("http://127.0.0.1:9/").then(() => setReached("yes"), () => setReached("blocked"));
  return html`<main><h1>Canteen till</h1><output>${sum}</output>
    <button onClick=${() => setSum(sum + 3)}>Soup</button>
    <button onClick=${leave}>Leave</button><p id="reached">${reached}</p><p id="cookie">${document.cookie}</p></main>`;
}
window.ReactDOM.createRoot(document.querySelector("#root")).render(html`<${Till} />`);
"""
CODE = {"files": [{"path": "app.js", "content": APP}]}


@pytest.mark.spec("S18", "S194", "S197", "S201")
def test_an_app_is_built_served_and_used_in_its_preview(
    live_site: Any, sandboxes: None, person: Any, visit: Any
) -> None:
    alice = person()
    live_site.model.script(
        Script(match="Plan: Canteen till", text=json.dumps(CODE)),
        Script(match="Wish: A till for the canteen", text=json.dumps(PLAN)),
    )
    asked = alice.post("query", {"query": "A till for the canteen", "mode": "app", "on_approval": "wait"}).json()
    watched = visit(alice)
    page = watched.new_page()
    page.goto(f"{live_site.base_url}/c/{asked['conversation_id']}/")

    card(page).wait_for(timeout=60_000)
    expect(card(page)).to_contain_text("http.server")
    press(page, "a")
    page.get_by_role("button", name="Open preview").click(timeout=60_000)

    app = page.frame_locator("iframe")
    app.get_by_role("button", name="Soup").click(timeout=30_000)
    app.get_by_role("button", name="Soup").click()
    expect(app.locator("output")).to_have_text("6")
    # What a model wrote sees nothing of whoever looks, and reaches nothing but itself.
    expect(app.locator("#cookie")).to_have_text("")
    app.get_by_role("button", name="Leave").click()
    expect(app.locator("#reached")).to_have_text("blocked")
