"""The login, logout and registration pages, as a browser without JavaScript uses them."""

import re
import uuid
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from hyperagent.accounts.models import User
from tests.accounts.conftest import PASSWORD
from tests.accounts.hashers import CountingHasher

LOGIN = "/accounts/login/"
REGISTER = "/accounts/register/"


def credentials(email: str, password: str = PASSWORD) -> dict[str, str]:
    return {"email": email, "password": password}


def registration(email: str, password: str = PASSWORD) -> dict[str, str]:
    return {"email": email, "display_name": "Dora", "password": password, "password_again": password}


def is_signed_in(client: Client) -> bool:
    return client.get("/settings/profile/").status_code == 200


def test_alice_signs_in_and_out(alice: Any, page: Client) -> None:
    answer = page.post(LOGIN, credentials(alice.email))

    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert is_signed_in(page)

    answer = page.post("/accounts/logout/")

    assert answer["Location"] == LOGIN
    assert not is_signed_in(page)


def test_the_case_of_the_address_does_not_matter(alice: Any, page: Client) -> None:
    page.post(LOGIN, credentials("ALICE@Example.org"))

    assert is_signed_in(page)


def test_logout_by_a_link_is_refused(alices_page: Client) -> None:
    assert alices_page.get("/accounts/logout/").status_code == 405
    assert is_signed_in(alices_page)


@pytest.mark.threat("T25")
def test_the_session_id_changes_at_login_and_the_one_before_is_worthless(alice: Any, page: Client) -> None:
    page.get(LOGIN)
    session = page.session
    session["planted"] = True
    session.save()
    planted = session.session_key
    page.cookies["sessionid"] = planted or ""

    page.post(LOGIN, credentials(alice.email))

    assert page.cookies["sessionid"].value != planted
    assert not Session.objects.filter(pk=planted).exists()


@pytest.mark.threat("T25")
def test_the_session_is_gone_from_the_database_after_logout(alice: Any, page: Client) -> None:
    page.post(LOGIN, credentials(alice.email))
    stolen = page.cookies["sessionid"].value

    page.post("/accounts/logout/")

    thief = Client()
    thief.cookies["sessionid"] = stolen
    assert not is_signed_in(thief)


@pytest.mark.threat("T25")
def test_the_session_of_a_deactivated_person_stops_at_once(alice: Any, alices_page: Client) -> None:
    assert is_signed_in(alices_page)

    User.objects.filter(pk=alice.pk).update(is_active=False)

    assert not is_signed_in(alices_page)


@pytest.mark.threat("T13")
@pytest.mark.parametrize("path", [LOGIN, REGISTER, "/accounts/logout/", "/accounts/password/reset/"])
@pytest.mark.django_db
def test_a_foreign_page_can_send_no_form(path: str) -> None:
    careful = Client(enforce_csrf_checks=True)

    assert careful.post(path, registration("eve@example.org")).status_code == 403
    assert not User.objects.filter(email="eve@example.org").exists()


