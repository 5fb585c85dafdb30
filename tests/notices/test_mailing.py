"""Mails to people: who gets one, once, in which words; and a mail server that is away."""

import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from pydantic import SecretStr

from hyperagent.lib import outgoing_mails
from hyperagent.notices import actions
from hyperagent.notices.kinds import MailKind
from hyperagent.notices.models import Mail
from hyperagent.notices.tasks import send_mail, sweep_mails
from tests.mail.dovecot import PASSWORD, USER
from tests.mail.sink import Sink
from tests.notices.conftest import later

pytestmark = pytest.mark.django_db
WAITING, REMINDER, TIMED_OUT = MailKind.REQUEST_WAITING, MailKind.REQUEST_REMINDER, MailKind.REQUEST_TIMED_OUT
HOSTILE = '<img src=x onerror="alert(1)">{{ 7|add:42 }}\r\nBcc: all@example.org\n\nhttp://evil.example'


def tell(*people: Any, kind: MailKind = WAITING, **more: Any) -> int:
    values: dict[str, Any] = {"subject_id": "r1", "title": "Send the offer", "path": "/inbox/r1", **more}
    return actions.tell_people([person.pk for person in people], kind, **values)


@pytest.mark.spec("B22")
def test_the_mail_names_the_matter_and_leads_to_a_page_that_asks_for_a_login(bob: Any, mailoutbox: list[Any]) -> None:
    tell(bob, facts={"Agent": "mail", "Ends": "2026-11-05 10:00 UTC"})

    sweep_mails()

    (mail,) = mailoutbox
    html = mail.alternatives[0].content
    assert mail.to == ["bob@example.org"]
    assert mail.subject == "A request waits for your decision: Send the offer"
    for body in (mail.body, html):
        assert "http://127.0.0.1:8000/inbox/r1" in body
        assert "http://127.0.0.1:8000/settings/notifications/" in body
        assert "2026-11-05 10:00 UTC" in body
        assert "token" not in body.lower()
    assert html.count("href=") == 2


def test_without_a_mail_server_no_mail_is_said_to_be_sent(bob: Any, settings: Any) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"email_url": SecretStr("consolemail://")})
    tell(bob, kind=REMINDER)

    sweep_mails()
    sweep_mails()

    mail = Mail.objects.get()
    assert (mail.sent_at, mail.attempts) == (None, 1)
    assert mail.given_up_at is not None
    assert mail.last_error == "It stands in the log only: EMAIL_URL names no mail server."


@pytest.mark.spec("B22")
def test_each_person_gets_one_mail_of_a_kind_about_a_matter(alice: Any, bob: Any, mailoutbox: list[Any]) -> None:
    written = [tell(alice, bob), tell(alice, bob), tell(bob, kind=REMINDER), tell(bob, subject_id="r2")]

    for _ in range(3):
        sweep_mails()
    for mail in Mail.objects.all():
        send_mail(str(mail.pk))

    assert written == [2, 0, 1, 1]
    assert len(mailoutbox) == 4


def test_what_others_wrote_is_shown_as_text_and_cannot_add_headers(bob: Any, mailoutbox: list[Any]) -> None:
    tell(bob, title=HOSTILE, facts={HOSTILE: HOSTILE * 20})

    sweep_mails()

    (mail,) = mailoutbox
    raw = mail.message().as_string()
    html = mail.alternatives[0].content
    assert "\n" not in mail.subject
    assert mail.recipients() == ["bob@example.org"]
    assert "\nBcc:" not in raw
    assert "<img" not in html
    assert "49" not in html
    assert html.count("href=") == 2
    assert max(len(line) for line in mail.body.splitlines()) < 200


@pytest.mark.parametrize(("kind", "by_default"), [(WAITING, True), (REMINDER, True), (TIMED_OUT, False)])
def test_everybody_chooses_what_they_are_told(bob: Any, kind: MailKind, by_default: bool) -> None:
    at_first = tell(bob, kind=kind, subject_id="1")
    actions.set_preferences(bob, {kind: not by_default})
    then = tell(bob, kind=kind, subject_id="2")

    assert (at_first, then) == (int(by_default), int(not by_default))


def test_nobody_who_is_inactive_gets_mail_not_even_what_waited(bob: Any, mailoutbox: list[Any]) -> None:
    tell(bob)
    bob.is_active = False
    bob.save()

    sweep_mails()

    assert mailoutbox == []
    assert tell(bob, subject_id="2") == 0
    assert actions.tell_people([uuid.uuid4()], WAITING, subject_id="3", title="", path="/") == 0


def test_a_mail_is_gone_with_the_transaction_that_wanted_it(bob: Any) -> None:
    with transaction.atomic():
        tell(bob)
        transaction.set_rollback(True)

    assert Mail.objects.count() == 0


