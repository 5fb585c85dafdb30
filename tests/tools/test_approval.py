"""The gateway's approval: what is asked, what each answer means, and that nothing else gets a call through."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import pytest
from pydantic import Field

from agents import registry
from agents.craft.exchange import AgentInput, OnApproval, Options
from agents.engine.states import EffectStatus, StepKind
from agents.runtime.context import AgentContext
from agents.runtime.driven import PipelineSettings
from agents.tools import previews
from agents.tools.arguments import Refusal
from agents.tools.checks import Checks, Request
from agents.tools.gateway import CHECKS, Gateway
from agents.tools.registry import load, whole
from agents.tools.registry import tools as all_tools
from agents.tools.tool import ANY_AGENT, Call, Reply, Tool, ToolError, composite, tool
from hitl.conditions import Condition
from hitl.kinds import ApproverKind, Op, PolicyAction, RuleEffect, RuleScope
from hitl.policy import Approvers, PolicyFacts, RuleFacts
from hyperagent.lib.hashes import arguments_hash
from tests.doubles.lookups import MemoryLookups
from tests.doubles.memory_journal import Death
from tests.tools.doubles import FakeMailbox, fake_providers
from tests.tools.driving import ALICE, ToolCase, case_of, gateway_of, seen

MAIL = {"to": ["bob@example.org"], "subject": "Hello", "body": "Hi Bob"}
WHOLE = {**MAIL, "cc": [], "bcc": [], "attachments": [], "account": ""}


class Notes:
    """Where a protected tool writes. `written` has what really happened."""

    def __init__(self, **flags: Any) -> None:
        self.written: list[str] = []
        self.keys: set[str] = set()
        self.tool = self._tool(**flags)

    def _tool(self, **flags: Any) -> Tool:
        async def was_written(call: Call, **_: Any) -> bool:
            return call.key in self.keys

        @tool(**{"agents": ANY_AGENT, "effect": "write", "requires_approval": True, "probe": was_written, **flags})
        async def write(
            call: Call, text: Annotated[str, Field(max_length=20)], copies: Annotated[int, Field(ge=1)] = 1
        ) -> Reply:
            """Writes a note."""
            self.written += [text] * copies
            self.keys.add(call.key)
            return Reply(content=f"Written: {text}")

        return write


def writing(notes: Notes, text: str = "hello", *, lookups: MemoryLookups | None = None, **more: Any) -> ToolCase:
    """An agent whose model calls `write` once."""

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("write", {"text": text}, call_id="call-1"))

    checks = more.pop("checks", CHECKS)
    return case_of(program, gateway_of(notes.tool, checks=checks), lookups=lookups or MemoryLookups(), **more)


def yes(case: ToolCase, **more: Any) -> dict[str, Any]:
    """Somebody's yes to what the open request shows."""
    (call,) = case.open_requests[0].question["tool_calls"]
    return {"status": "approved", "decided_by": str(ALICE), "arguments_hash": call["arguments_hash"], **more}


def edited(case: ToolCase, **changed: Any) -> dict[str, Any]:
    (call,) = case.open_requests[0].question["tool_calls"]
    arguments = {**call["arguments"], **changed}
    return yes(case, arguments=arguments, arguments_hash=arguments_hash(call["tool"], arguments))


async def waits(case: ToolCase) -> None:
    end = await case.drive()
    assert end.how == "waiting", end


async def outcome(case: ToolCase) -> Any:
    end = await case.drive()
    assert end.how == "completed", end
    return end.value


# --- what is asked