@pytest.mark.parametrize(
    ("asked", "goes_to"),
    [
        ("/settings/tokens/", "/settings/tokens/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_after_login_only_this_site_is_gone_to(alice: Any, page: Client, asked: str, goes_to: str) -> None:
    answer = page.post(f"{LOGIN}?next=/settings/profile/", {**credentials(alice.email), "next": asked})

    assert answer["Location"] == goes_to


def test_a_page_that_needs_a_person_is_come_back_to_after_login(alice: Any, page: Client) -> None:
    first = page.get("/settings/tokens/")
    form = page.get(first["Location"])

    assert b'name="next" value="/settings/tokens/"' in form.content


def test_whoever_is_signed_in_is_not_asked_again(alices_page: Client) -> None:
    assert alices_page.get(LOGIN)["Location"] == "/"
    assert alices_page.get(REGISTER)["Location"] == "/"


@pytest.mark.threat("T26")
def test_a_wrong_password_an_unknown_and_a_deactivated_account_get_the_same_answer_for_the_same_work(
    alice: Any, charlie: Any, page: Client, django_assert_num_queries: Any
) -> None:
    User.objects.filter(pk=charlie.pk).update(is_active=False)
    seen = []
    for email in (alice.email, charlie.email, "nobody@example.org"):
        before = CountingHasher.work
        with django_assert_num_queries(10):
            answer = page.post(LOGIN, credentials(email, "wrong password"))
        text = re.sub(r'value="[^"]*"', "", answer.content.decode())
        seen.append((answer.status_code, text, CountingHasher.work - before))

    assert seen[0] == seen[1] == seen[2]
    assert "The e-mail address or the password is wrong." in seen[0][1]
    assert seen[0][2] == 1


@pytest.mark.slow
@pytest.mark.threat("T26")
def test_of_a_thousand_tries_almost_all_are_refused_without_a_look_at_the_password(alice: Any, page: Client) -> None:
    before = CountingHasher.work
    statuses = []
    for number in range(1000):
        forged = {"X-Forwarded-For": f"198.51.100.{number % 250}"}
        answer = page.post(LOGIN, credentials(alice.email, f"guess {number}"), headers=forged)
        statuses.append(answer.status_code)

    assert statuses[:5] == [400] * 5
    # Three more would take three and a half minutes.
    assert statuses.count(429) >= 1000 - 5 - 3
    assert CountingHasher.work - before == statuses.count(400)


@pytest.mark.threat("T26")
def test_who_tries_too_often_is_told_plainly_when_to_come_back(alice: Any, page: Client) -> None:
    for _ in range(5):
        page.post(LOGIN, credentials(alice.email, "wrong"))

    answer = page.post(LOGIN, credentials(alice.email))

    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 30
    assert re.search(r"Too many tries\. Wait \d+ seconds, then try again\.", answer.content.decode())
    assert not is_signed_in(page)


@pytest.mark.slow
def test_a_person_who_knows_the_password_is_never_slowed_down(alice: Any, page: Client) -> None:
    for _ in range(50):
        assert page.post(LOGIN, credentials(alice.email)).status_code == 302
        page.post("/accounts/logout/")


@pytest.mark.django_db
def test_dora_registers_and_is_signed_in(page: Client) -> None:
    answer = page.post(f"{REGISTER}?next=/settings/tokens/", registration("dora@example.org"))

    dora = User.objects.get(email="dora@example.org")
    assert answer["Location"] == "/settings/tokens/"
    assert (dora.display_name, dora.is_staff, dora.is_superuser) == ("Dora", False, False)
    assert dora.check_password(PASSWORD)
    assert is_signed_in(page)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("told", "kept"), [("Europe/Berlin", "Europe/Berlin"), ("", ""), ("Mars/Olympus", ""), ("x" * 5_000, "")]
)
def test_a_new_account_lives_in_the_zone_of_its_browser_if_that_is_known(page: Client, told: str, kept: str) -> None:
    page.post(REGISTER, {**registration("dora@example.org"), "time_zone": told})

    assert User.objects.get(email="dora@example.org").time_zone == kept


def test_an_address_that_has_an_account_cannot_be_registered_again_in_another_case(alice: Any, page: Client) -> None:
    answer = page.post(REGISTER, registration("Alice@EXAMPLE.org", "another good password"))

    assert "cannot be registered" in answer.content.decode()
    assert User.objects.count() == 1
    assert not is_signed_in(page)


@pytest.mark.slow
@pytest.mark.threat("T26")
def test_registration_cannot_be_used_to_ask_for_many_addresses(alice: Any, page: Client) -> None:
    statuses = {page.post(REGISTER, registration("alice@example.org")).status_code for _ in range(10)}

    assert statuses == {400, 429}


@pytest.mark.django_db
def test_rights_cannot_be_registered(page: Client) -> None:
    page.post(REGISTER, {**registration("eve@example.org"), "is_staff": "on", "is_superuser": "on", "groups": "1"})

    eve = User.objects.get(email="eve@example.org")
    assert not (eve.is_staff)
    assert not (eve.is_superuser)
    assert not (eve.groups.exists())


@pytest.mark.django_db
def test_a_weak_password_is_refused_with_the_reason_at_its_field(page: Client) -> None:
    answer = page.post(REGISTER, registration("dora@example.org", "dora"))

    html = answer.content.decode()
    assert "too short" in html
    assert 'aria-invalid="true"' in html
    assert 'id="id_password_error"' in html
    assert re.search(r'aria-describedby="[^"]*id_password_error', html)
    assert not User.objects.exists()


@pytest.mark.django_db
def test_two_passwords_that_differ_are_refused(page: Client) -> None:
    answer = page.post(REGISTER, {**registration("dora@example.org"), "password_again": "something else"})

    assert "not the same" in answer.content.decode()
    assert not User.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_closed_registration_says_so_and_whom_to_ask(page: Client, settings: Any, method: str) -> None:
    settings.REGISTRATION_OPEN = False

    answer = getattr(page, method)(REGISTER, registration("dora@example.org"))

    assert answer.status_code == 403
    assert "Registration is closed" in answer.content.decode()
    assert settings.CONFIG.admin_email in answer.content.decode()
    assert not User.objects.exists()
    assert "Create an account" not in page.get(LOGIN).content.decode()


def test_who_has_to_sign_in_before_a_form_is_taken_comes_back_to_the_page_that_has_it(alice: Any, page: Client) -> None:
    sent = f"/memory/{uuid.uuid4()}/correct/"
    for referer, back in (
        ("http://testserver/memory/?q=dog", "/memory/%3Fq%3Ddog"),
        ("http://elsewhere.example/memory/", sent),
        ("", sent),
    ):
        answer = page.post(sent, {"text": "x"}, headers={"referer": referer})

        assert answer["Location"] == f"{LOGIN}?next={back}"
    answer = page.post(f"{LOGIN}?next=/memory/%3Fq%3Ddog", {**credentials(alice.email), "next": "/memory/?q=dog"})
    assert page.get(answer["Location"]).status_code == 200
    assert page.post("/accounts/logout/", headers={"referer": "http://testserver/memory/"})["Location"] == LOGIN
