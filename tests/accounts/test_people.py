"""People of a company: who is there, what they may, where they belong; by page and API, for administrators alone."""

import json
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import transaction
from django.test import Client

from hitl.models import Policy
from hyperagent.accounts import closing, invitations, people, people_groups
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Role
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.refusals import Conflict, NotAllowed
from tests.accounts.test_api import error, with_token
from tests.at_once import elsewhere, how_many_wait
from tests.faces.runs import make_request, make_run
from tests.house.waiting import until

PEOPLE = "/api/v1/people"


@pytest.fixture
def bobs_page(bob: Any) -> Client:
    client = Client()
    client.force_login(bob)
    return client


def told(kind: str) -> list[tuple[Any, str, Any]]:
    rows = AuditEvent.objects.filter(kind=kind).order_by("id")
    return [(row.actor_id, row.target_id, row.details) for row in rows]


@pytest.mark.spec("B21")
def test_an_administrator_finds_people_and_sees_what_they_may_and_do(alice: Any, bob: Any, bobs_page: Client) -> None:
    people.set_roles(bob, alice.pk, [Role.REVIEWER])
    legal = people_groups.make(bob, "Legal")
    people.set_groups(bob, alice.pk, [legal.pk])
    make_run(alice)

    everybody = bobs_page.get("/people/").content.decode()
    found = bobs_page.get(f"/people/?q=ALICE&role=reviewer&group={legal.pk}&state=active")
    nobody = bobs_page.get("/people/", {"role": "auditor"}).content.decode()
    page = bobs_page.get(f"/people/{alice.pk}/").content.decode()

    assert "bob@example.org" in everybody
    shown = found.content.decode().split("people-rows", 1)[1]
    assert "alice@example.org" in shown
    assert "bob@example.org" not in shown
    assert "1 run now" in shown
    assert "Legal" in shown
    assert "Nobody fits this" in nobody
    assert "Reviewer" in page
    assert "Runs now</dt><dd>1<" in page


def test_a_list_of_people_costs_the_same_for_one_and_for_many(
    bob: Any, bobs_page: Client, django_assert_max_num_queries: Any
) -> None:
    group = people_groups.make(bob, "Legal")
    for number in range(30):
        person = User.objects.create_user(f"person{number}@example.org", None)
        person.groups.add(group)
        make_run(person)

    with django_assert_max_num_queries(9):
        assert b"1 run now" in bobs_page.get("/people/").content


@pytest.mark.spec("B21")
def test_roles_and_groups_are_given_and_taken_and_the_audit_says_by_whom(
    alice: Any, bob: Any, bobs_page: Client
) -> None:
    legal = people_groups.make(bob, "Legal")

    saved = bobs_page.post(
        f"/people/{alice.pk}/", {"verb": "save", "roles": ["auditor", "administrator"], "groups": [legal.pk]}
    )
    given = User.objects.get(pk=alice.pk)
    roles = given.roles()
    bobs_page.post(f"/people/{alice.pk}/", {"verb": "save", "roles": ["auditor"]})

    assert saved["Location"] == f"/people/{alice.pk}/"
    assert roles == [Role.USER, Role.AUDITOR, Role.ADMINISTRATOR]
    assert not given.is_superuser
    assert User.objects.get(pk=alice.pk).roles() == [Role.USER, Role.AUDITOR]
    assert not legal.user_set.exists()
    key = str(alice.pk)
    assert told("role.given") == [(bob.pk, key, {"role": "administrator"}), (bob.pk, key, {"role": "auditor"})]
    assert told("role.taken") == [(bob.pk, key, {"role": "administrator"})]
    assert [row[2]["change"] for row in told("group.changed")] == ["made", "added", "removed"]