@pytest.mark.spec("S131", "S132", "B5")
async def test_a_protected_call_is_asked_about_with_all_that_a_person_has_to_know() -> None:
    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("send_email", MAIL, call_id="call-1"))

    box = FakeMailbox()
    task = AgentInput(agent_id="mail-1", agent_name="mail", task="Write to Bob")
    settings = PipelineSettings(approval_timeout_s=120)
    case = case_of(
        program,
        Gateway(fake_providers(mailbox=box)),
        agent="mail",
        task=task,
        settings=settings,
        lookups=MemoryLookups(),
    )

    await waits(case)

    (asked,) = case.open_requests
    question = dict(asked.question)
    (call,) = question.pop("tool_calls")
    schema = call.pop("schema")
    assert (asked.kind, asked.agent_name) == ("approval", "root")
    assert question == {
        "question": "Send this mail?",
        "task_description": "Write to Bob",
        "tool_names": ["send_email"],
        "stage": "tool",
        "risk": "high",
        "why": "send_email cannot be undone.",
        "rules_allowed": False,
        "approvers": {"kind": "self", "name": "", "user_ids": [], "different_person": False},
        "timeout_seconds": 120,
    }
    assert call == {
        "id": "call-1",
        "tool": "send_email",
        "label": "Send a mail",
        "arguments": WHOLE,
        "arguments_hash": arguments_hash("send_email", WHOLE),
        "risk": "high",
        "irreversible": True,
        "effect": "write",
        "preview": {"kind": "mail", **MAIL, "cc": [], "bcc": [], "in_reply_to": ""},
    }
    assert set(schema["properties"]) == set(WHOLE)
    assert box.sent == []
    (event,) = case.events("hitl_required")
    assert (event["tool_names"], event["task_description"], event["timeout_seconds"]) == (
        ["send_email"],
        "Write to Bob",
        120,
    )


@pytest.mark.spec("S131")
def test_the_protected_tools_of_the_catalogue_say_how_people_see_them() -> None:
    protected = {name: found.preview for name, found in all_tools().items() if found.requires_approval}

    assert protected == {
        "send_email": previews.mail,
        "reply_to_message": previews.mail,
        "send_draft": previews.draft,
        "execute_code": previews.code,
        "execute_script": previews.code,
        "app_install_packages": previews.plain,
        "app_start_server": previews.command,
        "browser_click": previews.plain,
        "browser_type": previews.plain,
        "browser_press_key": previews.plain,
    }


@pytest.mark.parametrize(
    ("flags", "risk"),
    [
        ({}, "medium"),
        ({"effect": "read", "probe": None}, "medium"),
        ({"irreversible": True}, "high"),
    ],
)
async def test_the_risk_follows_from_what_the_tool_says_of_itself(flags: dict[str, Any], risk: str) -> None:
    case = writing(Notes(**flags))

    await waits(case)

    assert case.open_requests[0].question["risk"] == risk


async def test_a_preview_that_breaks_does_not_keep_people_from_being_asked() -> None:
    def broken(arguments: Any) -> dict[str, Any]:
        raise RuntimeError("bug")

    case = writing(Notes(preview=broken))

    await waits(case)

    assert case.open_requests[0].question["tool_calls"][0]["preview"] == {"kind": "arguments"}


@pytest.mark.spec("S114")
@pytest.mark.threat("T19")
async def test_toggling_the_flag_of_a_tool_is_all_that_it_takes() -> None:
    protected, free = Notes(), Notes(requires_approval=False)
    asked, done = writing(protected), writing(free)

    await waits(asked)
    reply = await outcome(done)

    assert (protected.written, asked.open_requests[0].question["tool_names"]) == ([], ["write"])
    assert (free.written, reply["content"]) == (["hello"], "Written: hello")


DISCOVERED = '''"""A tool as somebody adds it."""
from agents.tools.tool import ANY_AGENT, Call, composite, tool

@tool(agents=ANY_AGENT, requires_approval={flag})
async def deploy(call: Call, service: str) -> str:
    """Deploys a service."""
    return f"Deployed {{service}}."
'''


@pytest.mark.spec("S114")
@pytest.mark.threat("T19")
@pytest.mark.parametrize("flag", [True, False])
async def test_a_tool_that_is_discovered_is_asked_about_if_its_flag_says_so_and_nothing_else_changes(
    flag: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"deploy_{flag}_tools".lower()
    (tmp_path / f"{name}.py").write_text(DISCOVERED.format(flag=flag))
    monkeypatch.syspath_prepend(tmp_path)
    found = whole([load(name)], agents=registry.names())

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("deploy", {"service": "x"}, call_id="a"))

    case = case_of(program, Gateway(tools=found), lookups=MemoryLookups())
    end = await case.drive()

    if flag:
        assert (end.how, case.open_requests[0].question["tool_names"]) == ("waiting", ["deploy"])
        case.answer(yes(case))
        end = await case.drive()
    assert end.value["content"] == "Deployed x."


