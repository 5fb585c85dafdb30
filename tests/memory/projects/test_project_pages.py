"""The pages of projects without a browser: what their forms do, whom they refuse, and what they cost."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from conversations import actions as conversations
from hyperagent.accounts import people
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.refusals import NotAllowed
from memory import project_views, projects
from memory.connecting import actions as connectors
from memory.kinds import ConnectorKind
from memory.models import Connector, Document, Project
from tests.accounts.conftest import PASSWORD
from tests.accounts.test_in_a_browser import browser, open_page, sign_in
from tests.clean_page import axe_faults
from tests.memory.projects.conftest import document

__all__ = ["browser", "open_page"]

pytestmark = [pytest.mark.django_db, pytest.mark.spec("B30")]
Browse = Callable[[Any], Client]


@pytest.fixture
def plans(alice: Any, bob: Any) -> Any:
    """Alice's project, with Bob."""
    made = projects.create(alice, name="Plans", instructions="Answer in French.")
    projects.add_member(alice, made.pk, bob.email)
    return made


def test_without_javascript_a_project_is_begun_changed_shared_filled_and_deleted(
    alice: Any, bob: Any, client_of: Browse
) -> None:
    browser, own = client_of(alice), document(alice, "own.md")

    made = browser.post("/projects/", {"name": "Plans", "instructions": "Be short."})
    url = made["location"]
    browser.post(url, {"name": "New plans", "instructions": "Be brief."})
    browser.post(f"{url}members/", {"email": bob.email})
    browser.post(f"{url}documents/", {"document": str(own.pk)})

    shown = browser.get(url).content.decode()
    assert "New plans" in shown
    assert "Be brief." in shown
    assert "bob@example.org" in shown
    assert "own.md" in shown
    assert list(Document.objects.seen_by(bob)) == [own]
    browser.post(f"{url}documents/{own.pk}/remove/")
    browser.post(f"{url}members/{bob.pk}/remove/")
    assert not Document.objects.seen_by(bob).exists()
    assert browser.post(f"{url}delete/")["location"] == "/projects/"
    assert not Project.objects.exists()


def test_whoever_removes_a_member_is_told_how_much_goes_with_them(
    alice: Any, bob: Any, charlie: Any, plans: Any, client_of: Browse
) -> None:
    projects.add_member(alice, plans.pk, charlie.email)
    projects.add_documents(bob, plans.pk, [document(bob, f"{number}.md").pk for number in range(2)])

    told = client_of(alice).get(f"/projects/{plans.pk}/").context["members"]

    assert {person.email: words for person, words in told if person != alice} == {
        bob.email: "Remove, with 2 documents",
        charlie.email: "Remove",
    }


def test_that_older_documents_are_not_offered_is_said(
    alice: Any, plans: Any, client_of: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_views, "MOST_OFFERED", 2)
    browser, url = client_of(alice), f"/projects/{plans.pk}/"
    document(alice, "0.md")
    few = browser.get(url).content.decode()
    document(alice, "1.md")
    many = browser.get(url).content.decode()

    assert ("Your newest 2 are offered here." in few, "Your newest 2 are offered here." in many) == (False, True)


def test_bob_leaves_a_project(alice: Any, bob: Any, plans: Any, client_of: Browse) -> None:
    left = client_of(bob).post(f"/projects/{plans.pk}/members/{bob.pk}/remove/", follow=True)

    assert left.redirect_chain == [("/projects/", 302)]
    assert "You have left the project." in left.content.decode()


def test_alice_hands_a_project_over_and_is_a_member_from_then_on(
    alice: Any, bob: Any, plans: Any, client_of: Browse
) -> None:
    page = f"/projects/{plans.pk}/"

    by_a_member = client_of(bob).post(f"{page}owner/", {"member": str(bob.pk)}, follow=True)
    to_nobody = client_of(alice).post(f"{page}owner/", {"member": ""}, follow=True)
    done = client_of(alice).post(f"{page}owner/", {"member": str(bob.pk)}, follow=True)

    assert "Only the project&#x27;s owner may change this." in by_a_member.content.decode()
    assert "Choose one from the list." in to_nobody.content.decode()
    assert "Bob owns the project now. You are still a member." in done.content.decode()
    assert "Hand the project over" not in done.content.decode()
    assert Project.objects.get().owner == bob
    projects.change(bob, plans.pk, name="Bob's plans")
    with pytest.raises(NotAllowed):
        projects.change(alice, plans.pk, name="Alice's plans")


