"""A mailbox at Gmail, against a Google on this machine: what is found, written and sent, and each way to fail."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from agents.mail.files import AttachedFile
from agents.mail.gmail.api import LARGE_BYTES, MAY_BE_SENT
from agents.mail.gmail.oauth import AWAY
from agents.mail.mailboxes import Mailboxes
from agents.mail.models import MailAccount
from agents.runtime.driven import About
from agents.tools.tool import ToolError
from hyperagent.lib.threads import in_thread
from tests.faces.conftest import _quick_hashes, client_of
from tests.mail.google import ADDRESS, CLIENT_ID, CLIENT_SECRET, Google
from tests.mail.own import at_google
from tests.mail.test_account import BOB, Touch, mail

__all__ = ["_quick_hashes", "client_of"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spec("S178", "S30")]


@pytest.fixture
def google(settings: Any) -> Iterator[Google]:
    with Google() as running:
        settings.GMAIL_CLIENT_ID, settings.GMAIL_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        settings.GMAIL_BASE_URL = running.url
        yield running


@pytest.fixture
def box(alice: Any, google: Google) -> Mailboxes:
    at_google(alice, refresh_token=google.grant(), display_name="Alice Ärmel")
    return Mailboxes()


@pytest.fixture
def about(alice: Any) -> About:
    return About(uuid4(), user_id=alice.pk)


def state(user: Any) -> tuple[str, str]:
    account = MailAccount.objects.get(user=user)
    return account.state, account.trouble


async def test_mails_are_found_by_gmails_words_and_read_with_their_thread(
    box: Mailboxes, google: Google, about: About
) -> None:
    first = google.put(BOB.replace(b"<q3@", b"<first@"), thread_id="t1")
    google.put(BOB, thread_id="t1")
    google.put(BOB.replace(b"<q3@", b"<old@").replace(b"Q3", b"Q1"), "Bills")

    heads = await box.search(about, "inbox", "from:bob", limit=5)
    labelled = await box.search(about, "inbox", "label:Bills", limit=5)
    found = await box.read(about, heads[0].id)
    thread = await box.thread(about, heads[0].id, limit=5)

    assert [head.message_id for head in heads] == ["<q3@example.org>", "<first@example.org>"]
    assert (heads[0].sender, heads[0].subject) == ("Bob Builder <bob@example.org>", "Q3 report für alle")
    assert (heads[0].snippet, heads[0].thread_id, heads[0].account) == ("It's here & there", "t1", ADDRESS)
    assert [head.message_id for head in labelled] == ["<old@example.org>"]
    assert (found.body, found.cc) == ("The revenue was 42 million.", ("Carol <carol@example.org>",))
    assert [one.message_id for one in thread] == ["<first@example.org>", "<q3@example.org>"]
    assert (await box.read(about, "<first@example.org>")).id.endswith(first.id)
    assert await box.labels(about) == ("Bills",)
    # One token for all of it.
    assert google.refreshes == 1


@pytest.mark.slow
async def test_of_a_thread_few_mails_are_in_memory_at_once(box: Mailboxes, google: Google, about: About) -> None:
    for number in range(8):
        google.put(BOB.replace(b"<q3@", f"<{number}@".encode()), thread_id="t1")
    [head] = await box.search(about, "inbox", "", limit=1)
    google.whole_takes_s = 0.2

    thread = await box.thread(about, head.id, limit=20)

    assert [one.message_id for one in thread] == [f"<{number}@example.org>" for number in range(8)]
    assert google.most_whole == 2


async def test_a_mail_that_is_gone_since_it_was_listed_hides_no_other(
    box: Mailboxes, google: Google, about: About
) -> None:
    google.put(BOB.replace(b"<q3@", b"<first@"), thread_id="t1")
    gone = google.put(BOB.replace(b"<q3@", b"<gone@"), thread_id="t1")
    newest = google.put(BOB, thread_id="t1")
    google.fails[f"/messages/{gone.id}"] = (404, {"error": {"code": 404}})

    heads = await box.search(about, "inbox", "", limit=5)
    thread = await box.thread(about, heads[0].id, limit=5)

    assert [head.message_id for head in heads] == ["<q3@example.org>", "<first@example.org>"]
    assert [one.message_id for one in thread] == ["<first@example.org>", "<q3@example.org>"]
    with pytest.raises(ToolError, match="no such mail any more"):
        await box.read(about, heads[0].id.replace(newest.id, gone.id))


async def test_an_answer_is_sent_in_its_thread_and_found_again_whatever_id_google_gave_it(
    box: Mailboxes, google: Google, about: About
) -> None:
    touch = Touch()
    answer = mail(
        "answer",
        subject="Grüße",
        cc=(ADDRESS, "carol@example.org"),
        bcc=("dora@example.org",),
        in_reply_to="<q3@example.org>",
        references=("<first@example.org>",),
        thread_id="t1",
    )

    sent = await box.send(about, answer, touching=touch)

    [arrived] = google.sent
    assert (arrived["In-Reply-To"], google.mails[0].thread_id) == ("<q3@example.org>", "t1")
    assert arrived["References"].split() == ["<first@example.org>", "<q3@example.org>"]
    assert (arrived["To"], arrived["Cc"], arrived["Bcc"]) == (
        "bob@example.org",
        "carol@example.org",
        "dora@example.org",
    )
    assert arrived["From"] == f"=?utf-8?q?Alice_=C3=84rmel?= <{ADDRESS}>"
    assert arrived["Message-ID"].endswith("@mail.gmail.com>")
    assert (sent.message_id, sent.sender, touch.times) == ("<answer@hyperagent>", ADDRESS, 1)
    assert (await box.read(about, sent.id)).subject == "Grüße"
    assert await box.holds(about, "sent", "<answer@hyperagent>") is True
    assert await box.holds(about, "sent", "<other@hyperagent>") is False


@pytest.mark.slow
async def test_a_mail_with_a_large_file_goes_by_the_other_road(box: Mailboxes, google: Google, about: About) -> None:
    file = AttachedFile("Bericht ä.pdf", "application/pdf", b"%PDF" + b"x" * LARGE_BYTES)

    sent = await box.send(about, mail("large", thread_id="t9"), files=[file], touching=Touch())

    assert "POST /upload/gmail/v1/users/me/messages/send" in google.asked
    assert google.mails[0].thread_id == "t9"
    back = await box.attachment(about, sent.id, 1)
    assert (back.name, back.sha256) == ("Bericht ä.pdf", file.sha256)


async def test_a_draft_is_kept_shown_whole_and_sent_as_it_was_agreed_to(
    box: Mailboxes, google: Google, about: About
) -> None:
    kept = await box.save_draft(about, mail("draft", cc=("carol@example.org",)))
    [head] = await box.search(about, "drafts", "", limit=5)
    shown = await box.draft(about, head.id)
    assert await box.holds(about, "drafts", "<draft@hyperagent>") is True
    google.drafts["r-1"].raw = google.drafts["r-1"].raw.replace(b"hello", b"goodbye")
    touch = Touch()
    with pytest.raises(ToolError, match="somebody changed it"):
        await box.send_draft(about, head.id, message_id="<x@hyperagent>", digest=shown.digest, touching=touch)
    assert (touch.times, google.sent) == (0, [])

    shown = await box.draft(about, kept.id)
    sent = await box.send_draft(about, head.id, message_id="<sent@hyperagent>", digest=shown.digest, touching=Touch())

    assert (shown.to, shown.cc, shown.subject) == (("bob@example.org",), ("carol@example.org",), "Mail draft")
    assert "goodbye" in google.sent[0].get_payload()
    assert (google.drafts, sent.to) == ({}, ("bob@example.org",))
    assert await box.holds(about, "sent", "<sent@hyperagent>") is True


@pytest.mark.slow
async def test_a_draft_with_a_large_file_goes_by_the_other_road(box: Mailboxes, google: Google, about: About) -> None:
    file = AttachedFile("Bericht ä.pdf", "application/pdf", b"%PDF" + b"x" * LARGE_BYTES)

    kept = await box.save_draft(about, mail("large", thread_id="t9"), files=[file])

    assert "POST /upload/gmail/v1/users/me/drafts" in google.asked
    assert google.drafts["r-1"].thread_id == "t9"
    assert (await box.attachment(about, kept.id, 1)).sha256 == file.sha256


@pytest.mark.spec("B2")
async def test_a_draft_whose_answer_is_lost_may_be_there(box: Mailboxes, google: Google, about: About) -> None:
    google.hangs_up = True
    with pytest.raises(ToolError, match="broke while it took the draft") as lost:
        await box.save_draft(about, mail("lost"))
    google.hangs_up = False
    google.fails = {"drafts": (400, {})}
    with pytest.raises(ToolError, match="did not keep this draft") as refused:
        await box.save_draft(about, mail("refused"))
    google.fails = {}

    assert (lost.value.may_have_happened, refused.value.may_have_happened) == (True, False)
    assert await box.holds(about, "drafts", "<lost@hyperagent>") is True
    assert await box.holds(about, "drafts", "<refused@hyperagent>") is False


@pytest.mark.spec("B2")
async def test_what_a_failure_proves_and_how_the_mailbox_stands_then(
    box: Mailboxes, google: Google, about: About, alice: Any
) -> None:
    async def trouble_of(name: str, touch: Touch) -> ToolError:
        with pytest.raises(ToolError) as caught:
            await box.send(about, mail(name), touching=touch)
        return caught.value

    touch = Touch()
    google.hangs_up = True
    lost = await trouble_of("lost", touch)
    assert (lost.message, lost.may_have_happened, touch.times) == (MAY_BE_SENT, True, 1)
    assert await box.holds(about, "sent", "<lost@hyperagent>") is True
    google.hangs_up = False

    error = {"error": {"code": 403, "errors": [{"reason": "userRateLimitExceeded"}]}}
    google.fails = {"messages/send": (403, error)}
    refused = await trouble_of("refused", Touch())
    assert (refused.may_have_happened, "too many requests" in refused.message) == (False, True)
    assert refused.message.endswith("Nothing was sent.")
    google.fails = {"messages/send": (502, {})}
    assert (await trouble_of("server", Touch())).may_have_happened

    google.fails = {"profile": (403, {"error": {"errors": [{"reason": "accessNotConfigured"}]}})}
    touch = Touch()
    unready = await trouble_of("unready", touch)
    assert (touch.times, unready.may_have_happened, "administrator" in unready.message) == (0, False, True)
    assert (await in_thread(state)(alice))[0] == "trouble"
    google.fails = {}
    await box.search(about, "inbox", "", limit=1)
    assert await in_thread(state)(alice) == ("ok", "")


async def test_a_token_that_ends_in_the_middle_is_renewed_and_a_leave_that_was_taken_back_is_told(
    box: Mailboxes, google: Google, about: About, alice: Any
) -> None:
    await box.search(about, "inbox", "", limit=1)
    google.access_tokens.clear()
    await box.send(about, mail("renewed"), touching=Touch())
    assert (google.refreshes, len(google.sent)) == (2, 1)

    google.access_tokens.clear()
    google.refresh_tokens.clear()
    touch = Touch()
    with pytest.raises(ToolError, match="the leave has ended or was taken back"):
        await box.send(about, mail("late"), touching=touch)
    assert (touch.times, len(google.sent)) == (0, 1)
    assert (await in_thread(state)(alice))[0] == "reconnect"

    asked = len(google.asked)
    with pytest.raises(ToolError, match="has to be connected again, at /mail/"):
        await box.search(about, "inbox", "", limit=1)
    assert len(google.asked) == asked, "Google is not asked again with what it does not take"
    assert "connected again, at /mail/" in await box.why_not_for(about)


async def test_a_leave_that_was_taken_back_ends_the_tries_until_its_person_gives_it_again(
    box: Mailboxes, google: Google, about: About, alice: Any, client_of: Any
) -> None:
    """As a password that is not right any more does for a mailbox by IMAP."""
    page = await in_thread(client_of)(alice)
    google.refresh_tokens.clear()
    for _ in range(3):
        with pytest.raises(ToolError, match=r"Connect it again at /mail/|has to be connected again, at /mail/"):
            await box.search(about, "inbox", "", limit=1)
    assert google.asked == ["POST /token"], "Google is asked once with what it does not take any more"
    shown = (await in_thread(page.get)("/mail/")).content.decode()
    assert "the leave has ended or was taken back" in shown
    row = await in_thread(MailAccount.objects.get)()

    back = google.consent((await in_thread(page.get)(f"/mail/{row.pk}/gmail/")).headers["Location"])
    done = (await in_thread(page.get)("/mail/gmail/callback/", back, follow=True)).content.decode()

    assert f"{ADDRESS} is connected." in done
    assert "was taken back" not in done
    assert await in_thread(state)(alice) == ("ok", "")
    assert await box.search(about, "inbox", "", limit=1) == ()
    assert await in_thread(MailAccount.objects.count)() == 1
    assert await box.why_not_for(about) == ""


async def test_a_google_that_is_away_is_asked_again_each_time_and_all_is_well_once_it_is_back(
    box: Mailboxes, google: Google, about: About, alice: Any
) -> None:
    """However often: only what a person has to mend ends the tries."""
    google.fails = {"/token": (503, {})}
    for _ in range(6):
        with pytest.raises(ToolError, match="Google cannot be reached just now"):
            await box.search(about, "inbox", "", limit=1)
    assert google.asked == ["POST /token"] * 6
    assert await in_thread(state)(alice) == ("trouble", AWAY)
    assert await box.why_not_for(about) == ""

    google.fails = {}

    assert await box.search(about, "inbox", "", limit=1) == ()
    assert await in_thread(state)(alice) == ("ok", "")


@pytest.mark.spec("B2")
async def test_a_mail_that_nobody_waits_for_any_more_is_finished_once_it_was_begun(
    box: Mailboxes, google: Google, about: About
) -> None:
    loop = asyncio.get_running_loop()
    sending = asyncio.ensure_future(box.send(about, mail("stopped"), touching=Touch()))

    def stop() -> None:
        loop.call_soon_threadsafe(sending.cancel)

    google.on_send = stop

    with pytest.raises(asyncio.CancelledError):
        await sending

    assert len(google.sent) == 1
    assert await box.holds(about, "sent", "<stopped@hyperagent>") is True
