"""The mailbox of an installation, against a real mailbox and a real mail server on this machine."""

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from agents.mail.account import ServerAccount
from agents.mail.files import AttachedFile
from agents.mail.smtp import MAY_BE_SENT
from agents.mail.writing import letter_of
from agents.runtime.driven import About
from agents.tools.tool import ToolError
from agents.tools.values import OutgoingMail
from hyperagent.lib.mail_servers import imap_server, smtp_server
from tests.mail.crowded import Crowded
from tests.mail.dovecot import Dovecot, Inside
from tests.mail.rude import GREETING, HANG_UP, SMTP_UP_TO_DATA, Rude
from tests.mail.sink import Arrived, Sink
from tests.pauses import with_longest_pause_s

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH")

HERE = About(uuid4())
BOB = b"""From: Bob Builder <bob@example.org>
To: team@example.org
Cc: Carol <carol@example.org>
Subject: =?utf-8?q?Q3_report_f=C3=BCr_alle?=
Date: Fri, 20 Nov 2026 10:00:00 +0100
Message-ID: <q3@example.org>
References: <first@example.org>

The revenue was 42 million.
"""


def mail(name: str = "one", **more: object) -> OutgoingMail:
    values = {"to": ("bob@example.org",), "subject": f"Mail {name}", "body": "Dear Bob,\n\nhello.\n\nTeam"}
    return OutgoingMail.model_validate({"message_id": f"<{name}@hyperagent>", **values, **more})


class Touch:
    """Stands for the ledger: how often it was told that the world is touched; may refuse."""

    def __init__(self, trouble: BaseException | None = None) -> None:
        self.times = 0
        self._trouble = trouble

    async def __call__(self) -> None:
        self.times += 1
        if self._trouble is not None:
            raise self._trouble


async def trouble_of(account: ServerAccount, outgoing: OutgoingMail, touch: Touch) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await account.send(HERE, outgoing, touching=touch)
    return caught.value


# --- sending


@pytest.mark.spec("S178", "S179")
async def test_a_mail_arrives_once_and_a_copy_with_its_message_id_is_in_sent(
    account: ServerAccount, sink: Sink, mailbox: Inside
) -> None:
    touch = Touch()

    sent = await account.send(HERE, mail("one", cc=("carol@example.org",)), touching=touch)

    (arrived,) = sink.arrived
    assert arrived.recipients == ("bob@example.org", "carol@example.org")
    assert (arrived.message["From"], arrived.message["Subject"]) == ("team@example.org", "Mail one")
    assert (await account.read(HERE, sent.id)).body == "Dear Bob,\n\nhello.\n\nTeam"
    assert mailbox.message_ids("Sent") == {"<one@hyperagent>": 1}
    assert (sent.message_id, sent.to, touch.times) == ("<one@hyperagent>", ("bob@example.org",), 1)
    assert await account.holds(HERE, "sent", "<one@hyperagent>") is True
    assert await account.holds(HERE, "sent", "<other@hyperagent>") is False


async def test_blind_copies_arrive_and_only_the_copy_in_sent_names_them(
    account: ServerAccount, sink: Sink, mailbox: Inside
) -> None:
    await account.send(HERE, mail("blind", bcc=("spy@example.org",)), touching=Touch())

    (arrived,) = sink.arrived
    assert "spy@example.org" in arrived.recipients
    assert b"spy@example.org" not in arrived.raw
    kept, flags = mailbox.raw("Sent", "<blind@hyperagent>")
    assert b"Bcc: spy@example.org" in kept
    assert rb"\Seen" in flags


@pytest.mark.spec("S178")
async def test_an_answer_stands_in_its_thread_and_leaves_the_own_address_out(
    account: ServerAccount, sink: Sink
) -> None:
    answer = mail(
        "answer",
        cc=("Team@Example.org", "carol@example.org"),
        in_reply_to="<q3@example.org>",
        references=("<first@example.org>", "<q3@example.org>"),
    )

    await account.send(HERE, answer, touching=Touch())

    (arrived,) = sink.arrived
    assert arrived.message["In-Reply-To"] == "<q3@example.org>"
    assert arrived.message["References"].split() == ["<first@example.org>", "<q3@example.org>"]
    assert arrived.recipients == ("bob@example.org", "carol@example.org")


