"""Why something failed is stored in English, and said in the reader's language wherever a page shows it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents.mail.gmail import api, oauth
from agents.mail.mailboxes import CANNOT_BE_READ, NO_GOOGLE
from agents.mail.troubles import INSIDE as INSIDE_OF_MAIL
from agents.mcp import connecting, definitions, sealing
from agents.mcp.models import McpServer
from hyperagent.lib.languages import speaking
from hyperagent.lib.outside import addresses
from hyperagent.lib.outside.posting import _fault_of
from hyperagent.lib.stored_faults import SENTENCES, fault_in_our_words
from hyperagent.notices.mailing import message_of
from hyperagent.notices.models import Endpoint, Mail
from memory.connecting.folders import folder_fault
from memory.connecting.values import Tally
from memory.ingestion import driver
from memory.models import Connector, Document
from memory.reading import kinds, reasons
from memory.reading.values import Unreadable

ENGLISH = re.compile(r"\b(the|The|is|are|of|and|it|It|cannot|what|been|not|give|has|read|them|by|from)\b")
REASONS: dict[str, Callable[[], Unreadable]] = {
    "empty": reasons.empty,
    "no pages": reasons.no_pages,
    "locked": lambda: reasons.locked("workbook"),
    "no text": reasons.no_text,
    "scanned": reasons.scanned,
    "broken": lambda: reasons.broken("PDF", program="a PDF viewer"),
    "broken file": lambda: reasons.broken("file"),
    "broken mail": lambda: reasons.broken("mail", program="a mail program"),
    "broken table": lambda: reasons.broken_table("x"),
    "reader died": reasons.reader_died,
    "entities": reasons.entities,
    "too large": lambda: reasons.too_large(300 << 20),
    "too much memory": reasons.too_much_memory,
    "bomb": reasons.bomb,
    "large member": lambda: reasons.large_member(150 << 20),
    "too slow": reasons.too_slow,
    "not in zip": lambda: reasons.not_in_zip("docx"),
    "picture": lambda: reasons.picture("png"),
    "false picture": lambda: reasons.picture("png", though=".pdf"),
}
ODT = b"application/vnd.oasis.opendocument.text"
HEADS = {
    "a program": (b"MZ" + bytes(200), "a.pdf"),
    "rich text": (b"{\\rtf1 Hello}", "a.doc"),
    "an archive": (b"PK\x03\x04" + bytes(26) + b"readme.txt", "a.zip"),
    "old Word": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"), "a.doc"),
    "some binary": (bytes(range(256)) * 8, "a.bin"),
    "a text of OpenDocument": (b"PK\x03\x04" + bytes(26) + b"mimetype" + ODT, "a.odt"),
    "a show of OpenDocument": (
        b"PK\x03\x04" + bytes(26) + b"mimetype" + ODT.replace(b"text", b"presentation"),
        "a.odp",
    ),
    "a mail of Outlook": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.msg"),
}
SAID: dict[str, str] = {
    "no text at all": driver.NO_TEXT,
    "gone": driver.GONE,
    "crashed": driver.CRASHED,
    "some pages": "Partly read: the first 10,000 of 12,345 pages; the rest is left out. 1 page has no text, only "
    "pictures or nothing: 7.",
    "long cells": "Partly read: of each cell the first 32,767 characters; the rest is left out.",
    "address": addresses.NOT_PRINTABLE,
    "no address": addresses.NOT_AN_ADDRESS,
    "other protocol": addresses.NOT_HTTP,
    "with a user": addresses.HAS_USER,
    "a number": addresses.ODD_NUMBER,
    "inside": addresses.INSIDE,
    "redirected": _fault_of(307),
    "refused": _fault_of(503),
    "silent": "No answer within 10 seconds.",
    "switched off": "Nothing could be delivered for 5 days. The last error: Answered 503. Any status from 200 to 299"
    " counts as delivered.",
    "no folder": folder_fault("/srv", ()),
    "other folder": folder_fault("relative", ("/data",)),
    "sign in": connecting.NEEDS_SIGN_IN,
    "many tools": connecting._TOO_MANY,
    "secrets": sealing.LOST,
    "revoked": oauth.REVOKED,
    "misconfigured": oauth.MISCONFIGURED,
    "not all": oauth.NOT_ALL,
    "not lasting": oauth.NO_LASTING,
    "away": oauth.AWAY,
    "not allowed": api.NOT_ALLOWED,
    "not enabled": api.NOT_ENABLED,
    "by policy": api.BY_POLICY,
    "too often": api.TOO_OFTEN,
    "may be sent": api.MAY_BE_SENT,
    "no password": CANNOT_BE_READ.format(address="a@b.org"),
    "no Google": NO_GOOGLE,
    "mail inside": f"The mailbox at imap.b.org:993 {INSIDE_OF_MAIL}",
    "mail down": "The mail server smtp.b.org:465 cannot be reached, or hung up. Try again later. If it stays so: "
    "Connect the mailbox again at /mail/.",
}


def in_german(text: str) -> str:
    with speaking("de"):
        return fault_in_our_words(text)


def _kind_refused(head: bytes, name: str) -> str:
    with pytest.raises(Unreadable) as refused:
        kinds.doc_type_of(head, name)
    return refused.value.message


@pytest.mark.spec("B29")
@pytest.mark.parametrize("reason", REASONS.values(), ids=list(REASONS))
def test_why_a_file_is_not_read_is_said_in_the_readers_language(reason: Callable[[], Unreadable]) -> None:
    said = in_german(reason().message)

    assert said != reason().message
    assert not ENGLISH.search(said), said


@pytest.mark.spec("B29")
@pytest.mark.parametrize(("head", "name"), HEADS.values(), ids=list(HEADS))
def test_so_is_why_a_kind_of_file_is_not_read(head: bytes, name: str) -> None:
    said = in_german(_kind_refused(head, name))

    assert not ENGLISH.search(said), said


@pytest.mark.spec("B29")
@pytest.mark.parametrize("text", SAID.values(), ids=list(SAID))
def test_so_is_what_is_wrong_with_addresses_mailboxes_and_servers(text: str) -> None:
    said = in_german(text)

    assert said != text
    assert not ENGLISH.search(said.replace("HyperAgent", "")), said


@pytest.mark.spec("B29")
def test_so_is_what_came_of_a_look_place_by_place() -> None:
    tally = Tally(seen=1_234, new=2, gone=1, unfinished=True)
    tally.problems += [
        "my notes.md: Its newer version cannot be read, so the former one stays",
        "https://example.org/a: Its site answered 500",
        "b.pdf: it cannot be opened: Permission denied",
        "c.pdf: The PDF has no pages. Export it anew and give that",
    ]

    said = in_german(tally.sentence("file", "files"))

    assert said.startswith("1.234 Dateien: 2 neu, 1 weg. ")
    for kept in ("my notes.md: ", "; https://example.org/a: ", "; b.pdf: ", "Permission denied"):
        assert kept in said
    assert said.endswith("; und 1 mehr.")
    assert not ENGLISH.search(said.replace("Permission denied", "")), said


@pytest.mark.spec("B29")
def test_every_fault_of_a_tools_description_is_said_in_the_readers_language() -> None:
    bad: list[Any] = [
        "no object",
        {"properties": {"a": {"$ref": "https://x.org"}}},
        {"properties": {"a": {"$ref": "#/b"}}},
    ]

    for schema in bad:
        with pytest.raises(definitions.BadDefinition) as fault:
            definitions.definition(
                "add", title=None, description="", parameters=schema, read_only=None, destructive=None
            )
        said = in_german(str(fault.value))
        assert said != str(fault.value)
        assert not ENGLISH.search(said), said


@pytest.mark.parametrize("text", ["", "A stranger's words. The end of them.", "x" * 5_000, "The file is a joke."])
def test_what_a_stranger_said_stays_as_it_is(text: str) -> None:
    assert in_german(text) == text


def test_in_english_it_stays_as_it_is_stored() -> None:
    assert [one for one in SENTENCES if fault_in_our_words(one) != one] == []


@pytest.mark.django_db
@pytest.mark.spec("B29")
def test_pages_say_why_something_failed_in_the_readers_language(alice: Any) -> None:
    now = timezone.now()
    document = Document.objects.create(
        owner=alice,
        filename="a.pdf",
        doc_type="pdf",
        sha256="0" * 64,
        status="failed",
        reason=reasons.no_pages().message,
    )
    Connector.objects.create(
        owner=alice,
        kind="page",
        location="https://b.org/",
        looked_at=now,
        is_failing=True,
        result="Its site answered 500.",
    )
    endpoint = Endpoint.objects.create(
        user=alice, url="https://b.org/x", events=["run.failed"], disabled_at=now,
        disabled_why="It answered 410 Gone: it wants no more.",
    )  # fmt: skip
    server = McpServer.objects.create(
        owner=alice, name="mine", kind="http", url="https://b.org/mcp", agents=["chat"], state="failed",
        last_error="'mine' did not answer in time.",
    )  # fmt: skip
    client = Client(headers={"accept-language": "de"})
    client.force_login(alice)

    def shown(name: str, *of: Any) -> str:
        return client.get(reverse(name, args=of)).content.decode()

    assert "Das PDF hat keine Seiten." in shown("memory:documents")
    assert "Das PDF hat keine Seiten." in shown("memory:document", document.pk)
    assert "Die Website hat mit 500 geantwortet." in shown("memory:connectors")
    assert "Die Antwort war 410 Gone: Es ist nichts mehr erwünscht." in shown("notices:webhook", endpoint.pk)
    assert "„mine“ hat nicht rechtzeitig geantwortet." in shown("mcp:server", server.pk)


@pytest.mark.django_db
@pytest.mark.spec("B22", "B29")
def test_a_mail_about_a_webhook_says_why_in_its_readers_language(alice: Any) -> None:
    alice.language = "de"
    why = "Nothing could be delivered for 5 days. The last error: No answer within 10 seconds."
    facts = [["Webhook", "b.org"], ["Why", why]]
    mail = Mail(
        user=alice, kind="webhook_disabled", subject_id="x", title="b.org", facts=facts, path="/settings/webhooks/x/"
    )

    body = str(message_of(mail).body)

    assert "Warum: 5 Tage lang konnte nichts zugestellt werden." in " ".join(body.split())
    assert "Der letzte Fehler: Keine Antwort innerhalb von 10 Sekunden." in " ".join(body.split())
