"""Every page of a house that is full of hostile texts, as its owner and as an administrator sees it: nothing runs,
nothing is asked of elsewhere, the console is clean, and axe finds nothing. SCREENSHOTS names a folder for pictures of
each, wide and narrow, light and dark.
"""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Response, ViewportSize, expect

from tests.clean_page import axe_faults
from tests.page.test_approvals import SETTLE

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

WIDE, NARROW = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
# In the order in which a page that is there changes the least. Both sizes and both schemes have all of axe's rules, and
# are measured; the other two pairs have the rules of colours, which are what is left to go wrong there.
FORMS: dict[str, tuple[Any, str, bool]] = {
    "wide-light": (WIDE, "light", True),
    "wide-dark": (WIDE, "dark", False),
    "phone-dark": (NARROW, "dark", True),
    "phone-light": (NARROW, "light", False),
}
COLOURS: dict[str, Any] = {"runOnly": ["color-contrast"]}
# Those of things that the house has are told by `hostile_house.furnish`.
PAGES = {
    "chat": "/",
    "inbox": "/inbox/",
    "rules": "/rules/",
    "documents": "/documents/",
    "document search": "/documents/search/?q=script",
    "connectors": "/connectors/",
    "files": "/files/",
    "projects": "/projects/",
    "schedules": "/schedules/",
    "new schedule": "/schedules/new/",
    "memory": "/memory/",
    "mail": "/mail/",
    "servers": "/settings/mcp/",
    "usage": "/usage/",
    "budgets": "/usage/budgets/",
    "prices": "/usage/prices/",
    "people": "/people/",
    "groups": "/people/groups/",
    "invitations": "/people/invitations/",
    "service accounts": "/people/service-accounts/",
    "search": "/search/?q=script",
    "settings": "/settings/",
    "profile": "/settings/profile/",
    "appearance": "/settings/appearance/",
    "language": "/settings/language/",
    "security": "/settings/security/",
    "second factor": "/settings/security/second-factor/",
    "connections": "/settings/connections/",
    "tokens": "/settings/tokens/",
    "data": "/settings/data/",
    "farewell": "/settings/data/delete/",
    "webhooks": "/settings/webhooks/",
    "notifications": "/settings/notifications/",
    "password": "/accounts/password/change/",
    "not there": "/documents/00000000-0000-0000-0000-000000000000/",
    "API": "/api/docs/",
}
ADMIN = {
    "admin": "/admin/",
    "admin jobs": "/admin/jobs/",
    "admin runs": "/admin/agents/execution/",
    "admin events": "/admin/agents/event/",
    "admin steps": "/admin/agents/step/",
    "admin requests": "/admin/hitl/request/",
    "admin rules": "/admin/hitl/rule/",
    "admin conversations": "/admin/conversations/conversation/",
    "admin documents": "/admin/memory/document/",
    "admin people": "/admin/accounts/user/",
    "admin tokens": "/admin/accounts/apitoken/",
    "admin audit": "/admin/audit/auditevent/",
}
STRANGERS = {
    "login": "/accounts/login/",
    "registration": "/accounts/register/",
    "password reset": "/accounts/password/reset/",
    "password reset sent": "/accounts/password/reset/done/",
    "password reset over": "/accounts/password/reset/x/y/",
}
# What ran says so. What the policy had to stop should not have come so far; but for the sanitiser's own document, which
# is no page and where nothing runs.
TRAP = """
for (const name of ["alert", "prompt", "confirm"]) window[name] = () => { throw new Error(`it ran: ${name}`); };
document.addEventListener("securitypolicyviolation", (event) => {
  if (event.sourceFile.endsWith("/vendor/markdown.js")) return;
  throw new Error(`the policy stopped ${event.violatedDirective}`);
});
"""
# What is drawn only as one comes near it: all titles of the list, all messages, all steps of a run.
DRAW_ALL = """async () => {
    const pause = () => new Promise((done) => setTimeout(done, 30));
    for (const [place, way] of [[".side-list", 1], [".thread", -1], [".run-body", 1]]) {
        const box = document.querySelector(place);
        for (let still = 0, before = null; box && still < 12; await pause()) {
            box.scrollBy({ top: way * 2000, behavior: "instant" });
            const now = `${box.scrollTop} ${box.scrollHeight}`;
            still = now === before ? still + 1 : 0;
            before = now;
        }
    }
}"""
# Words of buttons and of headings of columns that stand on two lines, because something else wants the place.
BROKEN_WORDS = """() => {
    const isBroken = (node) => [...node.data.matchAll(/\\S{2,20}/g)].some((word) => {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
    });
    const nodes = [...document.querySelectorAll(".button, thead th")].flatMap((one) => [...one.childNodes]);
    const texts = nodes.filter((node) => node.nodeType === Node.TEXT_NODE);
    return texts.filter(isBroken).map((node) => `broken: ${node.data.trim()}`);
}"""
# Whoever presses the middle of one thing presses another: its own area, or one that is drawn over it, is too large.
COVERED = """() => {
    const pressed = "a[href], button, input, select, textarea, summary, label";
    const seen = { visibilityProperty: true, opacityProperty: true };
    const isShown = (one) => one.checkVisibility(seen) && !one.closest("[inert]");
    const found = [];
    const places = [...document.querySelectorAll("*")].map((box) => [box, box.scrollTop, box.scrollLeft]);
    for (const one of [...document.querySelectorAll(pressed)].filter(isShown)) {
        one.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
        const box = one.getClientRects()[0];
        if (!box || box.width < 4 || box.height < 4) continue;
        const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)?.closest(pressed);
        if (!hit || hit.contains(one) || one.contains(hit) || hit.control === one || one.control === hit) continue;
        const name = (element) => (element.ariaLabel || element.innerText || element.name || "").trim().slice(0, 40);
        found.push(`“${name(one)}” is covered by “${name(hit)}”`);
    }
    for (const [box, top, left] of places) box.scrollTo({ top, left, behavior: "instant" });
    return found;
}"""
# Told by the browser for each, whichever document it was; and what stands in no workspace is not found.
KNOWN = ("violates the following Content Security Policy directive", "Failed to load resource")


