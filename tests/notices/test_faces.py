"""Webhooks over API, pages and admin: what each shows to whom, and what it refuses."""

import html
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from hyperagent.accounts.scopes import Scope
from hyperagent.lib.secrets import Purpose, unseal
from hyperagent.notices import actions
from hyperagent.notices.kinds import CHOOSABLE, EventType
from hyperagent.notices.models import Delivery, Endpoint
from hyperagent.notices.tasks import sweep_deliveries
from tests.notices.receiver import Receiver, says

pytestmark = pytest.mark.django_db
Add = Callable[..., tuple[Any, str]]
Api = Callable[..., Any]
PageOf = Callable[[Any], Client]
WEBHOOKS, PAGE = "/api/v1/webhooks", "/settings/webhooks/"
BODY = {"url": "https://example.org/hooks?key=alices-key", "events": ["run.completed"]}


@pytest.fixture
def alices(add: Add, alice: Any) -> tuple[Endpoint, Delivery]:
    """With everything that might be seen: a key in the address, a title, an answer."""
    endpoint, _ = add(alice, BODY["url"])
    actions.emit(EventType.RUN_FAILED, user_id=alice.pk, subject_id="1", payload={"a": 1}, title="Alices title")
    Delivery.objects.update(response_head="Alices receiver said", status="failed", last_error="Alices error")
    return endpoint, Delivery.objects.get()


# ── API ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("B22")
def test_a_webhook_is_made_with_a_secret_that_is_shown_once(alice: Any, api_of: Api) -> None:
    api = api_of(alice)

    made = api.post(WEBHOOKS, BODY)

    shown = made.json()
    stored = Endpoint.objects.get()
    assert made.status_code == 201
    assert made["cache-control"] == "no-store"
    assert shown["secret"] == unseal(stored.secret_sealed, Purpose.WEBHOOK)
    assert shown["secret"] not in str(Endpoint.objects.values().get())
    assert (shown["owner"], shown["enabled"], shown["events"]) == ("me", True, ["run.completed"])
    for again in (api.get(WEBHOOKS), api.get(f"{WEBHOOKS}/{shown['id']}")):
        assert "secret" not in again.content.decode()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "ftp://x"}, "url"),
        ({"url": "https://user:password@example.org/"}, "url"),
        ({"url": ""}, "url"),
        ({"url": "x" * 20_000}, "url"),
        ({"url": None}, "url"),
        ({"events": []}, "events"),
        ({"events": ["run.completed", "nonsense"]}, "events"),
        ({"events": ["webhook.test"]}, "events"),
        ({"events": "run.completed"}, "events"),
        ({"owner": "bob"}, "owner"),
    ],
)
def test_bad_input_is_refused_field_by_field(alice: Any, api_of: Api, body: dict[str, Any], field: str) -> None:
    answer = api_of(alice).post(WEBHOOKS, {**BODY, **body})

    assert answer.status_code == 400
    assert any(name.startswith(field) for name in answer.json()["error"]["fields"])
    assert Endpoint.objects.count() == 0


@pytest.mark.spec("B22")
@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://169.254.169.254/", "http://localhost:6379/"])
def test_a_private_address_is_refused_when_it_is_typed(alice: Any, api_of: Api, settings: Any, url: str) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False

    answer = api_of(alice).post(WEBHOOKS, {**BODY, "url": url})

    assert "private network" in answer.json()["error"]["fields"]["url"][0]


def test_a_person_has_a_bounded_number_of_webhooks(alice: Any, add: Add, api_of: Api) -> None:
    for _ in range(actions.MAX_ENDPOINTS):
        add(alice, BODY["url"])

    answer = api_of(alice).post(WEBHOOKS, BODY)

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "too_many_webhooks")


def test_a_webhook_is_changed_switched_off_and_deleted(alice: Any, alices: Any, api_of: Api) -> None:
    endpoint, _ = alices
    api, url = api_of(alice), f"{WEBHOOKS}/{endpoint.pk}"

    changed = api.patch(url, {"url": "https://example.org/new", "events": ["run.failed", "run.completed"]})
    bad = api.patch(url, {"events": ["x"]})
    off = api.patch(url, {"enabled": False})
    tested = api.post(f"{url}/test")
    on = api.patch(url, {"enabled": True})
    deleted = api.delete(url)

    assert changed.json()["url"] == "https://example.org/new"
    assert changed.json()["events"] == ["run.completed", "run.failed"]
    assert bad.status_code == 400
    assert (off.json()["enabled"], on.json()["enabled"]) == (False, True)
    assert (tested.status_code, tested.json()["error"]["code"]) == (409, "webhook_disabled")
    assert Delivery.objects.get().status == "given_up"
    assert deleted.status_code == 204
    assert api.get(url).status_code == 404
    assert Endpoint.objects.get().secret_sealed == ""


