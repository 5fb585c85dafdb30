"""An app that is built, served and seen: in a browser, on the whole product with its real sandbox. Only the model
answers by script."""

import json
import shutil
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.page.test_approvals import card, press
from tests.scripted import Script

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap")

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


SERVER = """const http = require("http");
const { createHash } = require("crypto");
const page = `<h1>Board</h1><p id="said"></p><p id="elsewhere"></p><script>
  const told = (id, text) => { document.querySelector(id).textContent += text + ";"; };
  const socket = new WebSocket(location.origin.replace("http", "ws") + "/live", ["board"]);
  socket.onopen = () => socket.send("Hello");
  socket.onmessage = (event) => told("#said", event.data);
  socket.onclose = (event) => told("#said", "closed " + event.code);
  try {
    const other = new WebSocket("ws://127.0.0.1:9/");
    other.onopen = () => told("#elsewhere", "open");
    other.onerror = () => told("#elsewhere", "blocked");
  } catch { told("#elsewhere", "blocked"); }
</script>`;
const server = http.createServer((_, answer) => { answer.setHeader("content-type", "text/html"); answer.end(page); });
const frame = (text) => Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);
server.on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  socket.write(["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
    "Sec-WebSocket-Protocol: board", "Sec-WebSocket-Accept: " + createHash("sha1").update(key).digest("base64"),
    "", ""].join("\\r\\n"));
  socket.on("data", (given) => {
    const mask = given.subarray(2, 6), said = given.subarray(6, 6 + (given[1] & 127));
    const text = [...said].map((byte, at) => String.fromCharCode(byte ^ mask[at % 4])).join("");
    socket.write(frame(text + " to " + request.headers.host));
    setTimeout(() => socket.end(Buffer.from([0x88, 2, 0x0f, 0xa1])), 200);
  });
  socket.on("error", () => {});
});
server.listen(Number(process.env.PORT), process.env.HOST);
"""
LIVE_PLAN = {"title": "Board", "template": "node", "files": [{"path": "server.js", "purpose": "the server"}]}
LIVE = {"files": [{"path": "server.js", "content": SERVER}]}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
@pytest.mark.spec("S194", "S201")
def test_an_app_changes_its_page_by_a_websocket(live_site: Any, sandboxes: None, person: Any, visit: Any) -> None:
    alice = person()
    live_site.model.script(
        Script(match="Plan: Board", text=json.dumps(LIVE)),
        Script(match="Wish: A board that is live", text=json.dumps(LIVE_PLAN)),
    )
    asked = alice.post("query", {"query": "A board that is live", "mode": "app", "on_approval": "wait"}).json()
    page = visit(alice).new_page()
    page.goto(f"{live_site.base_url}/c/{asked['conversation_id']}/")

    card(page).wait_for(timeout=60_000)
    press(page, "a")
    page.get_by_role("button", name="Open preview").click(timeout=60_000)

    app = page.frame_locator("iframe")
    expect(app.locator("#said")).to_have_text("Hello to localhost:5173;closed 4001;", timeout=30_000)
    expect(app.locator("#elsewhere")).to_have_text("blocked;")
