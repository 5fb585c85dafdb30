"""What is recorded of a tool call comes back on a replay, and what changes the world is never done blindly twice."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from agents.engine.states import EffectStatus, StepKind, StepStatus
from agents.runtime.context import AgentContext
from agents.tools.arguments import Refusal
from agents.tools.checks import Checks, Request
from agents.tools.gateway import Gateway
from agents.tools.providers import Providers
from agents.tools.registry import tools
from agents.tools.tool import ANY_AGENT, Call, Reply, Tool, ToolError, composite, tool
from tests.doubles.memory_journal import Death, Killed
from tests.engine.driving import drive
from tests.tools.doubles import APPROVE_ALL, FakeMailbox, FakeWeb, fake_providers
from tests.tools.driving import ToolCase, case_of, gateway_of, seen

INTERRUPTED = "send_email was interrupted, and it did happen. Do not do it again."
MAIL = {"to": ["bob@example.org"], "subject": "Q3", "body": "Dear Bob, see below."}


def counted(*outcomes: Any) -> tuple[Tool, list[str]]:
    """A tool that gives or raises these, one after another, and the list of its calls."""
    left: Iterator[Any] = iter(outcomes)
    calls: list[str] = []

    @tool(agents=ANY_AGENT)
    async def look_up(call: Call, what: str = "all") -> Any:
        """Looks something up."""
        calls.append(what)
        outcome = next(left)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return look_up, calls


def asking_after(name: str, arguments: Any) -> Any:
    """A program that calls a tool and then waits for a person, so that the next driver replays the call."""

    async def program(context: AgentContext) -> Any:
        reply = seen(await context.tool(name, arguments))
        answer = await context.ask("input", {"question": "go on?", "options": []})
        return {"reply": reply, "answer": answer["text"]}

    return program


async def twice(case: ToolCase) -> tuple[Any, list[Any], list[Any]]:
    """Drives to the question, answers it, and drives again: the end, and the events of both drivers."""
    first = await case.drive()
    assert first.how == "waiting", first
    before = case.events("tool_call") + case.events("tool_result") + case.events("source")
    case.answer({"status": "answered", "text": "yes"})
    second = await case.drive()
    after = case.events("tool_call") + case.events("tool_result") + case.events("source")
    return second, before, after


@pytest.mark.spec("B1")
async def test_a_recorded_reply_is_given_again_and_the_tool_is_not_called_again() -> None:
    web = FakeWeb()
    case = case_of(asking_after("web_search", {"query": "acme"}), Gateway(fake_providers(web=web)), agent="web")

    end, before, after = await twice(case)

    assert end.value["reply"]["content"].startswith('<untrusted source="web_search">')
    assert [source["source"] for source in end.value["reply"]["sources"]] == ["Acme grows", "other.example.org"]
    assert len(web.asked) == 1
    assert after == before
    assert case.events("journal_cut") == []


@pytest.mark.spec("B1", "S79")
@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        (ToolError("there is no such page."), "Error: there is no such page."),
        (RuntimeError("bug"), "Error: look_up broke down (error "),
        (TimeoutError(), "Error: look_up took longer than 60 s"),
    ],
)
async def test_a_recorded_error_is_given_again_word_for_word(trouble: Exception, says: str) -> None:
    look_up, calls = counted(trouble, "it would work now")
    told: list[str] = []

    async def program(context: AgentContext) -> Any:
        reply = await context.tool("look_up", {})
        told.append(reply.content)
        await context.ask("input", {"question": "go on?", "options": []})
        return reply.is_error

    case = case_of(program, gateway_of(look_up))
    end, before, after = await twice(case)

    assert end.value is True
    assert told[0].startswith(says)
    assert told == [told[0]] * 2
    assert calls == ["all"]
    assert before == after


@pytest.mark.spec("B1")
async def test_a_crash_in_a_composite_tool_has_the_same_id_on_a_replay() -> None:
    @composite(agents=ANY_AGENT)
    async def both(context: AgentContext) -> str:
        """Breaks down."""
        raise RuntimeError("bug")

    told: list[str] = []

    async def program(context: AgentContext) -> Any:
        told.append((await context.tool("both", {})).content)
        await context.ask("input", {"question": "go on?", "options": []})

    end, _, _ = await twice(case_of(program, gateway_of(both)))

    assert end.how == "completed"
    assert told[0] == told[1]
    assert "both broke down (error " in told[0]


@pytest.mark.spec("B1")
async def test_a_provider_that_is_configured_meanwhile_does_not_change_what_was_told() -> None:
    case = case_of(asking_after("web_search", {"query": "acme"}), Gateway(Providers()), agent="web")
    assert (await case.drive()).how == "waiting"
    web = FakeWeb()
    case.gateway = Gateway(fake_providers(web=web))
    case.answer({"status": "answered", "text": "yes"})

    end = await case.drive()

    assert end.value["reply"]["data"] == {"error": "not_configured"}
    assert web.asked == []
    assert case.events("journal_cut") == []


async def test_a_tool_that_grows_an_optional_parameter_still_finds_what_it_did() -> None:
    look_up, calls = counted("found")
    case = case_of(asking_after("look_up", {"what": "acme"}), gateway_of(look_up))
    assert (await case.drive()).how == "waiting"

    @tool(name="look_up", agents=ANY_AGENT)
    async def newer(call: Call, what: str = "all", deep: bool = False) -> Any:
        """Looks something up."""
        raise AssertionError("called again")

    case.gateway = gateway_of(newer)
    case.answer({"status": "answered", "text": "yes"})

    assert (await case.drive()).value["reply"]["content"] == "found"
    assert calls == ["acme"]


@pytest.mark.spec("B1", "B2")
@pytest.mark.parametrize("death", list(Death))
async def test_killed_at_every_record_a_run_with_tools_goes_on_and_sends_its_mail_once(death: Death) -> None:
    expected, writes = await _killed(None, at=0)
    assert "was sent" in expected[2]

    for at in range(1, writes + 1):
        searched, unknown, sent = (await _killed(death, at=at))[0]
        assert [searched, unknown] == expected[:2], f"killed at write {at}"
        assert sent in (expected[2], INTERRUPTED), f"killed at write {at}"


async def _killed(death: Death | None, *, at: int) -> tuple[Any, int]:
    """What a run that searches, errs and sends a mail comes to if it dies at this write; and how often it wrote."""

    async def program(context: AgentContext) -> Any:
        calls = [("web_search", {"query": "acme"}), ("nothing", {}), ("send_email", MAIL)]
        return [(await context.tool(name, arguments)).content for name, arguments in calls]

    box = FakeMailbox()
    case = case_of(program, Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")
    run, journal = case.take_over(death=death, at=at)
    end = await drive(run, journal)
    while end.how in ("killed", "waiting"):
        if end.how == "waiting":
            # It died between its mark and the sending: nobody can tell, so a person is asked, who looks.
            case.answer({"status": "answered", "choice": "done" if box.sent else "again"})
        end = await case.drive()
    assert len(box.sent) == 1
    assert len(case.events("tool_call")) == len(case.events("tool_result")) == 3
    assert len(case.events("source")) == 2
    return end.value, journal.writes


# --- what changes the world


@pytest.mark.spec("B2")
async def test_a_mail_is_in_the_ledger_before_it_is_sent_and_carries_the_calls_key() -> None:
    seen_in_ledger: list[EffectStatus] = []
    box = FakeMailbox()
    case = case_of(_send(), Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")

    async def look() -> None:
        seen_in_ledger.extend(effect.status for effect in case.store.effects(case.execution_id))

    box.before_send = look
    end = await case.drive()

    (row,) = case.store.effects(case.execution_id)
    assert seen_in_ledger == [EffectStatus.STARTED]
    assert row.status is EffectStatus.FINISHED
    assert box.sent[0].message_id == f"<{row.key}@hyperagent>"
    assert end.value["data"]["action"] == "send"
    assert end.value["content"] == "The mail 'Q3' was sent to bob@example.org."


@pytest.mark.spec("B2")
async def test_a_mail_that_was_sent_before_the_crash_is_found_by_its_message_id_and_not_sent_again() -> None:
    box = FakeMailbox(after_send=_die)
    case = case_of(_send(), Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")
    assert (await case.drive()).how == "killed"
    box.after_send = _nothing

    end = await case.drive()

    assert len(box.sent) == 1
    assert end.value["content"] == INTERRUPTED
    assert (end.value["is_error"], end.value["data"]) == (False, {"settled": "done"})
    assert case.open_requests == []


@pytest.mark.spec("B2")
async def test_a_mail_that_was_not_sent_before_the_crash_is_sent_once() -> None:
    box = FakeMailbox(before_send=_die)
    case = case_of(_send(), Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")
    assert (await case.drive()).how == "killed"
    box.before_send = _nothing

    end = await case.drive()

    assert len(box.sent) == 1
    assert end.value["data"]["action"] == "send"


@pytest.mark.spec("B2")
@pytest.mark.parametrize(
    ("choice", "sent", "code"), [("done", 1, None), ("again", 2, None), ("skip", 1, "skipped_by_person")]
)
async def test_where_the_mailbox_cannot_tell_a_person_is_asked(choice: str, sent: int, code: str | None) -> None:
    box = FakeMailbox(after_send=_die, can_tell=False)
    case = case_of(_send(), Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")
    await case.drive()
    box.after_send = _nothing
    assert (await case.drive()).how == "waiting"
    (asked,) = case.open_requests
    assert asked.question["tool"] == "send_email"

    case.answer({"status": "answered", "choice": choice})
    end = await case.drive()

    assert len(box.sent) == sent
    assert end.value["is_error"] == (code is not None)
    assert code is None or end.value["data"] == {"error": code}


@pytest.mark.spec("B2")
async def test_a_mail_whose_answer_got_lost_is_looked_up_at_once() -> None:
    async def lose() -> None:
        raise TimeoutError

    box = FakeMailbox(after_send=lose)
    case = case_of(_send(), Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")

    end = await case.drive()

    assert (len(box.sent), end.value["data"]) == (1, {"settled": "done"})


@pytest.mark.spec("B2")
async def test_a_mail_that_the_server_refused_is_an_error_and_nobody_is_asked() -> None:
    async def refuse() -> None:
        raise ToolError("the server takes no mail for bob@example.org: check the address.")

    box = FakeMailbox(before_send=refuse, can_tell=False)
    case = case_of(_send(), Gateway(fake_providers(mailbox=box), checks=APPROVE_ALL), agent="mail")

    end = await case.drive()

    assert end.value["content"] == "Error: the server takes no mail for bob@example.org: check the address."
    assert [row.status for row in case.store.effects(case.execution_id)] == [EffectStatus.FAILED]
    assert case.open_requests == []


@pytest.mark.spec("B2")
async def test_a_probe_that_fails_knows_nothing_and_a_person_is_asked() -> None:
    @tool(agents=ANY_AGENT, effect="write", probe=_broken_probe)
    async def post(call: Call, text: str) -> str:
        """Posts a text."""
        raise TimeoutError

    case = case_of(_call("post", {"text": "x"}), gateway_of(post))

    assert (await case.drive()).how == "waiting"
    assert case.open_requests[0].question["arguments"] == {"text": "x"}


@pytest.mark.spec("B2")
async def test_a_refused_effect_leaves_no_trace_in_the_ledger() -> None:
    async def no(context: AgentContext, request: Request) -> Refusal | None:
        return Refusal("denied_by_user", "Bob said no: too early.")

    box = FakeMailbox()
    gateway = Gateway(fake_providers(mailbox=box), checks=Checks(approvals=(no,)))
    case = case_of(_send(), gateway, agent="mail")

    end = await case.drive()

    assert end.value["content"] == "Error: Bob said no: too early."
    assert (box.sent, case.store.effects(case.execution_id)) == ([], [])


@pytest.mark.spec("S132")
async def test_an_approval_is_asked_with_the_final_arguments_and_waits_without_doing_anything() -> None:
    async def ask(context: AgentContext, request: Request) -> Refusal | None:
        answer = await context.ask("approval", {"question": request.tool.name, "arguments": request.arguments})
        return None if answer["status"] == "approved" else Refusal("denied_by_user", "denied")

    box = FakeMailbox()
    case = case_of(_send(), Gateway(fake_providers(mailbox=box), checks=Checks(approvals=(ask,))), agent="mail")
    assert (await case.drive()).how == "waiting"
    assert box.sent == []
    assert case.open_requests[0].question["arguments"] == {
        **MAIL,
        "cc": [],
        "bcc": [],
        "attachments": [],
        "account": "",
    }

    case.answer({"status": "approved"})
    end = await case.drive()

    assert (len(box.sent), end.value["is_error"]) == (1, False)


async def test_a_tool_that_only_reads_is_one_step_with_its_arguments() -> None:
    look_up, _ = counted(Reply(content="found", data={"n": 1}))
    case = case_of(_call("look_up", {"what": "acme"}), gateway_of(look_up))
    await case.drive()

    (step,) = case.store.steps(case.execution_id)
    assert (step.kind, step.name, step.request, step.status) == (
        StepKind.TOOL,
        "look_up",
        {"what": "acme"},
        StepStatus.FINISHED,
    )
    assert step.response == {"content": "found", "chars": 5, "sources": [], "data": {"n": 1}}


def test_every_tool_that_cannot_be_undone_needs_approval_and_can_be_looked_up() -> None:
    irreversible = [found for found in tools().values() if found.irreversible]

    assert [found.name for found in irreversible] == ["reply_to_message", "send_draft", "send_email"]
    assert all(found.requires_approval and found.effect == "write" and found.probe for found in irreversible)


def _send() -> Any:
    return _call("send_email", MAIL)


def _call(name: str, arguments: Any) -> Any:
    async def program(context: AgentContext) -> Any:
        return seen(await context.tool(name, arguments))

    return program


async def _broken_probe(call: Call, text: str) -> bool | None:
    raise RuntimeError("bug")


async def _die() -> None:
    raise Killed


async def _nothing() -> None:
    await asyncio.sleep(0)
