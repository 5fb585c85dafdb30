"""The page of one's mailboxes: what it connects, what it refuses, and that nobody is shown another's, or a password."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client

from agents.mail.credentials import Grant, Password, unsealed
from agents.mail.kinds import AccountState
from agents.mail.models import MailAccount
from tests.faces.conftest import _quick_hashes, client_of
from tests.mail.dovecot import PASSWORD, USER, Dovecot
from tests.mail.google import ADDRESS, CLIENT_ID, CLIENT_SECRET, Google
from tests.mail.own import at_google, connected
from tests.mail.sink import Sink

__all__ = ["_quick_hashes", "client_of"]

pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore:Requiring AUTH")]
ClientOf = Callable[[Any], Client]
CANARY = "canary-pässword-7e1f"


@pytest.fixture(autouse=True)
def _own_servers(settings: Any) -> None:
    """They are on this machine. Tests of the guard take it back."""
    settings.MAIL_ALLOW_PRIVATE = True


@pytest.fixture
def google(settings: Any) -> Iterator[Google]:
    with Google() as running:
        settings.GMAIL_CLIENT_ID, settings.GMAIL_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        settings.GMAIL_BASE_URL = running.url
        yield running


def form(dovecot: Dovecot | None = None, sink: Sink | None = None, **changed: Any) -> dict[str, Any]:
    return {
        "address": "alice@example.org",
        "password": PASSWORD,
        "display_name": "Alice Ärmel",
        "user_name": USER,
        "imap_host": "127.0.0.1",
        "imap_port": dovecot.port if dovecot else 993,
        "imap_security": "plain",
        "smtp_host": "127.0.0.1",
        "smtp_port": sink.port if sink else 465,
        "smtp_security": "plain",
        **changed,
    }


@pytest.mark.slow
@pytest.mark.spec("S178")
def test_a_mailbox_is_tried_before_it_is_kept_and_can_be_tested_changed_and_disconnected(
    alice: Any, charlie: Any, client_of: ClientOf, dovecot: Dovecot, sink: Sink
) -> None:
    page = client_of(alice)
    wrong = page.post("/mail/", form(dovecot, sink, password=CANARY))
    assert (wrong.status_code, MailAccount.objects.count()) == (400, 0)
    assert "did not accept user and password. Check what you entered." in wrong.content.decode()
    assert CANARY not in wrong.content.decode()

    assert page.post("/mail/", form(dovecot, sink)).status_code == 302
    account = MailAccount.objects.get()
    assert (account.user_id, account.is_default, account.display_name) == (alice.pk, True, "Alice Ärmel")
    assert unsealed(account.sealed, Password).password.get_secret_value() == PASSWORD
    shown = page.get("/mail/").content.decode()
    assert "alice@example.org" in shown
    assert "Connected" in shown

    # Connected again it stays the same row; an empty password keeps the one that is stored, for the same server only.
    again = f"/mail/{account.pk}/again/"
    assert "alice@example.org" in page.get(again).content.decode()
    assert page.post(again, form(dovecot, sink, password="", display_name="Alice")).status_code == 302
    assert MailAccount.objects.get().display_name == "Alice"
    elsewhere = page.post(again, form(dovecot, sink, password="", imap_host="localhost"))
    assert "For another server or user it has to be entered again." in elsewhere.content.decode()

    verb = f"/mail/{account.pk}/"
    MailAccount.objects.update(state=AccountState.TROUBLE, trouble="It did not answer.")
    assert "works." in page.post(verb, {"verb": "test"}, follow=True).content.decode()
    assert MailAccount.objects.get().state == "ok"

    others = client_of(charlie)
    assert [others.get(again).status_code, others.post(again, form(dovecot, sink)).status_code] == [404, 404]
    assert {others.post(verb, {"verb": name}).status_code for name in ("test", "default", "disconnect")} == {404}
    assert "alice@example.org" not in others.get("/mail/").content.decode()
    assert Client().get("/mail/").status_code == 302

    gone = page.post(verb, {"verb": "disconnect"}, follow=True).content.decode()
    assert "is disconnected. Its password is deleted here." in gone
    assert MailAccount.objects.count() == 0


@pytest.mark.slow
@pytest.mark.spec("S178")
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"imap_host": "127.0.0.1"}, "leads into a private network"),
        ({"imap_host": "localhost"}, "leads into a private network"),
        ({"imap_host": "169.254.169.254"}, "leads into a private network"),
        ({"imap_host": "[::ffff:10.0.0.1]"}, "leads into a private network"),
        ({"imap_host": "mail example org"}, "no server&#x27;s name"),
        ({"imap_host": "::1"}, "leads into a private network"),
        ({"imap_host": "2130706433"}, "number in an unusual form"),
        ({"imap_host": "mail.example.org/x"}, "no server&#x27;s name"),
        ({"imap_host": "metadata.google.internal"}, "leads into a private network"),
        ({"smtp_host": "10.1.2.3"}, "leads into a private network"),
        ({"imap_port": 6379}, "One of 993, 143."),
        ({"smtp_port": 25}, "One of 465, 587, 2525."),
        ({"imap_security": "plain"}, "not one of the available choices"),
        ({"address": "nobody"}, "Write it like name@example.org."),
        ({"address": "a@b.example\r\nBcc: x@y.example"}, "Write it like name@example.org."),
        ({"password": ""}, "Enter the password."),
    ],
)
def test_a_server_that_leads_inside_and_what_is_no_mailbox_is_refused_without_a_connection(
    alice: Any, client_of: ClientOf, settings: Any, changed: dict[str, Any], said: str
) -> None:
    settings.MAIL_ALLOW_PRIVATE = False
    typed = form(imap_host="imap.example.org", imap_security="ssl", smtp_host="smtp.example.org", smtp_security="ssl")

    answer = client_of(alice).post("/mail/", {**typed, **changed})

    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert MailAccount.objects.count() == 0


def test_tries_are_counted_so_that_nobody_guesses_passwords_here(
    alice: Any, client_of: ClientOf, dovecot: Dovecot, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.mail.actions.TRIES", 1)
    page = client_of(alice)
    page.post("/mail/", form(dovecot, sink, password="wrong-1"))

    assert page.post("/mail/", form(dovecot, sink)).status_code == 429
    assert MailAccount.objects.count() == 0


@pytest.mark.slow
@pytest.mark.spec("S30", "S178")
def test_gmail_is_connected_by_way_of_google_and_only_by_whoever_went_there(
    alice: Any, charlie: Any, client_of: ClientOf, google: Google
) -> None:
    page, callback = client_of(alice), "/mail/gmail/callback/"
    assert "/mail/gmail/" in page.get("/mail/").content.decode()

    back = google.consent(page.get("/mail/gmail/").headers["Location"])
    stolen = client_of(charlie).get(callback, back, follow=True).content.decode()
    assert "begun in another window" in stolen
    assert MailAccount.objects.count() == 0
    done = page.get(callback, back, follow=True).content.decode()
    assert f"{ADDRESS} is connected." in done
    account = MailAccount.objects.get()
    assert (account.user_id, account.kind, account.display_name) == (alice.pk, "gmail", "Alice Ärmel")
    assert "begun in another window" in page.get(callback, back, follow=True).content.decode(), "used once"
    assert "works." in page.post(f"/mail/{account.pk}/", {"verb": "test"}, follow=True).content.decode()

    page.get("/mail/gmail/")
    denied = page.get(callback, {"error": "access_denied"}, follow=True).content.decode()
    assert "begun in another window" in denied, "without its state nobody came back"
    going = google.consent(page.get(f"/mail/{account.pk}/gmail/").headers["Location"])
    no = page.get(callback, {"error": "access_denied", "state": going["state"]}, follow=True).content.decode()
    assert "Google was not given leave" in no

    google.scopes = "https://www.googleapis.com/auth/gmail.readonly"
    some = google.consent(page.get("/mail/gmail/").headers["Location"])
    assert "tick reading and composing" in page.get(callback, some, follow=True).content.decode()
    assert len(google.revoked) == 1

    token = unsealed(account.sealed, Grant).refresh_token.get_secret_value()
    page.post(f"/mail/{account.pk}/", {"verb": "disconnect"})
    assert google.revoked[-1] == token
    assert MailAccount.objects.count() == 0


def test_who_went_to_google_twice_comes_back_from_either(alice: Any, client_of: ClientOf, google: Google) -> None:
    page = client_of(alice)
    first = google.consent(page.get("/mail/gmail/").headers["Location"])
    page.get("/mail/gmail/")  # in another window, or by a second click

    done = page.get("/mail/gmail/callback/", first, follow=True).content.decode()

    assert f"{ADDRESS} is connected." in done


def test_without_a_client_of_google_the_page_says_what_to_do(
    alice: Any, bob: Any, client_of: ClientOf, settings: Any
) -> None:
    settings.GMAIL_CLIENT_ID = ""

    assert "with an app password" in client_of(alice).get("/mail/").content.decode()
    assert "GMAIL_CLIENT_SECRET" in client_of(bob).get("/mail/").content.decode()
    assert "An administrator can." in client_of(alice).get("/mail/gmail/", follow=True).content.decode()


def test_the_default_moves_and_whoever_has_a_mailbox_has_one(alice: Any, client_of: ClientOf, google: Google) -> None:
    first, second = connected(alice), at_google(alice, refresh_token=google.grant())
    page = client_of(alice)

    page.post(f"/mail/{second.pk}/", {"verb": "default"})
    assert [one.pk for one in MailAccount.objects.of(alice.pk)] == [second.pk, first.pk]
    page.post(f"/mail/{second.pk}/", {"verb": "rename", "display_name": " A\u202e  Name "})
    assert MailAccount.objects.get(pk=second.pk).display_name == "A Name"
    page.post(f"/mail/{second.pk}/", {"verb": "disconnect"})

    assert MailAccount.objects.get().is_default


def test_an_address_suggests_its_servers_and_what_its_provider_wants(alice: Any, client_of: ClientOf) -> None:
    page = client_of(alice)

    known = page.get("/mail/servers/", {"address": "a@gmail.com"}).json()
    guessed = page.get("/mail/servers/", {"address": "a@firma.example"}).json()

    assert (known["imap_host"], known["smtp_port"], known["is_sure"]) == ("imap.gmail.com", 465, True)
    assert "app password" in known["hint"]
    assert (guessed["imap_host"], guessed["is_sure"]) == ("imap.firma.example", False)
    assert Client().get("/mail/servers/", {"address": "a@gmail.com"}).status_code == 302


@pytest.mark.slow
@pytest.mark.threat("T23")
def test_no_password_and_no_token_stands_in_the_table_the_log_or_a_page(
    alice: Any, bob: Any, client_of: ClientOf, dovecot: Dovecot, sink: Sink, google: Google, caplog: Any
) -> None:
    page = client_of(alice)
    page.post("/mail/", form(dovecot, sink, password=CANARY))
    page.post("/mail/", form(dovecot, sink))
    page.get("/mail/gmail/callback/", google.consent(page.get("/mail/gmail/").headers["Location"]))
    google.fails = {"/token": (500, {}), "profile": (401, {})}
    accounts = list(MailAccount.objects.of(alice.pk))
    shown = [page.post(f"/mail/{one.pk}/", {"verb": "test"}, follow=True).content.decode() for one in accounts]
    shown += [page.get("/mail/").content.decode(), client_of(bob).get("/admin/").content.decode()]

    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(m)::text FROM agents_mailaccount m")
        stored = " ".join(row[0] for row in cursor.fetchall())
        cursor.execute("SELECT session_data FROM django_session")
        sessions = " ".join(row[0] for row in cursor.fetchall())
    secrets = {PASSWORD, quote(PASSWORD), CANARY, CLIENT_SECRET, *google.refresh_tokens, *google.access_tokens}
    everything = " ".join([stored, sessions, caplog.text, *shown, *map(repr, accounts)])

    assert len(accounts) == 2
    assert [secret for secret in secrets if secret in everything] == []
    assert re.search(r'"sealed":"gAAAA', stored)