# --- what an answer means


@pytest.mark.spec("S133", "B5")
async def test_an_approved_call_is_carried_out_once() -> None:
    notes = Notes()
    case = writing(notes)
    await waits(case)

    case.answer(yes(case))
    reply = await outcome(case)

    assert (notes.written, reply["content"], reply["is_error"]) == (["hello"], "Written: hello", False)


@pytest.mark.spec("S133", "S122")
async def test_a_denied_call_is_not_carried_out_and_the_model_reads_the_reason() -> None:
    notes = Notes()
    case = writing(notes)
    await waits(case)

    case.answer({"status": "denied", "decided_by": str(ALICE), "instructions": "Too early."})
    reply = await outcome(case)

    assert notes.written == []
    assert reply["content"].startswith(
        "Error: write was not carried out: its approval was declined: Too early. Do not try it again"
    )
    assert reply["data"] == {
        "error": "denied_by_user",
        "told": "write was not carried out: its approval was declined: Too early.",
        "reason": "Too early.",
        "tools": ["write"],
    }
    assert case.store.effects(case.execution_id) == []


@pytest.mark.spec("S123", "B6")
@pytest.mark.parametrize(
    ("status", "code"), [("timed_out", "hitl_timeout"), ("expired", "hitl_timeout"), ("cancelled", "hitl_cancelled")]
)
async def test_a_request_that_nobody_decided_is_told_as_that_and_never_as_a_no(status: str, code: str) -> None:
    notes = Notes()
    case = writing(notes)
    await waits(case)

    case.answer({"status": status, "decided_by": None})
    reply = await outcome(case)

    assert (notes.written, reply["data"]["error"]) == ([], code)
    assert "declined" not in reply["content"]


@pytest.mark.threat("T18")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        "approved",
        {},
        {"status": "approve"},
        {"status": "APPROVED"},
        {"decision": "approved"},
        {"status": "answered", "choice": "yes"},
        {"status": "snoozed"},
        ["approved"],
        {"status": ["approved"]},
    ],
)
async def test_whatever_is_no_clear_yes_lets_nothing_through(answer: Any) -> None:
    notes = Notes()
    case = writing(notes)
    await waits(case)

    case.answer(answer)
    reply = await outcome(case)

    assert (notes.written, reply["is_error"]) == ([], True)


@pytest.mark.spec("B5", "S132")
@pytest.mark.threat("T18")
@pytest.mark.parametrize(
    "more",
    [
        {"arguments_hash": "0" * 64},
        {"arguments_hash": None},
        {"arguments_hash": arguments_hash("write", {"text": "other", "copies": 1})},
        {"arguments": {"text": "other", "copies": 1}},
        {"arguments": "text", "arguments_hash": "0" * 64},
    ],
)
async def test_a_yes_to_anything_else_counts_for_nothing_and_it_is_asked_again(more: dict[str, Any]) -> None:
    notes = Notes()
    case = writing(notes)
    await waits(case)

    case.answer(yes(case, **more))
    await waits(case)

    (asked,) = case.open_requests
    assert notes.written == []
    assert asked.question["why"].startswith("What was approved are not the arguments of this call")
    case.answer(yes(case))
    await outcome(case)
    assert notes.written == ["hello"]


async def test_nobody_is_asked_about_the_same_call_for_ever() -> None:
    notes = Notes()
    case = writing(notes)
    for _ in range(5):
        await waits(case)
        case.answer(yes(case, arguments_hash="0" * 64))

    reply = await outcome(case)

    assert (notes.written, reply["data"]["error"]) == ([], "hitl_cancelled")


