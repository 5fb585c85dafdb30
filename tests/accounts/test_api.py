"""The account over HTTP, as programs use it: a token for a password, one's tokens, and who one is."""

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from hyperagent.accounts import actions, people
from hyperagent.accounts.models import ApiToken
from hyperagent.accounts.tokens import user_for_token
from tests.accounts.conftest import PASSWORD
from tests.accounts.hashers import CountingHasher

TOKEN = "/api/v1/auth/token"
TOKENS = "/api/v1/auth/tokens"
ME = "/api/v1/me"


def with_token(api: Any, user: Any, *scopes: str) -> Any:
    token, raw = actions.make_token(user, scopes=scopes or ("read",))
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {raw}")
    api.token = token
    return api


def error(answer: Any) -> dict[str, Any]:
    body = answer.json()
    assert set(body) == {"error"}
    assert {"code", "message"} <= set(body["error"])
    found: dict[str, Any] = body["error"]
    return found


def test_what_is_null_in_the_wish_for_a_token_is_as_left_out(alice: Any, api: Any) -> None:
    asked = {"email": alice.email, "password": PASSWORD}
    nothing = {"name": None, "scopes": None, "otp": None, "expires_at": None}

    without, null = [api.post(TOKEN, {**asked, **more}, format="json") for more in ({}, nothing)]

    assert (without.status_code, null.status_code) == (201, 201)
    assert null.json()["scopes"] == without.json()["scopes"]
    assert api.post(TOKEN, {**asked, "password": None}, format="json").status_code == 400


def test_a_password_gives_a_token_that_works(alice: Any, api: Any) -> None:
    answer = api.post(TOKEN, {"email": "Alice@example.org", "password": PASSWORD, "name": "laptop", "scopes": ["read"]})

    made = answer.json()
    assert answer.status_code == 201
    assert set(made) == {"token", "id", "scopes", "expires_at"}
    assert made["scopes"] == ["read"]
    assert answer["Cache-Control"] == "no-store"
    api.credentials(HTTP_AUTHORIZATION=f"bearer {made['token']}")
    assert api.get(ME).json()["email"] == alice.email
    assert ApiToken.objects.get(pk=made["id"]).name == "laptop"


def test_name_and_scopes_may_be_left_out(alice: Any, api: Any) -> None:
    made = api.post(TOKEN, {"email": alice.email, "password": PASSWORD}).json()

    assert made["scopes"] == ["run", "read", "approve", "documents"]


def test_an_end_date_may_be_given(alice: Any, api: Any) -> None:
    end = (timezone.now() + timedelta(days=3)).isoformat()

    made = api.post(TOKEN, {"email": alice.email, "password": PASSWORD, "expires_at": end}).json()

    assert ApiToken.objects.get(pk=made["id"]).expires_at.isoformat() == end


@pytest.mark.threat("T26")
@pytest.mark.parametrize("email", ["alice@example.org", "nobody@example.org"])
def test_a_wrong_password_and_an_unknown_account_are_one_answer(alice: Any, api: Any, email: str) -> None:
    before = CountingHasher.work

    answer = api.post(TOKEN, {"email": email, "password": "wrong"})

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert error(answer) == {"code": "bad_credentials", "message": "The e-mail address or the password is wrong."}
    assert CountingHasher.work - before == 1


@pytest.mark.slow
@pytest.mark.threat("T26")
@pytest.mark.parametrize("email", ["alice@example.org", "nobody@example.org"])
def test_too_many_tries_are_refused_with_the_time_to_wait(alice: Any, api: Any, email: str) -> None:
    statuses = [api.post(TOKEN, {"email": email, "password": "wrong"}).status_code for _ in range(20)]

    answer = api.post(TOKEN, {"email": email, "password": PASSWORD})

    assert statuses == [401] * 5 + [429] * 15
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 31
    assert error(answer)["message"].startswith("Too many tries. Wait ")