@pytest.fixture(scope="module")
def house(_whole_site: Any) -> tuple[Any, dict[str, str]]:
    """An administrator whose house is hostile throughout, and the addresses of its things."""
    from tests.person import new_person

    owner = new_person(_whole_site, "Alice", is_staff=True, is_superuser=True)
    furnish = f"from tests.page import hostile_house; hostile_house.furnish({owner.email!r})"
    told = _whole_site.manage("shell", "-v0", "-c", furnish)
    return owner, json.loads(told.splitlines()[-1])


@pytest.mark.spec("B24")
@pytest.mark.threat("T10", "T11", "T12")
@pytest.mark.parametrize("part", ["pages", "admin"])
def test_nothing_hostile_runs_or_loads_on_any_page_and_axe_finds_nothing(house: Any, visit: Any, part: str) -> None:
    owner, places = house
    faults: list[str] = []
    watched = visit(owner, reduced_motion="reduce")
    watched.context.add_init_script(TRAP)
    page = watched.new_page()
    missing: list[str] = []
    page.on("response", lambda response: missing.append(response.url) if is_missing(response) else None)
    more = places[""]
    whose = {**PAGES, **{name: place for name, place in places.items() if name}} if part == "pages" else ADMIN
    for name, address in whose.items():
        faults += look(page, name, address)
    for address in more if part == "pages" else ():
        page.goto(address)
    errors = [error for error in watched.errors if not error.startswith(KNOWN[1]) and KNOWN[0] not in error]
    assert not (found := [*faults, *errors, *missing, *watched.foreign, *watched.dialogs]), "\n".join(found)


def test_who_is_not_signed_in_finds_pages_that_keep_axes_rules(live_site: Any, visit: Any) -> None:
    watched = visit(None, reduced_motion="reduce")
    page = watched.new_page()
    faults = [fault for name, address in STRANGERS.items() for fault in look(page, name, address)]
    assert not (found := [*faults, *watched.errors, *watched.foreign]), "\n".join(found)


def is_missing(response: Response) -> bool:
    """What a page itself asks for is there, but for the pictures of the hostile run, which no workspace has."""
    path = urlsplit(response.url).path
    return response.status >= 400 and not path.startswith("/api/v1/files/") and path != PAGES["not there"]


def look(page: Page, name: str, address: str) -> list[str]:
    """What is wrong with it, in all forms; the page is loaded once."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    response = page.goto(address)
    assert response is not None
    if response.status >= 500:
        return [f"{name}: {response.status}"]
    # The chat and the list of the API draw themselves; every other page is there at once.
    if page.locator("#chat").count():
        expect(page.locator("#composer-text")).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    if address == PAGES["API"]:
        _open_operations(page)
    page.evaluate(DRAW_ALL)
    for tab in page.locator(".run-panel").get_by_role("tab").all():
        tab.click()
        page.evaluate(DRAW_ALL)
    found: list[str] = []
    for form, (size, scheme, is_whole) in FORMS.items():
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.evaluate(SETTLE)
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"{name.replace(' ', '-')}-{form}.png")
        faults = axe_faults(page, **({} if is_whole else COLOURS))
        if is_whole:
            faults = [*faults, *_overflow(page), *page.evaluate(BROKEN_WORDS), *page.evaluate(COVERED)]
        found += [f"{name}, {form}: {fault}" for fault in faults]
    return found


def _open_operations(page: Page) -> None:
    """One that takes a body, one with parameters, one with neither."""
    for summary in ("POST /api/v1/query ", "GET /api/v1/hitl/requests ", "GET /api/v1/me "):
        method, path, _ = summary.split(" ")
        line = (
            page.locator(".operation > summary").filter(has_text=method).filter(has=page.get_by_text(path, exact=True))
        )
        line.click()
    expect(page.locator(".operation-body")).to_have_count(3)


def _overflow(page: Page) -> list[str]:
    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [f"{too_wide} px wider than the window"] if too_wide > 0 else []
