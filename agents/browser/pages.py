"""What is done on one page and seen of it, by Playwright. Knows no box and no table. Opened late: it imports
Playwright, which takes its time."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from weakref import WeakSet

from playwright.async_api import BrowserContext, Dialog, Locator, Page, Response
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from agents.browser import words
from agents.browser.chromium import HEIGHT, WIDTH
from agents.browser.patience import Patience
from agents.browser.snapshot import Outline, outline_of
from agents.tools.tool import ToolError
from hyperagent.lib.clipping import one_line
from hyperagent.lib.text import clean_text

MOST_PAGES: Final = 8
MOST_NOTES: Final = 5
NOTE_CHARS: Final = 300
PICTURE_BYTES: Final = 300_000
_QUALITIES: Final = (70, 40, 15)
_ON_CHARS: Final = 300
_BEGINS_MS: Final = 250
# As Playwright says that an element is no field for this text. A field for a date says nothing, and stays empty.
_TAKES_NONE: Final = ("cannot be filled", "cannot type text", "malformed value", "is not an <input>")
_STAYED_EMPTY: Final = "e => ['date', 'time', 'datetime-local', 'month', 'week'].includes(e.type) && !e.value"
# What an element is in a few words; nothing of it is run.
_AT_POINT: Final = """([x, y]) => { const e = document.elementFromPoint(x, y); return e ? [e.tagName.toLowerCase(),
 (e.getAttribute('aria-label') || e.innerText || e.getAttribute('placeholder') || e.getAttribute('alt') || '')
 .trim().slice(0, 120)] : null }"""
_FOCUSED: Final = """() => { const e = document.activeElement || document.body; return [e.tagName.toLowerCase(),
 e === document.body ? '' : (e.getAttribute('aria-label') || e.getAttribute('placeholder') || e.name || e.innerText
 || '').trim().slice(0, 120)] }"""


@dataclass(eq=False)
class Tabs:
    """The pages of one browser. The newest is the one that is worked on: what a click opens is followed.

    `notes`: what came in between, for whoever looks next.
    """

    context: BrowserContext
    notes: list[str] = field(default_factory=list)
    _sized: WeakSet[Page] = field(default_factory=WeakSet)
    _worked_on: Page | None = None

    async def follow(self) -> None:
        self.context.on("page", self._opened)
        for page in self.context.pages:
            self._hear(page)
            await self._shut_dialog(page)

    @property
    def page(self) -> Page | None:
        return self.context.pages[-1] if self.context.pages else None

    async def current(self) -> Page:
        page = self.page or await self.context.new_page()
        if page not in self._sized:
            self._sized.add(page)
            await page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        self._worked_on = page
        for old in self.context.pages[:-MOST_PAGES]:
            await old.close()
        return page

    def told(self) -> tuple[str, ...]:
        notes, self.notes = tuple(self.notes), []
        return notes

    def _opened(self, page: Page) -> None:
        self._hear(page)
        self._note("A new page was opened, which is the one that is shown now.")

    def _hear(self, page: Page) -> None:
        page.on("dialog", self._answered)
        page.on("close", self._closed)

    def _closed(self, page: Page) -> None:
        if page is self._worked_on:
            self._note("The page closed itself. The one that was open before is shown now.")

    async def _shut_dialog(self, page: Page) -> None:
        """One that came while nobody listened, of which we are not told again."""
        session = await self.context.new_cdp_session(page)
        with suppress(PlaywrightError):
            await session.send("Page.handleJavaScriptDialog", {"accept": False})
        await session.detach()

    async def _answered(self, dialog: Dialog) -> None:
        with suppress(PlaywrightError):
            if dialog.type == "beforeunload":
                await dialog.accept()
                return
            self._note(f"The page said, and was answered with no: {dialog.message[:NOTE_CHARS]}")
            await dialog.dismiss()

    def _note(self, text: str) -> None:
        self.notes = [*self.notes, text][-MOST_NOTES:]


async def navigate(page: Page, url: str, *, patience: Patience) -> Response | None:
    """Raises PlaywrightError, with Chromium's name of the reason."""
    within_ms = patience.navigating_s * 1000
    try:
        return await page.goto(url, wait_until="domcontentloaded", timeout=within_ms)
    except PlaywrightError as error:
        if "interrupted by another navigation" not in error.message:
            raise
    # What was on its way before, such as the page that tells of a failure, came in between.
    await settle(page, within_s=patience.settling_s)
    return await page.goto(url, wait_until="domcontentloaded", timeout=within_ms)