async def test_letters_of_all_languages_arrive_as_they_were_written(account: ServerAccount, sink: Sink) -> None:
    written = mail("letters", to=("jürg@bücher.example",), subject="Grüße 日本", body="Привет\n.\n..\n" + "ä" * 3000)

    await account.send(HERE, written, touching=Touch())

    (arrived,) = sink.arrived
    assert arrived.recipients == ("jürg@xn--bcher-kva.example",)
    found = await account.read(HERE, "<letters@hyperagent>")
    assert (found.subject, found.body) == (written.subject, written.body)


async def test_a_server_that_keeps_its_own_copy_in_sent_does_not_get_a_second(
    account: ServerAccount, mailbox: Inside, sink: Sink
) -> None:
    sink.on_arrival = lambda arrived: mailbox.put("Sent", arrived.raw)

    sent = await account.send(HERE, mail("kept"), touching=Touch())

    assert mailbox.message_ids("Sent") == {"<kept@hyperagent>": 1}
    assert sent.id.startswith("sent.")


async def test_a_mail_whose_copy_cannot_be_kept_was_sent_all_the_same(sink: Sink) -> None:
    account = ServerAccount(smtp_server(sink.url), imap_server("imap://u:p@127.0.0.1:1"))

    sent = await account.send(HERE, mail("unkept"), touching=Touch())

    assert sink.count() == {"<unkept@hyperagent>": 1}
    assert sent.id == "<unkept@hyperagent>"


@pytest.mark.slow
async def test_many_mails_at_once_all_arrive_once(account: ServerAccount, sink: Sink, mailbox: Inside) -> None:
    names = [f"many-{number}" for number in range(40)]

    await asyncio.gather(*(account.send(HERE, mail(name), touching=Touch()) for name in names))

    assert sink.count() == dict.fromkeys([f"<{name}@hyperagent>" for name in names], 1)
    assert mailbox.message_ids("Sent") == sink.count()


@pytest.mark.slow
async def test_a_mail_with_a_large_file_is_written_and_read_beside_the_others(
    account: ServerAccount, sink: Sink, mailbox: Inside
) -> None:
    report = AttachedFile("report.bin", "application/octet-stream", os.urandom(15_000_000))
    began = time.monotonic()
    letter_of(mail("large"), sender="team@example.org", at=datetime.now(UTC), files=[report])
    takes_s = time.monotonic() - began

    kept, saving_s = await with_longest_pause_s(account.save_draft(HERE, mail("large"), files=[report]))
    draft, reading_s = await with_longest_pause_s(account.draft(HERE, kept.id))
    sent, sending_s = await with_longest_pause_s(
        account.send_draft(HERE, kept.id, message_id="<sent@hyperagent>", digest=draft.digest, touching=Touch())
    )

    assert [one.size_bytes for one in draft.attachments] == [15_000_000]
    assert sent.message_id == "<sent@hyperagent>"
    assert max(saving_s, reading_s, sending_s) < takes_s / 2


