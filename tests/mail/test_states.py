"""What each state of a mail on its way proves, whoever dies, freezes or tidies up in it: agents/mail/account.py."""

import asyncio
from typing import Any

import pytest

from agents.engine.states import EffectStatus
from agents.runtime.context import AgentContext
from agents.tools.gateway import Gateway
from agents.tools.tool import ToolError
from agents.tools.values import OutgoingMail
from tests.doubles.memory_journal import Killed
from tests.engine.driving import drive
from tests.tools.doubles import APPROVE_ALL, FakeMailbox, fake_providers, nothing
from tests.tools.driving import ToolCase, case_of, seen

pytestmark = pytest.mark.spec("B2")
MAIL = {"to": ["bob@example.org"], "subject": "Q3", "body": "Dear Bob, see below."}


def sending(box: FakeMailbox) -> ToolCase:
    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("send_email", MAIL, call_id="c1"))

    return case_of(program, Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")


def status(case: ToolCase) -> EffectStatus:
    (row,) = case.store.effects(case.execution_id)
    return row.status


async def die() -> None:
    raise Killed


async def test_without_the_second_mark_it_was_not_sent_and_is_sent_though_the_mailbox_cannot_tell() -> None:
    box = FakeMailbox(before_send=die, can_tell=False)
    case = sending(box)
    assert (await case.drive()).how == "killed"
    box.before_send = nothing

    end = await case.drive()

    assert (len(box.sent), end.value["data"]["action"], case.open_requests) == (1, "send", [])


async def test_with_the_mark_and_no_copy_in_sent_nobody_can_tell_and_a_person_is_asked() -> None:
    """The server may have taken it before the process died, or somebody has tidied up since."""
    box = FakeMailbox(after_send=die)
    case = sending(box)
    assert (await case.drive()).how == "killed"
    box.sent.clear()
    box.after_send = nothing

    assert (await case.drive()).how == "waiting"

    assert (box.sent, status(case)) == ([], EffectStatus.IN_DOUBT)
    (asked,) = case.open_requests
    assert (asked.kind, asked.question["tool"]) == ("decision", "send_email")


async def test_a_draft_of_another_mailbox_than_the_default_one_is_looked_for_in_the_sent_mails_of_that() -> None:
    class Two(FakeMailbox):
        """The draft lies in the second, and is sent from there."""

        async def draft(self, *args: Any, **more: Any) -> Any:
            return (await super().draft(*args, **more)).model_copy(update={"account": "work@example.org"})

        async def holds(self, *args: Any, account: str = "") -> bool | None:
            return await super().holds(*args) if account == "work@example.org" else False

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("send_draft", {"draft_id": "draft-1"}, call_id="c1"))

    box = Two(drafts=[OutgoingMail(message_id="<d@x>", to=("bob@example.org",), subject="x")], after_send=die)
    case = case_of(program, Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")
    assert (await case.drive()).how == "killed"

    end = await case.drive()

    assert (end.how, len(box.sent), case.open_requests) == ("completed", 1, [])


async def test_another_try_that_a_person_wants_begins_without_the_mark_of_the_first() -> None:
    box = FakeMailbox(after_send=die)
    case = sending(box)
    await case.drive()
    box.sent.clear()
    await case.drive()
    case.answer({"status": "answered", "choice": "again"})
    box.before_send, box.after_send = die, nothing
    assert (await case.drive()).how == "killed"
    box.before_send = nothing

    end = await case.drive()

    assert (len(box.sent), end.value["data"]["action"], case.open_requests) == (1, "send", [])


async def test_a_driver_that_froze_before_the_last_line_does_not_send_when_it_wakes() -> None:
    asleep, wake = asyncio.Event(), asyncio.Event()

    async def freeze() -> None:
        asleep.set()
        await wake.wait()

    box = FakeMailbox(before_send=freeze)
    case = sending(box)
    frozen = asyncio.create_task(drive(*case.take_over()))
    await asleep.wait()
    box.before_send = nothing

    end = await case.drive()
    wake.set()

    assert end.value["data"]["action"] == "send"
    assert (await frozen).how == "lost"
    assert len(box.sent) == 1


async def test_a_driver_that_froze_behind_the_mark_is_asked_about_and_not_done_again() -> None:
    asleep, wake = asyncio.Event(), asyncio.Event()
    box = FakeMailbox()

    async def freeze_unsent() -> None:
        box.sent.clear()
        asleep.set()
        await wake.wait()

    box.after_send = freeze_unsent
    case = sending(box)
    frozen = asyncio.create_task(drive(*case.take_over()))
    await asleep.wait()
    box.after_send = nothing

    assert (await case.drive()).how == "waiting"
    wake.set()

    assert (await frozen).how == "lost"
    assert (box.sent, len(case.open_requests)) == ([], 1)


@pytest.mark.parametrize("trouble", [TimeoutError(), RuntimeError("broken"), ToolError("?", may_have_happened=True)])
async def test_whatever_goes_wrong_before_the_mark_is_a_failure_and_no_doubt(trouble: Exception) -> None:
    async def fail() -> None:
        raise trouble

    case = sending(FakeMailbox(before_send=fail, can_tell=False))

    end = await case.drive()

    assert end.value["is_error"]
    assert (status(case), case.open_requests) == (EffectStatus.FAILED, [])


@pytest.mark.parametrize("trouble", [TimeoutError(), RuntimeError("broken"), ToolError("?", may_have_happened=True)])
async def test_whatever_goes_wrong_behind_the_mark_is_asked_about_unless_sent_has_it(trouble: Exception) -> None:
    box = FakeMailbox()

    async def fail() -> None:
        box.sent.clear()
        raise trouble

    box.after_send = fail
    case = sending(box)

    assert (await case.drive()).how == "waiting"
    assert (status(case), len(case.open_requests)) == (EffectStatus.IN_DOUBT, 1)
