"""Invitations: a link that opens the door once, for the one whom it was sent to, and tells nothing of anybody."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from hyperagent.accounts import closing, invitations, people, people_groups
from hyperagent.accounts.models import User
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.scopes import Role
from hyperagent.accounts.sso.arriving import account_of
from hyperagent.accounts.sso.problems import NotSignedOn
from hyperagent.accounts.sso.protocol import Identity
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.refusals import Conflict, NotAllowed
from hyperagent.lib.sign_on import SignOn
from tests.accounts.conftest import PASSWORD
from tests.accounts.test_api import error, with_token
from tests.jobs import do_jobs

HERE = "/accounts/invited/"
TYPED = {"display_name": "Dora", "password": PASSWORD, "password_again": PASSWORD}


@pytest.fixture
def bobs_page(bob: Any) -> Client:
    client = Client()
    client.force_login(bob)
    return client


def path_of(invitation: Invitation) -> str:
    return "/" + invitations.link_of(Invitation.objects.get(pk=invitation.pk)).split("/", 3)[3]


def opened(path: str) -> Client:
    """A browser that has followed the link."""
    browser = Client()
    assert browser.get(path)["Location"] == HERE
    return browser


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_an_invited_person_comes_in_once_with_what_was_promised_though_registration_is_closed(
    bob: Any, bobs_page: Client, settings: Any
) -> None:
    settings.REGISTRATION_OPEN = False
    legal = people_groups.make(bob, "Legal")

    bobs_page.post("/people/invitations/", {"email": "Dora@Example.org", "roles": ["auditor"], "groups": [legal.pk]})
    do_jobs()
    sent = mail.outbox
    link = re.search(r"https?://\S+", str(sent[0].body))
    assert link
    path = "/" + link.group().split("/", 3)[3]
    browser = opened(path)
    form = browser.get(HERE).content.decode()
    came = browser.post(HERE, {**TYPED, "time_zone": "Asia/Tokyo"})
    again = Client().get(path)

    dora = User.objects.with_email("dora@example.org").get()
    assert len(sent) == 1
    assert sent[0].to == ["Dora@example.org"]
    assert "Bob invites you" in sent[0].body
    assert "Dora@example.org" in form
    assert path.split("/")[3] not in form
    assert came["Location"] == "/"
    assert browser.get("/settings/").status_code == 200
    assert dora.roles() == [Role.USER, Role.AUDITOR]
    assert list(dora.groups.exclude(name="auditor")) == [legal]
    assert (dora.display_name, dora.time_zone) == ("Dora", "Asia/Tokyo")
    assert again.status_code == 410
    kinds = AuditEvent.objects.filter(kind__in=("user.invited", "invitation.accepted", "user.created"))
    assert sorted(kinds.values_list("kind", flat=True)) == ["invitation.accepted", "user.created", "user.invited"]


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_links_that_are_over_or_made_up_are_told_apart_by_nothing(bob: Any, page: Client) -> None:
    made = {name: invitations.invite(bob, f"{name}@example.org") for name in ("used", "revoked", "ended", "sent", "x")}
    paths = {name: path_of(invitation) for name, invitation in made.items()}
    late = opened(paths["revoked"])
    invitations.accept(made["used"], User.objects.create_user("used@example.org", PASSWORD))
    invitations.revoke(bob, made["revoked"].pk)
    Invitation.objects.filter(pk=made["ended"].pk).update(ends_at=timezone.now() - timedelta(seconds=1))
    invitations.send_again(bob, made["sent"].pk)
    paths["x"] = paths["x"][:-3] + "abc/"

    answers = [page.get(path) for path in paths.values()]

    assert {answer.status_code for answer in answers} == {410}
    assert len({answer.content for answer in answers}) == 1
    assert late.get(HERE).status_code == late.post(HERE, TYPED).status_code == 410
    assert not User.objects.with_email("revoked@example.org").exists()
    assert opened(path_of(made["sent"])).get(HERE).status_code == 200


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_a_link_tells_nothing_of_accounts_and_is_for_one_address_only(alice: Any, charlie: Any, bob: Any) -> None:
    with pytest.raises(Conflict):
        invitations.invite(bob, "ALICE@example.org")
    hers = Invitation.objects.create(email="alice@example.org", ends_at=timezone.now() + timedelta(days=1))
    new = invitations.invite(bob, "dora@example.org", roles=["reviewer"])

    pages = [opened(path_of(one)).get(HERE).content.decode() for one in (hers, new)]
    taken = opened(path_of(hers)).post(HERE, TYPED)
    charlies = opened(path_of(new))
    charlies.force_login(charlie)
    refused = charlies.post(HERE, follow=True)
    with pytest.raises(NotAllowed):
        invitations.accept(new, charlie)
    alices = opened(path_of(hers))
    alices.post("/accounts/login/", {"email": alice.email, "password": PASSWORD})
    asked = alices.get(HERE).content.decode()
    alices.post(HERE)

    plain = [re.sub(r'(alice|dora)@example.org|value="[^"]*"|nonce="[^"]*"', "", text) for text in pages]
    assert plain[0] == plain[1]
    assert "cannot be registered" in taken.content.decode()
    assert refused.status_code in (200, 410)
    assert charlie.roles() == [Role.USER]
    assert "Accept the invitation" in asked
    hers.refresh_from_db()
    assert hers.accepted_by == alice


def deactivated(root: User, bob: User) -> None:
    people.deactivate(root, bob.pk)


def no_administrator_any_more(root: User, bob: User) -> None:
    people.set_roles(root, bob.pk, [])


def unticked_in_the_admin(root: User, bob: User) -> None:
    page = Client()
    page.force_login(root)
    page.post(f"/admin/accounts/user/{bob.pk}/change/", {"email": bob.email, "display_name": "Bob", "is_active": "on"})


def deleted_by_themselves(root: User, bob: User) -> None:
    closing.close(bob, by=bob)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ended", [deactivated, no_administrator_any_more, unticked_in_the_admin, deleted_by_themselves]
)
def test_what_an_administrator_promised_does_not_outlive_their_right(bob: Any, ended: Any) -> None:
    root = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    promised = invitations.invite(bob, "dora@example.org", roles=["administrator"])
    path = path_of(promised)

    ended(root, bob)

    assert Client().get(path).status_code == 410


def test_programs_invite_and_commands_do_and_without_mail_the_link_is_shown(
    bob: Any, bobs_page: Client, api: Any, settings: Any, capsys: Any
) -> None:
    program = with_token(api, bob, "admin")
    with_mail = program.post("/api/v1/invitations", {"email": "dora@example.org", "roles": ["reviewer"]}).json()
    silent = {"email_url": type(settings.CONFIG.email_url)("consolemail://")}
    settings.CONFIG = settings.CONFIG.model_copy(update=silent)

    twice = program.post("/api/v1/invitations", {"email": "DORA@example.org"})
    wrong = program.post("/api/v1/invitations", {"email": "nobody", "roles": ["king"], "groups": [99999]})
    again = program.post(f"/api/v1/invitations/{with_mail['id']}/send").json()
    listed = bobs_page.get("/people/invitations/").content.decode()
    revoked = program.delete(f"/api/v1/invitations/{with_mail['id']}").json()
    call_command("invite", "eve@example.org", "--role", "auditor")
    said = capsys.readouterr().out

    assert (with_mail["state"], with_mail["link"]) == ("open", None)
    assert error(twice)["code"] == "invited_already"
    assert set(error(wrong)["fields"]) == {"email", "roles", "groups"}
    assert again["link"] in listed
    assert "EMAIL_URL" in listed
    assert (revoked["state"], revoked["link"]) == ("revoked", None)
    eves = Invitation.objects.get(email="eve@example.org")
    assert invitations.link_of(eves) in said
    assert eves.roles == ["auditor"]
    assert program.get("/api/v1/invitations").json()["results"][0]["email"] == "eve@example.org"


@pytest.mark.spec("B21")
def test_whoever_the_provider_of_single_sign_on_vouches_for_gets_what_waits_for_them(bob: Any) -> None:
    sign_on = SignOn(issuer="https://id.example.org", client_id="x", creates_users=False)
    invitations.invite(bob, "dora@example.org", roles=["auditor"])

    def arrives(email: str, *, is_verified: bool = True) -> User:
        arrival = Identity(sign_on.issuer, email, email, is_verified, "Dora", None, False, None)
        return account_of(arrival, sign_on)

    with pytest.raises(NotSignedOn):
        arrives("Dora@example.org", is_verified=False)
    with pytest.raises(NotSignedOn):
        arrives("eve@example.org")
    dora = arrives("Dora@example.org")

    assert dora.roles() == [Role.USER, Role.AUDITOR]
    assert Invitation.objects.get().accepted_by == dora


@pytest.mark.threat("T25")
def test_what_an_administrator_changes_while_an_invitation_is_accepted_stays_changed(bob: Any, during: Any) -> None:
    dora = User.objects.create_user("dora@example.org", None, is_staff=True)
    legal, sales = people_groups.make(bob, "Legal"), people_groups.make(bob, "Sales")
    invitation = Invitation.objects.create(
        email=dora.email, roles=["auditor"], invited_by=bob, ends_at=timezone.now() + timedelta(days=1)
    )
    invitation.groups.add(sales)

    with during(lambda: invitations.accept(invitation, dora)):
        people.set_both(bob, dora.pk, roles=[], group_ids=[legal.pk])

    assert User.objects.get(pk=dora.pk).roles() == [Role.USER, Role.AUDITOR]
    assert set(people.plain_groups().filter(user=dora)) == {legal, sales}
