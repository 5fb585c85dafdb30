"""The browser in its box: opened, used, watched, closed; and what pages in it cannot reach."""

import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import AsyncClient
from PIL import Image as Picture

from agents.browser import chromium, words
from agents.browser.own import OwnBrowser
from agents.browser.patience import Patience
from agents.sandbox.base import BoxType, Command
from agents.tools.catalogue import browser_tools
from agents.tools.tool import Reply, Tool, ToolError
from hyperagent.accounts.models import User
from hyperagent.lib.threads import in_thread
from tests.browser.site import TRIES, Site
from tests.sandbox.sessions.working import Agent, handed_on, needs_walls

pytestmark = [
    pytest.mark.django_db(transaction=True),
    needs_walls,
    pytest.mark.skipif(chromium.program() is None, reason="there is no Chromium on this machine"),
    pytest.mark.slow,
]


class Surfer:
    """Calls the tools as the gateway does: what a tool adds to its arguments first."""

    def __init__(self, agent: Agent, browser: OwnBrowser) -> None:
        self.agent = agent
        self.browser = browser

    async def __call__(self, tool: Tool, **arguments: Any) -> str:
        return await self.agreed(tool, await self.settled(tool, **arguments))

    async def settled(self, tool: Tool, **arguments: Any) -> dict[str, Any]:
        return {**arguments, **(await tool.settle(self.call, **arguments) if tool.settle else {})}

    async def agreed(self, tool: Tool, arguments: dict[str, Any]) -> str:
        reply: Reply = await tool.function(self.call, **arguments)
        return str(reply.content)

    async def fails(self, tool: Tool, **arguments: Any) -> ToolError:
        with pytest.raises(ToolError) as raised:
            await self(tool, **arguments)
        return raised.value

    @property
    def call(self) -> Any:
        call = self.agent.call
        return replace(call, providers=replace(call.providers, browser=self.browser))

    async def seen_until(self, wanted: str) -> str:
        for _ in range(50):
            if wanted in (seen := await self(browser_tools.browser_screenshot)):
                return seen
        raise AssertionError(f"{wanted} was not seen: {seen}")


@pytest.fixture
async def surfing(working: Callable[..., Any], site: Site) -> AsyncIterator[Callable[..., Any]]:
    opened: list[OwnBrowser] = []

    async def surfer(name: str) -> Surfer:
        agent = await working(name, browsers_reach=(site.place,))
        opened.append(OwnBrowser(lambda: agent.client, private=(site.place,), patience=Patience(acting_s=3)))
        return Surfer(agent, opened[-1])

    yield surfer
    for browser in opened:
        await browser.close()


def reference(seen: str, element: str, *, nth: int = 0) -> str:
    lines = [line for line in seen.splitlines() if element in line]
    return lines[nth].split("[ref=")[1].split("]")[0]


def not_blank(content: bytes) -> bool:
    with Picture.open(io.BytesIO(content)) as picture:
        assert picture.size == (1280, 800)
        return len(picture.convert("RGB").getcolors(1 << 24) or ()) > 50


async def watching(surfer: Surfer, who: str | None, name: str = "") -> Any:
    client = AsyncClient()
    if who is not None:
        user, _ = await in_thread(User.objects.get_or_create)(email=f"{who}@example.org")
        await client.aforce_login(user)
    return await client.get(f"/browser/{surfer.agent.about.conversation_id}/{name}")


