"""What the page's tests share: a browser, a server for the page's own files, and what the browser complained about."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from tests import chromium
from tests.page.files import served

# Names and addresses elsewhere lead nowhere. Not by a route for all requests: that doubles what a page costs.
# Previews of apps have names below localhost.
NAMES = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost"
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", f"--host-resolver-rules={NAMES}"]
OWN = ("http://127.0.0.1", "ws://127.0.0.1")
# What a page is looked at in: both sizes and both schemes, but not each with each.
FORMS: dict[str, dict[str, Any]] = {
    "wide and light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "phone and dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


@pytest.fixture(scope="session")
def static_site() -> Iterator[str]:
    with served() as address:
        yield address


@pytest.fixture(scope="package")
def _whole_site() -> Iterator[Any]:
    from tests.site import Site

    with Site() as running:
        yield running


@pytest.fixture(scope="package")
def sandboxes(_whole_site: Any) -> Iterator[None]:
    """The live site runs programs of agents too."""
    _whole_site.start_sandboxes()
    yield
    _whole_site.stop_sandboxes()


@pytest.fixture
def live_site(_whole_site: Any) -> Any:
    """The whole product as processes (`tests.site.Site`), one for all tests here; its model answers by script or
    echoes. What an earlier test left over is not said to this one.
    """
    _whole_site.model.reset()
    return _whole_site


@pytest.fixture
def person(live_site: Any) -> Iterator[Any]:
    """Makes people with accounts of their own on the live site (`tests.person`): `person("Bob", is_staff=True)`."""
    from tests.person import Person, new_person  # they need Django, which is set up after this file is read

    made: list[Person] = []

    def make(name: str = "Alice", **fields: Any) -> Person:
        made.append(new_person(live_site, name, **fields))
        return made[-1]

    yield make
    for one in made:
        one.stop_all()


# Not of the session: Playwright's loop would still be there when another folder's asynchronous tests want one.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop runs in this thread, which makes Django believe that every query here blocks it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=chromium.EXECUTABLE, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A browser context that notes what must not happen: requests to elsewhere, dialogs, errors in the console."""

    context: BrowserContext
    foreign: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def new_page(self) -> Page:
        page = self.context.new_page()
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        return page

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def note_refused(self, request: Request) -> None:
        if not request.url.startswith(OWN):
            self.foreign.append(request.url)


@pytest.fixture
def open_context(browser: Browser) -> Iterator[Any]:
    opened: list[BrowserContext] = []

    def open_it(**options: Any) -> Watched:
        context = browser.new_context(**options)
        opened.append(context)
        watched = Watched(context)
        context.on("requestfailed", watched.note_refused)
        return watched

    yield open_it
    for context in opened:
        context.close()


@pytest.fixture
def visit(open_context: Any, live_site: Any) -> Any:
    """Opens a browser context on the live site in which a person is signed in: `visit(person(), viewport=...)`."""

    def open_it(someone: Any, **options: Any) -> Watched:
        watched: Watched = open_context(base_url=live_site.base_url, **options)
        if someone is not None:
            url = live_site.base_url
            cookies: list[Any] = [{"name": name, "value": value, "url": url} for name, value in someone.cookies.items()]
            watched.context.add_cookies(cookies)
        return watched

    return open_it


@pytest.fixture
def watched(open_context: Any) -> Watched:
    opened: Watched = open_context()
    return opened


@pytest.fixture
def open_stage(open_context: Any) -> Iterator[Any]:
    """The page on a stage (`tests.page.stage`). Whatever a test does there, nothing is loaded from elsewhere, no dialog
    opens and the console stays clean but for the refusals that the test itself gives.
    """
    from tests.page.stage import Stage  # it needs Django, which is set up after this file is read

    opened: list[tuple[Watched, Stage]] = []

    def open_it(
        *turns: Any,
        answers: dict[str, tuple[int, dict[str, Any]]] | None = None,
        picture: bytes | None = None,
        **options: Any,
    ) -> Stage:
        context = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **options}
        watched: Watched = open_context(**context)
        stage = Stage(watched.new_page(), list(turns), answers=answers or {}, picture=picture)
        servers.enter_context(stage.open())
        opened.append((watched, stage))
        return stage

    with ExitStack() as servers:
        yield open_it
    for watched, stage in opened:
        faults = [error for error in watched.errors if not (stage.has_refused and "Failed to load resource" in error)]
        assert (faults, watched.foreign, watched.dialogs) == ([], [], [])
