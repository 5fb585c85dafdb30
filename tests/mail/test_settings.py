"""The settings of mail: read as what they say, refused by name; the mail agent is offered to whoever has a mailbox."""

import os
import subprocess
import sys
from typing import Any

import pytest

from agents import registry
from agents.availability import providers_of, why_unavailable
from agents.mail.mailboxes import Mailboxes
from hyperagent.lib import conf
from hyperagent.lib.conf import BASE_DIR
from hyperagent.lib.mail_servers import Security, imap_server, smtp_server
from tests.mail.own import connected

GOOD = {
    "SECRET_KEY": "k" * 40,
    "DATABASE_URL": "postgresql://u:p@localhost/db",
    "REDIS_URL": "redis://localhost:6379/0",
}
SMTP = "smtp+tls://team%40example.org:hunt%2Fer22@mail.example.org:587"
IMAP = "imaps://team%40example.org:hunt%2Fer22@mail.example.org"


def test_an_address_says_how_the_server_is_reached_and_as_whom() -> None:
    smtp, imap = smtp_server(SMTP), imap_server(IMAP)

    assert (smtp.host, smtp.port, smtp.security) == ("mail.example.org", 587, Security.TLS)
    assert (smtp.user, smtp.password, smtp.sender) == ("team@example.org", "hunt/er22", "team@example.org")
    assert (imap.port, imap.security) == (993, Security.SSL)
    assert smtp_server("smtp://127.0.0.1?from=team@example.org").sender == "team@example.org"
    assert "hunt" not in repr(smtp) + smtp.shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SMTP_URL", "http://u:hunter22@host"),
        ("SMTP_URL", "smtp://u:hunter22@host"),
        ("SMTP_URL", "smtp://a%40b:hunter22@"),
        ("SMTP_URL", "smtp://a%40b:hunter22@host:99999"),
        ("SMTP_URL", "smtp://a%40b:hunter22%0d%0aX@host"),
        ("SMTP_URL", "imaps://a%40b:hunter22@host"),
        ("IMAP_URL", "imaps://hunter22@host"),
        ("IMAP_URL", "imaps://host"),
        ("IMAP_URL", "imaps://u:hunter22@host/INBOX"),
        ("IMAP_URL", "smtp://a%40b:hunter22@host"),
    ],
)
def test_an_address_that_cannot_be_read_is_named_but_not_shown(name: str, value: str) -> None:
    with pytest.raises(conf.BadConfig) as caught:
        conf.load({**GOOD, "SMTP_URL": SMTP, "IMAP_URL": IMAP, name: value})

    assert f"{name}=(hidden) is not allowed; allowed: {name[:4].lower()}" in caught.value.text()
    assert "hunter22" not in caught.value.text()


@pytest.mark.parametrize(("given", "missing"), [("SMTP_URL", "IMAP_URL"), ("IMAP_URL", "SMTP_URL")])
def test_half_a_mailbox_is_refused_with_the_way_out(given: str, missing: str) -> None:
    with pytest.raises(conf.BadConfig, match=f"{missing} is not set, and the mailbox needs both"):
        conf.load({**GOOD, given: {"SMTP_URL": SMTP, "IMAP_URL": IMAP}[given]})


def test_passwords_are_blotted_out_of_the_log_as_they_are_and_as_they_are_written() -> None:
    secrets = conf.secrets_in({"SMTP_URL": SMTP})

    assert {"hunt/er22", "hunt%2Fer22"} <= set(secrets)


@pytest.mark.parametrize(
    ("given", "missing"),
    [("GMAIL_CLIENT_ID", "GMAIL_CLIENT_SECRET"), ("GMAIL_CLIENT_SECRET", "GMAIL_CLIENT_ID")],
)
def test_half_a_client_of_google_is_refused_with_the_way_out(given: str, missing: str) -> None:
    with pytest.raises(conf.BadConfig, match=f"{missing} is not set, and connecting Gmail needs both"):
        conf.load({**GOOD, given: "x" * 20})


def test_former_keys_are_secrets_one_by_one() -> None:
    env = {**GOOD, "SECRET_KEY_FALLBACKS": "former-key-number-one, former-key-number-two"}

    assert conf.load(env).secret_key_fallbacks == ("former-key-number-one", "former-key-number-two")
    assert {"former-key-number-one", "former-key-number-two"} <= set(conf.secrets_in(env))


@pytest.mark.django_db
def test_the_mail_agent_is_offered_to_whoever_has_a_mailbox(alice: Any, charlie: Any) -> None:
    mail = registry.agents()["mail"].spec
    for_everybody = providers_of(conf.load({**GOOD, "SMTP_URL": SMTP, "IMAP_URL": IMAP}))
    without = providers_of(conf.load(GOOD))
    account = connected(alice)

    assert isinstance(for_everybody.mailbox, Mailboxes)
    assert for_everybody.mailbox.shared is not None
    assert for_everybody.mailbox.shared.address == "team@example.org"
    assert why_unavailable(mail, charlie.pk, for_everybody) == ""
    assert why_unavailable(mail, charlie.pk, without) == "You have connected no mailbox yet. Connect one at /mail/."
    assert why_unavailable(mail, alice.pk, without) == ""

    account.state, account.trouble = "reconnect", "The server did not accept it."
    account.save()
    assert "alice@example.org has to be connected again, at /mail/." in why_unavailable(mail, alice.pk, without)


@pytest.mark.slow
def test_the_doctor_says_what_is_wrong_with_the_mailbox_and_shows_no_password() -> None:
    env = {
        **os.environ,
        "SMTP_URL": "smtp://team%40example.org:hunter22@127.0.0.1:1",
        "IMAP_URL": "imap://team%40example.org:hunter22@127.0.0.1:1",
    }
    report = subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        cwd=BASE_DIR,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "The mail server 127.0.0.1:1 cannot be reached" in report.stdout
    assert "The mailbox at 127.0.0.1:1 cannot be reached" in report.stdout
    assert "hunter22" not in report.stdout + report.stderr
    assert "Traceback" not in report.stderr