@pytest.mark.spec("S133", "B5")
@pytest.mark.threat("T18")
async def test_edited_arguments_are_what_is_carried_out_and_the_model_is_told() -> None:
    notes = Notes()
    case = writing(notes)
    await waits(case)

    case.answer(edited(case, text="goodbye", copies=2))
    reply = await outcome(case)

    assert notes.written == ["goodbye", "goodbye"]
    assert reply["content"] == (
        "A person changed these arguments before they approved the call:\n"
        "- copies: 1 became 2\n- text: hello became goodbye\n\nWritten: goodbye"
    )
    (effect,) = case.store.effects(case.execution_id)
    assert effect.arguments == {"text": "goodbye", "copies": 2}


@pytest.mark.spec("S127", "S133")
async def test_what_is_said_with_edited_arguments_is_told_to_the_model_though_the_call_fails() -> None:
    @tool(agents=ANY_AGENT, requires_approval=True)
    async def write(call: Call, text: str) -> str:
        """Writes a note."""
        raise ToolError("The pen is dry.")

    case = writing(Notes())
    case.gateway = gateway_of(write, checks=CHECKS)
    await waits(case)

    case.answer({**edited(case, text="goodbye"), "instructions": "And tell me when"})
    reply = await outcome(case)

    assert "They said: And tell me when" in reply["content"]
    assert reply["content"].endswith("The pen is dry.")
    assert reply["data"]["instructions"] == "And tell me when"


async def test_what_was_said_with_arguments_that_had_to_be_shown_once_more_is_kept() -> None:
    notes = Notes()
    case = writing(notes)
    await waits(case)
    bare = {"text": "goodbye"}

    said = {"arguments": bare, "arguments_hash": arguments_hash("write", bare), "instructions": "And tell me when"}
    case.answer(yes(case, **said))
    await waits(case)
    case.answer(yes(case))
    reply = await outcome(case)

    assert notes.written == ["goodbye"]
    assert "They said: And tell me when" in reply["content"]


async def test_edited_arguments_that_the_tool_cannot_take_are_asked_about_again_with_what_is_wrong() -> None:
    notes = Notes()
    case = writing(notes)
    await waits(case)

    case.answer(edited(case, copies=0))
    await waits(case)

    (asked,) = case.open_requests
    assert notes.written == []
    assert "copies: Input should be greater than or equal to 1" in asked.question["why"]
    assert asked.question["tool_calls"][0]["arguments"] == {"text": "hello", "copies": 1}


@pytest.mark.threat("T18")
async def test_edited_arguments_that_are_read_otherwise_than_they_were_written_are_shown_first() -> None:
    """What was left out is filled in, and whoever approved did not see that."""
    notes = Notes()
    case = writing(notes)
    await waits(case)
    bare = {"text": "goodbye"}

    case.answer(yes(case, arguments=bare, arguments_hash=arguments_hash("write", bare)))
    await waits(case)
    shown = case.open_requests[0].question["tool_calls"][0]["arguments"]
    case.answer(yes(case))
    reply = await outcome(case)

    assert shown == {"text": "goodbye", "copies": 1}
    assert notes.written == ["goodbye"]
    assert reply["content"].startswith("A person changed these arguments")


@pytest.mark.spec("S207", "S133")
@pytest.mark.threat("T18")
async def test_edited_arguments_pass_the_scanner_too() -> None:
    scanned: list[str] = []

    async def scanner(context: AgentContext, request: Request) -> Refusal | None:
        scanned.append(request.arguments["text"])
        return Refusal("blocked", "This looks like an attack.") if "rm -rf" in request.arguments["text"] else None

    notes = Notes()
    case = writing(notes, checks=Checks(scanners=(scanner,), approvals=CHECKS.approvals))
    await waits(case)

    case.answer(edited(case, text="rm -rf /"))
    reply = await outcome(case)

    assert (notes.written, reply["data"]["error"]) == ([], "blocked")
    assert scanned[-1] == "rm -rf /"


@pytest.mark.spec("S127")
@pytest.mark.threat("T18")
async def test_a_call_that_was_approved_with_instructions_is_not_carried_out_yet() -> None:
    notes = Notes()
    case = writing(notes)
    case.programs = {**case.programs, **_small(notes, "hello")}
    await waits(case)

    case.answer(yes(case, instructions="Only in the afternoon"))
    reply = await outcome(case)

    assert notes.written == []
    assert reply["data"] | {"told": ""} == {
        "error": "approved_with_instructions",
        "told": "",
        "reason": "Only in the afternoon",
        "tools": ["write"],
        "instructions": "Only in the afternoon",
        "intent": "enhance",
    }
    assert "Only in the afternoon" in reply["content"]


