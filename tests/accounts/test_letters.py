"""Mails about accounts, and a mail server that does not take them at first, or never."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.db.models import F
from django.test import Client
from django.utils import timezone

from hyperagent.accounts import actions, exporting, invitations, mailing, people
from hyperagent.accounts.letter_models import Letter
from hyperagent.accounts.mfa import factors
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.tasks import mail_invitation, mail_security_news, prune_letters, sweep_letters
from hyperagent.audit.kinds import AuditKind
from hyperagent.lib import outgoing_mails
from tests.jobs import do_jobs
from tests.mail.dovecot import PASSWORD, USER
from tests.mail.sink import Sink

pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore:Requiring AUTH")]
GREY = "451 4.7.1 Greylisted, come back later"


@pytest.fixture
def sink(settings: Any) -> Iterator[Sink]:
    with Sink() as server:
        settings.EMAIL_BACKEND = "hyperagent.lib.smtp_backend.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = USER, PASSWORD
        yield server


def later() -> None:
    """As if the longest pause had passed, and the clock had come round."""
    Letter.objects.update(next_attempt_at=F("next_attempt_at") - timedelta(seconds=max(outgoing_mails.PAUSES_S)))
    sweep_letters()


def text_of(sink: Sink, number: int) -> str:
    payload = sink.arrived[number].message.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode()


def an_export(alice: Any) -> None:
    exporting.make(exporting.ask(alice).pk)


WRITES: dict[str, Callable[[Any], object]] = {
    "an invitation": lambda alice: invitations.invite(None, "dora@example.org"),
    "a new password": lambda alice: actions.ask_for_password_reset(alice.email, address=None),
    "security news": lambda alice: factors._tell(AuditKind.MFA_REMOVED, alice, by=alice, kind="totp"),
    "an export": an_export,
}


@pytest.mark.slow
@pytest.mark.parametrize("what", WRITES)
def test_a_mail_server_that_says_later_once_is_asked_again(alice: Any, sink: Sink, what: str) -> None:
    sink.says = GREY
    WRITES[what](alice)
    do_jobs()
    at_first = list(sink.arrived)
    sink.says = "250 taken"

    later()
    later()

    assert at_first == []
    assert len(sink.arrived) == 1


def test_an_invitation_says_when_it_was_mailed_and_until_then_why_it_was_not(bob: Any, sink: Sink) -> None:
    page = Client()
    page.force_login(bob)
    sink.says = GREY
    made = invitations.invite(bob, "dora@example.org")
    do_jobs()
    waiting = page.get("/people/invitations/").content.decode()
    unmailed = Invitation.objects.get(pk=made.pk).mailed_at
    sink.says = "250 taken"

    later()

    assert "not mailed yet: 451 4.7.1 Greylisted, come back later" in waiting
    assert unmailed is None
    assert Invitation.objects.get(pk=made.pk).mailed_at is not None
    assert "Greylisted" not in page.get("/people/invitations/").content.decode()


@pytest.mark.slow
def test_an_invitation_that_could_not_be_mailed_says_so_and_has_its_link(bob: Any, sink: Sink) -> None:
    page = Client()
    page.force_login(bob)
    sink.refused = frozenset({"dora@example.org"})
    made = invitations.invite(bob, "dora@example.org")
    for _ in range(len(outgoing_mails.PAUSES_S) + 2):
        later()

    shown = page.get("/people/invitations/").content.decode()
    told = page.get(f"/api/v1/invitations/{made.pk}").json()

    assert "not mailed yet" not in shown
    assert "It could not be mailed, and is not tried any more: 550 5.1.1 &lt;script&gt;no such user" in shown
    assert invitations.link_of(made) == told["link"]
    assert told["link"] in shown
    again = invitations.send_again(bob, made.pk)
    shown = page.get("/people/invitations/").content.decode()
    assert ("not mailed yet" in shown, invitations.link_of(again) in shown) == (True, False)


def test_an_invitation_that_leaves_late_is_good_for_as_long_as_it_says(bob: Any, sink: Sink) -> None:
    sink.says = GREY
    made = invitations.invite(bob, "dora@example.org")
    do_jobs()
    Invitation.objects.update(ends_at=F("ends_at") - timedelta(days=2))
    sink.says = "250 taken"

    later()

    assert "within 7 days" in text_of(sink, 0)
    assert Invitation.objects.get(pk=made.pk).ends_at > timezone.now() + timedelta(days=6, hours=23)


def test_an_address_that_the_mail_server_does_not_know_is_shown_with_its_words(bob: Any, sink: Sink) -> None:
    sink.refused = frozenset({"dora@example.org"})

    made = invitations.invite(bob, "dora@example.org")
    do_jobs()

    assert Invitation.objects.get(pk=made.pk).mail_trouble.startswith("550 5.1.1 <script>no such user")


def test_a_mail_server_that_says_no_for_ever_is_asked_so_often_and_no_more(alice: Any, sink: Sink) -> None:
    sink.says = GREY
    WRITES["security news"](alice)
    do_jobs()
    for _ in range(len(outgoing_mails.PAUSES_S) + 3):
        later()
    sink.says = "250 taken"

    later()

    letter = Letter.objects.get()
    assert (letter.attempts, letter.given_up_at is not None) == (len(outgoing_mails.PAUSES_S) + 1, True)
    assert "Greylisted" in letter.last_error
    assert sink.arrived == []


def test_an_invitation_that_is_sent_again_or_revoked_meanwhile_leaves_once_or_never(bob: Any, sink: Sink) -> None:
    sink.says = GREY
    sent_again, revoked = (invitations.invite(bob, f"{name}@example.org") for name in ("dora", "emil"))
    do_jobs()
    invitations.send_again(bob, sent_again.pk)
    invitations.revoke(bob, revoked.pk)
    sink.says = "250 taken"

    do_jobs()
    later()

    assert [mail.recipients for mail in sink.arrived] == [("dora@example.org",)]
    assert invitations.link_of(Invitation.objects.get(pk=sent_again.pk)) in text_of(sink, 0)
    assert Letter.objects.get(invitation=revoked).last_error == outgoing_mails.NOT_WANTED


@pytest.mark.threat("T26")
def test_the_link_of_a_new_password_stands_in_no_row_and_is_fresh_when_it_leaves(alice: Any, sink: Sink) -> None:
    sink.says = GREY
    WRITES["a new password"](alice)
    do_jobs()
    row = Letter.objects.values().get()
    sink.says = "250 taken"

    later()

    link = re.search(r"http://127\.0\.0\.1:8000(/\S+)", text_of(sink, 0))
    assert link
    token = link.group(1).rstrip("/").rsplit("/", 1)[-1]
    assert (row["facts"], token in str(row)) == ({}, False)
    assert Client().get(link.group(1))["Location"].endswith("/set-password/")


def test_whoever_is_deactivated_meanwhile_is_not_written_to(alice: Any, bob: Any, sink: Sink) -> None:
    sink.says = GREY
    WRITES["a new password"](alice)
    do_jobs()
    people.deactivate(bob, alice.pk)
    sink.says = "250 taken"

    later()
    people.activate(bob, alice.pk)
    later()

    assert sink.arrived == []


def test_where_no_mails_leave_the_link_of_an_invitation_stands_in_no_log(
    bob: Any, settings: Any, mailoutbox: list[EmailMessage]
) -> None:
    silent = type(settings.CONFIG.email_url)("consolemail://")
    settings.CONFIG = settings.CONFIG.model_copy(update={"email_url": silent})

    invitations.invite(bob, "dora@example.org")
    do_jobs()

    assert mailoutbox == []
    assert not Letter.objects.exists()


def test_a_letter_that_cannot_be_written_holds_up_no_other_and_is_put_aside(
    alice: Any, bob: Any, mailoutbox: list[EmailMessage]
) -> None:
    WRITES["security news"](alice)
    WRITES["security news"](bob)
    Letter.objects.filter(user=alice).update(facts=["no", "names"])

    for _ in range(len(outgoing_mails.PAUSES_S) + 3):
        later()

    assert [mail.to for mail in mailoutbox] == [[bob.email]]
    assert Letter.objects.get(user=alice).given_up_at is not None


def test_a_letter_whose_process_dies_at_each_try_is_put_aside(alice: Any, mailoutbox: list[EmailMessage]) -> None:
    WRITES["security news"](alice)
    # So many processes took it, and came to no end.
    Letter.objects.update(attempts=len(outgoing_mails.PAUSES_S) + 1)

    later()
    later()

    assert mailoutbox == []
    assert Letter.objects.get().last_error == outgoing_mails.NEVER_ENDED


def test_what_servers_of_the_version_before_ask_for_is_written(bob: Any, mailoutbox: list[EmailMessage]) -> None:
    made = invitations.invite(bob, "dora@example.org")
    Letter.objects.all().delete()

    mail_invitation(str(made.pk))
    mail_security_news(str(bob.pk), "mfa.added", "totp")
    do_jobs()

    assert [mail.to for mail in mailoutbox] == [["dora@example.org"], [bob.email]]


def test_old_letters_are_forgotten_once_they_are_over(alice: Any) -> None:
    for _ in range(2):
        WRITES["security news"](alice)
    over = Letter.objects.all()[0]
    Letter.objects.filter(pk=over.pk).update(sent_at=timezone.now())
    Letter.objects.update(created_at=timezone.now() - timedelta(days=91))

    prune_letters()

    assert [letter.pk == over.pk for letter in Letter.objects.all()] == [False]


def test_a_letter_that_is_sent_twice_is_known_by_its_id(alice: Any, mailoutbox: list[EmailMessage]) -> None:
    WRITES["security news"](alice)
    do_jobs()
    # The mail server took it, and the process died before it could write that down.
    Letter.objects.update(sent_at=None)

    later()

    assert len({mail.extra_headers["Message-ID"] for mail in mailoutbox}) == 1
    assert len(mailoutbox) == 2
    assert mailing.outgoing.send_due() == 0
