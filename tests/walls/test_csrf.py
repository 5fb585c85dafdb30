"""A foreign page in the browser in which somebody is signed in: whatever it sends, by whatever method, nothing is done.
And it cannot sign anybody in.
"""

from typing import Any, Final

import pytest
from django.test import Client

from hyperagent.accounts.models import User
from tests.faces.admin_rows import Rows, registered
from tests.walls.access import admin_rules, rules
from tests.walls.addresses import Browser, filled
from tests.walls.owners import everything_stored, things_of
from tests.walls.test_matrix_admin import address

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN: Final = "c" * 32
# How a page elsewhere can send something: as a form, as text that is JSON, and with what it may have guessed.
WAYS: Final[dict[str, dict[str, Any]]] = {
    "a form": {"content_type": "application/x-www-form-urlencoded"},
    "JSON as text": {"content_type": "text/plain"},
    "a foreign origin": {
        "content_type": "application/json", "headers": {"X-CSRFToken": TOKEN, "Origin": "http://evil.example"},
    },
    "no origin at all": {
        "content_type": "application/json", "headers": {"X-CSRFToken": TOKEN, "Origin": "null"},
    },
}  # fmt: skip


def is_refused(browser: Browser, method: str, url: str, way: str) -> bool:
    """415: what is sent so is not read. Below /admin/ she is sent to the login page before anything is looked at."""
    told = browser.send(method, url, **WAYS[way])
    return told.status in (401, 403, 404, 405, 415) or (told.kind == "login" and url.startswith("/admin/"))


@pytest.mark.slow
@pytest.mark.spec("B4")
@pytest.mark.threat("T13")
def test_a_foreign_page_does_nothing_in_alices_browser(alice: Any) -> None:
    things = things_of(alice)
    browser = Browser(alice, cookies={"csrftoken": TOKEN}, csrf=True)
    before, faults, tried = everything_stored(), [], 0

    for rule in rules().values():
        if rule.who.isdisjoint({"person", "owner", "staff", "token", "role"}):
            continue
        for method in set(rule.methods) - {"GET"}:
            for way in WAYS:
                tried += 1
                if not is_refused(browser, method, filled(rule.route, things), way):
                    faults.append(f"{method} {rule.route} with {way}")

    assert faults == []
    assert tried > 400
    assert everything_stored() == before


@pytest.mark.slow
@pytest.mark.threat("T13", "T06")
def test_a_foreign_page_does_nothing_in_an_administrators_browser(alice: Any) -> None:
    rows = Rows("words", owner=alice)
    root = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    pages = [
        (model, page)
        for model in registered()
        for page in ("changelist", "add", "change", "delete")
        if page == "changelist" or page in admin_rules()[model._meta.label]
    ]
    urls = [address(model, page, rows.of(model).pk) for model, page in pages]
    browser = Browser(root, cookies={"csrftoken": TOKEN}, csrf=True)
    before = everything_stored()

    for url in urls:
        for way in ("a form", "a foreign origin"):
            assert browser.send("POST", url, **WAYS[way]).kind == "403", (url, way)

    assert everything_stored() == before


@pytest.mark.threat("T13")
def test_a_foreign_page_signs_nobody_in_or_up_or_out(alice: Any) -> None:
    """Or whoever reads on there would write into an account of the attacker's."""
    client = Client(enforce_csrf_checks=True)
    typed = {"email": alice.email, "password": "correct horse battery staple"}

    for url in ("/accounts/login/", "/accounts/register/", "/accounts/password/reset/", "/accounts/logout/"):
        for headers in ({}, {"Origin": "http://evil.example", "X-CSRFToken": TOKEN}):
            answer = client.post(url, typed, headers=headers)
            assert answer.status_code == 403, (url, headers)
            assert "sessionid" not in answer.cookies, url
    token = client.post("/api/v1/auth/token", typed, content_type="text/plain")

    assert token.status_code == 415
    assert User.objects.count() == 1


@pytest.mark.slow
@pytest.mark.threat("T13", "T18")
def test_nothing_is_done_by_looking(alice: Any) -> None:
    """A link or a picture elsewhere can make any browser GET: what changes something is another method."""
    things = things_of(alice)
    browser = Browser(alice)
    looked_at = {"/settings/mcp/signed-in/", "/mail/gmail/callback/", "/mail/gmail/", "/mail/<uuid:account_id>/gmail/"}
    before = everything_stored()

    for rule in rules().values():
        slow = rule.route.startswith(("/browser/", "/previews/", "/readyz", "/metrics"))
        if "GET" in rule.methods and not slow and rule.route not in looked_at and not rule.route.startswith("/admin/"):
            browser.send("GET", filled(rule.route, things))

    changed = {table for table, rows in everything_stored().items() if rows != before[table]}
    assert changed <= {"django_session"}, "a page that is only looked at has changed something"
