"""The pages in German, on a phone: no English is left on them, and nothing is wider than the window, also from right to
left.
"""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agents import registry
from agents.guardrails.registry import found_scanners
from deploy import messages
from hyperagent.accounts.scopes import GROUP_ROLES
from hyperagent.lib import labels
from tests.page import asked, furnished_house
from tests.page.test_chat import answered, choose_chat
from tests.page.waiting import make_rule, open_request
from tests.scripted import Script

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]

PAGES = (
    "/",
    "/inbox/",
    "/inbox/?tab=done",
    "/rules/",
    "/documents/",
    "/documents/search/",
    "/documents/connectors/",
    "/files/",
    "/files/?tab=conversations",
    "/projects/",
    "/memory/",
    "/mail/",
    "/schedules/",
    "/schedules/new/",
    "/usage/",
    "/search/?q=support",
    "/settings/",
    "/settings/language/",
    "/settings/data/",
    "/settings/security/",
    "/settings/security/confirm/",
    "/settings/security/second-factor/",
    "/settings/tokens/",
    "/settings/connections/",
    "/settings/notifications/",
    "/settings/webhooks/",
    "/settings/mcp/",
    "/accounts/profile/",
    "/documents/00000000-0000-0000-0000-000000000000/",
)
OF_ADMINISTRATORS = (
    "/usage/budgets/",
    "/usage/prices/",
    "/people/",
    "/people/groups/",
    "/people/invitations/",
    "/people/service-accounts/",
    "/people/service-accounts/new/",
)
OF_STRANGERS = ("/accounts/login/", "/accounts/register/", "/accounts/invited/x/")
IN_THE_ADMIN = (
    "/admin/",
    "/admin/jobs/",
    "/admin/agents/execution/",
    "/admin/agents/execution/?status__exact=awaiting_user",
    "/admin/hitl/request/?status__exact=pending",
    "/admin/hitl/policy/add/",
    "/admin/audit/auditevent/",
    "/admin/accounts/user/",
    "/admin/accounts/user/add/",
    "/admin/accounts/budget/add/",
    "/admin/memory/document/",
)
# Words of every English sentence that no German one has.
ENGLISH = re.compile(
    r"\b(the|and|of|is|are|with|your|you|this|that|from|not|what|which|has|have|it|its|by|or|on|be|been|here|there|"
    r"nothing|somebody|new|add|open|delete|save|search|show|close|back|next|more|all|none|yet)\b",
    re.IGNORECASE,
)
# What is called so in German too, and names: of products, commands and settings.
ALLOWED = re.compile(
    r"Open ?AI|Open ?Document|[A-Z]+(?:_[A-Z]+)+|manage\.py \w+|[\w.+-]+@[\w.-]+|https?://\S+|\S*/\S*|Model Context "
    r"Protocol|Standard Webhooks|read:|run:|approve:|documents:|admin:"
)
# An agent is called by the first where it is configured, an argument of a tool by the second.
NAMES = {"code", "to"}
# One word each, as there are many in what people write.
LABELS = (labels.COLUMN, labels.TABLE, labels.CHOICE)
# What people and models have called things in the furnished house, where it stands within a sentence of ours.
RULE = "Always allow make_ticket by the data agent, in every run of yours."
THEIRS = re.compile(
    "|".join(
        re.escape(words)
        for words in (
            *(title for title, _ in furnished_house.EARLIER),
            *(text for _, text in furnished_house.MEMORIES),
            "Vector database for the support search",
            "Vector database: my recommendation",
            "Revenue by month, and its trend",
            "Revenue by month",
            "by month.csv",
            "Revenue by region",
            "Support search",
            RULE,
        )
    )
)
# All text and all names on a page, but for what people, models and files say: that has a direction of its own.
TEXTS = """() => {
  const theirs = "[dir=auto], bdi, .avatar, code, pre, kbd, .prose, script, style, noscript, [lang]:not(html), " +
    "optgroup option";
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: parent, data } = walker.currentNode;
    if (data.trim() && !parent.closest(theirs)) found.add(data.trim().replace(/\\s+/g, " "));
  }
  for (const name of ["aria-label", "title", "placeholder", "alt"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      if (!element.closest(theirs)) found.add(element.getAttribute(name).trim());
    }
  }
  return [document.title, ...found].filter(Boolean);
}"""


@pytest.fixture(scope="module")
def originals() -> set[str]:
    """The English texts that no German one is the same as."""
    pairs = [
        (str(message.id), str(message.string))
        for domain in (messages.SERVER, messages.PAGE)
        for message in messages.read_catalogue("de", domain)
        if isinstance(message.id, str) and message.context not in LABELS
    ]
    return {original for original, _ in pairs} - {translation for _, translation in pairs} - NAMES


