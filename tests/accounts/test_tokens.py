"""Tokens: what is stored, what a token opens, when it stops, and the page on which people make and revoke them."""

import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from hyperagent.accounts import actions, people
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import DEFAULT_SCOPES, Scope
from hyperagent.accounts.tokens import new_token, scopes_of, user_for_token

TOKENS = "/settings/tokens/"


def form(**changes: Any) -> dict[str, Any]:
    day = (timezone.now() + timedelta(days=30)).date().isoformat()
    return {"name": "Nightly report", "scopes": ["run", "read"], "ends_on": day, **changes}


def shown_token(html: bytes) -> str:
    found = re.search(r"ha_[A-Za-z0-9_-]{43}", html.decode())
    assert found
    return found.group()


def without_ids(html: bytes) -> str:
    """The page without what differs from request to request: its own number and the CSRF token."""
    return re.sub(r'value="\w+"|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}', "", html.decode())


def test_a_token_is_stored_only_as_a_digest(alice: Any) -> None:
    token, raw = actions.make_token(alice, name="x")

    assert re.fullmatch(r"ha_[A-Za-z0-9_-]{43}", raw)
    stored = ApiToken.objects.filter(pk=token.pk).values_list().get()
    assert not any(raw in str(value) or raw[3:] in str(value) for value in stored)


def test_two_tokens_are_never_the_same() -> None:
    assert len({new_token() for _ in range(1000)}) == 1000


def test_a_token_lives_ninety_days_and_does_what_its_owner_does_every_day(alice: Any) -> None:
    token, _ = actions.make_token(alice)

    assert token.name == "API token"
    assert timedelta(days=89) < token.expires_at - timezone.now() <= timedelta(days=90)
    assert token.scopes == [scope.value for scope in DEFAULT_SCOPES]
    assert Scope.ADMIN not in token.scopes


def test_a_token_speaks_for_its_owner_in_one_query(alice: Any, django_assert_num_queries: Any) -> None:
    token, raw = actions.make_token(alice)
    user_for_token(raw)

    with django_assert_num_queries(1):
        found = user_for_token(raw)
        assert found
        assert found[0].email == alice.email

    assert found == (alice, token)


@pytest.mark.parametrize(
    "raw", ["", "ha_", "ha_" + "A" * 42, "sk_" + "A" * 43, "ha_" + "A" * 43 + "\n", "ha_" + "é" * 43, "\x00"]
)
def test_what_does_not_look_like_a_token_costs_no_query(raw: str) -> None:
    assert user_for_token(raw) is None


def test_an_unknown_token_speaks_for_nobody(alice: Any) -> None:
    actions.make_token(alice)

    assert user_for_token(new_token()) is None


@pytest.mark.threat("T25")
@pytest.mark.parametrize("end", ["expired", "revoked", "inactive", "deactivated", "deleted"])
def test_a_token_that_ended_stops_at_once(alice: Any, end: str) -> None:
    token, raw = actions.make_token(alice)
    assert user_for_token(raw)

    ways: dict[str, Callable[[], object]] = {
        "expired": lambda: ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1)),
        "revoked": lambda: actions.revoke_token(alice, token.pk),
        "inactive": lambda: User.objects.update(is_active=False),
        "deactivated": lambda: people.deactivate(None, alice.pk),
        "deleted": alice.delete,
    }
    ways[end]()

    assert user_for_token(raw) is None


def test_the_tokens_of_a_deactivated_person_stay_dead_when_the_account_is_opened_again(alice: Any) -> None:
    _, raw = actions.make_token(alice)
    people.deactivate(None, alice.pk)

    User.objects.update(is_active=True)

    assert user_for_token(raw) is None


def test_a_token_that_is_made_while_its_person_is_deactivated_does_not_stay_behind(alice: Any, bob: Any) -> None:
    as_she_asked = User.objects.get(pk=alice.pk)
    people.deactivate(bob, alice.pk)

    with pytest.raises(ValidationError, match="changed just now"):
        actions.make_token(as_she_asked)

    people.activate(bob, alice.pk)
    assert not ApiToken.objects.owned_by(alice).exists()