@pytest.mark.spec("S127", "B5")
@pytest.mark.threat("T18")
async def test_the_same_call_after_instructions_needs_no_second_yes_and_another_one_does() -> None:
    notes = Notes()
    case = writing(notes)
    case.programs = {**case.programs, **_small(notes, "hello", "hello", "hello", "goodbye")}
    await waits(case)

    case.answer(yes(case, instructions="Be brief"))
    await waits(case)
    written = list(notes.written)
    third = case.open_requests[0].question["tool_calls"][0]["arguments"]["text"]
    case.answer({"status": "denied"})
    await waits(case)

    assert (written, third) == (["hello"], "hello")  # the yes was for one call
    assert case.open_requests[0].question["tool_calls"][0]["arguments"]["text"] == "goodbye"


@pytest.mark.spec("S127")
async def test_instructions_on_a_call_that_a_tool_makes_are_told_to_the_model_that_called_the_tool() -> None:
    notes = Notes()

    @composite(agents=ANY_AGENT)
    async def twice(context: AgentContext) -> str:
        """Writes two notes."""
        for _ in range(2):
            await context.tool("write", {"text": "hello"})
        return "Both written."

    task = AgentInput(agent_id="a", agent_name="chat", task="Write", capable=False)

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("twice", {}, call_id="a"))

    case = case_of(program, gateway_of(twice, notes.tool), lookups=MemoryLookups(), task=task)
    await waits(case)

    case.answer(yes(case, instructions="Only one"))
    reply = await outcome(case)

    assert (notes.written, reply["data"]["error"]) == ([], "approved_with_instructions")
    assert "Only one" in reply["content"]


# --- what stands


def rule(effect: RuleEffect = RuleEffect.ALLOW, **more: Any) -> RuleFacts:
    facts = RuleFacts(uuid4(), ALICE, effect, RuleScope.RULE, "write", text="writing notes")
    return replace(facts, **more)


@pytest.mark.spec("S113", "B7")
async def test_a_standing_rule_lets_a_call_through_and_its_use_is_counted_once() -> None:
    notes = Notes()
    lookups = MemoryLookups(rules=(rule(uses_left=1),))
    case = writing(notes, lookups=lookups)

    await outcome(case)
    await outcome(case)

    assert notes.written == ["hello"]
    assert len(lookups.used) == 1


@pytest.mark.spec("B7")
async def test_a_rule_with_one_use_lets_one_of_two_calls_through_and_the_other_is_asked_about() -> None:
    async def program(context: AgentContext) -> Any:
        async def one(branch: AgentContext) -> Any:
            return seen(await branch.tool("write", {"text": "hello"}, call_id="a"))

        return await context.all(one, one)

    notes = Notes()
    case = case_of(program, gateway_of(notes.tool), lookups=MemoryLookups(rules=(rule(uses_left=1),)))

    await waits(case)

    assert (notes.written, len(case.open_requests)) == (["hello"], 1)


@pytest.mark.spec("B7")
async def test_a_rule_whose_use_is_gone_when_it_is_counted_allows_nothing() -> None:
    class Raced(MemoryLookups):
        async def use_rule(self, rule_id: Any, **more: Any) -> bool:
            return False

    notes = Notes()
    case = writing(notes, lookups=Raced(rules=(rule(),)))

    await waits(case)

    assert notes.written == []


@pytest.mark.spec("B7")
@pytest.mark.parametrize("flags", [{"irreversible": True}, {}])
async def test_a_rule_that_denies_is_the_persons_own_no_and_wins(flags: dict[str, Any]) -> None:
    notes = Notes(**flags)
    case = writing(notes, lookups=MemoryLookups(rules=(rule(), rule(RuleEffect.DENY))))

    reply = await outcome(case)

    assert (notes.written, reply["data"]["error"]) == ([], "denied_by_user")


