"""No account looks like another: its address shows what it is, at every door where accounts are made."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from hyperagent.accounts import actions, invitations, service_accounts
from hyperagent.accounts.addresses import looks_like_another, plain_name
from hyperagent.accounts.models import User
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.sso.protocol import arrival_of
from hyperagent.lib.refusals import Refused
from hyperagent.lib.sign_on import SignOn
from tests.accounts.conftest import PASSWORD
from tests.accounts.test_admin import root, roots_page
from tests.accounts.test_service_accounts import a_wish

__all__ = ["root", "roots_page"]

pytestmark = [pytest.mark.django_db, pytest.mark.threat("T20", "T26")]
LIKE_ALICES = (
    "alice@example.org\u200b",
    "alice@example.org\u2060",
    "alice@exam\u00adple.org",
    "alice@example\u3164.org",
    "alice@\ufeffexample.org",
    "alice@example.org\ufe0f",
    "alice@example.\u2800org",
    "alice@example\u3000.org",
    "alice@\uff45xample.org",
    "alice@\u24d4xample.org",
    "\u202ealice@example.org",
)
HIDING = "Bob\u202e \u200b\u2060ecilA\x07"
SIGN_ON = SignOn(issuer="https://login.example", client_id="x", client_secret="y", name="Acme")


@pytest.mark.slow
@pytest.mark.parametrize("email", LIKE_ALICES)
def test_an_address_that_shows_as_anothers_is_refused_wherever_accounts_are_made(
    alice: Any, bob: Any, page: Client, email: str
) -> None:
    before = User.objects.count()
    typed = {"email": email, "password": PASSWORD, "password_again": PASSWORD}

    answer = page.post("/accounts/register/", typed)
    with pytest.raises(ValidationError):
        actions.new_person(email, PASSWORD)
    with pytest.raises(ValidationError):
        User.objects.create_superuser(email, PASSWORD)
    with pytest.raises(Refused):
        invitations.invite(bob, email)

    assert answer.status_code == 400
    assert (User.objects.count(), Invitation.objects.count()) == (before, 0)
    assert arrival_of({"iss": "i", "sub": "s", "email": email, "email_verified": True}, SIGN_ON).email == ""


@pytest.mark.slow
def test_the_administration_makes_and_writes_no_such_address(alice: Any, root: User, roots_page: Client) -> None:
    email = "root@example.org\u2060"
    made = {"email": email, "password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    kept = {"email": email, "display_name": "", "is_active": "on"}

    roots_page.post("/admin/accounts/user/add/", made)
    roots_page.post(f"/admin/accounts/user/{alice.pk}/change/", kept)

    assert not User.objects.filter(email=email).exists()


@pytest.mark.parametrize(
    "email",
    ["o'brien+tag@example.org", "josé@example.org", "anna@müller.example", "li@例え.example", "x_y@a.b.example"],
)
def test_ordinary_addresses_are_taken_as_they_are(email: str) -> None:
    assert not looks_like_another(email)


def test_a_name_keeps_nothing_that_turns_the_writing_around_wherever_it_is_written(
    bob: Any, alice: Any, alices_page: Client
) -> None:
    made = actions.new_person("new@example.org", PASSWORD, display_name=HIDING)
    alices_page.post("/settings/profile/", {"display_name": HIDING, "time_zone": ""})
    program = service_accounts.make(bob, a_wish(bob, name=HIDING))

    alice.refresh_from_db()
    assert [one.display_name for one in (made, alice, program)] == ["Bob ecilA"] * 3


def test_names_of_all_languages_stay_and_one_that_shows_nothing_is_none() -> None:
    assert plain_name("می\u200cخواهم") == "می\u200cخواهم"
    assert plain_name("Ada 👩\u200d💻") == "Ada 👩\u200d💻"
    assert plain_name("\u200b\u202e\u200d ") == ""
