"""Whose mailbox a run works in, what people approve when it sends from there, and what becomes of it when it fails."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from pydantic import SecretStr

from agents.mail import actions
from agents.mail.account import ServerAccount
from agents.mail.credentials import Password, sealed
from agents.mail.kinds import AccountState
from agents.mail.mailboxes import Mailboxes
from agents.mail.models import MailAccount
from agents.runtime.context import AgentContext
from agents.runtime.driven import About
from agents.tools.checks import Checks
from agents.tools.gateway import Gateway
from agents.tools.providers import Providers
from agents.tools.tool import ToolError
from agents.tools.values import StoredFile
from hyperagent.lib.refusals import Refused
from hyperagent.lib.threads import in_thread
from tests.mail.dovecot import Dovecot, Inside
from tests.mail.own import connected
from tests.mail.rude import Rude
from tests.mail.sink import Sink
from tests.mail.test_account import BOB, Touch, mail
from tests.tools.doubles import APPROVE_ALL, FakeWorkspace
from tests.tools.driving import case_of, seen

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:Requiring AUTH"),
    pytest.mark.spec("S178"),
]
WITH_FILE = b"""From: Bob <bob@example.org>
To: alice@example.org
Subject: The bill
Message-ID: <bill@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b

See the file.
--b
Content-Type: text/csv; name="../../bill.csv"
Content-Disposition: attachment; filename="../../bill.csv"

item,price
tea,3
--b--
"""


@pytest.fixture(autouse=True)
def _own_servers(settings: Any) -> None:
    settings.MAIL_ALLOW_PRIVATE = True


def about(user: Any) -> About:
    return About(uuid4(), user_id=user.pk)


async def test_everybody_works_in_their_own_mailbox_and_nobody_in_anothers(
    alice: Any, charlie: Any, dovecot: Dovecot, mailbox: Inside, sink: Sink
) -> None:
    await in_thread(connected)(alice, imap_port=dovecot.port, smtp_port=sink.port, display_name="Alice Ärmel")
    mailbox.put("INBOX", BOB)
    box = Mailboxes()

    [head] = await box.search(about(alice), "inbox", "", limit=5)
    sent = await box.send(about(alice), mail("own"), touching=Touch())

    assert (head.account, sent.sender) == ("alice@example.org", "alice@example.org")
    assert sink.arrived[0].message["From"].replace("\n", "") == "=?utf-8?q?Alice_=C3=84rmel?= <alice@example.org>"
    assert (await box.read(about(alice), sent.id)).subject == "Mail own"
    for wish in ("", "alice@example.org"):
        with pytest.raises(ToolError, match="You have connected no mailbox yet"):
            await box.search(about(charlie), "inbox", "", limit=5, account=wish)
        with pytest.raises(ToolError):
            await box.read(about(charlie), head.id, account=wish)
        with pytest.raises(ToolError):
            await box.send(about(charlie), mail("stolen"), touching=Touch(), account=wish)
    assert await box.accounts(about(charlie)) == ()
    assert "Connect one at /mail/" in await box.why_not_for(about(charlie))
    assert await box.why_not_for(About(uuid4())) != ""


async def test_one_of_several_is_named_and_ids_lead_to_the_mailbox_that_they_are_of(
    alice: Any, charlie: Any, dovecot: Dovecot, mailbox: Inside, sink: Sink, account: ServerAccount
) -> None:
    """The second of Alice's mailboxes is broken: whatever reaches it fails."""
    await in_thread(connected)(alice, imap_port=dovecot.port, smtp_port=sink.port)
    broken = await in_thread(connected)(alice, imap_port=1, smtp_port=1, address="work@example.org")
    mailbox.put("INBOX", BOB)
    box = Mailboxes(account)

    addresses = [(one.address, one.kind, one.is_default) for one in await box.accounts(about(alice))]
    assert addresses == [
        ("alice@example.org", "imap", True),
        ("work@example.org", "imap", False),
        ("team@example.org", "shared", False),
    ]
    [head] = await box.search(about(alice), "inbox", "", limit=5)
    [shared] = await box.search(about(alice), "inbox", "", limit=5, account="TEAM@example.org")
    assert (await box.read(about(alice), shared.id)).id == shared.id
    with pytest.raises(ToolError, match="in another mailbox than work@"):
        await box.read(about(alice), head.id, account="work@example.org")
    with pytest.raises(ToolError, match="cannot be reached"):
        await box.search(about(alice), "inbox", "", limit=5, account="work@example.org")
    with pytest.raises(ToolError, match="There is no mailbox x@y"):
        await box.search(about(alice), "inbox", "", limit=5, account="x@y.example")
    await in_thread(broken.refresh_from_db)()
    assert (broken.state, "cannot be reached" in broken.trouble) == ("trouble", True)

    [for_all] = await box.search(about(charlie), "inbox", "", limit=5)
    assert (for_all.id, for_all.account) == (shared.id, "team@example.org")
    with pytest.raises(ToolError, match="not connected any more"):
        await box.read(about(charlie), head.id)


