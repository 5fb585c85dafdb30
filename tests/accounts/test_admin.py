"""Administration: behind the same door, without secrets, and no way up for those who only edit people."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from hyperagent.accounts import actions, people
from hyperagent.accounts.attempts import Try, take
from hyperagent.accounts.limits import Door
from hyperagent.accounts.models import ApiToken, LoginAttempt, User
from hyperagent.accounts.scopes import Role
from hyperagent.accounts.tokens import user_for_token
from tests.accounts.conftest import PASSWORD
from tests.faces.runs import make_request, make_run

PEOPLE = "/admin/accounts/user/"


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root@example.org", PASSWORD)


@pytest.fixture
def roots_page(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


@pytest.fixture
def bobs_page(bob: Any) -> Client:
    """Bob may edit people, and no more than that."""
    bob.user_permissions.set(Permission.objects.filter(content_type__app_label="accounts"))
    client = Client()
    client.force_login(bob)
    return client


@pytest.mark.threat("T26")
@pytest.mark.parametrize("method", ["get", "post"])
def test_admin_has_no_login_of_its_own(root: User, page: Client, method: str) -> None:
    typed = {"username": root.email, "password": PASSWORD}

    answer = getattr(page, method)("/admin/login/?next=/admin/accounts/", typed if method == "post" else None)

    assert answer["Location"] == "/accounts/login/?next=%2Fadmin%2Faccounts%2F"
    assert "sessionid" not in page.cookies


@pytest.mark.slow
def test_root_comes_to_admin_through_the_one_login(root: User, page: Client) -> None:
    asked = page.get("/admin/", follow=True)
    login, _ = asked.redirect_chain[-1]

    answer = page.post(login, {"email": root.email, "password": PASSWORD}, follow=True)

    assert answer.request["PATH_INFO"] == "/admin/"
    assert answer.status_code == 200


def test_a_person_without_the_right_is_told_so_and_not_sent_round_in_circles(alices_page: Client) -> None:
    answer = alices_page.get("/admin/", follow=True)

    assert answer.status_code == 403


def test_admin_has_no_password_form_of_its_own(roots_page: Client) -> None:
    assert roots_page.get("/admin/password_change/")["Location"] == "/accounts/password/change/"


@pytest.mark.slow
def test_people_can_be_searched_and_opened_without_any_secret(alice: Any, roots_page: Client) -> None:
    listed = roots_page.get(PEOPLE, {"q": "alice"}).content.decode()
    opened = roots_page.get(f"{PEOPLE}{alice.pk}/change/").content.decode()

    assert "alice@example.org" in listed
    assert "root@example.org" not in listed.split("results", 1)[1]
    assert alice.password not in opened


def test_root_adds_a_person(roots_page: Client) -> None:
    new = {"email": "Dora@example.org", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}

    roots_page.post(f"{PEOPLE}add/", new)

    assert User.objects.with_email("dora@example.org").get().check_password(PASSWORD)


def test_an_address_in_another_case_is_refused_in_words(alice: Any, roots_page: Client) -> None:
    new = {"email": "ALICE@example.org", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}

    answer = roots_page.post(f"{PEOPLE}add/", new)

    assert "cannot be registered" in answer.content.decode()


@pytest.mark.slow
def test_deactivating_a_person_in_admin_revokes_their_tokens(alice: Any, roots_page: Client) -> None:
    actions.make_token(alice)

    roots_page.post(f"{PEOPLE}{alice.pk}/change/", {"email": alice.email, "display_name": "Alice"})

    alice.refresh_from_db()
    assert not alice.is_active
    assert ApiToken.objects.get().revoked_at is not None


def test_whoever_edits_people_cannot_make_themselves_more_than_they_are(bob: Any, bobs_page: Client) -> None:
    bobs_page.post(
        f"{PEOPLE}{bob.pk}/change/",
        {"email": bob.email, "display_name": "Robert", "is_active": "on", "is_superuser": "on", "is_staff": "on"},
    )

    bob.refresh_from_db()
    assert bob.display_name == "Robert"
    assert not bob.is_superuser


def test_whoever_edits_groups_cannot_make_themselves_more_than_they_are(bob: Any, bobs_page: Client) -> None:
    bob.user_permissions.add(*Permission.objects.filter(content_type__app_label="auth"))
    group = Group.objects.create(name="Mine")
    bob.groups.add(group)
    wanted = {"name": "Ours", "permissions": [str(Permission.objects.get(codename="delete_user").pk)]}

    bobs_page.post(f"/admin/auth/group/{group.pk}/change/", wanted)
    bobs_page.post("/admin/auth/group/add/", {**wanted, "name": "Another"})

    made = Group.objects.filter(name__in=("Ours", "Another"))
    assert made.count() == 2
    assert not made.exclude(permissions=None).exists()


@pytest.mark.parametrize("page_of", ["change/", "password/", "delete/"])
def test_whoever_edits_people_cannot_touch_a_superuser(root: User, bobs_page: Client, page_of: str) -> None:
    answer = bobs_page.post(
        f"{PEOPLE}{root.pk}/{page_of}",
        {"email": "x@example.org", "password1": "z" * 20, "password2": "z" * 20, "post": "yes"},
    )

    root.refresh_from_db()
    assert answer.status_code == 403
    assert root.email == "root@example.org"
    assert root.check_password(PASSWORD)


@pytest.mark.slow
@pytest.mark.threat("T25")
def test_the_tokens_of_a_person_end_with_a_password_that_an_administrator_sets(
    alice: Any, bob: Any, roots_page: Client
) -> None:
    _, raw = actions.make_token(alice)
    _, of_another = actions.make_token(bob)

    wrong = {"password1": "a quite different sentence", "password2": "another one", "usable_password": "true"}
    roots_page.post(f"{PEOPLE}{alice.pk}/password/", wrong)
    still = user_for_token(raw)
    right = {**wrong, "password2": wrong["password1"]}
    answer = roots_page.post(f"{PEOPLE}{alice.pk}/password/", right, follow=True)

    assert still is not None
    assert "API tokens revoked: 1." in answer.content.decode()
    assert user_for_token(raw) is None
    assert user_for_token(of_another) is not None


def test_tokens_are_shown_without_digest_and_revoked_by_an_action(alice: Any, roots_page: Client) -> None:
    token, raw = actions.make_token(alice, name="laptop")
    address = f"/admin/accounts/apitoken/{token.pk}/change/"

    opened = roots_page.get(address).content.decode()
    roots_page.post(address, {"name": "changed"})
    roots_page.post("/admin/accounts/apitoken/", {"action": "revoke", "_selected_action": [str(token.pk)]})

    assert "laptop" in opened
    assert token.digest not in opened
    token.refresh_from_db()
    assert token.name == "laptop"
    assert user_for_token(raw) is None
    assert roots_page.get("/admin/accounts/apitoken/add/").status_code == 403


def test_counted_tries_can_be_read_and_not_changed(roots_page: Client) -> None:
    take(Try(Door.LOGIN, "alice@example.org", "192.0.2.1"))
    row = LoginAttempt.objects.get(subject="alice@example.org")

    assert "alice@example.org" in roots_page.get("/admin/accounts/loginattempt/").content.decode()
    assert roots_page.post(f"/admin/accounts/loginattempt/{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert LoginAttempt.objects.filter(pk=row.pk).exists()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["user", "apitoken", "loginattempt"])
def test_a_list_costs_the_same_for_one_row_and_for_many(
    roots_page: Client, django_assert_max_num_queries: Any, model: str
) -> None:
    for number in range(30):
        user = User.objects.create_user(f"person{number}@example.org", None)
        actions.make_token(user)
        take(Try(Door.REGISTER, user.email, f"192.0.2.{number}"))

    with django_assert_max_num_queries(9):
        assert roots_page.get(f"/admin/accounts/{model}/").status_code == 200


@pytest.mark.threat("T25")
@pytest.mark.parametrize(
    ("page_of", "typed", "meanwhile"),
    [
        ("change", {"email": "alice@example.org", "is_active": "on", "is_staff": "on"}, {"password": "!changed"}),
        ("password", {"usable_password": "true", "password1": "z9" * 10, "password2": "z9" * 10}, {"is_active": False}),
    ],
)
def test_what_happens_to_a_person_while_their_page_is_saved_is_not_undone(
    page_of: str, typed: dict[str, str], meanwhile: dict[str, Any], during: Any
) -> None:
    root = User.objects.create_superuser("root@example.org", PASSWORD)
    alice = User.objects.create_user("alice@example.org", PASSWORD)
    browser = Client()
    browser.force_login(root)

    with during(lambda: browser.post(f"{PEOPLE}{alice.pk}/{page_of}/", typed)):
        User.objects.filter(pk=alice.pk).update(sessions_ended=1, **meanwhile)

    alice.refresh_from_db()
    assert alice.sessions_ended == 1
    assert {name: getattr(alice, name) for name in meanwhile} == meanwhile
    assert alice.is_staff if page_of == "change" else alice.check_password(typed["password1"])


def test_two_administrators_who_take_each_others_right_on_their_pages_leave_one(during: Any) -> None:
    one, two = (User.objects.create_superuser(f"{name}@example.org", PASSWORD) for name in ("one", "two"))
    browser = Client()
    browser.force_login(two)
    typed = {"email": one.email, "display_name": "One", "is_active": "on"}

    with during(lambda: browser.post(f"{PEOPLE}{one.pk}/change/", typed)):
        people.set_roles(one, two.pk, [])

    assert User.objects.filter(is_staff=True, is_active=True, is_superuser=True).count() == 1


def test_a_group_that_is_renamed_in_admin_still_decides_what_waits_for_it(alice: Any, roots_page: Client) -> None:
    legal = Group.objects.create(name="Legal")
    asked = make_request(make_run(alice), approver_kind="group", approver_name="Legal")

    roots_page.post(f"/admin/auth/group/{legal.pk}/change/", {"name": "Law"})

    asked.refresh_from_db()
    assert asked.approver_name == "Law"


@pytest.mark.slow
def test_the_groups_that_are_roles_are_neither_renamed_nor_deleted_in_admin(
    alice: Any, root: User, roots_page: Client
) -> None:
    people.set_roles(root, alice.pk, [Role.AUDITOR])
    role = Group.objects.get(name="auditor")
    page = f"/admin/auth/group/{role.pk}/"

    roots_page.post(f"{page}change/", {"name": "Law"})
    deleted = roots_page.post(f"{page}delete/", {"post": "yes"})
    many = {"action": "delete_selected", "_selected_action": [str(role.pk)], "post": "yes"}
    roots_page.post("/admin/auth/group/", many)

    assert deleted.status_code == 403
    assert alice.roles() == [Role.USER, Role.AUDITOR]


@pytest.mark.slow
@pytest.mark.threat("T25")
def test_an_older_page_of_a_person_brings_nothing_back(alice: Any, roots_page: Client, root: User) -> None:
    people.set_roles(root, alice.pk, [Role.ADMINISTRATOR])
    shown = {"initial-is_active": "True", "initial-is_staff": "True", "initial-is_superuser": "False"}
    people.deactivate(root, alice.pk)
    people.set_roles(root, alice.pk, [])

    typed = {"email": alice.email, "display_name": "Alicia", "is_active": "on", "is_staff": "on"}
    page = roots_page.get(f"{PEOPLE}{alice.pk}/change/").content.decode()
    roots_page.post(f"{PEOPLE}{alice.pk}/change/", {**typed, **shown})

    alice.refresh_from_db()
    assert (alice.display_name, alice.is_active, alice.is_staff) == ("Alicia", False, False)
    assert 'name="initial-is_active"' in page


@pytest.mark.slow
def test_the_role_of_an_administrator_opens_what_it_needs_and_no_way_into_other_accounts(alice: Any, bob: Any) -> None:
    page = Client()
    page.force_login(bob)
    lists = ("user", "userquota", "budget")

    opened = {name: page.get(f"/admin/accounts/{name}/").status_code for name in lists}
    given = page.post("/admin/accounts/userquota/add/", {"quota": "runs_per_hour", "user": alice.pk, "amount": 5})

    assert set(opened.values()) == {200}
    assert given.status_code == 302, given.content
    for address in ("password/", "change/"):
        answer = page.post(f"{PEOPLE}{alice.pk}/{address}", {"email": "x@example.org", "password1": "z" * 20})
        assert answer.status_code == 403
    assert "remove_all" not in page.get("/admin/mfa/authenticator/").content.decode()