def test_the_last_use_is_noted_at_most_once_a_minute(alice: Any) -> None:
    _, raw = actions.make_token(alice)
    uses = ApiToken.objects.values_list("last_used_at", flat=True)
    assert uses.get() is None

    user_for_token(raw)
    first = uses.get()
    user_for_token(raw)

    assert first is not None
    assert uses.get() == first

    a_while_ago = first - timedelta(seconds=61)
    ApiToken.objects.update(last_used_at=a_while_ago)
    user_for_token(raw)
    later = uses.get()

    assert later is not None
    assert later > a_while_ago


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"scopes": ["run", "fly"]}, "scopes", "'fly' is not a scope"),
        ({"scopes": []}, "scopes", "at least one scope"),
        ({"scopes": ["admin"]}, "scopes", "'admin' can only be given by an administrator"),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "expires_at", "past"),
        ({"expires_at": timezone.now() + timedelta(days=400)}, "expires_at", "366 days at most"),
    ],
)
def test_a_token_that_cannot_be_made_says_why(alice: Any, changes: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        actions.make_token(alice, **changes)

    assert said in caught.value.message_dict[field][0]
    assert not ApiToken.objects.exists()


def test_every_fault_is_named_at_once(alice: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        actions.make_token(alice, scopes=["fly", "swim"], expires_at=timezone.now() - timedelta(days=1))

    assert len(caught.value.message_dict["scopes"]) == 2
    assert "expires_at" in caught.value.message_dict


@pytest.mark.parametrize("scopes", [[], ["fly"], ["run", "fly"]])
def test_the_database_refuses_what_the_verb_would_have_refused(alice: Any, scopes: list[str]) -> None:
    token, _ = actions.make_token(alice)

    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.filter(pk=token.pk).update(scopes=scopes)


def test_an_administrator_who_is_none_any_more_has_no_admin_scope_through_an_old_token(bob: Any) -> None:
    token, _ = actions.make_token(bob, scopes=["read", "admin"])
    assert scopes_of(bob, token) == {Scope.READ, Scope.ADMIN}

    bob.is_staff = False

    assert scopes_of(bob, token) == {Scope.READ}
    assert Scope.ADMIN not in scopes_of(bob, None)


def test_alice_makes_a_token_on_the_page_and_sees_it_once(alice: Any, alices_page: Client) -> None:
    answer = alices_page.post(TOKENS, form())

    raw = shown_token(answer.content)
    found = user_for_token(raw)
    assert found is not None
    assert (found[0], found[1].name, found[1].scopes) == (alice, "Nightly report", ["run", "read"])
    assert "no-store" in answer["Cache-Control"]
    assert raw not in alices_page.get(TOKENS).content.decode()


def test_a_token_lives_to_the_end_of_its_last_day(alices_page: Client) -> None:
    today = timezone.now().date()

    alices_page.post(TOKENS, form(ends_on=today.isoformat()))

    token = ApiToken.objects.get()
    assert token.expires_at > timezone.now()
    assert token.expires_at.date() == today


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ends_on": "2020-01-01"}, "The end date is past."),
        ({"ends_on": "9999-12-31"}, "366 days at most"),
        ({"ends_on": "soon"}, "Enter a valid date."),
        ({"scopes": ["fly"]}, "fly is not one of the available choices"),
        ({"scopes": ["admin"]}, "admin is not one of the available choices"),
        ({"scopes": []}, "This field is required."),
        ({"name": ""}, "This field is required."),
        ({"name": "a\x00b"}, "Null characters are not allowed."),
        ({"name": "x" * 101}, "at most 100 characters"),
    ],
)
def test_a_form_that_cannot_be_used_says_why_and_makes_nothing(
    alices_page: Client, changes: dict[str, Any], said: str
) -> None:
    answer = alices_page.post(TOKENS, form(**changes))

    assert said in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_the_name_of_a_token_is_text_and_not_markup(alices_page: Client) -> None:
    alices_page.post(TOKENS, form(name="<img src=x onerror=alert(1)>"))

    html = alices_page.get(TOKENS).content.decode()
    assert "<img src=x" not in html
    assert "&lt;img src=x" in html


def test_alice_revokes_a_token_on_the_page(alice: Any, alices_page: Client) -> None:
    token, raw = actions.make_token(alice)

    answer = alices_page.post(f"{TOKENS}{token.pk}/revoke/", follow=True)

    assert "revoked" in answer.content.decode()
    assert user_for_token(raw) is None


def test_charlie_neither_sees_nor_revokes_alices_token(alice: Any, charlies_page: Client) -> None:
    token, raw = actions.make_token(alice, name="Alice's own")

    assert "Alice" not in charlies_page.get(TOKENS).content.decode()
    foreign = charlies_page.post(f"{TOKENS}{token.pk}/revoke/")
    absent = charlies_page.post(f"{TOKENS}{uuid.uuid4()}/revoke/")

    assert foreign.status_code == absent.status_code == 404
    assert without_ids(foreign.content) == without_ids(absent.content)
    assert user_for_token(raw)


def test_the_page_costs_the_same_for_one_token_and_for_many(
    alice: Any, alices_page: Client, django_assert_num_queries: Any
) -> None:
    for number in range(30):
        actions.make_token(alice, name=f"token {number}")

    with django_assert_num_queries(6):
        html = alices_page.get(TOKENS).content.decode()

    assert html.count("/revoke/") == 25
    assert "Page 1 of 2" in html