@pytest.fixture(scope="module")
def originals_in_the_admin(originals: set[str]) -> set[str]:
    """Labels too, but for what stands in a table as it is: names of agents, of roles and of a tool's arguments."""
    labelled = {
        str(message.id)
        for message in messages.read_catalogue("de", messages.SERVER)
        if message.context in LABELS and str(message.id) != str(message.string)
    }
    return (originals | labelled) - {
        *registry.names(),
        *found_scanners(),
        *GROUP_ROLES,
        "auto",
        "to",
        "subject",
        "body",
    }


def english(texts: list[str], originals: set[str]) -> list[str]:
    return [text for text in texts if text in originals or ENGLISH.search(ALLOWED.sub("", THEIRS.sub("", text)))]


def open_page(page: Page, address: str) -> None:
    page.goto(address)
    if page.locator("#chat").count():
        expect(page.locator("#composer-text")).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)


def too_wide(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.spec("B29")
def test_no_page_has_english_left_or_is_wider_than_a_phone_in_either_direction(
    live_site: Any, person: Any, visit: Any, originals: set[str]
) -> None:
    alice, ada = person(), person("Ada", is_staff=True, is_superuser=True)
    furnish = f"from tests.page import furnished_house; furnished_house.furnish({alice.email!r})"
    places = json.loads(live_site.manage("shell", "-v0", "-c", furnish).splitlines()[-1])
    request = open_request(live_site, alice, asked.mail_call(), question="")
    make_rule(live_site, alice, RULE)
    walks = (
        (alice, (*PAGES, f"/inbox/{request}/", *places.values())),
        (ada, (*OF_ADMINISTRATORS, f"/people/{alice.id}/")),
        (None, OF_STRANGERS),
    )
    faults: list[str] = []

    for who, addresses in walks:
        watched = visit(who, viewport={"width": 390, "height": 844}, locale="de-DE", reduced_motion="reduce")
        page = watched.new_page()
        for address in addresses:
            open_page(page, address)
            assert page.locator("html").get_attribute("lang") == "de"
            faults += [f"{address}: {text}" for text in english(page.evaluate(TEXTS), originals)]
            for direction in ("ltr", "rtl"):
                page.evaluate("direction => { document.documentElement.dir = direction; }", direction)
                if (wide := too_wide(page)) > 0:
                    faults.append(f"{address}, {direction}: {wide} px wider than the window")

    assert not faults, "\n".join(faults)


# Names as those of agents: the API takes them.
MODES = {"slide", "task"}


@pytest.mark.spec("B29")
def test_the_admin_has_no_english_left_in_lists_forms_and_on_its_home(
    live_site: Any, person: Any, visit: Any, originals_in_the_admin: set[str]
) -> None:
    alice, ada = person(), person("Ada", is_staff=True, is_superuser=True)
    furnish = f"from tests.page import furnished_house; furnished_house.furnish({alice.email!r})"
    live_site.manage("shell", "-v0", "-c", furnish)
    request = open_request(live_site, alice, asked.mail_call(), question="")
    page = visit(ada, viewport={"width": 1280, "height": 900}, locale="de-DE").new_page()
    faults: list[str] = []

    for address in (*IN_THE_ADMIN, f"/admin/hitl/request/{request}/change/", f"/admin/accounts/user/{ada.id}/change/"):
        page.goto(address)
        assert page.locator("html").get_attribute("lang") == "de"
        found = english(page.evaluate(TEXTS), originals_in_the_admin)
        faults += [f"{address}: {text}" for text in found if text not in MODES]

    assert not faults, "\n".join(faults)


@pytest.mark.spec("B29")
def test_menus_and_dialogs_of_the_chat_have_no_english_left(
    live_site: Any, person: Any, visit: Any, originals: set[str]
) -> None:
    alice = person()
    furnish = f"from tests.page import furnished_house; furnished_house.furnish({alice.email!r})"
    places = json.loads(live_site.manage("shell", "-v0", "-c", furnish).splitlines()[-1])
    page = visit(alice, viewport={"width": 1280, "height": 900}, locale="de-DE").new_page()
    open_page(page, places["planned"])
    faults: list[str] = []

    page.locator("#mode-menu-button, [aria-controls=mode-menu], .mode-button").first.click()
    expect(page.get_by_role("menuitemradio").first).to_be_visible()
    faults += [f"the modes: {text}" for text in english(page.evaluate(TEXTS), originals)]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Teilen", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    faults += [f"sharing: {text}" for text in english(page.evaluate(TEXTS), originals)]

    assert not faults, "\n".join(faults)


@pytest.mark.spec("B29")
def test_why_a_run_failed_is_told_in_the_readers_language(live_site: Any, person: Any, visit: Any) -> None:
    live_site.model.script(Script(match="Why", status=401, times=0))
    page = visit(person(), locale="de-DE").new_page()
    choose_chat(page)
    open_page(page, "/")

    page.locator("#composer-text").fill("Why?")
    page.keyboard.press("Enter")

    expect(answered(page, "failed").get_by_role("alert")).to_contain_text("nimmt seinen Schlüssel nicht an")