@pytest.mark.spec("B22")
def test_the_log_tells_what_came_of_each_delivery(alice: Any, add: Add, api_of: Api, receiver: Receiver) -> None:
    receiver.answers = [says(500, "broken")]
    endpoint, secret = add(alice, receiver.url)
    api = api_of(alice)

    tested = api.post(f"{WEBHOOKS}/{endpoint.pk}/test")
    twice = api.post(f"{WEBHOOKS}/{endpoint.pk}/test")
    sweep_deliveries()
    (failed,) = api.get(f"{WEBHOOKS}/{endpoint.pk}/deliveries").json()["results"]
    again = api.post(f"{WEBHOOKS}/deliveries/{failed['id']}/redeliver")
    sweep_deliveries()
    (delivered,) = api.get(f"{WEBHOOKS}/{endpoint.pk}/deliveries").json()["results"]

    assert (tested.status_code, tested.json()["type"], again.status_code) == (202, "webhook.test", 202)
    assert twice.json()["error"]["code"] == "test_under_way"
    assert (failed["status"], failed["last_status_code"], failed["response_head"]) == ("failed", 500, "broken")
    assert failed["next_attempt_at"]
    assert (delivered["status"], delivered["attempts"], delivered["next_attempt_at"]) == ("delivered", 2, None)
    assert all(got.is_signed_with(secret) for got in receiver.got)


@pytest.mark.parametrize(
    ("scopes", "read", "write"), [(["read"], 200, 403), (["run"], 403, 201), (["approve", "documents"], 403, 403)]
)
def test_a_token_reads_and_writes_as_far_as_its_scopes_reach(
    alice: Any, api_of: Api, scopes: list[str], read: int, write: int
) -> None:
    api = api_of(alice, scopes=scopes)

    assert (api.get(WEBHOOKS).status_code, api.post(WEBHOOKS, BODY).status_code) == (read, write)


def test_what_the_api_refuses_is_said_in_the_language_that_was_asked_for(alice: Any, api_of: Api) -> None:
    german = {"accept-language": "de"}
    body = {"url": "https://example.org/hook", "events": ["sideways"]}

    too_few = api_of(alice, scopes=["read"]).post(f"{WEBHOOKS}/{uuid.uuid4()}/test", headers=german)
    unknown = api_of(alice, scopes=["run"]).post(WEBHOOKS, body, headers=german)

    assert too_few.json()["error"]["message"].startswith("Das braucht die Berechtigung 'run'.")
    assert unknown.json()["error"]["message"].startswith("„sideways“ ist kein Ereignis. Wählen Sie")


def test_the_installations_webhooks_are_for_administrators(add: Add, alice: Any, bob: Any, api_of: Api) -> None:
    endpoint, _ = add(None, BODY["url"])
    every_day, admin = api_of(bob), api_of(bob, scopes=list(Scope))

    for api in (api_of(alice), every_day):
        assert api.get(WEBHOOKS).json()["results"] == []
        assert api.get(f"{WEBHOOKS}/{endpoint.pk}").status_code == 404
        assert api.post(WEBHOOKS, {**BODY, "owner": "installation"}).status_code == 403
    assert [shown["owner"] for shown in admin.get(WEBHOOKS).json()["results"]] == ["installation"]
    assert admin.post(WEBHOOKS, {**BODY, "owner": "installation"}).status_code == 201
    assert admin.patch(f"{WEBHOOKS}/{endpoint.pk}", {"enabled": False}).status_code == 200


@pytest.mark.spec("B22", "B4")
def test_charlie_sees_and_changes_nothing_of_alices(alices: Any, charlie: Any, api_of: Api, page_of: PageOf) -> None:
    endpoint, delivery = alices
    api, page, before = api_of(charlie), page_of(charlie), list(Endpoint.objects.values())

    for ids in ((endpoint.pk, delivery.pk), (uuid.uuid4(), uuid.uuid4())):
        one = f"{WEBHOOKS}/{ids[0]}"
        answers = [
            api.get(one),
            api.patch(one, {"enabled": False}),
            api.delete(one),
            api.get(f"{one}/deliveries"),
            api.post(f"{one}/test"),
            api.post(f"{WEBHOOKS}/deliveries/{ids[1]}/redeliver"),
            page.get(f"{PAGE}{ids[0]}/"),
            page.post(f"{PAGE}{ids[0]}/", {"url": "https://example.org/", "events": ["run.failed"]}),
            *(page.post(f"{PAGE}{ids[0]}/{verb}/") for verb in ("test", "enable", "disable", "delete")),
            page.post(f"{PAGE}deliveries/{ids[1]}/again/"),
        ]
        assert [answer.status_code for answer in answers] == [404] * len(answers)
        assert not any(b"Alices" in answer.content or b"alices" in answer.content for answer in answers)
    assert api.get(WEBHOOKS).json()["results"] == []
    assert b"alices-key" not in page.get(PAGE).content
    assert (list(Endpoint.objects.values()), Delivery.objects.get().status) == (before, "failed")