async def settle(page: Page, *, within_s: float) -> None:
    """Until what was begun by an act is there, but not for long."""
    with suppress(PlaywrightTimeout):
        await page.wait_for_timeout(_BEGINS_MS)
        await page.wait_for_load_state("load", timeout=within_s * 1000)


async def outline(page: Page, *, within_s: float) -> Outline:
    try:
        return outline_of(clean_text(await page.aria_snapshot(mode="ai", boxes=True, timeout=within_s * 1000)))
    except PlaywrightTimeout:
        raise ToolError(words.NO_ANSWER) from None


async def picture(page: Page, *, within_s: float) -> bytes:
    """A JPEG of what is on the screen, of at most PICTURE_BYTES; empty where the page shows none in time."""
    with suppress(PlaywrightTimeout):
        for quality in _QUALITIES:
            taken = await page.screenshot(type="jpeg", quality=quality, scale="css", timeout=within_s * 1000)
            if len(taken) <= PICTURE_BYTES:
                return taken
    return b""


async def at_point(page: Page, x: int, y: int, *, within_s: float) -> str:
    """What a click there would hit, in words. Raises ToolError where nothing is."""
    found = await _asked(page, _AT_POINT, [x, y], within_s=within_s)
    if found is None:
        raise ToolError(words.NOTHING_THERE.format(x=x, y=y, width=WIDTH, height=HEIGHT))
    return _on(found, page)


async def focused(page: Page, *, within_s: float) -> str:
    """What a key would go to, in words."""
    return _on(await _asked(page, _FOCUSED, None, within_s=within_s), page)


def on(description: str, page: Page) -> str:
    return f"{description} on {page.url[:_ON_CHARS]}"


def found_by(outlined: Outline, wanted: str, page: Page) -> Locator:
    """The one element that is what was agreed to. Raises ToolError where there is none now."""
    for reference, description in outlined.elements.items():
        if on(description, page) == wanted:
            return page.locator(f"aria-ref={reference}")
    raise ToolError(words.CHANGED)


async def fill(element: Locator, text: str, *, within_s: float) -> None:
    """Into a field, in place of what is there; of a list the choice with this text."""
    if await element.evaluate("e => e.tagName", timeout=within_s * 1000) != "SELECT":
        try:
            await element.fill(text, timeout=within_s * 1000)
        except PlaywrightTimeout:
            if await element.is_editable(timeout=within_s * 1000):
                raise
            raise ToolError(words.NOT_EDITABLE) from None
        except PlaywrightError as error:
            # What stands below the first line is the page's.
            said = error.message.split("\n", maxsplit=1)[0].lower()
            if any(reason in said for reason in _TAKES_NONE):
                raise ToolError(words.TAKES_NO_TEXT) from None
            raise
        with suppress(PlaywrightError):
            if text and await element.evaluate(_STAYED_EMPTY, timeout=within_s * 1000):
                raise ToolError(words.TAKES_NO_TEXT)
        return
    try:
        await element.select_option(label=text, timeout=within_s * 1000)
    except PlaywrightTimeout:
        raise ToolError(words.NO_SUCH_CHOICE) from None


async def scroll(page: Page, *, direction: Literal["up", "down"], screens: float) -> None:
    await page.mouse.move(WIDTH / 2, HEIGHT / 2)
    await page.mouse.wheel(0, round(HEIGHT * screens) * (1 if direction == "down" else -1))


async def _asked(page: Page, script: str, value: Any, *, within_s: float) -> Any:
    try:
        async with asyncio.timeout(within_s):
            return await page.evaluate(script, value)
    except TimeoutError:
        raise ToolError(words.NO_ANSWER) from None


def _on(found: Any, page: Page) -> str:
    """The script runs in the page, which may have any answer made of it."""
    parts = found if isinstance(found, list) else []
    tag, text = (str(part) for part in [*parts, "", ""][:2])
    said = one_line(clean_text(text))[:120]
    return on(f'{tag[:20]} "{said}"' if said else tag[:20], page)