@pytest.mark.spec("B7")
async def test_no_rule_covers_what_cannot_be_undone() -> None:
    notes = Notes(irreversible=True)
    case = writing(notes, lookups=MemoryLookups(rules=(rule(),)))

    await waits(case)

    assert (notes.written, case.open_requests[0].question["rules_allowed"]) == ([], False)


@pytest.mark.spec("B4")
async def test_a_policy_asks_about_a_tool_that_does_not_ask_by_itself_and_names_who_decides() -> None:
    boss = Approvers(ApproverKind.ROLE, "reviewer", different_person=True)
    policy = PolicyFacts("Notes are reviewed", tool="write", action=PolicyAction.ASK, approvers=boss)
    notes = Notes(requires_approval=False)
    case = writing(notes, lookups=MemoryLookups(policies=(policy,)))

    await waits(case)

    question = case.open_requests[0].question
    assert question["approvers"] == {"kind": "role", "name": "reviewer", "user_ids": [], "different_person": True}
    assert notes.written == []


async def test_a_policy_that_denies_is_told_as_a_rule_of_the_house() -> None:
    notes = Notes()
    case = writing(notes, lookups=MemoryLookups(policies=(PolicyFacts("No notes", action=PolicyAction.DENY),)))

    reply = await outcome(case)

    assert (notes.written, reply["data"]["error"]) == ([], "denied_by_policy")
    assert "No notes" in reply["content"]


@pytest.mark.spec("B17")
async def test_nobody_is_asked_about_what_is_switched_off() -> None:
    notes = Notes()
    case = writing(notes, lookups=MemoryLookups(stopped="Eve stopped all actions: we are under attack."))

    reply = await outcome(case)

    assert (notes.written, case.open_requests, reply["data"]["error"]) == ([], [], "switched_off")
    assert "we are under attack" in reply["content"]


@pytest.mark.spec("B17", "B2")
async def test_a_switch_thrown_after_the_yes_stops_the_effect_as_surely_not_happened() -> None:
    notes = Notes()
    lookups = MemoryLookups()
    case = writing(notes, lookups=lookups)
    await waits(case)

    lookups.stopped = "Eve stopped all actions: wait."
    case.answer(yes(case))
    reply = await outcome(case)

    assert (notes.written, reply["data"]["error"]) == ([], "switched_off")
    (effect,) = case.store.effects(case.execution_id)
    assert effect.status is EffectStatus.FAILED


@pytest.mark.spec("B17")
async def test_a_switch_stops_effects_that_need_no_yes_and_lets_reading_go_on() -> None:
    @tool(agents=ANY_AGENT)
    async def look(call: Call) -> str:
        """Looks."""
        return "seen"

    async def program(context: AgentContext) -> Any:
        return [
            (await context.tool("look", {}, call_id="a")).content,
            (await context.tool("write", {"text": "x"}, call_id="b")).data,
        ]

    notes = Notes(requires_approval=False)
    case = case_of(program, gateway_of(look, notes.tool), lookups=MemoryLookups(stopped="Stopped."))

    looked, wrote = await outcome(case)

    assert (looked, wrote["error"], notes.written) == ("seen", "switched_off", [])


# --- runs that nobody watches


@pytest.mark.spec("B8", "S124")
@pytest.mark.threat("T19")
@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"interactive": False}, "hitl_skipped_non_streaming"),
        ({"on_approval": OnApproval.SKIP}, "hitl_skipped_non_streaming"),
        ({"on_approval": OnApproval.DENY}, "denied_by_policy"),
        ({"on_approval": OnApproval.DENY, "interactive": False}, "denied_by_policy"),
        ({"on_approval": OnApproval.WAIT, "interactive": False}, None),
        ({"on_approval": OnApproval.WAIT}, None),
        ({}, None),
    ],
)
async def test_a_run_that_nobody_watches_follows_its_rule_and_never_says_yes_by_itself(
    options: dict[str, Any], code: str | None
) -> None:
    notes = Notes()
    task = AgentInput(agent_id="a", agent_name="chat", task="Write", options=Options(**options))
    case = writing(notes, task=task)

    end = await case.drive()

    assert notes.written == []
    if code is None:
        assert end.how == "waiting"
    else:
        assert (end.value["data"]["error"], case.open_requests) == (code, [])