async def test_a_password_that_is_not_right_any_more_ends_the_tries_until_it_is_connected_again(
    alice: Any, dovecot: Dovecot, mailbox: Inside, sink: Sink, settings: Any
) -> None:
    row = await in_thread(connected)(alice, imap_port=dovecot.port, smtp_port=sink.port, password="changed since")
    box, touch = Mailboxes(), Touch()

    with pytest.raises(ToolError, match=r"user and password\. Connect the mailbox again at /mail/"):
        await box.send(about(alice), mail(), touching=touch)
    await in_thread(row.refresh_from_db)()
    assert (row.state, touch.times, "changed since" in row.trouble) == ("reconnect", 0, False)
    with pytest.raises(ToolError, match="has to be connected again"):
        await box.search(about(alice), "inbox", "", limit=1)
    assert "has to be connected again" in await box.why_not_for(about(alice))

    await in_thread(MailAccount.objects.all().delete)()
    await in_thread(connected)(alice, imap_port=dovecot.port, smtp_port=sink.port)
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another-key-" * 4
    settings.SECRET_KEY_FALLBACKS = [former]
    assert await box.search(about(alice), "inbox", "", limit=1) == ()
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(ToolError, match="cannot be read any more, because the installation's SECRET_KEY was changed"):
        await box.search(about(alice), "inbox", "", limit=1)


async def test_a_persons_server_that_leads_inside_is_not_reached_even_if_it_did_not_at_first(
    alice: Any, dovecot: Dovecot, sink: Sink, settings: Any
) -> None:
    """As when a name means another address than when it was connected."""
    await in_thread(connected)(alice, imap_port=dovecot.port, smtp_port=sink.port)
    settings.MAIL_ALLOW_PRIVATE = False
    touch = Touch()

    with pytest.raises(ToolError, match="leads into a private network"):
        await Mailboxes().search(about(alice), "inbox", "", limit=1)
    row = await in_thread(MailAccount.objects.get)()
    await in_thread(MailAccount.objects.filter(pk=row.pk).update)(state="ok")
    with pytest.raises(ToolError, match="leads into a private network"):
        await Mailboxes().send(about(alice), mail(), touching=touch)
    assert (touch.times, sink.arrived) == (0, [])


@pytest.mark.spec("B2", "S131")
@pytest.mark.threat("T18")
async def test_people_approve_the_address_and_the_very_files_that_a_mail_leaves_with(
    alice: Any, dovecot: Dovecot, mailbox: Inside, sink: Sink
) -> None:
    await in_thread(connected)(alice, imap_port=dovecot.port, smtp_port=sink.port)
    workspace = FakeWorkspace(files={"reports/q3.csv": "a,b\n1,2\n"})
    providers = Providers(mailbox=Mailboxes(), workspace=workspace)
    wanted = {
        "to": ["bob@example.org"],
        "subject": "Q3",
        "body": "See there.",
        "attachments": [{"path": "reports/q3.csv"}],
    }

    async def program(context: AgentContext) -> Any:
        object.__setattr__(context.run.about, "user_id", alice.pk)
        return seen(await context.tool("send_email", wanted, call_id="c1"))

    async def ask(context: AgentContext, request: Any) -> None:
        answer = await context.ask("approval", {"arguments": request.arguments})
        assert answer["status"] == "approved"

    case = case_of(program, Gateway(providers, checks=Checks(approvals=(ask,))), agent="mail")
    assert (await case.drive()).how == "waiting"
    asked = case.open_requests[0].question["arguments"]
    assert asked["account"] == "alice@example.org"
    [file] = asked["attachments"]
    assert (file["size_bytes"], len(file["sha256"])) == (8, 64)

    workspace.files["reports/q3.csv"] = "a,b\n6,6\n"
    case.answer({"status": "approved"})
    refused = (await case.drive()).value
    assert refused["is_error"]
    assert "is not the one that was agreed to" in refused["content"]
    assert sink.arrived == []

    again = case_of(program, Gateway(providers, checks=APPROVE_ALL), agent="mail")
    done = (await again.drive()).value
    assert done["data"]["sent"]["sender"] == "alice@example.org"
    [arrived] = sink.arrived
    parts: Any = arrived.message.get_payload()
    assert (parts[1].get_filename(), parts[1].get_payload(decode=True)) == ("q3.csv", b"a,b\n6,6\n")


