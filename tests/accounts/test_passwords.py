"""Changing a password, and getting back in without it."""

import re
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django_q.models import OrmQ

from hyperagent.accounts import actions
from hyperagent.accounts.models import ApiToken, LoginAttempt, User
from hyperagent.accounts.tasks import mail_password_reset
from hyperagent.audit.models import AuditEvent
from tests.accounts.conftest import PASSWORD
from tests.accounts.hashers import CountingHasher
from tests.jobs import do_jobs

CHANGE = "/settings/security/"
RESET = "/accounts/password/reset/"
NEW = "a quite different sentence"


def change(old: str = PASSWORD, new: str = NEW) -> dict[str, str]:
    return {"old_password": old, "password": new, "password_again": new}


def is_signed_in(client: Client) -> bool:
    return client.get("/settings/profile/").status_code == 200


def mailed_link(user: Any) -> str:
    mail_password_reset(str(user.pk))
    do_jobs()
    found = re.search(r"http://\S+", str(mail.outbox[-1].body))
    assert found
    return found.group()


@pytest.mark.threat("T25")
def test_all_other_sessions_end_when_the_password_changes(alice: Any, alices_page: Client) -> None:
    elsewhere = Client()
    elsewhere.force_login(alice)
    before = alices_page.cookies["sessionid"].value

    answer = alices_page.post(CHANGE, change())

    assert answer.status_code == 302
    assert is_signed_in(alices_page)
    assert not is_signed_in(elsewhere)
    assert alices_page.cookies["sessionid"].value != before
    alice.refresh_from_db()
    assert alice.check_password(NEW)


def opens(api: Any, raw: str) -> bool:
    return bool(api.get("/api/v1/auth/tokens", headers={"authorization": f"Bearer {raw}"}).status_code == 200)


@pytest.mark.threat("T25")
def test_all_ones_tokens_end_with_the_password_and_the_page_says_how_many_before_and_after(
    alice: Any, bob: Any, alices_page: Client, api: Any
) -> None:
    mine = [actions.make_token(alice)[1] for _ in range(2)]
    _, of_another = actions.make_token(bob)
    revoked, _ = actions.make_token(alice)
    actions.revoke_token(alice, revoked.pk)

    before = alices_page.get(CHANGE).content.decode()
    after = alices_page.post(CHANGE, change(), follow=True).content.decode()

    assert "Your 2 API tokens are revoked with it" in before
    assert "Your 2 API tokens are revoked. The programs that used them need new ones." in after
    assert "revoked" not in alices_page.get(CHANGE).content.decode()
    assert [opens(api, raw) for raw in (*mine, of_another)] == [False, False, True]
    told = AuditEvent.objects.filter(kind="token.revoked", details__why="password")
    assert told.count() == 2
    assert AuditEvent.objects.get(kind="password.changed").details["tokens"] == 2


@pytest.mark.threat("T25")
def test_all_ones_tokens_end_with_a_reset(alice: Any, page: Client, api: Any) -> None:
    _, raw = actions.make_token(alice)
    form = page.get(mailed_link(alice).removeprefix("http://127.0.0.1:8000"), follow=True)

    done = page.post(form.redirect_chain[-1][0], {"password": NEW, "password_again": NEW}, follow=True)

    assert "Your API token is revoked with it" in form.content.decode()
    assert "Your API token is revoked. The program that used it needs a new one." in done.content.decode()
    assert not opens(api, raw)


@pytest.mark.threat("T25")
def test_all_ones_sessions_and_tokens_end_with_a_change_at_the_console(
    alice: Any, alices_page: Client, api: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, raw = actions.make_token(alice)
    typed = iter([NEW, "something else", "12345", "12345", NEW, NEW])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(typed))

    call_command("changepassword", "ALICE@example.org")

    told = capsys.readouterr()
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert not is_signed_in(alices_page)
    assert not opens(api, raw)
    assert "not the same" in told.err
    assert "too short" in told.err
    assert "API tokens revoked: 1" in told.out
    (event,) = AuditEvent.objects.filter(kind="password.changed")
    assert (event.actor_id, event.target_id) == (None, str(alice.pk))


@pytest.mark.django_db
def test_a_change_at_the_console_of_nobody_says_so() -> None:
    with pytest.raises(CommandError, match=r"nobody has the address dora@example\.org"):
        call_command("changepassword", "dora@example.org")


@pytest.mark.threat("T25")
def test_no_token_is_made_by_a_password_that_is_changed_meanwhile(alice: Any) -> None:
    checked = actions.check_credentials(alice.email, PASSWORD, address=None)
    assert checked is not None
    actions.change_password(alice, NEW, by=alice)

    with pytest.raises(ValidationError, match="changed just now"):
        actions.make_token(checked)

    assert not ApiToken.objects.owned_by(alice).exists()


def test_a_password_is_not_changed_without_the_old_one(alice: Any, alices_page: Client) -> None:
    answer = alices_page.post(CHANGE, change(old="wrong"))

    assert "This is not your password." in answer.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


@pytest.mark.slow
@pytest.mark.threat("T26")
def test_whoever_found_an_open_session_cannot_guess_the_password_there(alices_page: Client) -> None:
    statuses = [alices_page.post(CHANGE, change(old=f"guess {number}")).status_code for number in range(20)]

    assert statuses.count(400) == 5
    assert statuses[-1] == 429