@pytest.mark.slow
@pytest.mark.spec("S178")
async def test_a_mail_that_a_line_takes_slowly_is_no_server_that_is_silent(
    account: ServerAccount, sink: Sink, mailbox: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time-out of `sendall` is one for all that it is given, however steadily that goes."""
    at_once = socket.socket.sendall

    def slowly(connection: socket.socket, given: bytes, *flags: int) -> None:
        if len(given) > 100_000:
            raise TimeoutError("timed out")
        at_once(connection, given, *flags)

    file = AttachedFile("report.bin", "application/octet-stream", os.urandom(1_000_000))
    monkeypatch.setattr(socket.socket, "sendall", slowly)

    await account.send(HERE, mail("slow"), files=[file], touching=Touch())
    draft = await account.save_draft(HERE, mail("draft"), files=[file])

    assert sink.count() == mailbox.message_ids("Sent") == {"<slow@hyperagent>": 1}
    assert (await account.attachment(HERE, draft.id, 1)).sha256 == file.sha256


# --- what surely did not happen, and what may have


@pytest.mark.spec("B2")
async def test_one_refused_recipient_and_nobody_gets_the_mail(account: ServerAccount, sink: Sink) -> None:
    sink.refused = frozenset({"carol@example.org"})
    touch = Touch()

    trouble = await trouble_of(account, mail(cc=("carol@example.org",)), touch)

    assert (trouble.may_have_happened, touch.times, sink.arrived) == (False, 0, [])
    assert "refused carol@example.org (550). Nothing was sent." in trouble.message
    assert "password" not in trouble.message


@pytest.mark.spec("B2")
async def test_a_mail_refused_after_it_was_read_surely_was_not_sent(account: ServerAccount, sink: Sink) -> None:
    sink.says = "554 looks like spam"
    touch = Touch()

    trouble = await trouble_of(account, mail(), touch)

    assert (trouble.may_have_happened, touch.times) == (False, 1)
    assert "(554). Nothing was sent." in trouble.message
    assert "spam" not in trouble.message


@pytest.mark.spec("B2")
async def test_a_connection_that_breaks_before_the_last_answer_leaves_it_open(
    account: ServerAccount, sink: Sink, mailbox: Inside
) -> None:
    sink.hangs_up = True

    trouble = await trouble_of(account, mail("broken"), Touch())

    assert (trouble.may_have_happened, trouble.message) == (True, MAY_BE_SENT)
    assert sink.count() == {"<broken@hyperagent>": 1}
    assert mailbox.message_ids("Sent") == {}


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("lines", "touched", "may_have_happened", "says"),
    [
        ((HANG_UP,), False, False, "cannot be reached, or hung up"),
        (("this is no mail server",), False, False, "cannot be reached, or hung up"),
        ((GREETING, "250 hello", "451 busy"), False, False, "(451). Nothing was sent. Try again later"),
        ((GREETING, "250 hello", "250 from", "250 to", "554 no"), False, False, "(554). Nothing was sent"),
        ((GREETING, "250 hello", "250 from", "250 to", HANG_UP), False, False, "cannot be reached, or hung up"),
        ((*SMTP_UP_TO_DATA, HANG_UP), True, True, MAY_BE_SENT),
        ((*SMTP_UP_TO_DATA, "299 perhaps"), True, True, MAY_BE_SENT),
        ((*SMTP_UP_TO_DATA, "\x00\xff rubbish"), True, True, MAY_BE_SENT),
        ((*SMTP_UP_TO_DATA, "421 going down"), True, False, "(421). Nothing was sent. Try again later"),
    ],
)
async def test_every_way_to_break_off_is_told_as_what_it_proves(
    lines: Sequence[str], touched: bool, may_have_happened: bool, says: str
) -> None:
    touch = Touch()

    with Rude(lines) as rude:
        account = ServerAccount(
            smtp_server(f"smtp://127.0.0.1:{rude.port}?from=team@example.org"), imap_server("imap://u:p@127.0.0.1:1")
        )
        trouble = await trouble_of(account, mail(), touch)

    assert says in trouble.message
    assert (bool(touch.times), trouble.may_have_happened) == (touched, may_have_happened)


@pytest.mark.spec("B2")
async def test_whoever_may_not_touch_the_world_sends_nothing(account: ServerAccount, sink: Sink) -> None:
    class NotYours(BaseException):
        """As the signal of a lost lease."""

    with pytest.raises(NotYours):
        await account.send(HERE, mail("late"), touching=Touch(NotYours()))
    # The server is through with the first connection before it answers on a second.
    await account.send(HERE, mail("next"), touching=Touch())

    assert sink.count() == {"<next@hyperagent>": 1}


@pytest.mark.spec("B2")
async def test_a_mail_that_nobody_waits_for_any_more_is_finished_once_it_was_begun(
    account: ServerAccount, sink: Sink, mailbox: Inside
) -> None:
    sending = asyncio.ensure_future(account.send(HERE, mail("stopped"), touching=Touch()))
    loop = asyncio.get_running_loop()

    def stop(_: Arrived) -> None:
        loop.call_soon_threadsafe(sending.cancel)

    sink.on_arrival = stop

    with pytest.raises(asyncio.CancelledError):
        await sending
    async with asyncio.timeout(20):
        while not await account.holds(HERE, "sent", "<stopped@hyperagent>"):
            await asyncio.sleep(0.01)

    assert sink.count() == {"<stopped@hyperagent>": 1}


async def test_a_wrong_password_is_told_without_it(dovecot: Dovecot, sink: Sink) -> None:
    account = ServerAccount(
        smtp_server(f"smtp://team%40example.org:hunter22@127.0.0.1:{sink.port}"),
        imap_server(f"imap://team%40example.org:hunter22@127.0.0.1:{dovecot.port}"),
    )

    sending = await trouble_of(account, mail(), Touch())
    with pytest.raises(ToolError) as reading:
        await account.search(HERE, "inbox", "", limit=1)

    assert "An administrator has to correct SMTP_URL. Nothing was sent." in sending.message
    assert "An administrator has to correct IMAP_URL." in reading.value.message
    assert "hunter22" not in sending.message + reading.value.message


async def test_a_mail_that_is_too_large_for_the_server_is_refused_before_it_travels() -> None:
    with Sink(max_bytes=1000) as small:
        account = ServerAccount(smtp_server(small.url), imap_server("imap://u:p@127.0.0.1:1"))
        trouble = await trouble_of(account, mail(body="x" * 2000), Touch())

    assert "(552). Nothing was sent." in trouble.message


async def test_an_address_that_the_server_cannot_write_to_is_named() -> None:
    with Sink(knows_utf8=False) as plain:
        account = ServerAccount(smtp_server(plain.url), imap_server("imap://u:p@127.0.0.1:1"))
        trouble = await trouble_of(account, mail(to=("jürg@example.org",)), Touch())

    assert "letters such as ü before the @. Nothing was sent." in trouble.message


async def test_certificates_are_looked_at(dovecot: Dovecot, mailbox: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    url = dovecot.url.replace("imap://", "imaps://").replace(f":{dovecot.port}", f":{dovecot.tls_port}")
    account = ServerAccount(smtp_server("smtp://a%40b:c@127.0.0.1:1"), imap_server(url))

    with pytest.raises(ToolError, match="no valid certificate"):
        await account.search(HERE, "inbox", "", limit=1)
    monkeypatch.setenv("SSL_CERT_FILE", str(dovecot.certificate))

    assert await account.search(HERE, "inbox", "", limit=1) == ()
    starting = ServerAccount(smtp_server("smtp://a%40b:c@127.0.0.1:1"), imap_server(f"imap+tls{dovecot.url[4:]}"))
    assert await starting.search(HERE, "inbox", "", limit=1) == ()


# --- drafts, searching and reading


@pytest.mark.spec("S178", "S179")
async def test_a_draft_is_kept_and_not_sent(account: ServerAccount, sink: Sink, mailbox: Inside) -> None:
    draft = await account.save_draft(HERE, mail("draft", to=()))

    assert sink.arrived == []
    assert rb"\Draft" in mailbox.raw("Drafts", "<draft@hyperagent>")[1]
    (head,) = await account.search(HERE, "drafts", "", limit=5)
    assert (head.id, head.subject) == (draft.id, "Mail draft")
    assert await account.holds(HERE, "drafts", "<draft@hyperagent>") is True
    assert await account.holds(HERE, "sent", "<draft@hyperagent>") is False


@pytest.mark.slow
@pytest.mark.spec("S178")
async def test_a_search_finds_by_gmails_words_newest_first_and_leaves_mails_unread(
    account: ServerAccount, mailbox: Inside
) -> None:
    mailbox.put("INBOX", BOB)
    mailbox.put("INBOX", BOB.replace(b"<q3@", b"<q4@").replace(b"Q3", b"Q4"), flags=r"\Seen")
    mailbox.put("INBOX", b"From: mallory@example.net\nSubject: x\n\nnothing")

    async def found(query: str, limit: int = 10) -> list[str | None]:
        return [head.message_id for head in await account.search(HERE, "inbox", query, limit=limit)]

    assert await found("") == [None, "<q4@example.org>", "<q3@example.org>"]
    assert await found("", limit=2) == [None, "<q4@example.org>"]
    assert await found("from:bob@example.org subject:(report Q3)") == ["<q3@example.org>"]
    assert await found("subject:für is:unread") == ["<q3@example.org>"]
    assert await found('"42 million" -is:unread') == ["<q4@example.org>"]
    assert await found("from:mallory OR subject:Q4") == [None, "<q4@example.org>"]
    assert await found("(from:mallory OR subject:Q4) newer_than:1d") == [None, "<q4@example.org>"]
    assert await found("to:me subject:{Q3 Q5}") == ["<q3@example.org>"]
    assert await found("newer_than:1d from:nobody") == []
    assert await found('a" UID 1 \\ {5}') == []
    await account.read(HERE, "<q3@example.org>")
    assert await found("is:unread from:bob") == ["<q3@example.org>"]


@pytest.mark.spec("S178")
async def test_a_mailbox_with_very_many_mails_is_searched_part_by_part_from_the_newest_on(sink: Sink) -> None:
    with Crowded(200_000) as crowded:
        account = ServerAccount(smtp_server(sink.url), imap_server(crowded.url))

        newest = await account.search(HERE, "inbox", "", limit=2)
        rare = await account.search(HERE, "inbox", "from:00042", limit=5)

    assert [one.id for one in newest] == ["inbox.7.1000200000", "inbox.7.1000199999"]
    assert [one.id for one in rare] == ["inbox.7.1000100042", "inbox.7.1000000042"]
    assert crowded.searched == [
        "UID SEARCH 150001:*",
        *(f'UID SEARCH {within} FROM "00042"' for within in ("150001:*", "100001:150000", "50001:100000", "1:50000")),
    ]


@pytest.mark.spec("S178", "S179")
async def test_a_mail_is_read_whole_by_the_id_that_the_search_gave(account: ServerAccount, mailbox: Inside) -> None:
    mailbox.put("INBOX", BOB)
    (head,) = await account.search(HERE, "inbox", "", limit=5)

    found = await account.read(HERE, head.id)

    assert (head.sender, head.snippet) == ("Bob Builder <bob@example.org>", "The revenue was 42 million.")
    assert found.subject == "Q3 report für alle"
    assert (found.to, found.cc) == (("team@example.org",), ("Carol <carol@example.org>",))
    assert (found.date, found.body) == ("2026-11-20T10:00:00+01:00", "The revenue was 42 million.")
    assert (found.message_id, found.references) == ("<q3@example.org>", ("<first@example.org>",))


@pytest.mark.parametrize("id_", ["", "42", "inbox.1.1", "sent.999.1", '<a"b@c>', "../../etc/passwd", "inbox.x.1\r\n"])
async def test_an_id_that_no_search_gave_is_refused_with_the_way_out(account: ServerAccount, id_: str) -> None:
    with pytest.raises(ToolError, match="search for it"):
        await account.read(HERE, id_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "below_inbox", "sent"),
    [
        (None, False, "Sent"),
        (None, True, "INBOX.Sent"),
        (("Gesendete Objekte", "Entwürfe"), False, '"Gesendete Objekte"'),
    ],
)
async def test_the_folders_are_found_or_made_whatever_the_server_calls_them(
    sink: Sink, named: tuple[str, str] | None, below_inbox: bool, sent: str
) -> None:
    with Dovecot(named=named, below_inbox=below_inbox) as server:
        account = ServerAccount(smtp_server(sink.url), imap_server(server.url))
        await account.send(HERE, mail("folders"), touching=Touch())
        await account.save_draft(HERE, mail("draft"))

        assert Inside(server).message_ids(sent) == {"<folders@hyperagent>": 1}
        assert [head.subject for head in await account.search(HERE, "drafts", "", limit=5)] == ["Mail draft"]
        assert len(list(Path(server.folder, "mail", "team").glob(".*"))) == 2


@pytest.mark.slow
async def test_a_mail_of_thirty_megabytes_is_read_and_of_a_longer_one_the_beginning(
    account: ServerAccount, mailbox: Inside
) -> None:
    attached = b"Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n"
    line = b"A" * 76 + b"\n"

    def letter(name: bytes, lines: int) -> bytes:
        head = b"From: b@example.org\nMessage-ID: <" + name + b"@x>\nContent-Type: multipart/mixed; boundary=b\n\n"
        return head + b"--b\n\nsee there\n--b\n" + attached + line * lines + b"\n--b--\n"

    mailbox.put("INBOX", letter(b"fits", 20_000))
    mailbox.put("INBOX", letter(b"long", 400_000))

    fits, long = [await account.read(HERE, f"<{name}@x>") for name in ("fits", "long")]

    (file,) = fits.attachments
    assert (fits.body, file.name, file.media_type, file.size_bytes) == (
        "see there", "a.pdf", "application/pdf", 20_000 * 57,
    )  # fmt: skip
    assert long.body.startswith("see there\n\n(The mail is longer than this")
    assert [file.name for file in long.attachments] == ["a.pdf"]


async def test_a_mailbox_that_is_away_cannot_tell(sink: Sink) -> None:
    account = ServerAccount(smtp_server(sink.url), imap_server("imap://u:p@127.0.0.1:1"))

    assert await account.holds(HERE, "sent", "<x@hyperagent>") is None
    with pytest.raises(ToolError, match="cannot be reached"):
        await account.search(HERE, "inbox", "", limit=1)


@pytest.mark.parametrize(
    "lines",
    [
        ("* BYE no", HANG_UP),
        ("rubbish", HANG_UP),
        ("* OK hello", "rubbish", HANG_UP),
        ("* OK hello", "* 1 FETCH (BODY {99999999}", HANG_UP),
        ("x" * 2_000_000, HANG_UP),
    ],
)
async def test_a_mailbox_that_talks_rubbish_is_an_error_in_words(lines: Sequence[str]) -> None:
    with Rude(lines) as rude:
        account = ServerAccount(
            smtp_server("smtp://a%40b:c@127.0.0.1:1"), imap_server(f"imap://u:p@127.0.0.1:{rude.port}")
        )
        with pytest.raises(ToolError, match="The mailbox at 127"):
            await account.search(HERE, "inbox", "", limit=1)


async def test_a_draft_that_was_sent_is_not_looked_for_in_drafts_that_were_made_anew(
    account: ServerAccount, sink: Sink, mailbox: Inside
) -> None:
    """Its number may be another mail's by then (UIDVALIDITY, RFC 3501, 2.3.1.1)."""
    kept = await account.save_draft(HERE, mail("draft"))
    draft = await account.draft(HERE, kept.id)

    async def drafts_are_made_anew() -> None:
        number = int(kept.id.rpartition(".")[2])
        mailbox.make_anew("Drafts")
        for at in range(1, number + 1):
            mailbox.put("Drafts", f"Message-ID: <other{at}@example.org>\n\nanother draft".encode(), flags=r"\Draft")

    sent = await account.send_draft(
        HERE, kept.id, message_id="<sent@hyperagent>", digest=draft.digest, touching=drafts_are_made_anew
    )

    assert sent.message_id == "<sent@hyperagent>"
    assert len(sink.arrived) == 1
    assert sorted(mailbox.message_ids("Drafts")) == sorted(
        f"<other{at}@example.org>" for at in range(1, int(kept.id.rpartition(".")[2]) + 1)
    )
