"""Apps in real boxes: begun, changed, started, seen on their own origin, asleep and awake again."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.test import AsyncClient

from agents.apps import joining, records
from agents.apps.own import OwnApps
from agents.apps.proxy import POLICY, Previews
from agents.apps.starters import STARTERS
from agents.sandbox.local.provider import LocalSandbox
from agents.sandbox.local.runtime import INSTALLED
from agents.tools.tool import ToolError
from hyperagent.accounts.models import User
from hyperagent.lib.threads import in_thread
from tests.apps.test_sockets import Browser
from tests.runtime.driving import until
from tests.sandbox.sessions.working import Agent, handed_on, needs_walls

pytestmark = [pytest.mark.django_db(transaction=True), needs_walls]


async def django(scope: Any, receive: Any, send: Any) -> None:
    """Stands where everything that is not for an app goes."""
    await send({"type": "http.response.start", "status": 299, "headers": []})
    await send({"type": "http.response.body", "body": b"the product"})


def with_libraries(tmp_path: Path) -> LocalSandbox:
    return LocalSandbox(libraries=INSTALLED, runtime=tmp_path / "boxes")


def browser(agent: Agent) -> httpx.AsyncClient:
    previews: Any = Previews(django, suffix="localhost", host=lambda: agent.client)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=previews))


async def built(agent: Agent, starter: str, **files: str) -> tuple[OwnApps, Any]:
    apps = OwnApps(lambda: agent.client, agent.workspace)
    await apps.create(agent.about, starter, by="chat", key="")
    for path, content in files.items():
        await apps.write(agent.about, path.replace("__", "."), content, by="chat", key="")
    return apps, await apps.start(agent.about, title="Shop", command=STARTERS[starter].command, port=5173)


async def row_of(agent: Agent) -> records.AppRow:
    about = agent.about
    assert about.user_id is not None
    assert about.conversation_id is not None
    row = await in_thread(records.of_task)(about.user_id, about.conversation_id)
    assert row is not None
    return row


@pytest.mark.spec("S197", "S194", "S202")
async def test_an_app_is_begun_changed_and_seen_on_an_origin_of_its_own_until_its_box_is_gone_and_again_after_it(
    working: Callable[..., Any], tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))
    _, started = await built(agent, "static", index__html="<h1>Shop</h1>")
    row = await row_of(agent)
    base = f"http://{row.label}.localhost:8000"

    async with browser(agent) as web:
        page = await web.get(f"{base}/index.html")
        style = await web.get(f"{base}/style.css")
        elsewhere = await web.get("http://localhost:8000/")
        guessed = await web.get(f"http://{'a' * len(row.label)}.localhost:8000/")

        assert started.running
        assert started.url == f"/previews/{row.id}/"
        assert (page.status_code, page.text) == (200, "<h1>Shop</h1>")
        assert page.headers["content-security-policy"] == POLICY
        assert style.headers["content-type"] == "text/css"
        assert elsewhere.text == "the product"
        assert guessed.status_code == 404

        await handed_on(agent.client, agent.about)
        asleep = await web.get(f"{base}/")
        assert (asleep.status_code, "is not running any more" in asleep.text) == (503, True)

        # Its user opens the preview again, by way of the product: that starts it, with the files as they were.
        monkeypatch.setattr("agents.apps.views.sandbox_host", lambda: agent.client)
        alice, charlie, nobody = AsyncClient(), AsyncClient(), AsyncClient()
        await alice.aforce_login(await in_thread(User.objects.get)(pk=agent.about.user_id))
        await charlie.aforce_login(await in_thread(User.objects.create)(email="charlie@example.org"))
        assert (await charlie.get(started.url)).status_code == 404
        assert (await nobody.get(started.url)).status_code == 302
        without_a_name = await alice.get(started.url)
        assert (without_a_name.status_code, b"PREVIEW_HOST" in without_a_name.content) == (503, True)
        assert "frame-ancestors 'self'" in without_a_name["content-security-policy"]
        assert "x-frame-options" not in without_a_name
        settings.CONFIG = settings.CONFIG.model_copy(update={"preview_host": "previews.example.org"})
        opened = await alice.get(started.url)
        assert opened["location"] == f"http://{row.label}.previews.example.org/"
        assert (await web.get(f"{base}/")).text == "<h1>Shop</h1>"


TELLS = """
import http.server, os, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"WORD")

time.sleep(float(os.environ.get("LATE", "0")))
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""


async def told(agent: Agent, word: str, command: str = "python3 told.py") -> Any:
    apps = OwnApps(lambda: agent.client, agent.workspace)
    await apps.write(agent.about, "told.py", TELLS.replace("WORD", word), by="chat", key="")
    return await apps.start(agent.about, title="Told", command=command, port=5173)


async def shown(agent: Agent) -> str:
    async with browser(agent) as web:
        return (await web.get(f"http://{(await row_of(agent)).label}.localhost/")).text


@pytest.mark.slow
async def test_an_app_that_is_opened_in_two_windows_at_once_is_started_once_and_the_next_one_takes_its_place(
    working: Callable[..., Any], tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))
    started = await told(agent, "old", "LATE=0.5 python3 told.py")
    await handed_on(agent.client, agent.about)
    monkeypatch.setattr("agents.apps.views.sandbox_host", lambda: agent.client)
    settings.CONFIG = settings.CONFIG.model_copy(update={"preview_host": "previews.example.org"})
    windows = [AsyncClient() for _ in range(3)]
    for window in windows:
        await window.aforce_login(await in_thread(User.objects.get)(pk=agent.about.user_id))

    opened = await asyncio.gather(*(window.get(started.url) for window in windows))

    assert [answer.status_code for answer in opened] == [302, 302, 302]
    assert await shown(agent) == "old"
    assert (await told(agent, "new")).running
    assert await shown(agent) == "new"