def test_a_mail_server_that_is_away_is_tried_again_with_pauses_and_then_given_up(
    bob: Any, settings: Any, mailoutbox: list[Any]
) -> None:
    in_memory = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", _nobody_listens()
    tell(bob)
    tell(bob, subject_id="r2")

    sweep_mails()
    sweep_mails()
    once = Mail.objects.get(subject_id="r1")
    for _ in outgoing_mails.PAUSES_S[1:]:
        later(max(outgoing_mails.PAUSES_S))
        sweep_mails()
    settings.EMAIL_BACKEND = in_memory
    later(max(outgoing_mails.PAUSES_S))
    Mail.objects.filter(subject_id="r2").update(given_up_at=once.created_at)
    sweep_mails()
    sweep_mails()

    assert (once.attempts, once.sent_at) == (1, None)
    assert "refused" in once.last_error.lower()
    assert [mail.subject for mail in mailoutbox] == ["A request waits for your decision: Send the offer"]
    assert Mail.objects.get(subject_id="r1").sent_at is not None


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_a_mail_server_whose_password_has_letters_that_are_not_ascii_is_signed_in_to(bob: Any, settings: Any) -> None:
    with Sink() as sink:
        settings.EMAIL_BACKEND = "hyperagent.lib.smtp_backend.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", sink.port
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = USER, PASSWORD
        tell(bob)

        sweep_mails()

    assert not PASSWORD.isascii()
    assert [mail.recipients for mail in sink.arrived] == [(bob.email,)]


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_a_mail_of_the_house_goes_to_the_domain_that_was_meant(bob: Any, settings: Any) -> None:
    bob.email = "bob@straße.example"
    bob.save()
    with Sink() as sink:
        settings.EMAIL_BACKEND = "hyperagent.lib.smtp_backend.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", sink.port
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = USER, PASSWORD
        settings.DEFAULT_FROM_EMAIL = "HyperAgent <house@bücher.example>"
        tell(bob)

        sweep_mails()

    [mail] = sink.arrived
    assert (mail.sender, mail.recipients) == ("house@xn--bcher-kva.example", ("bob@xn--strae-oqa.example",))
    assert mail.message["To"] == "bob@xn--strae-oqa.example"


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_a_password_that_the_mail_server_does_not_take_is_told(bob: Any, settings: Any) -> None:
    with Sink() as sink:
        settings.EMAIL_BACKEND = "hyperagent.lib.smtp_backend.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", sink.port
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = USER, "wörd"
        tell(bob)

        sweep_mails()

    assert sink.arrived == []
    assert "Authentication credentials invalid" in Mail.objects.get().last_error


@pytest.mark.slow
def test_the_mail_server_of_the_settings_is_reached_by_the_backend_that_can(settings: Any) -> None:
    told = subprocess.run(
        [sys.executable, "-c", "from hyperagent import settings; print(settings.EMAIL_BACKEND)"],
        env={**os.environ, "EMAIL_URL": "smtp+tls://bob:w%C3%B6rd@mail.example.org:587"},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout.strip() == "hyperagent.lib.smtp_backend.EmailBackend"


def test_after_enough_tries_a_mail_is_given_up(bob: Any, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", _nobody_listens()
    tell(bob)

    for _ in range(len(outgoing_mails.PAUSES_S) + 4):
        sweep_mails()
        later(max(outgoing_mails.PAUSES_S))

    mail = Mail.objects.get()
    assert mail.attempts == len(outgoing_mails.PAUSES_S) + 1
    assert mail.given_up_at is not None


def test_an_address_that_cannot_be_written_to_stops_no_other_mail(alice: Any, bob: Any, mailoutbox: list[Any]) -> None:
    type(alice).objects.filter(pk=alice.pk).update(email="alice\r\nbcc: x@example.org")
    tell(alice)
    tell(bob)

    sweep_mails()

    assert [mail.to for mail in mailoutbox] == [["bob@example.org"]]


def test_who_died_while_sending_is_followed_by_another_under_the_same_message_id(
    bob: Any, mailoutbox: list[Any]
) -> None:
    tell(bob)
    sweep_mails()
    # The mail server took it, and the process died before it could write that down.
    Mail.objects.update(sent_at=None)

    sweep_mails()
    at_once = len(mailoutbox)
    later(outgoing_mails.LEASE_S)
    sweep_mails()

    assert (at_once, len(mailoutbox)) == (1, 2)
    assert len({mail.extra_headers["Message-ID"] for mail in mailoutbox}) == 1


def test_the_preferences_page_shows_what_holds_and_keeps_what_is_chosen(
    alice: Any, charlie: Any, page_of: Callable[[Any], Client]
) -> None:
    page = page_of(alice)
    before = page.get("/settings/notifications/").content.decode()

    answer = page.post("/settings/notifications/", {"request_timed_out": "on"})

    assert before.count("checked") == len(MailKind) - 1
    assert answer.status_code == 302
    assert actions.preferences_of(alice) == {kind: kind is TIMED_OUT for kind in MailKind}
    assert actions.preferences_of(charlie)[WAITING]
    assert page.get("/settings/notifications/").content.decode().count("checked") == 1


def test_the_page_says_where_no_mails_leave(alice: Any, page_of: Callable[[Any], Client], settings: Any) -> None:
    page = page_of(alice)
    before = page.get("/settings/notifications/").content.decode()
    silent = type(settings.CONFIG.email_url)("consolemail://")
    settings.CONFIG = settings.CONFIG.model_copy(update={"email_url": silent})

    assert "No mails leave from here" not in before
    assert "No mails leave from here" in page.get("/settings/notifications/").content.decode()


def test_the_page_asks_for_a_login(client: Client) -> None:
    answer = client.get("/settings/notifications/")

    assert answer.status_code == 302
    assert answer["location"] == "/accounts/login/?next=/settings/notifications/"


def _nobody_listens() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