@pytest.mark.slow
@pytest.mark.threat("T26")
def test_the_page_and_the_endpoint_are_one_door(alice: Any, api: Any, page: Client) -> None:
    for _ in range(3):
        api.post(TOKEN, {"email": alice.email, "password": "wrong"})
        page.post("/accounts/login/", {"email": alice.email, "password": "wrong"})

    assert api.post(TOKEN, {"email": alice.email, "password": "wrong"}).status_code == 429
    assert page.post("/accounts/login/", {"email": alice.email, "password": "wrong"}).status_code == 429


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"email": "no address"}, "email", "valid email"),
        ({"email": None}, "email", "null"),
        ({"email": ["alice@example.org"]}, "email", ""),
        ({"password": "x" * 1_000_000}, "password", "1024 characters"),
        ({"password": ""}, "password", "blank"),
        ({"scopes": ["run", "fly"]}, "scopes", "'fly' is not a scope"),
        ({"scopes": ["admin"]}, "scopes", "'admin' can only be given by an administrator"),
        ({"scopes": []}, "scopes", "at least one scope"),
        ({"scopes": "run"}, "scopes", "list"),
        ({"scopes": [{"a": 1}]}, "scopes.0", ""),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at", "past"),
        ({"expires_at": "9999-12-31T23:59:59-12:00"}, "expires_at", ""),
        ({"expires_at": "tomorrow"}, "expires_at", "format"),
        ({"name": "x" * 101}, "name", "100 characters"),
    ],
)
def test_bad_input_is_refused_by_the_name_of_its_field(
    alice: Any, api: Any, changes: dict[str, Any], field: str, said: str
) -> None:
    body = json.dumps({"email": alice.email, "password": PASSWORD, **changes})

    answer = api.post(TOKEN, body, content_type="application/json")

    assert answer.status_code == 400
    assert said in " ".join(error(answer)["fields"][field])
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"email": "alice@example.org\x00"}, 401),
        ({"password": PASSWORD + "\x00"}, 401),
        ({"password": "\ud800"}, 401),
        ({"name": "\x00 \ud800"}, 201),
    ],
)
def test_text_that_cannot_be_stored_breaks_nothing(alice: Any, api: Any, changes: dict[str, str], status: int) -> None:
    body = json.dumps({"email": alice.email, "password": PASSWORD, **changes})

    assert api.post(TOKEN, body, content_type="application/json").status_code == status


@pytest.mark.parametrize(
    "body",
    [b"\xff\xfe{", b"", b"[]", b"null", b'"x"', b"{", b"{}"],
)
@pytest.mark.django_db
def test_a_body_that_is_no_object_is_refused(api: Any, body: bytes) -> None:
    answer = api.post(TOKEN, body, content_type="application/json")

    assert answer.status_code == 400
    assert error(answer)["message"]


@pytest.mark.threat("T30")
def test_a_stranger_has_no_list_looked_at_that_is_too_long(api: Any, db: None) -> None:
    """Each of its items would be a fault of its own."""
    answer = api.post(TOKEN, {"email": "a@example.org", "password": "x", "scopes": [[]] * 1_000})

    assert (answer.status_code, list(error(answer)["fields"])) == (400, ["scopes"])


@pytest.mark.threat("T13")
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_of_a_foreign_page_cannot_ask_for_tokens(alice: Any, api: Any, kind: str) -> None:
    answer = api.post(TOKEN, json.dumps({"email": alice.email, "password": PASSWORD}), content_type=kind)

    assert answer.status_code == 415
    assert not ApiToken.objects.exists()


def test_me_without_anything_is_401(api: Any, db: None) -> None:
    answer = api.get(ME)

    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert error(answer)["code"] == "not_authenticated"


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer x y",
        "Bearer ha_" + "A" * 43,
        "Bearer ha_é",
        "Bearer \x00",
        "Bearer " + "A" * 10_000,
    ],
)
@pytest.mark.django_db
def test_a_bad_token_is_401_and_never_a_session_instead(alice: Any, api: Any, header: str) -> None:
    api.force_login(alice)

    answer = api.get(ME, HTTP_AUTHORIZATION=header)

    assert answer.status_code == 401
    assert error(answer)["code"] == "bad_token"


@pytest.mark.parametrize("how", ["expired", "revoked", "inactive"])
def test_a_token_that_ended_is_401(alice: Any, api: Any, how: str) -> None:
    api = with_token(api, alice)
    assert api.get(ME).status_code == 200

    if how == "expired":
        ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "revoked":
        actions.revoke_token(alice, api.token.pk)
    else:
        people.deactivate(None, alice.pk)

    assert api.get(ME).status_code == 401


def test_me_says_who_one_is_and_invents_no_budget(alice: Any, api: Any) -> None:
    assert with_token(api, alice, "run").get(ME).json() == {
        "id": str(alice.pk),
        "email": "alice@example.org",
        "display_name": "Alice",
        "kind": "person",
        "roles": ["user"],
        "budget": None,
    }