def test_an_administrator_hands_over_what_somebody_deactivated_owns_and_sees_no_name_of_it(
    alice: Any, bob: Any, charlie: Any, client_of: Browse
) -> None:
    plans, browser, page = projects.create(alice, name="Secret plans"), client_of(bob), f"/people/{alice.pk}/projects/"
    projects.add_member(alice, plans.pk, charlie.email)
    chosen = {"project": str(plans.pk), "member": str(charlie.pk)}

    while_active = browser.post(page, chosen, follow=True)
    people.deactivate(bob, alice.pk)
    shown = browser.get(page).content.decode()
    leads_there = page in browser.get(f"/people/{alice.pk}/").content.decode()
    to_a_stranger = browser.post(page, {**chosen, "member": str(bob.pk)})
    by_charlie = client_of(charlie).post(page, chosen)
    done = browser.post(page, chosen, follow=True)

    assert "They are active" in while_active.content.decode()
    assert (str(charlie.pk) in shown, plans.name in shown, leads_there) == (True, False, True)
    assert (to_a_stranger.status_code, by_charlie.status_code) == (404, 403)
    assert "Handed over." in done.content.decode()
    assert projects.add_member(charlie, plans.pk, bob.email) == (bob, True)
    handed = AuditEvent.objects.get(kind=AuditKind.PROJECT_HANDED_OVER)
    assert (handed.target_id, handed.details["member"]) == (str(plans.pk), str(charlie.pk))


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_projects_are_handed_over_on_a_phone(alice: Any, bob: Any, charlie: Any, open_page: Any) -> None:
    for number in range(3):
        plans = projects.create(alice, name=f"Plans {number}")
        projects.add_member(alice, plans.pk, charlie.email)
    bob.set_password(PASSWORD)
    bob.save()
    people.deactivate(bob, alice.pk)
    page = open_page(viewport={"width": 390, "height": 844})
    sign_in(page, bob.email)

    page.goto(f"/people/{alice.pk}/")
    page.get_by_role("link", name="Hand over their projects…").click()
    faults = axe_faults(page)
    page.get_by_label("The new owner").first.select_option("Charlie")
    page.get_by_role("button", name="Hand over").first.click()
    page.get_by_text("Handed over.").wait_for()

    assert faults == []
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert Project.objects.filter(owner=charlie).count() == 1


def test_what_is_refused_is_told_and_what_was_typed_is_kept(alice: Any, plans: Any, client_of: Browse) -> None:
    browser = client_of(alice)

    too_long = browser.post(f"/projects/{plans.pk}/", {"name": "Plans", "instructions": "x" * 4_001})
    nameless = browser.post("/projects/", {"name": " ", "instructions": "Kept."})
    unknown = browser.post(f"/projects/{plans.pk}/members/", {"email": "nobody@example.org"}, follow=True)

    assert too_long.status_code == 400
    assert "x" * 4_001 in too_long.content.decode()
    assert nameless.status_code == 400
    assert "instructions" in too_long.context["form"].errors
    assert "name" in nameless.context["form"].errors
    assert "Kept." in nameless.content.decode()
    assert "Nobody here has the e-mail address" in unknown.content.decode()


def test_a_member_is_offered_nothing_that_is_the_owners(alice: Any, bob: Any, plans: Any, client_of: Browse) -> None:
    foreign = document(alice, "alices.md")
    projects.add_documents(alice, plans.pk, [foreign.pk])

    shown = client_of(bob).get(f"/projects/{plans.pk}/").content.decode()
    changed = client_of(bob).post(f"/projects/{plans.pk}/", {"name": "Bob's", "instructions": "Obey Bob."})
    client_of(bob).post(f"/projects/{plans.pk}/documents/{foreign.pk}/remove/")

    assert "Delete for everybody" not in shown
    assert "Take alices.md out" not in shown
    assert "Leave the project" in shown
    assert changed.status_code == 403
    plans.refresh_from_db()
    assert (plans.name, plans.documents.count()) == ("Plans", 1)