@pytest.mark.spec("B8")
async def test_what_was_approved_beforehand_is_carried_out_and_only_that() -> None:
    conditions = [{"path": "text", "op": "starts_with", "value": "he"}]
    options = {"on_approval": "skip", "preapproved": [{"tool": "write", "conditions": conditions}]}
    task = AgentInput(agent_id="a", agent_name="chat", task="Write", options=Options.model_validate(options))
    allowed, other, irreversible = Notes(), Notes(), Notes(irreversible=True)

    yes_, no, never = [
        await outcome(writing(notes, text, task=task))
        for notes, text in ((allowed, "hello"), (other, "goodbye"), (irreversible, "hello"))
    ]

    assert (allowed.written, yes_["is_error"]) == (["hello"], False)
    assert (other.written, no["data"]["error"]) == ([], "hitl_skipped_non_streaming")
    assert (irreversible.written, never["data"]["error"]) == ([], "hitl_skipped_non_streaming")


@pytest.mark.threat("T19")
async def test_without_a_desk_a_protected_tool_is_not_called() -> None:
    notes = Notes()

    async def program(context: AgentContext) -> Any:
        return seen(await context.tool("write", {"text": "x"}, call_id="a"))

    reply = await outcome(case_of(program, gateway_of(notes.tool)))

    assert (notes.written, reply["data"]) == ([], {"error": "approval_unavailable"})


# --- several calls, replay, death


def two_calls(notes: Notes) -> ToolCase:
    async def program(context: AgentContext) -> Any:
        def call(text: str) -> Any:
            async def one(branch: AgentContext) -> Any:
                return (await branch.tool("write", {"text": text}, call_id=text)).content

            return one

        return await context.all(call("first"), call("second"), call("third"))

    return case_of(program, gateway_of(notes.tool), lookups=MemoryLookups())


@pytest.mark.spec("S132", "S133")
async def test_several_calls_of_one_turn_are_asked_at_once_decided_one_by_one_and_answered_in_order() -> None:
    notes = Notes()
    case = two_calls(notes)
    await waits(case)
    by_text = {one.question["tool_calls"][0]["arguments"]["text"]: one for one in case.open_requests}
    assert set(by_text) == {"first", "second", "third"}

    def answer(text: str, **said: Any) -> None:
        (call,) = by_text[text].question["tool_calls"]
        case.store.answer(by_text[text].request_id, {"arguments_hash": call["arguments_hash"], **said})

    answer("third", status="approved")
    await waits(case)
    third_alone = list(notes.written)
    answer("first", status="denied", instructions="no")
    await waits(case)
    answer("second", status="approved")
    told = await outcome(case)

    assert third_alone == ["third"]
    assert notes.written == ["third", "second"]
    assert [text.split(":")[0] for text in told] == ["Error", "Written", "Written"]
    assert told[1:] == ["Written: second", "Written: third"]


SAID: dict[str, Callable[[ToolCase], dict[str, Any]]] = {
    "approved": yes,
    "denied": lambda case: {"status": "denied", "instructions": "no"},
    "edited": lambda case: edited(case, text="goodbye"),
    "timed_out": lambda case: {"status": "timed_out"},
    "instructed": lambda case: yes(case, instructions="later"),
}


@pytest.mark.slow
@pytest.mark.spec("B1", "B2", "B5")
@pytest.mark.threat("T19")
@pytest.mark.parametrize("death", list(Death))
@pytest.mark.parametrize("decision", SAID)
@pytest.mark.parametrize("phase", ["before the decision", "after the decision"])
async def test_killed_at_every_record_between_question_and_effect_the_outcome_is_the_same(
    death: Death, decision: str, phase: str
) -> None:
    """One question, one decision, at most one effect, and what the model reads, whatever dies where."""
    outcomes = set()
    died, at = True, 0
    while died:
        at += 1
        notes = Notes()
        case = writing(notes)
        case.programs = {**case.programs, **_small(notes, "hello")}
        died = await _decided(case, decision, death=death, at=at, dies_after=phase == "after the decision")
        end = await case.drive()
        asked = [step for step in case.store.steps(case.execution_id) if step.kind is StepKind.ASK]
        outcomes.add((end.how, _reply(end.value), tuple(notes.written), len(asked)))
    assert at > 2
    ((_, _, written, asked_about),) = outcomes
    expected = {"approved": ("hello",), "edited": ("goodbye",)}.get(decision, ())
    assert (written, asked_about) == (expected, 1)


