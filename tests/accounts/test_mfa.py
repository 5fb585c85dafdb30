"""Second factors: codes of an app, recovery codes, who has to have one, and that no door leads around them."""

import json
import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core import mail
from django.test import Client

from conversations import handshake
from hyperagent.accounts import actions, tasks
from hyperagent.accounts.attempts import TooManyTries
from hyperagent.accounts.mfa import factors, passkeys
from hyperagent.accounts.models import User
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.secrets import Purpose, unseal
from hyperagent.lib.sign_on import RequiredFor

pytestmark = [pytest.mark.django_db, pytest.mark.threat("T26")]
PASSWORD = "correct horse battery staple"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def code_of(secret: str, *, steps: int = 0) -> str:
    """What the app shows now, or so many half minutes later."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps)))


def with_app(user: User) -> tuple[str, list[str]]:
    """Sets one up; its secret and the recovery codes. Its first code is used by that."""
    sealed = factors.new_secret()
    secret = unseal(sealed, Purpose.SECOND_FACTOR)
    return secret, factors.add_app(user, sealed, code_of(secret, steps=-1), address=None)


def sign_in(page: Client, user: User, next_url: str = "/settings/profile/") -> Any:
    return page.post("/accounts/login/", {"email": user.email, "password": PASSWORD, "next": next_url})


def is_in(page: Client) -> bool:
    return page.get("/settings/profile/").status_code == 200


def test_a_code_counts_in_its_half_minute_and_those_beside_it_and_never_before_one_that_was_used() -> None:
    now = 1_000_000_020.0
    here = int(now) // 30

    def step(at: int, after: int = -1) -> int | None:
        return factors.step_of(SECRET, str(format_hotp_value(hotp_value(SECRET, at))), after=after, now_s=now)

    assert [step(at) for at in range(here - 2, here + 3)] == [None, here - 1, here, here + 1, None]
    assert step(here, after=here) is None
    assert step(here, after=here - 1) == here
    assert factors.step_of(SECRET, "", after=-1, now_s=now) is None
    assert factors.step_of(SECRET, "١٢٣٤٥٦", after=-1, now_s=now) is None


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_alice_sets_up_an_app_on_the_page_and_is_asked_for_its_code_from_then_on(
    page: Client, alice: User, django_capture_on_commit_callbacks: Any
) -> None:
    sign_in(page, alice)
    elsewhere = Client()
    elsewhere.force_login(alice)
    shown = page.get("/settings/security/second-factor/app/").content.decode()
    secret = re.findall(r'<code class="secret">([A-Z2-7 ]+)</code>', shown)[0].replace(" ", "")
    wrong = page.post("/settings/security/second-factor/app/", {"code": "000000"})
    done = page.post("/settings/security/second-factor/app/", {"code": code_of(secret)}).content.decode()
    codes = re.findall(r"<code>(\d{5} \d{5})</code>", done)
    was_ended = not is_in(elsewhere)

    page.logout()
    half_in = sign_in(page, alice)
    nobody_yet = is_in(page)
    replayed = page.post("/accounts/login/second/", {"code": code_of(secret)})
    let_in = page.post("/accounts/login/second/", {"code": code_of(secret, steps=1)})

    assert "<svg" in shown
    assert "style=" not in shown.partition("<svg")[2].partition("</svg>")[0]
    assert "This code is not right" in wrong.content.decode()
    assert len(codes) == 10
    assert was_ended
    assert (half_in["Location"], nobody_yet) == ("/accounts/login/second/", False)
    assert "was used before" in replayed.content.decode()
    assert let_in["Location"] == "/settings/profile/"
    assert is_in(page)
    stored = json.dumps(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored
    assert codes[0].replace(" ", "") not in stored
    assert AuditEvent.objects.filter(kind="mfa.added", actor_id=alice.pk).count() == 1
    tasks.sweep_letters()
    assert "An authenticator app was set up" in mail.outbox[-1].body
    assert mail.outbox[-1].to == [alice.email]


@pytest.mark.slow
def test_wrong_codes_of_others_hold_up_nobody_who_sets_up_an_app(page: Client, alice: User) -> None:
    """As on the day on which everybody has to have a second factor."""
    for number in range(7):
        other = User.objects.create_user(f"other-{number}@example.org", PASSWORD)
        elsewhere = Client(REMOTE_ADDR=f"192.0.2.{number}")
        sign_in(elsewhere, other)
        for _ in range(5):
            elsewhere.post("/settings/security/second-factor/app/", {"code": "000000"})
    sign_in(page, alice)
    shown = page.get("/settings/security/second-factor/app/").content.decode()
    secret = re.findall(r'<code class="secret">([A-Z2-7 ]+)</code>', shown)[0].replace(" ", "")

    done = page.post("/settings/security/second-factor/app/", {"code": code_of(secret)})

    assert (done.status_code, factors.has_factor(alice)) == (200, True)


def test_a_code_is_taken_once_of_many_that_come_at_once(alice: User, together: Any) -> None:
    secret, _ = with_app(alice)
    code = code_of(secret)

    def use() -> bool:
        try:
            return bool(factors.use_code(alice, code, address="10.0.0.1"))
        except (factors.WrongCode, TooManyTries):
            return False

    assert together(use, times=4).count(True) == 1


@pytest.mark.slow
def test_a_recovery_code_opens_once_and_new_ones_end_the_former(page: Client, alice: User) -> None:
    _, codes = with_app(alice)
    sign_in(page, alice)
    opened = page.post("/accounts/login/second/", {"code": factors.tidy(codes[0])})
    page.post("/settings/security/second-factor/codes/")
    page.logout()
    sign_in(page, alice)
    again = page.post("/accounts/login/second/", {"code": codes[0]})
    former = page.post("/accounts/login/second/", {"code": codes[1]})

    assert opened.status_code == 302
    assert again.status_code == former.status_code == 403
    assert not is_in(page)
    assert factors.recovery_codes_left(alice) == 10


@pytest.mark.slow
def test_codes_are_not_guessed_and_nobody_is_half_in_for_ever(page: Client, alice: User) -> None:
    secret, _ = with_app(alice)
    sign_in(page, alice)
    tries = [page.post("/accounts/login/second/", {"code": f"{n:06}"}).status_code for n in range(8)]
    right_but_late = page.post("/accounts/login/second/", {"code": code_of(secret)}).status_code
    actions.change_password(alice, "quite another sentence", by=alice)
    changed = page.get("/accounts/login/second/")

    assert 429 in tries
    assert right_but_late == 429
    assert changed["Location"] == "/accounts/login/"


def test_whoever_goes_back_to_sign_in_as_somebody_else_begins_anew(page: Client, alice: User, charlie: User) -> None:
    with_app(alice)
    Authenticator.objects.create(user=charlie, type="webauthn", data={"name": "Key"})
    sign_in(page, alice)
    link = re.search(r'href="([^"]+)">Sign in as somebody else', page.get("/accounts/login/second/").content.decode())
    assert link

    page.get(link[1])
    wrong = page.post("/accounts/login/passkey/", {"credential": "{}"})

    # Else it was Alice's passkey that was asked for, whoever held theirs to it.
    assert wrong["Location"] == "/accounts/login/"
    assert page.get("/accounts/login/second/")["Location"] == "/accounts/login/"


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_the_password_alone_gets_no_token_where_there_is_a_second_factor(api: Any, alice: User) -> None:
    secret, codes = with_app(alice)
    asked = {"email": alice.email, "password": PASSWORD}

    def answer(**more: str) -> tuple[int, str]:
        got = api.post("/api/v1/auth/token", {**asked, **more})
        return got.status_code, got.json().get("error", {}).get("code", "")

    code = code_of(secret)
    assert answer() == (401, "otp_required")
    assert answer(password="wrong", otp=code) == (401, "bad_credentials")
    assert answer(otp="000000") == (401, "wrong_code")
    assert answer(otp=code) == (201, "")
    assert answer(otp=code) == (401, "wrong_code")
    assert answer(otp=codes[0]) == (201, "")
    assert 429 in [answer(otp="111111")[0] for _ in range(7)]


@pytest.mark.slow
@pytest.mark.spec("B21")
@pytest.mark.parametrize("required", [RequiredFor.EVERYBODY, RequiredFor.ADMINISTRATORS])
def test_whoever_needs_a_second_factor_is_led_to_it_before_anything_else(
    alice: User, api: Any, settings: Any, required: RequiredFor
) -> None:
    settings.MFA_REQUIRED_FOR = required
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    page = Client()
    sign_in(page, alice, "/settings/profile/?a=1")
    led = page.get("/settings/profile/?a=1")
    program = page.get("/api/v1/me")
    admin = page.get("/admin/")
    shown = page.get(led["Location"])
    token = api.post("/api/v1/auth/token", {"email": alice.email, "password": PASSWORD})
    socket = handshake.identify(handshake.Credentials(session_key=page.session.session_key))
    text = page.get("/settings/security/second-factor/app/").content.decode()
    secret = re.findall(r'<code class="secret">([A-Z2-7 ]+)</code>', text)[0].replace(" ", "")
    done = page.post("/settings/security/second-factor/app/", {"code": code_of(secret)}).content.decode()

    assert led["Location"].startswith("/settings/security/second-factor/?next=%2Fsettings%2Fprofile%2F%3Fa%3D1")
    assert (program.status_code, program.json()["error"]["code"]) == (403, "second_factor_required")
    assert admin["Location"].startswith("/settings/security/second-factor/")
    assert "Your account needs a second factor" in shown.content.decode()
    assert (token.status_code, token.json()["error"]["code"]) == (403, "second_factor_required")
    assert socket is None
    assert 'href="/settings/profile/?a=1"' in done
    assert is_in(page)


@pytest.mark.slow
def test_a_session_from_before_shows_the_factor_that_it_has_and_others_are_not_asked(
    page: Client, alice: User, charlie: User, settings: Any
) -> None:
    secret, _ = with_app(alice)
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    page.force_login(alice)
    settings.MFA_REQUIRED_FOR = RequiredFor.ADMINISTRATORS
    led = page.get("/settings/profile/", follow=True)
    page.post("/settings/security/confirm/", {"code": code_of(secret), "next": "/settings/profile/"})
    charlies = Client()
    charlies.force_login(charlie)

    assert led.redirect_chain[-1][0].startswith("/settings/security/confirm/?next=%2Fsettings%2Fprofile%2F")
    assert is_in(page)
    assert is_in(charlies)


def test_factors_are_changed_only_by_who_has_just_shown_that_it_is_them(page: Client, alice: User) -> None:
    secret, _ = with_app(alice)
    factor = factors.factors_of(alice)[0]
    page.force_login(alice)
    remove = f"/settings/security/second-factor/{factor.id}/remove/"
    doors = ["/settings/security/second-factor/app/", "/settings/security/second-factor/passkey/"]
    asked = [page.get(door)["Location"] for door in doors] + [page.post(remove)["Location"]]
    by_password = page.post("/settings/security/confirm/", {"password": PASSWORD})
    kept = factors.has_factor(alice)
    away = page.post("/settings/security/confirm/", {"code": code_of(secret), "next": "//evil.example"})
    page.post(remove)

    assert all(where.startswith("/settings/security/confirm/?next=") for where in asked)
    assert by_password.status_code == 400
    assert kept
    assert away["Location"] == "/"
    assert not Authenticator.objects.filter(user=alice).exists()
    assert AuditEvent.objects.filter(kind="mfa.removed", actor_id=alice.pk).exists()


def test_a_factor_of_somebody_else_is_as_one_that_does_not_exist(page: Client, alice: User, charlie: User) -> None:
    with_app(alice)
    factor = factors.factors_of(alice)[0]
    sign_in(page, charlie)

    assert page.post(f"/settings/security/second-factor/{factor.id}/remove/").status_code == 404
    assert factors.has_factor(alice)


@pytest.mark.spec("B21")
def test_an_administrator_removes_what_somebody_has_lost_and_it_is_audited(page: Client, alice: User) -> None:
    with_app(alice)
    boss = User.objects.create_superuser("boss@example.org", PASSWORD)
    page.force_login(boss)
    row = Authenticator.objects.filter(user=alice, type="totp").get()
    shown = page.get(f"/admin/mfa/authenticator/{row.pk}/change/").content.decode()
    page.post("/admin/mfa/authenticator/", {"action": "remove_all", "_selected_action": [row.pk]})

    assert row.data["secret"] not in shown
    assert not Authenticator.objects.filter(user=alice).exists()
    event = AuditEvent.objects.get(kind="mfa.removed")
    assert (event.actor_id, event.target_id) == (boss.pk, str(alice.pk))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    ["", "null", "[]", "{}", '{"id": 1}', '{"response": {"userHandle": "AAAA"}}', '{"id": "AA", "rawId": "AA",'
     ' "type": "public-key", "response": {"clientDataJSON": "e30", "authenticatorData": "AAAA", "signature": "AA",'
     ' "userHandle": "bm9ib2R5"}}', "[" * 5000],
)  # fmt: skip
def test_what_is_no_passkey_opens_nothing_and_breaks_nothing(page: Client, alice: User, sent: str) -> None:
    page.post("/accounts/login/passkey/ask/")
    answer = page.post("/accounts/login/passkey/", {"credential": sent}, follow=True)

    assert "This passkey opens no account here" in answer.content.decode()
    assert not is_in(page)


@pytest.mark.slow
def test_a_few_wrong_passkeys_do_not_shut_the_door_for_all_who_come_from_one_address(page: Client) -> None:
    """A whole office may: whose passkey it is, is known only once it is right."""

    def tries(times: int) -> str:
        for _ in range(times):
            Client().post("/accounts/login/passkey/", {"credential": "{}"})
        return str(page.post("/accounts/login/passkey/", {"credential": "{}"}, follow=True).content.decode())

    few, many = tries(10), tries(30)

    assert "This passkey opens no account here" in few
    assert "Too many tries" in many


def test_a_passkey_whose_count_goes_back_is_a_copy(alice: User) -> None:
    row = Authenticator.objects.create(user=alice, type="webauthn", data={"name": "Key", "sign_count": 7})

    passkeys._count(row.pk, 8)
    with pytest.raises(passkeys.WrongPasskey):
        passkeys._count(row.pk, 8)


def test_secrets_that_cannot_be_read_any_more_are_a_wrong_code_and_recovery_is_by_an_administrator(
    page: Client, alice: User, settings: Any
) -> None:
    secret, _ = with_app(alice)
    settings.SECRET_KEY = "another key of this installation " * 2
    sign_in(page, alice)
    answer = page.post("/accounts/login/second/", {"code": code_of(secret)})

    assert "This code is not right" in answer.content.decode()
