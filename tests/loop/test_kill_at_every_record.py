"""A loop that is killed at any of its records, and called again, is in the same state and says the same."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.craft.exchange import AgentInput
from agents.craft.loop_state import Looped, LoopState
from agents.craft.middleware.base import Middleware
from agents.craft.middleware.default import default_middleware
from agents.engine.states import InterventionKind
from agents.runtime.context import AgentContext
from agents.runtime.driven import PipelineSettings
from hyperagent.lib.llm.types import ModelReply
from tests.doubles.memory_journal import Death
from tests.engine.driving import End, drive
from tests.loop.driving import TASK, Cases
from tests.scripted.script import Script, ScriptedCall
from tests.scripted.server import ScriptedServer
from tests.shown import shown

LONG = "a long result " * 400
PLANNED: AgentInput = TASK.model_copy(update={"active_context": "- [ ] helper: find the figure"})
# Two rounds of tools, the first with calls side by side, words before them, a summary before the last, and the answer.
LINES = (
    Script(
        text="First I look at two places.",
        thinking="Where to begin?",
        tool_calls=[
            ScriptedCall(name="search", arguments='{"query": "a"}', id="call-1"),
            ScriptedCall(name="read", arguments='{"path": "b"}', id="call-2"),
        ],
    ),
    Script(
        text="Now at a third.",
        tool_calls=[ScriptedCall(name="search", arguments='{"query": "c"}', id="call-3")],
    ),
    Script(text="Goal: find the figure.", model="scripted-flash"),
    Script(text="The figure is forty two."),
)
SETTINGS = PipelineSettings(compression_tokens=1_500, compression_keeps=2)
# An answer that a person adds something to, for which a tool is called.
ADDED = "In euros, please"
LINES_ADDED_TO = (
    Script(text="It is forty two."),
    Script(
        text="I look up the rate.",
        tool_calls=[ScriptedCall(name="search", arguments='{"query": "rate"}', id="call-1")],
    ),
    Script(text="In euros it is forty."),
)


@dataclass(frozen=True)
class Watch(Middleware):
    """Writes down every state that it sees. The list is the test's own; a driver begins with an empty one."""

    name = "watch"
    states: list[LoopState] = field(default_factory=list)

    async def before_model(self, context: AgentContext, state: LoopState) -> LoopState:
        self.states.append(state)
        return state

    async def after_model(self, context: AgentContext, state: LoopState, reply: ModelReply) -> LoopState:
        self.states.append(state)
        return state


@dataclass(frozen=True)
class AddsWords(Middleware):
    """As a person does who has read the first answer, which is stored: once, however often that is replayed."""

    name = "adds_words"
    add: Callable[[], None]

    async def after_model(self, context: AgentContext, state: LoopState, reply: ModelReply) -> LoopState:
        if reply.text == LINES_ADDED_TO[0].text:
            await context.run.outbox.committed()
            self.add()
        return state


@dataclass
class Life:
    """One run from its start to its end, over as many drivers as it takes. `added`: what a person says to it."""

    cases: Cases
    server: ScriptedServer
    lines: tuple[Script, ...] = LINES
    added: str = ""
    states: list[LoopState] = field(default_factory=list)
    writes: int = 0
    had_looped: bool = False
    """It was killed behind its loop: words that came in fewer pieces than the reference's were fewer records."""

    def __post_init__(self) -> None:
        adds = (AddsWords(self._add),) if self.added else ()
        stack = (*default_middleware(PLANNED), Watch(self.states), *adds)
        tools = {"search": self._work, "read": self._work}
        self.case = self.cases(tools, task=PLANNED, settings=SETTINGS, middleware=stack)

    async def live(self, death: Death | None = None, at: int = 0) -> End:
        end = await self._drive(death, at)
        self.had_looped = self.case.looped is not None
        return await self._drive() if end.how == "killed" else end

    async def _drive(self, death: Death | None = None, at: int = 0) -> End:
        """The script goes on behind the replies that are recorded: one that is asked for again has no line."""
        self.server.reset()
        self.server.script(*self.lines[self.case.replies_recorded() :])
        self.states.clear()
        run, journal = self.case.take_over(death=death, at=at)
        end = await drive(run, journal)
        self.writes = journal.writes
        if end.how == "completed":
            self.server.verify()
        return end

    @property
    def looped(self) -> Looped:
        assert self.case.looped is not None
        return self.case.looped

    def _add(self) -> None:
        assert self.case.run is not None
        if not self.case.run.loaded.interventions:
            self.case.intervene(InterventionKind.STEER, self.added, run=self.case.run)

    @staticmethod
    def _work(arguments: dict[str, Any]) -> str:
        return LONG


@pytest.mark.spec("B1", "S65", "S66", "S67", "S68")
@pytest.mark.timeout(600)
async def test_a_loop_that_is_killed_at_any_record_ends_in_the_same_state(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    reference = Life(cases, scripted_server)
    expected = await reference.live()
    states = list(reference.states)
    assert expected == End("completed", {"answer": "The figure is forty two."})
    assert states[-1].summary == "Goal: find the figure."
    assert shown(reference.case.all_events) == reference.looped.text

    for at in range(1, reference.writes):  # the last is the end of the run, after the loop
        for death in Death:
            life = Life(cases, scripted_server)
            end = await life.live(death, at)

            told = f"{death.name} at {at}"
            assert end == expected, told
            assert life.looped == reference.looped, told
            assert life.states == states or (life.had_looped and not life.states), told
            assert life.case.events("journal_cut") == [], told
            assert shown(life.case.all_events) == reference.looped.text, told
            stages = [event["description"] for event in life.case.events("stage")]
            assert stages == [LINES[0].text, LINES[1].text], told


@pytest.mark.spec("B1", "S93")
@pytest.mark.timeout(600)
async def test_an_answer_that_words_were_added_to_stays_where_its_run_is_killed_at_any_record(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    answer = "It is forty two.\n\nIn euros it is forty."
    reference = Life(cases, scripted_server, LINES_ADDED_TO, ADDED)
    assert await reference.live() == End("completed", {"answer": answer})

    for at in range(1, reference.writes):
        for death in Death:
            life = Life(cases, scripted_server, LINES_ADDED_TO, ADDED)
            end = await life.live(death, at)

            told = f"{death.name} at {at}"
            assert end == End("completed", {"answer": answer}), told
            assert life.case.events("journal_cut") == [], told
            assert shown(life.case.all_events) == answer, told
            stages = [(event["name"], event.get("heard")) for event in life.case.events("stage")]
            assert stages == [("heard", {"text": ADDED, "at": 16}), ("reason", None)], told