@pytest.mark.spec("B21")
def test_the_last_administrator_stays_one_and_nobody_deactivates_themselves(
    alice: Any, bob: Any, bobs_page: Client, api: Any
) -> None:
    root = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    program = with_token(api, bob, "admin")

    himself = error(program.post(f"{PEOPLE}/{bob.pk}/deactivate"))
    too_high = program.post(f"{PEOPLE}/{root.pk}/deactivate")
    people.deactivate(root, alice.pk)
    people.set_roles(root, bob.pk, [])
    with pytest.raises(Conflict, match="last administrator"):
        people.set_roles(None, root.pk, [])
    with pytest.raises(Conflict, match="last administrator"):
        people.deactivate(None, root.pk)
    with pytest.raises(NotAllowed):
        people.set_roles(bob, bob.pk, [Role.ADMINISTRATOR])

    assert (himself["code"], himself["message"][:10]) == ("yourself", "You cannot")
    assert too_high.status_code == 403
    assert bobs_page.get("/people/").status_code == 403
    assert program.get(PEOPLE).status_code == 403
    assert User.objects.filter(is_staff=True, is_active=True).get() == root


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_programs_read_people_and_change_them(alice: Any, bob: Any, charlie: Any, api: Any) -> None:
    program = with_token(api, bob, "admin")
    group = program.post("/api/v1/groups", {"name": " Legal  team "}).json()

    changed = program.patch(f"{PEOPLE}/{alice.pk}", {"roles": ["reviewer"], "groups": [group["id"]]}).json()
    unknown = program.patch(f"{PEOPLE}/{alice.pk}", {"roles": ["auditor"], "groups": [987654]})
    found = program.get(PEOPLE, {"group": group["id"], "kind": "person"}).json()["results"]
    off = program.post(f"{PEOPLE}/{charlie.pk}/deactivate").json()
    inactive = program.get(PEOPLE, {"state": "deactivated"}).json()["results"]
    on = program.post(f"{PEOPLE}/{charlie.pk}/activate").json()

    assert group["name"] == "Legal team"
    assert changed["roles"] == ["user", "reviewer"]
    assert changed["groups"] == [{"id": group["id"], "name": "Legal team"}]
    assert (changed["kind"], changed["state"], changed["runs_now"]) == ("person", "active", 0)
    assert unknown.status_code == 400
    assert User.objects.get(pk=alice.pk).roles() == [Role.USER, Role.REVIEWER]
    assert [one["id"] for one in found] == [str(alice.pk)]
    assert (off["state"], on["state"]) == ("deactivated", "active")
    assert [one["id"] for one in inactive] == [str(charlie.pk)]
    assert program.get(f"{PEOPLE}/{uuid.uuid4()}").status_code == 404
    assert [actor for actor, _, _ in told("user.deactivated") + told("user.activated")] == [bob.pk, bob.pk]


def test_only_the_scope_admin_of_an_administrator_opens_it(
    alice: Any, bob: Any, api: Any, charlies_page: Client
) -> None:
    assert with_token(api, bob, "read", "run").get(PEOPLE).status_code == 403
    assert with_token(api, alice, "read").get(f"{PEOPLE}/{alice.pk}").status_code == 403
    assert charlies_page.get("/people/").status_code == 403
    assert charlies_page.post(f"/people/{alice.pk}/", {"verb": "deactivate"}).status_code == 403
    assert Client().get("/people/")["Location"] == "/accounts/login/?next=/people/"
    assert User.objects.get(pk=alice.pk).is_active


def test_whoever_lost_the_right_while_they_asked_does_nothing_by_it(alice: Any, bob: Any) -> None:
    root = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    promised = invitations.invite(root, "dora@example.org")
    as_he_asked = User.objects.get(pk=bob.pk)
    people.set_roles(root, bob.pk, [])
    group = people_groups.make(root, "Legal")

    verbs: list[Callable[[], object]] = [
        lambda: closing.close(alice, by=as_he_asked),
        lambda: people.deactivate(as_he_asked, alice.pk),
        lambda: people_groups.delete(as_he_asked, group.pk),
        lambda: invitations.send_again(as_he_asked, promised.pk),
        lambda: invitations.revoke(as_he_asked, promised.pk),
    ]
    for verb in verbs:
        with pytest.raises(NotAllowed):
            verb()
    people.deactivate(root, bob.pk)
    with pytest.raises(NotAllowed):
        closing.close(bob, by=as_he_asked)

    promised.refresh_from_db()
    assert (promised.number, promised.revoked_at) == (1, None)
    assert User.objects.filter(pk__in=(alice.pk, bob.pk), deleted_at=None).count() == 2