def test_roles_come_from_groups_and_from_being_staff(alice: Any, bob: Any, api: Any) -> None:
    for name in ("reviewer", "auditor", "something else"):
        alice.groups.add(Group.objects.get_or_create(name=name)[0])

    assert with_token(api, alice).get(ME).json()["roles"] == ["user", "reviewer", "auditor"]
    assert with_token(api, bob).get(ME).json()["roles"] == ["user", "administrator"]


def test_the_groups_of_reviewers_and_auditors_are_there_from_the_start(db: None) -> None:
    assert set(Group.objects.values_list("name", flat=True)) >= {"reviewer", "auditor"}


def test_alice_lists_her_tokens_and_none_of_charlies(alice: Any, charlie: Any, api: Any) -> None:
    actions.make_token(charlie, name="Charlie's")
    api = with_token(api, alice)

    listed = api.get(TOKENS).json()

    assert set(listed) == {"next", "previous", "results"}
    (token,) = listed["results"]
    assert set(token) == {"id", "name", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"}
    assert token["id"] == str(api.token.pk)


@pytest.mark.slow
def test_the_list_costs_the_same_for_one_token_and_for_many(
    alice: Any, api: Any, django_assert_num_queries: Any
) -> None:
    api = with_token(api, alice)
    api.get(TOKENS)
    for _ in range(60):
        actions.make_token(alice)

    with django_assert_num_queries(2):
        first = api.get(TOKENS).json()
    second = api.get(first["next"]).json()

    assert len(first["results"]) == 50
    assert len({token["id"] for token in first["results"] + second["results"]}) == 61


@pytest.mark.threat("T01")
@pytest.mark.parametrize("method", ["get", "delete"])
def test_charlie_gets_404_for_alices_token_as_for_one_that_never_was(
    alice: Any, charlie: Any, api: Any, method: str
) -> None:
    token, raw = actions.make_token(alice)
    api = with_token(api, charlie)

    foreign = getattr(api, method)(f"{TOKENS}/{token.pk}")
    absent = getattr(api, method)(f"{TOKENS}/{uuid.uuid4()}")

    assert foreign.status_code == absent.status_code == 404
    assert error(foreign)["code"] == error(absent)["code"] == "not_found"
    assert user_for_token(raw)


def test_alice_revokes_a_token_in_her_session(alice: Any, api: Any) -> None:
    token, raw = actions.make_token(alice)
    api.force_login(alice)

    assert api.delete(f"{TOKENS}/{token.pk}").status_code == 204
    assert user_for_token(raw) is None
    assert api.get(f"{TOKENS}/{token.pk}").json()["revoked_at"] is not None


@pytest.mark.threat("T13")
def test_a_session_without_a_csrf_token_revokes_nothing(alice: Any, db: None) -> None:
    from rest_framework.test import APIClient

    token, raw = actions.make_token(alice)
    careful = APIClient(enforce_csrf_checks=True)
    careful.force_login(alice)

    assert careful.delete(f"{TOKENS}/{token.pk}").status_code == 403
    assert user_for_token(raw)


@pytest.mark.parametrize(("language", "words"), [("en", "Load it again."), ("de", "Laden Sie sie neu.")])
def test_a_page_from_before_somebody_signed_in_anew_is_told_to_be_loaded_again(
    language: str, words: str, alice: Any, db: None
) -> None:
    from rest_framework.test import APIClient

    tab = APIClient(enforce_csrf_checks=True, headers={"accept-language": language})
    tab.force_login(alice)
    tab.cookies["csrftoken"] = "b" * 32

    refused = tab.post("/api/v1/conversations", {}, format="json", headers={"x-csrftoken": "a" * 32})

    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "csrf_failed"
    assert words in refused.json()["error"]["message"]


def test_a_token_may_end_itself_and_none_of_its_owners_others(alice: Any, api: Any) -> None:
    other, raw = actions.make_token(alice)
    api = with_token(api, alice, "run")

    assert api.delete(f"{TOKENS}/{other.pk}").status_code == 403
    assert user_for_token(raw)
    assert api.delete(f"{TOKENS}/{api.token.pk}").status_code == 204
    assert api.get(ME).status_code == 401


def test_a_token_reaches_only_as_far_as_its_scopes(alice: Any, api: Any) -> None:
    answer = with_token(api, alice, "run").get(TOKENS)

    assert answer.status_code == 403
    assert "'read'" in error(answer)["message"]


def test_a_person_in_a_session_has_all_their_scopes(alice: Any, api: Any) -> None:
    api.force_login(alice)

    assert api.get(TOKENS).status_code == 200
