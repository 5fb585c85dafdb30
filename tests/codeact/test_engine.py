"""Scripts in the engine, without a process: what is recorded of them, and what a driver that takes over makes of it."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.engine.context import Context, Handle, Outcome
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.records import AgentRecord
from agents.engine.scripts import ANOTHER_WAY, Script, Waits
from agents.engine.states import AgentStatus, EffectStatus, InterventionKind
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, End, Gate, until

AT_ONCE = Waits(resting_s=0, settling_s=0.02)
PATIENT = Waits(resting_s=3600, settling_s=0.02)
Code = Callable[["Hands"], Awaitable[Any]]


@dataclass
class Hands:
    """What the code of a test calls; `World` does it."""

    script: Script
    world: "World"

    async def look(self, what: str) -> Any:
        return await self.script.call("look", what, lambda ctx: self.world.case.model(ctx, f"look {what}"))

    async def send(self, what: str) -> Any:
        gave = await self.script.call("send", what, self.world.send(what))
        return f"sent {what}" if gave == {"settled": "done", "tool": "send"} else gave

    async def ask(self, what: str) -> Any:
        return await self.script.call("ask", what, lambda ctx: ctx.ask("input", {"question": what}))

    async def fork(self, name: str) -> Any:
        async def body(ctx: Context) -> Any:
            handle = await ctx.fork(name, {"of": name})
            return str(handle.agent_id)

        return await self.script.call("fork", name, body)

    async def wait(self, agent_id: str) -> Any:
        async def body(ctx: Context) -> Any:
            child = next(agent for agent in ctx.run.loaded.agents.values() if str(agent.id) == agent_id)
            return (await ctx.outcome(handle_of(child))).output

        return await self.script.call("wait", agent_id, body)


def handle_of(agent: AgentRecord) -> Handle:
    return Handle(agent.id, agent.name)


@dataclass
class World:
    """A run whose root runs scripts, one after the other, and gives what each gave. `ran` counts their runs."""

    codes: tuple[Code, ...]
    waits: Waits = AT_ONCE
    others: dict[str, Any] = field(default_factory=dict)
    sent: dict[str, str] = field(default_factory=dict)
    ran: int = 0
    left: list[tuple[str, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.case = Case({"root": self.root, **self.others})

    @property
    def arrived(self) -> list[str]:
        return list(self.sent.values())

    def send(self, what: str) -> Any:
        async def perform(key: str) -> Any:
            await asyncio.sleep(0)
            assert key not in self.sent, f"{what} was sent twice"
            self.sent[key] = what
            return f"sent {what}"

        async def probe(key: str) -> bool:
            return key in self.sent

        return lambda ctx: ctx.effect(Effect("send", what, perform, probe))

    async def root(self, ctx: Context, value: Any) -> Any:
        return [await self.script(ctx, number, code) for number, code in enumerate(self.codes)]

    async def script(self, ctx: Context, number: int, code: Code) -> Any:
        async def perform(script: Script) -> Outcome:
            self.ran += 1
            value = await code(Hands(script, self))
            self.left.append(script.not_asked_again)
            return Outcome(value)

        try:
            return await ctx.script("run", {"number": number}, perform, waits=self.waits)
        except StepFailed as failure:
            return failure.code

    async def finish(self, answer: Any = "yes", *, death: Death | None = None, at: int = 0) -> tuple[End, int]:
        """Drives to the end, answers what is asked; dies once at the write `at`. How often it was asked in all."""
        asked = 0
        for _ in range(60):
            end = await self.case.drive(death=death, at=at)
            if end.how == "killed":
                death = None
            elif end.how == "waiting":
                for _ in self.case.open_requests:
                    asked += 1
                    self.case.answer(answer)
            else:
                return end, asked
        raise AssertionError("it did not end")


async def in_turn(hands: Hands) -> Any:
    return [
        await hands.look("a"),
        await hands.send("1"),
        await hands.ask("really?"),
        await hands.send("1"),
        await hands.look("a"),
    ]


async def side_by_side(hands: Hands) -> Any:
    """In another order each time, as threads are."""
    calls = [("look", "a"), ("send", "1"), ("ask", "really?"), ("send", "2"), ("look", "b"), ("ask", "sure?")]
    order = list(enumerate(calls))
    random.shuffle(order)

    async def one(number: int, call: tuple[str, str]) -> tuple[int, Any]:
        for _ in range(random.randrange(4)):
            await asyncio.sleep(0)
        return number, await getattr(hands, call[0])(call[1])

    return [result for _, result in sorted(await asyncio.gather(*(one(*item) for item in order)))]


@pytest.mark.slow
@pytest.mark.spec("S198", "S200")
async def test_a_script_that_is_killed_at_any_record_comes_to_the_same_end_and_does_nothing_twice() -> None:
    random.seed(7)
    whole = World((side_by_side, in_turn))
    expected, asked = await whole.finish()
    writes = len(whole.case.store.history(whole.case.execution_id))
    assert expected.how == "completed"

    for at in range(1, writes + 1):
        world = World((side_by_side, in_turn))
        end, asked_now = await world.finish(death=list(Death)[at % 3], at=at)

        assert end.value == expected.value, at
        assert Counter(world.arrived) == Counter(whole.arrived), at
        assert asked_now <= asked, at
        effects = world.case.store.effects(world.case.execution_id)
        assert {effect.status for effect in effects} == {EffectStatus.FINISHED}
        assert not [step for step in world.case.store.steps(world.case.execution_id) if step.status == "started"]


async def test_what_is_recorded_is_not_asked_again_and_a_finished_script_is_not_run_again() -> None:
    world = World((in_turn, in_turn))

    end, asked = await world.finish()

    assert end.value[0] == ["look a!", "sent 1", "yes", "sent 1", "look a!"]
    assert asked == 2
    assert world.case.performed == ["look a"] * 4
    assert world.arrived == ["1"] * 4
    assert world.ran == 4  # each of the two was run again for the answer, and then no more
    assert world.left == [(), ()]


async def test_a_call_waits_in_memory_for_an_answer_that_comes_soon() -> None:
    world = World((in_turn,), waits=PATIENT)

    async with world.case.driving() as (run, task):
        await until(lambda: world.case.open_requests)
        (asked,) = world.case.open_requests
        world.case.answer("at once")
        run.answer(asked.request_id, "at once")
        end = await task

    assert end.value[0][2] == "at once"
    assert world.ran == 1


async def test_a_script_that_goes_another_way_repeats_nothing_blindly() -> None:
    texts = iter(("first", "second", "third"))

    async def fickle(hands: Hands) -> Any:
        text = next(texts)
        try:
            sent = await hands.send(f"{text} mail")
        except StepFailed as failure:
            return [failure.code, failure.message]
        return [sent, await hands.ask("really?")]

    world = World((fickle,))
    end, _ = await world.finish()

    assert world.arrived == ["first mail"]
    assert end.value[0][0] == ANOTHER_WAY
    assert 'Then it called send("first mail")' in end.value[0][1]
    assert world.left == [('send("first mail")', 'ask("really?")')]
    assert not world.case.open_requests


async def test_a_call_that_is_new_waits_for_those_that_the_script_made_before() -> None:
    turns = iter(((("1", 0), ("2", 1)), (("3", 0), ("1", 3), ("2", 1))))

    async def code(hands: Hands) -> Any:
        async def one(what: str, after: int) -> Any:
            for _ in range(after):
                await asyncio.sleep(0)
            return await hands.send(what)

        sent = await asyncio.gather(*(one(*item) for item in next(turns)))
        return [sorted(sent), await hands.ask("on?")]

    world = World((code,))
    end, _ = await world.finish()

    assert end.value == [[["sent 1", "sent 2", "sent 3"], "yes"]]
    assert sorted(world.arrived) == ["1", "2", "3"]


async def test_the_same_effect_of_a_later_script_is_another_one() -> None:
    async def once(hands: Hands) -> Any:
        return await hands.send("1")

    world = World((once, once))
    end, _ = await world.finish()

    assert end.value == ["sent 1", "sent 1"]
    assert len(world.case.store.effects(world.case.execution_id)) == 2


async def test_a_changed_script_finds_the_effect_of_the_one_before() -> None:
    async def once(hands: Hands) -> Any:
        sent = await hands.send("1")
        return [sent, await hands.ask("on?")]

    world = World((once,))
    await world.case.drive()

    async def changed(ctx: Context, value: Any) -> Any:
        async def perform(script: Script) -> Outcome:
            return Outcome(await Hands(script, world).send("1"))

        return await ctx.script("run", {"number": "another"}, perform, waits=AT_ONCE)

    world.case.programs = {"root": changed}
    end = await world.case.drive()

    assert (end.how, end.value) == ("completed", "sent 1")
    assert world.arrived == ["1"]
    assert len(world.case.events("journal_cut")) == 1
    assert not world.case.open_requests


async def test_what_a_script_leaves_behind_ends_with_it() -> None:
    """A question that nobody waits for any more, and an agent that nobody waited for."""
    gate = Gate()

    async def child(ctx: Context, value: Any) -> Any:
        return await gate.step(ctx)

    async def careless(hands: Hands) -> Any:
        asking = asyncio.ensure_future(hands.ask("anybody?"))
        await hands.fork("child")
        await until(lambda: world.case.open_requests and gate.entered)
        asking.cancel()
        return "done"

    async def root(ctx: Context, value: Any) -> Any:
        gave = await world.script(ctx, 0, careless)
        return [gave, await ctx.ask("input", {"question": "and now?"})]

    world = World((), waits=PATIENT, others={"child": child})
    world.case.programs = {**world.case.programs, "root": root}
    assert (await world.case.drive()).how == "waiting"

    (asked,) = world.case.open_requests
    assert asked.question == {"question": "and now?"}
    assert _child_of(world).status is AgentStatus.CANCELLED
    world.case.answer("yes")
    assert (await world.case.drive()).value == ["done", "yes"]
    assert world.ran == 1


def _child_of(world: World) -> Any:
    return next(agent for agent in world.case.store.agents(world.case.execution_id) if agent.parent_id)


async def test_an_effect_that_is_under_way_is_waited_for() -> None:
    gate = asyncio.Event()

    async def careless(hands: Hands) -> Any:
        sending = asyncio.ensure_future(hands.script.call("slow", "1", slow))
        await until(lambda: hands.world.case.store.effects(hands.world.case.execution_id))
        asyncio.get_running_loop().call_later(0.01, gate.set)
        sending.cancel()
        return "done"

    async def slow(ctx: Context) -> Any:
        async def perform(key: str) -> Any:
            await gate.wait()
            return "slowly"

        return await ctx.effect(Effect("slow", "1", perform))

    world = World((careless,))
    end, _ = await world.finish()

    assert end.value == ["done"]
    (effect,) = world.case.store.effects(world.case.execution_id)
    assert (effect.status, effect.response) == (EffectStatus.FINISHED, "slowly")


@pytest.mark.slow
@pytest.mark.spec("S102")
async def test_forked_agents_work_beside_a_script_which_waits_for_them_over_any_kill() -> None:
    async def child(ctx: Context, value: Any) -> Any:
        return [value["of"], await ctx.ask("input", {"question": value["of"]})]

    async def code(hands: Hands) -> Any:
        first, second = await hands.fork("one"), await hands.fork("two")
        return [await hands.wait(second), await hands.wait(first)]

    async def root(ctx: Context, value: Any) -> Any:
        gave = await world.script(ctx, 0, code)
        asked = await ctx.ask("input", {"question": "go on?"})
        handle = next(agent for agent in ctx.run.loaded.agents.values() if agent.name == "one")
        return [gave, asked, (await ctx.outcome(handle_of(handle))).output]

    for at in (None, *range(1, 40)):
        world = World((), others={"one": child, "two": child})
        world.case.programs = {**world.case.programs, "root": root}
        end, asked = await world.finish(death=Death.WRITE_IS_STORED if at else None, at=at or 0)

        assert end.value == [[["two", "yes"], ["one", "yes"]], "yes", ["one", "yes"]]
        assert asked == 3
        assert len(world.case.store.agents(world.case.execution_id)) == 3


async def test_a_recorded_failure_of_a_script_comes_back_as_itself() -> None:
    async def root(ctx: Context, value: Any) -> Any:
        async def perform(script: Script) -> Outcome:
            raise OutsideError("no_box", "There is no box.")

        failures = []
        try:
            await ctx.script("run", None, perform)
        except StepFailed as failure:
            failures.append(failure.code)
        return [failures, await ctx.ask("input", {"question": "on?"})]

    case = Case({"root": root})
    await case.drive()
    case.answer("yes")

    assert (await case.drive()).value == [["no_box"], "yes"]


async def test_an_agent_that_is_stopped_takes_its_script_with_it() -> None:
    gate = Gate()
    stopped = []

    async def child(ctx: Context, value: Any) -> Any:
        async def perform(script: Script) -> Outcome:
            try:
                return Outcome(await script.call("slow", None, gate.step))
            except asyncio.CancelledError:
                stopped.append("script")
                raise

        return await ctx.script("run", None, perform, waits=AT_ONCE)

    async def root(ctx: Context, value: Any) -> Any:
        return (await ctx.outcome(await ctx.fork("child", None))).status

    case = Case({"root": root, "child": child})
    async with case.driving() as (run, task):
        await until(lambda: gate.entered)
        case.intervene(InterventionKind.DELETE, lineage="root.child-0", run=run)
        end = await asyncio.wait_for(task, 5)

    assert end.value == "deleted"
    assert stopped == ["script"]
    assert gate.cancelled == 1


async def test_a_run_that_is_given_back_in_the_middle_goes_on_elsewhere() -> None:
    world = World((in_turn,))
    draining = True

    async def watched(ctx: Context, value: Any) -> Any:
        async def perform(script: Script) -> Outcome:
            hands = Hands(script, world)
            first = await hands.look("a")
            ctx.run.draining = draining
            return Outcome([first, await hands.send("1")])

        return await ctx.script("run", None, perform, waits=AT_ONCE)

    world.case.programs = {"root": watched}
    assert (await world.case.drive()).how == "given_back"
    draining = False

    assert (await world.case.drive()).value == ["look a!", "sent 1"]
    assert world.case.performed == ["look a"]