@pytest.mark.slow
def test_groups_are_made_renamed_filled_and_deleted(alice: Any, bob: Any, bobs_page: Client) -> None:
    bobs_page.post("/people/groups/", {"name": "Legal"})
    group = Group.objects.get(name="Legal")
    page = f"/people/groups/{group.pk}/"
    asked = make_request(make_run(alice), approver_kind="group", approver_name="Legal")

    twice = bobs_page.post("/people/groups/", {"name": "legal"})
    a_role = bobs_page.post("/people/groups/", {"name": "Auditor"})
    stranger = bobs_page.post(page, {"verb": "add", "email": "nobody@example.org"})
    bobs_page.post(page, {"verb": "add", "email": "ALICE@example.org"})
    members = list(group.user_set.all())
    bobs_page.post(page, {"verb": "rename", "name": "Law"})
    asked.refresh_from_db()
    Policy.objects.create(name="Law decides", approver_kind="group", approver_group=group)
    needed = bobs_page.post(page, {"verb": "delete"}, follow=True)
    Policy.objects.all().delete()
    bobs_page.post(page, {"verb": "remove", "member": str(alice.pk)})
    left = group.user_set.count()
    bobs_page.post(page, {"verb": "delete"})

    assert (twice.status_code, a_role.status_code, stranger.status_code) == (409, 409, 400)
    assert "Nobody here has the address" in stranger.context["adding"].errors["email"][0]
    assert list(twice.context["form"].errors) == ["name"]
    assert members == [alice]
    assert asked.approver_name == "Law"
    assert "Law decides" in needed.content.decode()
    assert left == 0
    assert not Group.objects.filter(pk=group.pk).exists()
    assert bobs_page.get(f"/people/groups/{Group.objects.get(name='auditor').pk}/").status_code == 404


def test_a_change_of_a_group_that_cannot_be_made_whole_is_not_made(alice: Any, bob: Any, api: Any) -> None:
    group, nobody = people_groups.make(bob, "Legal"), "00000000-0000-4000-8000-000000000000"
    admin, path = with_token(api, bob, "admin"), f"/api/v1/groups/{group.pk}"

    refused = admin.patch(path, {"name": "Law", "members": [str(alice.pk), nobody]})
    missing = admin.patch("/api/v1/groups/999999", {"members": []})
    group.refresh_from_db()
    kept = (group.name, list(group.user_set.all()))
    made = admin.patch(path, {"name": "Law", "members": [str(alice.pk)]})

    assert (refused.status_code, error(refused)["code"], list(error(refused)["fields"])) == (
        400,
        "unknown_person",
        ["members"],
    )
    assert nobody in error(refused)["message"]
    assert missing.status_code == 404
    assert kept == ("Legal", [])
    assert made.json() == {"id": group.pk, "name": "Law", "members": 1}


@pytest.mark.parametrize(
    "verb",
    [
        lambda by, group, user: people_groups.add_member(by, group.pk, user.email),
        lambda by, group, user: people_groups.set_members(by, group.pk, [user.pk]),
    ],
    ids=["one member", "all members"],
)
def test_a_person_who_is_put_into_two_groups_at_once_is_in_both(
    verb: Callable[[User, Group, User], object], alice: Any, bob: Any, during: Any
) -> None:
    legal, sales = people_groups.make(bob, "Legal"), people_groups.make(bob, "Sales")

    with during(lambda: verb(bob, sales, alice)):
        people.set_groups(bob, alice.pk, [legal.pk])

    assert set(alice.groups.all()) == {legal, sales}


