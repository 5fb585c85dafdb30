"""Steering the browsers in the desktop boxes of users and conversations. Opened late: Playwright takes its time.

A browser belongs to its box and goes on between calls; what is held here is a connection to it, for a while. Whoever
calls next may be another process: what references meant to the model is therefore kept with the box.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import structlog
from playwright.async_api import Browser, Page, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from agents.browser import asking, chromium, pages, words
from agents.browser.bridge import Bridge
from agents.browser.pages import Tabs
from agents.browser.patience import Patience
from agents.browser.snapshot import shown_in
from agents.browser.values import SeenPage, Touching
from agents.runtime.driven import About
from agents.sandbox.base import BoxType, SandboxError
from agents.sandbox.host.client import HostedBox, SandboxHost
from agents.tools.tool import ToolError
from hyperagent.lib.outside.addresses import Address
from hyperagent.lib.text import clean_text

log = structlog.get_logger(__name__)

REFERENCES: Final = "browser_elements"
"""What the box keeps: by reference, what the model was shown."""
_BLANK: Final = "about:blank"
_TITLE_CHARS: Final = 300
_STOPPING_S: Final = 5.0

Act = Callable[[], Awaitable[None]]


@dataclass(eq=False)
class _Held:
    """A connection to the browser of one box. `acted`: whether this call may have changed anything."""

    box: HostedBox
    bridge: Bridge
    browser: Browser
    tabs: Tabs
    closing: asyncio.TimerHandle | None = None
    acted: bool = False


@dataclass(eq=False)
class _Place:
    """Of one user and task: one call at a time."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    held: _Held | None = None


