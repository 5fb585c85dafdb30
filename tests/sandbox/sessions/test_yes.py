"""A yes to a program is good for one run of it: no replay, cut or crash makes a second of it without being seen."""

from typing import Any

import pytest

from agents.runtime.context import AgentContext
from agents.tools.gateway import Gateway
from agents.tools.values import CodeRun
from tests.doubles.lookups import MemoryLookups
from tests.doubles.memory_journal import Death
from tests.tools.doubles import FakeSandbox, fake_providers
from tests.tools.driving import ALICE, ToolCase, case_of, seen

CODE = "print('hello')"


class Programs:
    """An agent that runs a program and then asks on. `version`: of its own code, which a deploy changes."""

    def __init__(self) -> None:
        self.version = 1
        self.sandbox = FakeSandbox(outputs={CODE: CodeRun(code=CODE, stdout="hello\n", exit_code=0)})
        gateway = Gateway(fake_providers(sandbox=self.sandbox))
        self.case: ToolCase = case_of(self.program, gateway, agent="code", lookups=MemoryLookups())

    async def program(self, context: AgentContext) -> Any:
        await context.note(f"version {self.version}", lambda: None)
        reply = seen(await context.tool("execute_code", {"code": CODE}, call_id="call-1"))
        await context.ask("input", {"question": "And now?"})
        return reply

    async def waits(self) -> None:
        end = await self.case.drive()
        assert end.how == "waiting", end

    def approve(self) -> None:
        (request,) = [one for one in self.case.open_requests if one.kind == "approval"]
        (call,) = request.question["tool_calls"]
        said = {"status": "approved", "decided_by": str(ALICE), "arguments_hash": call["arguments_hash"]}
        self.case.answer(said)


@pytest.mark.threat("T19")
async def test_a_replay_finds_what_the_program_gave_and_after_a_cut_somebody_is_asked_again() -> None:
    programs = Programs()
    await programs.waits()
    programs.approve()
    await programs.waits()
    assert programs.sandbox.ran == [CODE]

    await programs.waits()
    programs.version = 2
    await programs.waits()

    assert programs.sandbox.ran == [CODE]
    asked = [request.kind for request in programs.case.open_requests]
    assert asked == ["approval"]
    programs.approve()
    await programs.waits()
    assert programs.sandbox.ran == [CODE, CODE]


async def test_a_runner_that_dies_before_the_result_is_recorded_runs_and_shows_it_again_with_the_same_yes() -> None:
    programs = Programs()
    await programs.waits()
    programs.approve()
    for at in range(1, 40):
        end = await programs.case.drive(death=Death.WRITE_IS_LOST, at=at)
        if programs.sandbox.ran:
            break
    assert end.how == "killed", end

    await programs.waits()

    assert programs.sandbox.ran == [CODE, CODE]
    told = [event for kind in ("terminal_command", "code_result") for event in programs.case.events(kind)]
    assert told[-1]["stdout"] == "hello\n"
    assert len({event["id"] for event in told}) == 1
    assert [request.kind for request in programs.case.open_requests] == ["input"]