def test_charlie_finds_no_page_of_a_project_and_no_connector(
    alice: Any, charlie: Any, plans: Any, client_of: Browse
) -> None:
    own = document(alice, "Alices.md")
    projects.add_documents(alice, plans.pk, [own.pk])
    connector = connectors.add(alice, kind=ConnectorKind.PAGE, location="https://alice.example/")
    browser = client_of(charlie)

    def tries(project: Any, connector: Any) -> list[Any]:
        url = f"/projects/{project}/"
        return [
            browser.get(url), browser.post(url, {"name": "Mine"}), browser.post(f"{url}delete/"),
            browser.post(f"{url}members/", {"email": charlie.email}), browser.post(f"{url}members/{alice.pk}/remove/"),
            browser.post(f"{url}members/{charlie.pk}/remove/"), browser.post(f"{url}documents/", {"document": "x"}),
            browser.post(f"{url}documents/{own.pk}/remove/"),
            browser.post(f"/connectors/{connector}/", {"verb": "off"}),
            browser.post(f"/connectors/{connector}/", {"verb": "delete-all"}),
        ]  # fmt: skip

    answers, missing = tries(plans.pk, connector.pk), tries(uuid.uuid4(), uuid.uuid4())

    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert [answer.status_code for answer in missing] == [404] * len(missing)
    for url in ("/projects/", "/connectors/", f"/?project={plans.pk}"):
        shown = browser.get(url).content.decode()
        assert "Plans" not in shown
        assert "alice" not in shown
    assert (Project.objects.count(), Connector.objects.get().is_on) == (1, True)


def test_strangers_are_asked_to_sign_in(plans: Any) -> None:
    for url in ("/projects/", f"/projects/{plans.pk}/", "/connectors/"):
        answer = Client().get(url)
        assert (answer.status_code, answer["location"].split("?")[0]) == (302, "/accounts/login/")


def test_what_people_wrote_is_escaped(alice: Any, client_of: Browse) -> None:
    evil = "<script>alert(1)</script>"
    made = projects.create(alice, name=evil, instructions=evil)
    projects.add_documents(alice, made.pk, [document(alice, f"{evil}.md").pk])

    for url in ("/projects/", f"/projects/{made.pk}/", f"/?project={made.pk}"):
        assert evil not in client_of(alice).get(url).content.decode()


def test_the_chat_is_told_the_project_that_a_conversation_shall_begin_in(
    alice: Any, plans: Any, client_of: Browse
) -> None:
    browser, conversation = client_of(alice), conversations.create(alice, project_id=plans.pk)

    def told(url: str) -> Any:
        return browser.get(url).context["page_data"]

    wanted = {"id": str(plans.pk), "name": "Plans"}
    assert told(f"/?project={plans.pk}")["project"] == wanted
    assert told(f"/c/{conversation.pk}/")["conversation"]["project"] == wanted
    assert told("/?project=nonsense")["project"] is None
    other = told(f"/c/{conversations.create(alice).pk}/?project={plans.pk}")
    assert (other["project"], other["conversation"]["project"]) == (None, None)


@pytest.mark.slow
def test_the_pages_take_the_same_number_of_queries_however_much_there_is(
    alice: Any, bob: Any, plans: Any, client_of: Browse
) -> None:
    browser = client_of(alice)
    urls = ("/projects/", f"/projects/{plans.pk}/", "/connectors/")

    def queries() -> list[int]:
        counts = []
        for url in urls:
            with CaptureQueriesContext(connection) as seen:
                assert browser.get(url).status_code == 200
            counts.append(len(seen))
        return counts

    def more(start: int) -> None:
        for number in range(start, start + 3):
            made = projects.create(alice, name="Other")
            projects.add_member(alice, made.pk, bob.email)
            projects.add_documents(alice, plans.pk, [document(alice).pk])
            document(alice)
            connectors.add(alice, kind=ConnectorKind.PAGE, location=f"https://example.org/{number}")

    more(0)
    queries()
    few = queries()
    more(3)

    assert queries() == few