class Steering:
    def __init__(self, host: Callable[[], SandboxHost], patience: Patience) -> None:
        self._host = host
        self._patience = patience
        # Those that hold a connection are held by the clock that will close it.
        self._places: WeakValueDictionary[tuple[Any, Any], _Place] = WeakValueDictionary()
        self._driver: Playwright | None = None
        self._starting = asyncio.Lock()
        self._connecting = 0
        self._giving_up: set[asyncio.Task[None]] = set()

    async def navigate(self, about: About, address: Address) -> SeenPage:
        async with self._browser(about, opens=True) as held:
            return await self._went(held, address)

    async def look(self, about: About) -> SeenPage:
        async with self._browser(about) as held:
            return await self._seen(held)

    async def described(self, about: About, target: str) -> str:
        """What the element with this reference was when the page was last seen, and where."""
        async with self._browser(about) as held:
            shown = (await held.box.remembered()).get(REFERENCES) or {}
            if target not in shown:
                raise ToolError(words.NO_ELEMENT.format(target=target))
            return str(shown[target])

    async def at_point(self, about: About, x: int, y: int) -> str:
        async with self._browser(about) as held:
            return await pages.at_point(await held.tabs.current(), x, y, within_s=self._patience.looking_s)

    async def focused(self, about: About) -> str:
        async with self._browser(about) as held:
            return await pages.focused(await held.tabs.current(), within_s=self._patience.looking_s)

    async def click(self, about: About, on: str, *, at: tuple[int, int] | None = None, touching: Touching) -> SeenPage:
        """`on`: what is clicked, as `described` or `at_point` gave it; if that is not so any more nothing is done."""
        patience = self._patience
        async with self._browser(about) as held:
            page = await held.tabs.current()
            if at is not None:
                if await pages.at_point(page, *at, within_s=patience.looking_s) != on:
                    raise ToolError(words.CHANGED)
                return await self._acted(held, lambda: page.mouse.click(*at), touching)
            element = pages.found_by(await pages.outline(page, within_s=patience.looking_s), on, page)
            return await self._acted(held, lambda: element.click(timeout=patience.acting_s * 1000), touching)

    async def type(self, about: About, on: str, text: str, *, submit: bool, touching: Touching) -> SeenPage:
        patience = self._patience

        async def typed() -> None:
            await pages.fill(element, text, within_s=patience.acting_s)
            if submit:
                await element.press("Enter", timeout=patience.acting_s * 1000)

        async with self._browser(about) as held:
            page = await held.tabs.current()
            element = pages.found_by(await pages.outline(page, within_s=patience.looking_s), on, page)
            return await self._acted(held, typed, touching)

    async def press(self, about: About, on: str, key: str, *, touching: Touching) -> SeenPage:
        async with self._browser(about) as held:
            page = await held.tabs.current()
            if await pages.focused(page, within_s=self._patience.looking_s) != on:
                raise ToolError(words.CHANGED)
            return await self._acted(held, lambda: page.keyboard.press(key), touching, key=key)

    async def scroll(self, about: About, direction: Literal["up", "down"], screens: float) -> SeenPage:
        async with self._browser(about) as held:
            page = await held.tabs.current()
            await pages.scroll(page, direction=direction, screens=screens)
            await pages.settle(page, within_s=self._patience.settling_s)
            return await self._seen(held)

    async def close(self) -> None:
        """Gives up all connections; the browsers go on."""
        for place in tuple(self._places.values()):
            async with place.turn:
                await self._let_go(place)
        async with self._starting:
            if self._driver is not None:
                await self._driver.stop()
                self._driver = None

    # --- acts

    async def _went(self, held: _Held, address: Address) -> SeenPage:
        page = await held.tabs.current()
        try:
            response = await pages.navigate(page, address.url, patience=self._patience)
        except PlaywrightTimeout:
            raise ToolError(words.TOO_SLOW.format(seconds=self._patience.navigating_s)) from None
        except PlaywrightError as error:
            name = words.failure_of(error.message)
            if not name:
                raise
            said = await asking.why_no_tunnel(held.box, address) if name == words.TUNNEL else ""
            await pages.settle(page, within_s=self._patience.settling_s)
            raise ToolError(said or words.failure_words(name)) from None
        # What comes encrypted passes the proxy unread: there a site could write it.
        is_read = response is not None and response.url.startswith("http:")
        said = asking.reason_in(response.headers) if response is not None and is_read else ""
        if response is not None and said:
            # It names the server. Where that is another one by now, the page has chosen what it is called.
            is_asked = urlsplit(response.url).hostname == address.host
            raise ToolError(said if is_asked else words.LED_AWAY)
        await pages.settle(page, within_s=self._patience.settling_s)
        return await self._seen(held, status=response.status if response else None)

    async def _acted(self, held: _Held, act: Act, touching: Touching, *, key: str = "") -> SeenPage:
        """Where the page cannot be seen afterwards, that is said: the act has happened."""
        page = await held.tabs.current()
        await touching()
        held.acted = True
        try:
            await act()
        except PlaywrightTimeout:
            raise ToolError(words.NOT_DONE.format(seconds=self._patience.acting_s), may_have_happened=True) from None
        except PlaywrightError as error:
            if key and "Unknown key" in error.message:
                raise ToolError(words.NO_KEY.format(key=key)) from None
            if not _closed_itself(held, page):
                raise
        page = await held.tabs.current()
        try:
            return await self._came_of_it(held, page)
        except ToolError as error:
            return SeenPage(clean_text(page.url), "", "", notes=(words.DONE.format(why=error.message),))

    async def _came_of_it(self, held: _Held, page: Page) -> SeenPage:
        """Of a page that closes itself over an act, as some that were opened for a choice do, the one before."""
        try:
            await pages.settle(page, within_s=self._patience.settling_s)
            return await self._seen(held)
        except PlaywrightError:
            if not _closed_itself(held, page):
                raise
        await pages.settle(await held.tabs.current(), within_s=self._patience.settling_s)
        return await self._seen(held)

    async def _seen(self, held: _Held, *, status: int | None = None) -> SeenPage:
        page = await held.tabs.current()
        if page.url == _BLANK and status is None:
            raise ToolError(words.NO_PAGE)
        within_s = self._patience.looking_s
        try:
            outlined, title = await pages.outline(page, within_s=within_s), await page.title()
        except PlaywrightError:
            if not held.browser.is_connected() or page.is_closed():
                raise
            # It went on to another page just then.
            await pages.settle(page, within_s=self._patience.settling_s)
            outlined, title = await pages.outline(page, within_s=within_s), await page.title()
        shown = {reference: pages.on(what, page) for reference, what in shown_in(outlined).items()}
        await held.box.remember({REFERENCES: shown})
        return SeenPage(
            url=clean_text(page.url),
            title=clean_text(title)[:_TITLE_CHARS],
            text=outlined.text,
            notes=tuple(map(clean_text, held.tabs.told())),
            picture=await pages.picture(page, within_s=within_s),
            status=status,
        )

    # --- connections

    @asynccontextmanager
    async def _browser(self, about: About, *, opens: bool = False) -> AsyncIterator[_Held]:
        """Raises ToolError, also for whatever goes away in the middle of it."""
        key = (about.user_id, about.conversation_id or about.execution_id)
        place = self._places.setdefault(key, _Place())
        async with place.turn:
            try:
                held = await self._connected(place, about, opens=opens)
                held.acted = False
                yield held
            except SandboxError as error:
                acted = place.held is not None and place.held.acted
                await self._let_go(place)
                raise ToolError(error.message if opens else words.CLOSED, may_have_happened=acted) from error
            except PlaywrightError as error:
                acted = place.held is not None and place.held.acted
                log.info("browser.failed", why=clean_text(error.message)[:500])
                await self._let_go(place)
                raise ToolError(words.CLOSED, may_have_happened=acted) from error
            finally:
                self._later(place)

    async def _connected(self, place: _Place, about: About, *, opens: bool) -> _Held:
        if place.held is not None and place.held.browser.is_connected():
            if place.held.closing is not None:
                place.held.closing.cancel()
            return place.held
        await self._let_go(place)
        if opens:
            box = await self._host().box(about, BoxType.DESKTOP)
            path = await chromium.started(box)
        else:
            task_id = about.conversation_id or about.execution_id
            existing = await self._host().existing(about.user_id, task_id, BoxType.DESKTOP)
            if existing is None or not (path := await chromium.running(existing)):
                raise ToolError(words.CLOSED)
            box = existing
        try:
            place.held = await self._bridged(box, path)
        except BaseException:
            await self._doubt_driver()
            raise
        return place.held

    async def _bridged(self, box: HostedBox, path: str) -> _Held:
        driver = await self._driven()
        bridge = Bridge(box, path)
        self._connecting += 1
        try:
            await bridge.open()
            browser = await driver.chromium.connect_over_cdp(bridge.address, timeout=chromium.STARTS_WITHIN_S * 1000)
            session = await browser.new_browser_cdp_session()
            await session.send("Browser.setDownloadBehavior", {"behavior": "deny"})
            tabs = Tabs(browser.contexts[0])
            await tabs.follow()
        except BaseException:
            await bridge.close()
            raise
        else:
            return _Held(box, bridge, browser, tabs)
        finally:
            self._connecting -= 1

    async def _driven(self) -> Playwright:
        async with self._starting:
            if self._driver is None:
                self._driver = await async_playwright().start()
            return self._driver

    async def _doubt_driver(self) -> None:
        """It may have died, of which it does not tell. A new one is started, unless somebody is served by this one, or
        is about to be: of those the last one to fail comes here too."""
        async with self._starting:
            if self._driver is None or self._connecting or any(place.held for place in self._places.values()):
                return
            driver, self._driver = self._driver, None
            with suppress(Exception):
                async with asyncio.timeout(_STOPPING_S):
                    await driver.stop()

    def _later(self, place: _Place) -> None:
        """A connection costs this process and the host memory: it is given up soon after the last call."""
        if place.held is None:
            return
        loop = asyncio.get_running_loop()
        place.held.closing = loop.call_later(self._patience.idle_s, self._idle, place)

    def _idle(self, place: _Place) -> None:
        if place.held is not None and not place.turn.locked():
            held, place.held = place.held, None
            task = asyncio.ensure_future(_given_up(held))
            self._giving_up.add(task)
            task.add_done_callback(self._giving_up.discard)

    async def _let_go(self, place: _Place) -> None:
        held, place.held = place.held, None
        if held is not None:
            if held.closing is not None:
                held.closing.cancel()
            await _given_up(held)


def _closed_itself(held: _Held, page: Page) -> bool:
    return page.is_closed() and held.browser.is_connected()


async def _given_up(held: _Held) -> None:
    """The bridge first: a browser that is closed by Playwright over a connection that stands may end itself."""
    await held.bridge.close()
    with suppress(Exception):
        await held.browser.close()