@pytest.mark.slow
async def test_attachments_are_read_and_saved_under_names_that_lead_nowhere(
    alice: Any, dovecot: Dovecot, mailbox: Inside, sink: Sink
) -> None:
    await in_thread(connected)(alice, imap_port=dovecot.port, smtp_port=sink.port)
    mailbox.put("INBOX", WITH_FILE)
    workspace = FakeWorkspace()
    gateway = Gateway(Providers(mailbox=Mailboxes(), workspace=workspace), checks=APPROVE_ALL)

    async def program(context: AgentContext) -> Any:
        object.__setattr__(context.run.about, "user_id", alice.pk)
        found = await context.tool("search_inbox", {})
        id_ = found.data["messages"][0]["id"]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("read_message", {}),
            ("read_attachment", {}),
            ("save_attachment", {}),
            ("read_thread", {}),
        ]
        calls.append(("read_attachment", {"attachment": 2}))
        return [seen(await context.tool(name, {"message_id": id_, **more})) for name, more in calls]

    read, text, saved, thread, missing = (await case_of(program, gateway, agent="mail").drive()).value

    [attachment] = read["data"]["message"]["attachments"]
    assert (attachment["number"], attachment["size_bytes"], attachment["media_type"]) == (1, 17, "text/csv")
    assert "item" in text["content"]
    assert "tea" in text["content"]
    assert StoredFile.model_validate(saved["data"]["file"]).path == "mail/bill.csv"
    assert workspace.files["mail/bill.csv"] == "item,price\r\ntea,3"
    assert thread["data"]["count"] == 1
    assert "has no attachment 2" in missing["content"]


@pytest.mark.slow
async def test_a_draft_of_ones_mail_program_is_sent_as_it_is_and_only_as_it_was_shown(
    alice: Any, dovecot: Dovecot, mailbox: Inside, sink: Sink
) -> None:
    await in_thread(connected)(alice, imap_port=dovecot.port, smtp_port=sink.port)
    draft = BOB.replace(
        b"To: team@example.org\n", b"To: Dora <dora@example.org>,\n eve@example.org\nBcc: x@example.org\n"
    )
    mailbox.put("Drafts", draft, flags=r"\Draft")
    box = Mailboxes()
    [head] = await box.search(about(alice), "drafts", "", limit=5)
    shown = await box.draft(about(alice), head.id)
    with pytest.raises(ToolError, match="somebody changed it"):
        await box.send_draft(about(alice), head.id, message_id="<d@x>", digest="other", touching=Touch())

    await box.send_draft(about(alice), head.id, message_id="<d@hyperagent>", digest=shown.digest, touching=Touch())

    [arrived] = sink.arrived
    assert shown.to == ("Dora <dora@example.org>", "eve@example.org")
    assert set(arrived.recipients) == {"dora@example.org", "eve@example.org", "carol@example.org", "x@example.org"}
    assert (arrived.message["From"], arrived.message["Message-ID"]) == ("alice@example.org", "<d@hyperagent>")
    assert arrived.message["Bcc"] is None
    assert b"The revenue was 42 million." in arrived.raw
    assert mailbox.message_ids("Drafts") == {}
    assert mailbox.message_ids("Sent") == {"<d@hyperagent>": 1}


@pytest.mark.parametrize("meanwhile", ["connected again", "disconnected"])
def test_a_test_that_fails_says_nothing_of_what_was_connected_since(alice: Any, meanwhile: str) -> None:
    """While the old password was tried, its owner entered a new one in another window, or gave the mailbox up."""

    class Slow(Rude):
        def _hear(self, line: bytes) -> bool:
            rows = MailAccount.objects.filter(user=alice)
            if meanwhile == "disconnected":
                rows.delete()
            else:
                rows.update(sealed=sealed(Password(password=SecretStr("new"))))
            connection.close()
            return super()._hear(line)

    with Slow(["* OK hello", "nonsense"]) as server:
        account = MailAccount.objects.create(
            user=alice,
            kind="imap",
            address="alice@example.org",
            imap_host="127.0.0.1",
            imap_port=server.port,
            imap_security="plain",
            smtp_host="127.0.0.1",
            smtp_port=server.port,
            smtp_security="plain",
            user_name="alice",
            sealed=sealed(Password(password=SecretStr("old"))),
        )

        with pytest.raises(Refused):
            actions.check(alice, account.pk)

    assert list(MailAccount.objects.values_list("state", flat=True)) == (
        [] if meanwhile == "disconnected" else [AccountState.OK]
    )