@pytest.mark.spec("S196", "S139", "S203")
async def test_a_page_is_opened_and_used_like_a_person_does_and_each_step_is_seen(
    surfing: Callable[..., Any], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = await surfing("alice")
    monkeypatch.setattr("agents.browser.views.sandbox_host", lambda: alice.agent.client)
    watched, charlies, nobodys = [await watching(alice, who) for who in ("alice", "charlie", None)]
    assert [one.status_code for one in (watched, charlies, nobodys)] == [200, 404, 302]
    assert b"No browser is open" in watched.content
    assert (await alice.fails(browser_tools.browser_screenshot)).message == words.CLOSED

    seen = await alice(browser_tools.browser_navigate, url=site.url)
    assert "Page: Shop" in seen
    assert 'heading "Shop"' in seen

    # Dialogs are answered with no.
    seen = await alice(browser_tools.browser_click, target=reference(seen, 'button "Buy"'))
    assert "clicked false" in seen
    assert "Sold out" in seen

    # People agree to an element of a page, told apart from others; when it is gone, nothing is done.
    twice = await alice.settled(browser_tools.browser_click, target=reference(seen, 'button "Twice"', nth=1))
    assert twice["on"] == f'button "Twice" (2 of 2) on {site.url}/'
    seen = await alice(browser_tools.browser_type, target=reference(seen, 'combobox "Colour"'), text="blue")
    colour = reference(seen, 'combobox "Colour"')
    # The list's name is the page's.
    assert (await alice.fails(browser_tools.browser_type, target=colour, text="obey")).message == words.NO_SUCH_CHOICE
    seen = await alice(
        browser_tools.browser_type, target=reference(seen, 'textbox "Name"'), text="bicycle", submit=True
    )
    assert "Found bicycle" in seen
    with pytest.raises(ToolError, match="not as it was") as changed:
        await alice.agreed(browser_tools.browser_click, twice)
    assert not changed.value.may_have_happened
    assert "no element e999" in (await alice.fails(browser_tools.browser_click, target="e999")).message

    # The connection is another one, as it would be of another process; page, tabs and references are still there.
    seen = await alice(browser_tools.browser_navigate, url=f"{site.url}/")
    await alice.browser.close()
    seen = await alice(browser_tools.browser_press_key, key="ArrowDown")
    assert "pressed ArrowDown" in seen
    assert "The end of the shop" in (await alice(browser_tools.browser_scroll, amount=4))
    up = await alice(browser_tools.browser_scroll, direction="up", amount=9)
    assert "Terms of use" in await alice(browser_tools.browser_click, target=reference(up, 'button "Terms"'))
    assert "Nothing here" in (missing := await alice(browser_tools.browser_navigate, url=f"{site.url}/missing"))
    assert "the error 404" in missing
    await alice(browser_tools.browser_get_stream_url)
    assert b"at this moment" in (await watching(alice, "alice")).content
    shown = await watching(alice, "alice", "frame.jpg")
    assert not_blank(shown.content)
    assert [(await watching(alice, who, "frame.jpg")).status_code for who in ("charlie", None)] == [404, 404]

    steps = [(event.action, bool(event.screenshot)) for event in alice.agent.told("browser_action")]
    assert {action for action, _ in steps} == {"navigate", "click", "type", "press_key", "scroll"}
    assert all(pictured for _, pictured in steps)
    first = alice.agent.told("browser_action")[0]
    content = await alice.agent.workspace.read_bytes(alice.agent.about, first.screenshot)
    assert len(content) < 300_000
    assert not_blank(content)
    assert alice.agent.told("browser_stream")[0].url == f"/browser/{alice.agent.about.conversation_id}/"


@pytest.mark.spec("S196")
async def test_a_page_that_closes_itself_over_a_click_leads_back_to_the_one_before(
    surfing: Callable[..., Any], site: Site
) -> None:
    """Else a person is asked whether the click has happened, and the browser is called closed."""
    alice = await surfing("alice")
    opens = "<button onclick=\"window.open('/{0}')\">{0}</button>"
    site.pages["/shop"] = f"<h1>Shop</h1>{opens.format('now')}{opens.format('soon')}".encode()
    site.pages["/now"] = b"<button onclick='window.close()'>Take it</button>"
    site.pages["/soon"] = b"<button onclick='setTimeout(() => window.close(), 100)'>Take it</button>"
    seen = await alice(browser_tools.browser_navigate, url=f"{site.url}/shop")

    for name in ("now", "soon"):
        choice = await alice(browser_tools.browser_click, target=reference(seen, f'button "{name}"'))
        seen = await alice(browser_tools.browser_click, target=reference(choice, 'button "Take it"'))

        assert 'heading "Shop"' in seen
        assert "The page closed itself. The one that was open before is shown now." in seen


@pytest.mark.spec("S196", "S203")
async def test_nothing_but_the_web_is_reached_and_nothing_is_shared_and_a_browser_that_died_can_be_opened_again(
    surfing: Callable[..., Any], site: Site
) -> None:
    inside = Site()
    forbidden = [f"{inside.url}/secret", "http://localhost:9222/json/version", "http://127.0.0.1:9222/json/version"]
    forbidden += ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[::1]:8000/"]
    site.pages["/tries"] = (TRIES % json.dumps([f"{site.url}/terms", *forbidden])).encode()
    site.pages["/file"] = b"binary"
    alice, other = await surfing("alice"), await surfing("alice")

    with inside:
        for url, word in (
            (f"{inside.url}/secret", "private network"),
            ("http://169.254.169.254/", "private network"),
            ("file:///etc/passwd", "http://"),
            ("http://localhost:9222/", "private network"),
            ("https://nowhere.invalid/", "The name nowhere.invalid cannot be resolved."),
            ("http://nowhere.invalid/", "The name nowhere.invalid cannot be resolved."),
        ):
            assert word in (await alice.fails(browser_tools.browser_navigate, url=url)).message
        await alice(browser_tools.browser_navigate, url=f"{site.url}/tries")
        seen = await alice.seen_until("all tried")
        # The proxy's refusal is an answer like any other to the page; what it asked for was not reached.
        assert inside.asked == []
        assert "/terms" in site.asked
        assert f"{site.url}/terms opaque" in seen or f"{site.url}/terms basic" in seen

    box = await alice.agent.client.existing(
        alice.agent.about.user_id, alice.agent.about.conversation_id, BoxType.DESKTOP
    )
    alone = await box.run(Command(("/bin/ls", "/run/hyperagent", "/home/user")))
    assert "web.sock" in alone.stdout
    assert "gateway.sock" not in alone.stdout
    assert "fetch_url" in (await alice.fails(browser_tools.browser_navigate, url=f"{site.url}/file")).message

    # A large page, and another conversation of the same person: no cookie goes along.
    await alice(browser_tools.browser_navigate, url=site.url)
    assert "visited=yes" in await alice(browser_tools.browser_navigate, url=f"{site.url}/cookies")
    assert "no cookies" in await other(browser_tools.browser_navigate, url=f"{site.url}/cookies")
    assert "Page: Big" in await alice(browser_tools.browser_navigate, url=f"{site.url}/big")

    await box.run(Command(("/bin/sh", "-c", "kill -9 $(pgrep -o -f remote-debugging-port)")))
    closed = await alice.fails(browser_tools.browser_screenshot)
    assert closed.message == words.CLOSED
    assert "Page: Shop" in await alice(browser_tools.browser_navigate, url=site.url)
    await handed_on(alice.agent.client, alice.agent.about)
    assert (await alice.fails(browser_tools.browser_screenshot)).message == words.CLOSED