@pytest.mark.parametrize(
    "verb",
    [
        lambda by, group, user: people_groups.add_member(by, group.pk, user.email),
        lambda by, group, user: people_groups.remove_member(by, group.pk, user.pk),
        lambda by, group, user: people_groups.set_members(by, group.pk, [user.pk]),
    ],
    ids=["one more", "one less", "all members"],
)
def test_a_group_is_changed_while_one_of_its_members_gets_a_role_and_neither_stands_in_the_others_way(
    verb: Callable[[User, Group, User], object], bob: Any, transactional_db: None
) -> None:
    first = User.objects.create(id=uuid.UUID(int=1), email="first@example.org")
    group = people_groups.make(bob, "Legal")

    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            # Whoever changes the group has begun, and waits for it; whoever gives the role comes in between.
            Group.objects.select_for_update().get(pk=group.pk)
            changing = pool.submit(elsewhere, lambda: verb(bob, group, first))
            until(lambda: how_many_wait() == 1, what="the one to wait for the group")
            giving = pool.submit(elsewhere, lambda: people.set_roles(bob, first.pk, [Role.AUDITOR]))
            until(lambda: how_many_wait() == 2, what="the other to wait for the one")
        changing.result(timeout=30)
        giving.result(timeout=30)

    assert User.objects.get(pk=first.pk).roles() == [Role.USER, Role.AUDITOR]


def test_a_person_who_leaves_a_group_while_another_takes_them_into_one_is_in_that_one(
    alice: Any, bob: Any, during: Any
) -> None:
    legal, sales = people_groups.make(bob, "Legal"), people_groups.make(bob, "Sales")
    alice.groups.add(sales)

    with during(lambda: people_groups.remove_member(bob, sales.pk, alice.pk)):
        people.set_groups(bob, alice.pk, [legal.pk, sales.pk])

    assert list(alice.groups.all()) == [legal]


@pytest.mark.spec("B21")
def test_everybody_sees_their_own_roles_and_groups(alice: Any, bob: Any, alices_page: Client) -> None:
    people.set_roles(bob, alice.pk, [Role.AUDITOR])
    people.set_groups(bob, alice.pk, [people_groups.make(bob, "Legal").pk])

    shown = alices_page.get("/settings/").content.decode()

    assert "Auditor" in shown
    assert "Legal" in shown


@pytest.mark.spec("B21")
@pytest.mark.threat("T25")
def test_a_page_that_was_shown_a_while_ago_changes_only_what_was_ticked_on_it(
    alice: Any, bob: Any, bobs_page: Client
) -> None:
    legal, sales = people_groups.make(bob, "Legal"), people_groups.make(bob, "Sales")
    people.set_both(bob, alice.pk, roles=[Role.ADMINISTRATOR, Role.AUDITOR], group_ids=[legal.pk])
    shown = bobs_page.get(f"/people/{alice.pk}/").context["form"].initial["shown"]

    people.set_both(bob, alice.pk, roles=[Role.REVIEWER], group_ids=[])
    sent = {"verb": "save", "shown": json.dumps(shown), "roles": ["administrator"], "groups": [legal.pk, sales.pk]}
    bobs_page.post(f"/people/{alice.pk}/", sent)

    alice = User.objects.get(pk=alice.pk)
    assert alice.roles() == [Role.USER, Role.REVIEWER]
    assert list(alice.groups.exclude(name="reviewer")) == [sales]


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_all_rights_are_given_and_taken_by_who_has_them_and_the_last_with_them_stays(
    alice: Any, bob: Any, bobs_page: Client
) -> None:
    root = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    roots_page = Client()
    roots_page.force_login(root)
    bobs = f"/people/{bob.pk}/"

    with pytest.raises(Conflict, match="last administrator with all rights"):
        people.deactivate(None, root.pk)
    by_himself = bobs_page.post(bobs, {"verb": "give-all"}, follow=True)
    to_alice = roots_page.post(f"/people/{alice.pk}/", {"verb": "give-all"}, follow=True)
    roots_page.post(bobs, {"verb": "give-all"})
    has_them = User.objects.get(pk=bob.pk).is_superuser
    bobs_page.post(f"/people/{root.pk}/", {"verb": "take-all"})
    call_command("give_all_rights", "root@example.org")
    bobs_page.post(f"/people/{root.pk}/", {"verb": "deactivate"})

    assert "Only an administrator with all rights may give" in by_himself.content.decode()
    assert "Only an active administrator can have all rights." in to_alice.content.decode()
    assert has_them
    assert list(User.objects.filter(is_active=True, is_superuser=True)) == [bob]
    assert [row[2]["role"] for row in told("role.given")] == ["all rights", "all rights"]
    assert [row[2]["role"] for row in told("role.taken")] == ["all rights"]
