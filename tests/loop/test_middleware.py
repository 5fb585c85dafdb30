"""What stands around the model calls: its order, its hooks, and the questions that it may ask a person."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import pytest

from agents.craft.exchange import AgentInput
from agents.craft.loop_state import LoopState
from agents.craft.middleware.base import Interrupt, Middleware
from agents.craft.middleware.default import default_middleware
from agents.runtime.context import AgentContext
from agents.spec import AgentSpec
from hyperagent.lib.llm.types import ModelReply
from tests.loop.driving import TASK, Cases, calls, looped, offered, sent
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer


@dataclass(frozen=True)
class Named(Middleware):
    """Writes down when it is called, in a list of the test's own."""

    label: str
    seen: list[str] = field(default_factory=list)
    task: str = ""

    def init(self, task: AgentInput, spec: AgentSpec) -> Self:
        self.seen.append(f"init {self.label}")
        return replace(self, task=task.task)

    def system_prompt(self) -> str:
        return f"{self.label} knows: {self.task}."

    def tools(self) -> tuple[str, ...]:
        return (f"tool_of_{self.label}",)

    async def on_server_start(self, context: AgentContext, state: LoopState) -> LoopState:
        self.seen.append(f"start {self.label}")
        return state

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        self.seen.append(f"before {self.label}")
        return state

    async def after_model(self, context: AgentContext, state: LoopState, reply: ModelReply) -> LoopState:
        self.seen.append(f"after {self.label}")
        return state


@pytest.mark.spec("S71", "S72", "S64")
async def test_hooks_are_called_in_order_before_the_model_and_in_reverse_after_it(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(calls(("tool_of_a", {})), Script(text="Done."))
    seen: list[str] = []
    stack = (Named("a", seen), Named("b", seen))

    await looped(cases({"tool_of_a": lambda arguments: "fine"}, tools=(), middleware=stack))

    round_ = ["before a", "before b", "after b", "after a"]
    assert seen == ["init a", "init b", "start a", "start b", *round_, *round_]
    assert sent(scripted_server, 0)[0]["content"] == (
        "You help.\n\na knows: Find the figure.\n\nb knows: Find the figure."
    )
    assert offered(scripted_server, 0) == ["tool_of_a", "tool_of_b"]


@dataclass(frozen=True)
class Asking(Middleware):
    """Asks a person before the first model call, or after the reply that calls tools."""

    before: bool = True

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState | Interrupt:
        if not self.before or "asked" in state.metadata:
            return state
        return Interrupt("input", {"question": "In which currency?"}, state.noting("asked", True))

    async def after_model(self, context: AgentContext, state: LoopState, reply: ModelReply) -> LoopState | Interrupt:
        if self.before or not reply.tool_calls:
            return state
        return Interrupt("decision", {"question": "May it search?", "options": ["yes", "no"]}, state)

    def handle_message(self, answer: Any, state: LoopState) -> LoopState:
        if self.before:
            return state.told(f"The person wants {answer['text']}.")
        return state if answer["choice"] == "yes" else state.stop("denied", "A person did not want this.")


@pytest.mark.spec("S73")
async def test_a_middleware_may_ask_a_person_before_the_model_is_called(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    case = cases({}, middleware=(Asking(),))

    waiting = await case.drive()
    asked = case.open_requests
    case.answer({"status": "answered", "text": "euros"})
    scripted_server.script(Script(text="40 euros."))
    result = await looped(case)

    assert (waiting.how, [(one.kind, one.question) for one in asked]) == (
        "waiting",
        [("input", {"question": "In which currency?"})],
    )
    assert sent(scripted_server, 0)[-1]["content"] == "[System notice] The person wants euros."
    assert result.text == "40 euros."


@pytest.mark.spec("S73")
@pytest.mark.parametrize(("choice", "searched"), [("yes", 1), ("no", 0)])
async def test_a_middleware_may_ask_a_person_before_tools_are_called(
    scripted_server: ScriptedServer, cases: Cases, choice: str, searched: int
) -> None:
    scripted_server.script(calls(("search", {})), Script(text="Done."))
    case = cases({"search": lambda arguments: "found"}, middleware=(Asking(before=False),))

    waiting = await case.drive()
    case.answer({"status": "answered", "choice": choice})
    result = await looped(case)

    assert waiting.how == "waiting"
    assert case.door is not None
    assert len(case.door.performed) == searched
    assert (result.text, result.stopped) == ("Done.", None if searched else "denied")
    if not searched:
        assert [m["role"] for m in sent(scripted_server, 1)] == ["system", "user", "assistant", "tool", "user"]
        assert "A person did not want this." in sent(scripted_server, 1)[-1]["content"]


@pytest.mark.spec("S74")
def test_the_default_stack_has_the_members_that_agents_need() -> None:
    stack = [one.name for one in default_middleware(TASK)]
    small = [one.name for one in default_middleware(TASK.model_copy(update={"capable": False}))]

    assert stack == [
        "todo",
        "workspace",
        "codeact",
        "soft_disable",
        "patch_tool_calls",
        "compression",
        "loop_guard",
    ]
    assert small == ["patch_tool_calls", "loop_guard"]