def _reply(value: Any) -> str:
    """What a call came to. Of an effect whose result was lost the reply says only that it happened."""
    return json.dumps(value, sort_keys=True) if value["is_error"] else "carried out"


async def _decided(case: ToolCase, decision: str, *, death: Death, at: int, dies_after: bool) -> bool:
    """Whether a driver died: the first, or the one after the decision."""
    fatal: dict[str, Any] = {"death": death, "at": at}
    first = await case.drive(**({} if dies_after else fatal))
    if first.how == "killed":
        await waits(case)
    case.answer(SAID[decision](case))
    second = await case.drive(**(fatal if dies_after else {}))
    return "killed" in (first.how, second.how)


@pytest.mark.spec("B7")
async def test_a_rule_is_used_once_by_a_call_that_died_between_counting_and_recording() -> None:
    for at in range(1, 8):
        notes = Notes()
        lookups = MemoryLookups(rules=(rule(uses_left=1),))
        case = writing(notes, lookups=lookups)
        await case.drive(death=Death.UNCOMMITTED_IS_LOST, at=at)

        await outcome(case)

        assert (notes.written, len(lookups.used)) == (["hello"], 1), at


async def test_what_stands_is_looked_up_once_and_a_replay_decides_the_same() -> None:
    notes = Notes()
    lookups = MemoryLookups()
    case = writing(notes, lookups=lookups)
    await waits(case)

    lookups.rules = (rule(),)
    lookups.policies = (PolicyFacts("All of it", action=PolicyAction.ALLOW),)
    await waits(case)
    looked = lookups.looked
    case.answer(yes(case))
    await outcome(case)

    assert (looked, notes.written) == (1, ["hello"])


@pytest.mark.threat("T18")
@pytest.mark.parametrize(
    ("made_meanwhile", "code"),
    [
        ({"rules": (rule(effect=RuleEffect.DENY),)}, "denied_by_user"),
        ({"policies": (PolicyFacts("Nothing at all", action=PolicyAction.DENY),)}, "denied_by_policy"),
    ],
)
async def test_a_no_in_general_that_came_while_a_person_was_asked_stops_the_call_that_they_approve(
    made_meanwhile: dict[str, Any], code: str
) -> None:
    notes = Notes()
    lookups = MemoryLookups()
    case = writing(notes, lookups=lookups)
    await waits(case)

    for name, value in made_meanwhile.items():
        setattr(lookups, name, value)
    case.answer(yes(case))
    value = await outcome(case)

    assert notes.written == []
    assert value["data"]["error"] == code


# --- helpers


def _small(notes: Notes, *texts: str) -> dict[str, Any]:
    """The root as an agent of a run where only the small model serves: no classifier is asked. Calls in a row."""
    task = AgentInput(agent_id="a", agent_name="chat", task="Write", capable=False)

    async def program(context: AgentContext) -> Any:
        replies = [await context.tool("write", {"text": text}, call_id=str(n)) for n, text in enumerate(texts)]
        return seen(replies[-1])

    return dict(case_of(program, gateway_of(notes.tool), task=task).programs)


@pytest.mark.threat("T18")
async def test_a_condition_of_a_rule_looks_at_the_final_arguments() -> None:
    notes = Notes()
    only_hello = rule(conditions=(Condition("text", Op.EQUALS, "hello"),))
    allowed = writing(notes, "hello", lookups=MemoryLookups(rules=(only_hello,)))
    asked = writing(notes, "hello!", lookups=MemoryLookups(rules=(only_hello,)))

    await outcome(allowed)
    await waits(asked)

    assert notes.written == ["hello"]