def test_the_list_has_a_fixed_number_of_queries(
    alice: Any, add: Add, page_of: PageOf, django_assert_num_queries: Any
) -> None:
    page = page_of(alice)
    for _ in range(5):
        add(alice, BODY["url"])

    with django_assert_num_queries(5):  # session, person, roles, list, what waits
        page.get(PAGE)


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("B22")
def test_on_the_page_a_webhook_is_added_tested_and_deleted(alice: Any, page_of: PageOf, receiver: Receiver) -> None:
    page = page_of(alice)

    made = page.post(PAGE, {"url": receiver.url, "events": ["run.completed", "approval.requested"]})
    secret = html.unescape(re.findall(r'class="secret">([^<]+)<', made.content.decode())[0])
    endpoint = Endpoint.objects.get()
    page.post(f"{PAGE}{endpoint.pk}/test/")
    sweep_deliveries()
    log = page.get(f"{PAGE}{endpoint.pk}/").content.decode()
    page.post(f"{PAGE}{endpoint.pk}/delete/")

    assert made.status_code == 201
    assert receiver.got[0].is_signed_with(secret)
    assert "webhook.test" in log
    assert "delivered" in log
    assert secret not in log + page.get(PAGE).content.decode()
    assert page.get(f"{PAGE}{endpoint.pk}/").status_code == 404


def test_a_bad_address_is_told_at_its_field_and_what_was_typed_stays(alice: Any, page_of: PageOf) -> None:
    answer = page_of(alice).post(PAGE, {"url": "ftp://example.org", "events": ["run.failed"]})

    assert answer.status_code == 400
    assert "Only addresses with http:// or https://" in answer.context["form"].errors["url"][0]
    assert 'value="ftp://example.org"' in answer.content.decode()
    assert Endpoint.objects.count() == 0


def test_only_an_administrator_may_add_one_for_everybody(alice: Any, bob: Any, page_of: PageOf) -> None:
    typed = {**BODY, "for_installation": "on"}

    page_of(alice).post(PAGE, typed)
    page_of(bob).post(PAGE, typed)

    assert {endpoint.user for endpoint in Endpoint.objects.all()} == {alice, None}


def test_what_a_receiver_said_is_shown_as_text(alice: Any, alices: Any, page_of: PageOf) -> None:
    Delivery.objects.update(response_head="<script>alert(1)</script>", last_error="<b>bold</b>")

    shown = page_of(alice).get(f"{PAGE}{alices[0].pk}/").content.decode()

    assert "&lt;script&gt;" in shown
    assert "<script>alert" not in shown
    assert "<b>bold" not in shown


def test_a_link_or_a_foreign_page_changes_nothing(alice: Any, alices: Any) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)

    for verb in ("test", "enable", "disable", "delete"):
        assert browser.get(f"{PAGE}{alices[0].pk}/{verb}/").status_code == 405
        assert browser.post(f"{PAGE}{alices[0].pk}/{verb}/").status_code == 403


@pytest.mark.parametrize("path", ["", "00000000-0000-4000-8000-000000000000/"])
def test_pages_ask_for_a_login(client: Client, path: str) -> None:
    assert client.get(PAGE + path)["location"].startswith("/accounts/login/?next=")


# ── Admin ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.spec("B22")
def test_admin_shows_the_log_without_content_and_changes_nothing(alices: Any, bob: Any, page_of: PageOf) -> None:
    endpoint, delivery = alices
    admin = page_of(bob)
    one = f"/admin/notices/delivery/{delivery.pk}/"

    shown = "".join(
        admin.get(url).content.decode()
        for url in (
            "/admin/notices/endpoint/",
            f"/admin/notices/endpoint/{endpoint.pk}/change/",
            "/admin/notices/delivery/",
            f"/admin/notices/delivery/?endpoint__id__exact={endpoint.pk}",
            f"{one}change/",
            "/admin/notices/mail/",
        )
    )

    assert "example.org" in shown
    assert "run.failed" in shown
    for hidden in ("alices-key", "Alices title", "Alices receiver", "Alices error", endpoint.secret_sealed):
        assert hidden not in shown
    assert admin.post(f"{one}change/", {"status": "delivered"}).status_code == 403
    assert admin.post(f"{one}delete/", {"post": "yes"}).status_code == 403
    assert admin.get("/admin/notices/endpoint/add/").status_code == 403


def test_who_may_read_content_sees_it_in_admin(alices: Any, bob: Any, page_of: PageOf) -> None:
    bob.user_permissions.add(Permission.objects.get(codename="view_content"))

    shown = page_of(bob).get(f"/admin/notices/delivery/{alices[1].pk}/change/").content.decode()

    assert "Alices title" in shown


def test_an_administrator_delivers_again(add: Add, alice: Any, bob: Any, page_of: PageOf, receiver: Receiver) -> None:
    add(alice, receiver.url, CHOOSABLE)
    actions.emit(EventType.RUN_FAILED, user_id=alice.pk, subject_id="1", payload={})
    sweep_deliveries()
    chosen = {"action": "send_again", "_selected_action": [str(Delivery.objects.get().pk)]}

    answer = page_of(bob).post("/admin/notices/delivery/", chosen, follow=True)
    sweep_deliveries()

    assert "On their way again: 1." in answer.content.decode()
    assert len(receiver.got) == 2


def test_charlie_has_no_admin(charlie: Any, page_of: PageOf) -> None:
    assert page_of(charlie).get("/admin/notices/delivery/", follow=True).status_code == 403
