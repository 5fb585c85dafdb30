"""One mailbox and one sink for all tests of a file; each test cleans up what it looks at."""

from collections.abc import Iterator

import pytest

from agents.mail.account import ServerAccount
from hyperagent.lib.mail_servers import imap_server, smtp_server
from tests.mail.dovecot import Dovecot, Inside
from tests.mail.sink import Sink


@pytest.fixture(scope="module")
def dovecot() -> Iterator[Dovecot]:
    with Dovecot() as running:
        yield running


@pytest.fixture
def mailbox(dovecot: Dovecot) -> Inside:
    """Empty."""
    inside = Inside(dovecot)
    for folder in ("INBOX", "Sent", "Drafts"):
        inside.empty(folder)
    return inside


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as running:
        yield running


@pytest.fixture
def account(dovecot: Dovecot, mailbox: Inside, sink: Sink) -> ServerAccount:
    return ServerAccount(smtp_server(sink.url), imap_server(dovecot.url))
