"""The mail agent in a real mailbox: what it finds, drafts, sends and answers is there (S178, S179)."""

import pytest

from agents.mail.account import ServerAccount
from agents.tools.providers import Providers
from hyperagent.lib.mail_servers import imap_server, smtp_server
from tests.mail.cutting import Cutting
from tests.mail.dovecot import Dovecot, Inside
from tests.mail.sink import Sink
from tests.mail.test_account import BOB, HERE
from tests.roster.conftest import cases, scripted_server
from tests.roster.driving import Cases, says, task_for
from tests.scripted.server import ScriptedServer

__all__ = ["cases", "scripted_server"]

pytestmark = [pytest.mark.spec("S178", "S179"), pytest.mark.filterwarnings("ignore:Requiring AUTH")]
LETTER = {"subject": "Friday", "greeting": "Hello Bob,", "body": "here it is: grüße.", "sign_off": "Alice"}


@pytest.mark.slow
async def test_it_answers_the_mail_that_it_found_in_its_thread(
    scripted_server: ScriptedServer, cases: Cases, account: ServerAccount, mailbox: Inside, sink: Sink
) -> None:
    mailbox.put("INBOX", BOB)
    scripted_server.script(
        says({"action": "reply", "query": "from:bob@example.org", "say": "Send the report", "reply_all": True}),
        says(LETTER),
        says("I answered Bob."),
    )

    output = await cases(task_for("mail", "Answer Bob's mail"), Providers(mailbox=account)).output()

    (arrived,) = sink.arrived
    assert arrived.recipients == ("bob@example.org", "carol@example.org")
    assert arrived.message["In-Reply-To"] == "<q3@example.org>"
    assert arrived.message["References"].split() == ["<first@example.org>", "<q3@example.org>"]
    assert output.result == "I answered Bob."
    assert output.data["action"] == "reply"
    found = await account.read(HERE, output.data["reply"]["id"])
    assert found.subject == "Re: Q3 report für alle"
    assert found.body == (
        "Hello Bob,\n\nhere it is: grüße.\n\nAlice\n\nBob Builder <bob@example.org>, 2026-11-20 10:00:00+01:00:\n"
        "> The revenue was 42 million."
    )


async def test_it_drafts_searches_and_reads(
    scripted_server: ScriptedServer, cases: Cases, account: ServerAccount, mailbox: Inside, sink: Sink
) -> None:
    mailbox.put("INBOX", BOB)
    providers = Providers(mailbox=account)
    scripted_server.script(
        says({"action": "draft", "to": ["bob@example.org"], "say": "Hello"}), says(LETTER), says("A draft.")
    )
    drafted = await cases(task_for("mail", "Draft a mail to bob@example.org"), providers).output()
    scripted_server.script(says({"action": "search_inbox", "query": "subject:Q3"}), says("One mail."))
    searched = await cases(task_for("mail", "Mails about Q3?"), providers).output()
    scripted_server.script(says({"action": "read", "query": "from:bob"}), says("42 million."))
    read = await cases(task_for("mail", "Read Bob's mail"), providers).output()

    assert (drafted.data["action"], sink.arrived) == ("draft", [])
    assert list(mailbox.message_ids("Drafts")) == [drafted.data["draft"]["message_id"]]
    assert (searched.data["count"], searched.data["messages"][0]["message_id"]) == (1, "<q3@example.org>")
    assert read.data["message"]["body"] == "The revenue was 42 million."


@pytest.mark.spec("B2")
async def test_a_draft_whose_answer_was_lost_is_looked_for_and_made_once(
    scripted_server: ScriptedServer, cases: Cases, dovecot: Dovecot, mailbox: Inside, sink: Sink
) -> None:
    scripted_server.script(
        says({"action": "draft", "to": ["bob@example.org"], "say": "Hello"}), says(LETTER), says("A draft.")
    )

    with Cutting(dovecot.port, word=b"APPENDUID") as cutting:
        behind = imap_server(dovecot.url.replace(f":{dovecot.port}", f":{cutting.port}"))
        account = ServerAccount(smtp_server(sink.url), behind)
        output = await cases(task_for("mail", "Draft a mail to bob@example.org"), Providers(mailbox=account)).output()

    assert (output.task_done, output.result) == (True, "A draft.")
    assert list(mailbox.message_ids("Drafts").values()) == [1]
    assert "it did happen" in scripted_server.calls[-1].last_user


async def test_a_refused_recipient_is_told_in_the_answer(
    scripted_server: ScriptedServer, cases: Cases, account: ServerAccount, sink: Sink
) -> None:
    sink.refused = frozenset({"bob@example.org"})
    scripted_server.script(says({"action": "send", "to": ["bob@example.org"], "say": "Hello"}), says(LETTER))

    output = await cases(task_for("mail", "Write hello to bob@example.org"), Providers(mailbox=account)).output()

    assert (output.task_done, sink.arrived) == (False, [])
    assert "refused bob@example.org (550). Nothing was sent." in output.result