@pytest.mark.threat("T26")
def test_a_known_and_an_unknown_address_get_the_same_answer_for_the_same_work(
    alice: Any, page: Client, django_assert_num_queries: Any
) -> None:
    seen = []
    for email in (alice.email, "nobody@example.org"):
        jobs, hashes = OrmQ.objects.count(), CountingHasher.work
        with django_assert_num_queries(10):
            answer = page.post(RESET, {"email": email})
        done = page.get(answer["Location"]).content
        seen.append(
            (answer.status_code, answer["Location"], done, OrmQ.objects.count() - jobs, CountingHasher.work - hashes)
        )

    assert seen[0] == seen[1]
    assert seen[0][3] == 1
    assert mail.outbox == []  # whatever a mail takes, it takes it in the background


def test_the_job_of_an_unknown_address_mails_nobody(page: Client, alice: Any) -> None:
    page.post(RESET, {"email": "nobody@example.org"})

    do_jobs()

    assert mail.outbox == []


def test_alice_gets_back_in_by_the_mailed_link_and_all_her_sessions_end(
    alice: Any, alices_page: Client, page: Client
) -> None:
    page.post(RESET, {"email": "ALICE@example.org"})
    do_jobs()
    (message,) = mail.outbox
    link = re.search(r"http://127\.0\.0\.1:8000(/\S+)", str(message.body))
    assert link
    assert message.to == [alice.email]

    form = page.get(link.group(1))
    answer = page.post(form["Location"], {"password": NEW, "password_again": NEW})

    assert answer["Location"] == "/accounts/password/reset/complete/"
    assert page.get(answer["Location"]).status_code == 200
    alice.refresh_from_db()
    assert alice.check_password(NEW)
    assert not is_signed_in(alices_page)


def test_the_link_leads_to_the_configured_site_whatever_host_the_request_claims(alice: Any, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    Client().post(RESET, {"email": alice.email}, HTTP_HOST="evil.example")

    do_jobs()

    assert "evil.example" not in str(mail.outbox[0].body)


def test_the_address_of_the_form_shows_no_token(alice: Any, page: Client) -> None:
    link = mailed_link(alice)

    answer = page.get(link)

    assert answer["Location"].endswith("/set-password/")


def test_a_link_works_once(alice: Any, page: Client) -> None:
    link = mailed_link(alice)
    page.post(page.get(link)["Location"], {"password": NEW, "password_again": NEW})

    again = Client().get(link)

    assert "does not work any more" in again.content.decode()


def test_a_link_dies_of_age(alice: Any, page: Client, settings: Any) -> None:
    link = mailed_link(alice)
    settings.PASSWORD_RESET_TIMEOUT = -1

    assert "does not work any more" in page.get(link).content.decode()


@pytest.mark.parametrize("path", ["x/y/", "MQ/set-password/", "%00/abc-def/", "////", "4oCc/abc-def/"])
@pytest.mark.django_db
def test_a_made_up_link_is_refused_calmly(page: Client, path: str) -> None:
    assert page.get(f"{RESET}{path}").status_code in (200, 404)


def test_a_deactivated_person_gets_no_mail_and_no_form(alice: Any, page: Client) -> None:
    link = mailed_link(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    mail.outbox.clear()

    mail_password_reset(str(alice.pk))
    do_jobs()

    assert mail.outbox == []
    assert "does not work any more" in page.get(link).content.decode()


@pytest.mark.slow
def test_a_reset_lifts_the_limit_that_a_stranger_brought_on_the_account(alice: Any, page: Client) -> None:
    for _ in range(6):
        page.post("/accounts/login/", {"email": alice.email, "password": "wrong"})

    page.post(page.get(mailed_link(alice))["Location"], {"password": NEW, "password_again": NEW})

    answer = page.post("/accounts/login/", {"email": alice.email, "password": NEW})
    assert answer.status_code == 302
    assert not LoginAttempt.objects.filter(subject=alice.email).exists()


@pytest.mark.threat("T26")
def test_nobody_can_fill_alices_mailbox(alice: Any, page: Client) -> None:
    statuses = [page.post(RESET, {"email": alice.email}).status_code for _ in range(10)]

    assert statuses == [302] * 3 + [429] * 7
    assert OrmQ.objects.count() == 3


def test_a_weak_password_ends_no_reset(alice: Any, page: Client) -> None:
    form = page.get(mailed_link(alice))["Location"]

    answer = page.post(form, {"password": "12345", "password_again": "12345"})

    assert "too short" in answer.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


@pytest.mark.slow
@pytest.mark.threat("T26")
@pytest.mark.parametrize(
    "guessable", ["qwertyuiop", "Password2026!!", "HyperAgent1234", "acme-12345678", "dragondragon", "testserver!!!"]
)
def test_what_is_guessed_first_is_no_password(alice: Any, alices_page: Client, settings: Any, guessable: str) -> None:
    settings.SITE_URL = "https://testserver.acme.example.org"

    answer = alices_page.post(CHANGE, change(new=guessable))

    assert "too common" in answer.content.decode()
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


@pytest.mark.parametrize("good", ["dragons eat my password", "x" * 5 + "Ÿ7 pärchen" * 6, "0918-2736-4554-x"])
def test_whatever_nobody_guesses_is_a_password_as_it_was_typed(alice: Any, alices_page: Client, good: str) -> None:
    assert alices_page.post(CHANGE, change(new=good)).status_code == 302

    alice.refresh_from_db()
    assert alice.check_password(good)


def test_where_no_mails_leave_no_link_is_promised(page: Client, settings: Any) -> None:
    silent = type(settings.CONFIG.email_url)("consolemail://")
    settings.CONFIG = settings.CONFIG.model_copy(update={"email_url": silent})

    asked = page.get("/accounts/password/reset/").content.decode()
    done = page.get("/accounts/password/reset/done/").content.decode()

    assert "No mails leave from here" in asked
    assert "No mails leave from here" in done
    assert "We send a link" not in asked
    assert "is on its way" not in done