class Overtaken:
    """A box, of which somebody else starts the app as one looks whether it runs."""

    def __init__(self, box: Any, comes: Callable[[], Any]) -> None:
        self._box = box
        self._comes = comes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._box, name)

    async def running(self, started: str) -> bool:
        ran = await self._box.running(started)
        await self._comes()
        return bool(ran)


@pytest.mark.slow
async def test_a_window_that_is_overtaken_by_another_shows_what_that_has_started(
    working: Callable[..., Any], tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))
    started = await told(agent, "Hello")
    await handed_on(agent.client, agent.about)
    settings.CONFIG = settings.CONFIG.model_copy(update={"preview_host": "previews.example.org"})
    window = AsyncClient()
    await window.aforce_login(await in_thread(User.objects.get)(pk=agent.about.user_id))

    class Host:
        async def box(self, *asked: Any) -> Any:
            return Overtaken(await agent.client.box(*asked), another_opens_it)

    async def another_opens_it() -> None:
        monkeypatch.setattr("agents.apps.views.sandbox_host", lambda: agent.client)
        assert (await window.get(started.url)).status_code == 302

    monkeypatch.setattr("agents.apps.views.sandbox_host", Host)

    assert (await window.get(started.url)).status_code == 302
    assert await shown(agent) == "Hello"


@pytest.mark.slow
async def test_a_server_that_nobody_waits_for_any_more_gives_way_to_the_next(
    working: Callable[..., Any], tmp_path: Path
) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))
    await told(agent, "first")
    first = (await row_of(agent)).started
    given_up = asyncio.ensure_future(told(agent, "old", "LATE=60 python3 told.py"))

    async def is_known() -> bool:
        return (await row_of(agent)).started != first

    await until(is_known)
    given_up.cancel()

    assert (await told(agent, "new")).running
    assert await shown(agent) == "new"


@pytest.mark.slow
async def test_a_port_that_another_program_holds_is_named_and_its_app_is_not_taken_for_the_new_one(
    working: Callable[..., Any], tmp_path: Path
) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))
    await told(agent, "old")
    about = agent.about
    await in_thread(records.forget_task)(about.user_id, about.conversation_id)

    started = await told(agent, "new")

    assert not started.running
    assert started.note == "Another program in the box listens at port 5173. Stop it, or take another port."


@pytest.mark.slow
async def test_the_servers_of_python_and_node_come_up_and_answer(working: Callable[..., Any], tmp_path: Path) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))

    async with browser(agent) as web:
        answers = {}
        for starter, path in (("flask", "/"), ("fastapi", "/api/greeting?name=Ada"), ("node", "/api/time")):
            _, started = await built(agent, starter)
            assert started.running, (starter, started.said)
            answers[starter] = await web.get(f"http://{(await row_of(agent)).label}.localhost{path}")

    assert "<h1>Hello</h1>" in answers["flask"].text
    assert answers["fastapi"].json() == {"greeting": "Hello, Ada"}
    assert set(answers["node"].json()) == {"time"}


@pytest.mark.slow
async def test_what_does_not_come_up_says_what_it_wrote_and_what_is_not_in_the_project_is_refused(
    working: Callable[..., Any], tmp_path: Path
) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))
    apps, started = await built(agent, "flask", app__py="import nothing_there")

    assert not started.running
    assert started.note == "The server ended before it answered."
    assert "No module named 'nothing_there'" in started.said
    with pytest.raises(ToolError, match="not in the project"):
        await apps.write(agent.about, "/etc/passwd", "x", by="chat", key="")
    with pytest.raises(ToolError):
        await apps.write(agent.about, "../outside.txt", "x", by="chat", key="")


LIVE = """
import asyncio, base64, hashlib, os

async def serve(reader, writer):
    lines = (await reader.readuntil(b"\\r\\n\\r\\n")).decode().split("\\r\\n")
    told = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    if "upgrade" not in told:
        writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\nconnection: close\\r\\n\\r\\nok")
        writer.close()
        return
    key = told["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    writer.write(("HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: Upgrade\\r\\n"
                  f"sec-websocket-accept: {accept}\\r\\n\\r\\n").encode())
    while True:
        head = await reader.readexactly(2)
        mask, content = await reader.readexactly(4), await reader.readexactly(head[1] & 127)
        said = bytes(byte ^ mask[at % 4] for at, byte in enumerate(content))
        writer.write(bytes((0x80 | (head[0] & 15), len(said))) + said[::-1])

async def main():
    server = await asyncio.start_server(serve, os.environ["HOST"], int(os.environ["PORT"]))
    await server.serve_forever()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.spec("S201")
async def test_a_websocket_reaches_the_server_in_its_box_and_ends_with_it(
    working: Callable[..., Any], tmp_path: Path
) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))
    apps = OwnApps(lambda: agent.client, agent.workspace)
    await apps.write(agent.about, "live.py", LIVE, by="chat", key="")
    started = await apps.start(agent.about, title="Live", command="python3 -u live.py", port=5173)
    assert started.running, started.said
    host = f"{(await row_of(agent)).label}.localhost:8000"
    previews: Any = Previews(django, suffix="localhost", host=lambda: agent.client)

    async with Browser(previews, host=host, origin=f"http://{host}") as one:
        assert (await one.hears())["type"] == "websocket.accept"
        one.say("stressed")
        assert await one.is_told() == "desserts"
        async with Browser(previews, host=host, origin="http://localhost:8000") as of_the_product:
            assert await of_the_product.is_refused()
        await handed_on(agent.client, agent.about)
        assert await one.is_closed() == joining.ENDED
    async with Browser(previews, host=host, origin=f"http://{host}") as asleep:
        assert await asleep.is_refused()
