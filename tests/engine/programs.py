"""Programs as values: what hypothesis generates, and how they are performed over a context.

The answer of a program says what came to pass at each of its places and nothing that differs from run to run, so that a
run with faults must give the same answer as one without.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st

from agents.engine.context import Context, Handle, Outcome
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError, Skipped, StepFailed
from agents.engine.events import Stage, StageStatus
from agents.engine.journal import first_lineage
from agents.engine.run import Program
from agents.engine.scripts import Script, Waits
from agents.engine.states import EffectStatus, StepKind, StepStatus
from tests.doubles.memory_journal import Killed, MemoryJournal, MemoryStore


class World(StrEnum):
    """What an effect meets: it works; it is refused; it works or not, and the answer is lost."""

    WORKS = "works"
    REFUSES = "refuses"
    WORKS_SILENTLY = "works silently"
    FAILS_SILENTLY = "fails silently"


class Probe(StrEnum):
    NONE = "none"
    CANNOT_TELL = "cannot tell"
    BREAKS = "breaks"
    TRUTHFUL = "truthful"


@dataclass(frozen=True)
class Step:
    fails: bool = False
    caught: bool = True


@dataclass(frozen=True)
class Note:
    pass


@dataclass(frozen=True)
class Now:
    pass


@dataclass(frozen=True)
class Ask:
    pass


@dataclass(frozen=True)
class AskTogether:
    """A question that the whole run has once, by its name."""

    name: str = "one"


@dataclass(frozen=True)
class Emit:
    pass


@dataclass(frozen=True)
class Do:
    """An effect, with arguments of its own."""

    world: World = World.WORKS
    probe: Probe = Probe.NONE
    caught: bool = True


@dataclass(frozen=True)
class DoTheSame:
    """An effect whose arguments equal those of the others of its kind: only its place tells it apart."""


@dataclass(frozen=True)
class All:
    branches: tuple["Body", ...]
    caught: bool = True


@dataclass(frozen=True)
class Fork:
    """A child; with `after` it depends on the last of those that were forked before and not waited for."""

    body: "Body"
    after: int = 0


@dataclass(frozen=True)
class Wait:
    caught: bool = True


@dataclass(frozen=True)
class Skip:
    """An agent says that its task is not done at all; in a branch or in the root, that something failed."""


@dataclass(frozen=True)
class Hear:
    pass


@dataclass(frozen=True)
class Limited:
    """A body with a time limit: one that hangs at its end runs out of time, the other never does."""

    body: "Body"
    hangs: bool = False


@dataclass(frozen=True)
class Scripted:
    """Code that is run from its start each time, and makes these calls in another order each time."""

    calls: tuple["Body", ...]


Simple = Step | Note | Now | Ask | AskTogether | Emit | Do | DoTheSame | Wait | Skip | Hear
Op = Simple | All | Fork | Limited | Scripted
Body = tuple[Op, ...]

usually_caught = st.sampled_from([True, True, True, False])
simple: st.SearchStrategy[Op] = st.one_of(
    st.builds(Step, st.sampled_from([False, False, True]), usually_caught),
    st.just(Note()),
    st.just(Now()),
    st.just(Ask()),
    st.builds(AskTogether, st.sampled_from(["one", "two"])),
    st.just(Emit()),
    st.builds(Do, st.sampled_from(World), st.sampled_from(Probe), usually_caught),
    st.just(DoTheSame()),
    st.builds(Wait, usually_caught),
    st.just(Hear()),
)


def bodies(depth: int = 3, *, longest: int = 5) -> st.SearchStrategy[Body]:
    if depth == 0:
        return st.lists(simple, max_size=3).map(tuple)
    inner = bodies(depth - 1, longest=3)
    fan_out = st.builds(All, st.lists(inner, max_size=3).map(tuple), usually_caught)
    fork = st.builds(_fork, inner, st.integers(0, 2), st.sampled_from([False, False, True]))
    limited = st.builds(_limit, inner, st.booleans())
    scripted = st.builds(Scripted, st.lists(inner, max_size=3).map(tuple))
    ops: st.SearchStrategy[Op] = st.one_of(simple, simple, fan_out, fork, limited, scripted)
    return st.lists(ops, min_size=1, max_size=longest).map(tuple)


def _fork(body: Body, after: int, skips: bool) -> Op:
    return Fork((*body, Skip()) if skips else body, after)


def _limit(body: Body, hangs: bool) -> Op:
    return Limited(uncounted(body) if hangs else body, hangs)


def size(body: Body) -> int:
    return len(body) + sum(size(part) for op in body for part in parts(op))


def parts(op: Op) -> tuple[Body, ...]:
    """The bodies inside an operation."""
    match op:
        case All():
            return op.branches
        case Scripted():
            return op.calls
        case Fork() | Limited():
            return (op.body,)
        case _:
            return ()


def uncounted(body: Body) -> Body:
    """Without what is compared: how much of a body comes to pass before its time is up differs from run to run.

    Nor with effects that are the same as later ones outside of it, which would find them.
    """
    kept: list[Op] = []
    for op in body:
        match op:
            case Emit() | DoTheSame():
                continue
            case All():
                kept.append(All(tuple(map(uncounted, op.branches)), op.caught))
            case Scripted():
                kept.append(Scripted(tuple(map(uncounted, op.calls))))
            case Fork():
                kept.append(Fork(uncounted(op.body), op.after))
            case Limited():
                kept.append(Limited(uncounted(op.body), op.hangs))
            case _:
                kept.append(op)
    return tuple(kept)


def runs_out_of_time(body: Body) -> bool:
    return any((isinstance(op, Limited) and op.hangs) or any(map(runs_out_of_time, parts(op))) for op in body)


@dataclass
class Outside:
    """The world around a run: it outlives every process, counts what really happened, and notices what must not."""

    store: MemoryStore
    body: Body
    seed: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    keys: dict[str, set[str]] = field(default_factory=dict)
    repeated_on_demand: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    @property
    def programs(self) -> dict[str, Program]:
        """The root, and one program for every child: children are told by their input which body is theirs."""
        forked = dict(_forked(self.body, "0"))

        async def root(ctx: Context, value: Any) -> Any:
            return await Performance(self, ctx, "0").perform(self.body)

        async def child(ctx: Context, value: Any) -> Any:
            return await Performance(self, ctx, value["body"]).perform(forked[value["body"]])

        return {"root": root, "child": child}

    async def weather(self) -> None:
        """A few turns of the loop, so that branches and children interleave differently in every process."""
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)

    def reached(self, ctx: Context) -> None:
        """A process that is dead reaches the world no more."""
        journal = ctx.run.journal
        if isinstance(journal, MemoryJournal) and journal.dead:
            raise Killed

    def answer_one(self, execution_id: Any) -> tuple[Any, Any] | None:
        """A person answers one of the open questions, any of them. Returns its id and the answer."""
        asked = self.store.open_requests(execution_id)
        if not asked:
            return None
        one = self.chance.choice(asked)
        if "site" in one.question:
            value: Any = {"text": f"about {one.question['site']}"}
        else:
            value = {"choice": self._decide_doubt(**one.question["arguments"])}
        self.store.answer(one.request_id, value)
        return one.request_id, value

    def _decide_doubt(self, site: str, world: str) -> str:
        """Looks for itself. What did not happen is to be done again; what did, now and then, on demand."""
        if not self.happened[site]:
            # What fails silently is given up after a while, or it would be tried for ever.
            given_up = world == World.FAILS_SILENTLY and self.chance.random() < 0.3
            return "done" if given_up else "again"
        if self.chance.random() < 0.3:
            self.repeated_on_demand[site] += 1
            return "again"
        return "done"


def _forked(body: Body, place: str) -> Iterator[tuple[str, Body]]:
    for number, op in enumerate(body):
        if isinstance(op, Fork):
            yield f"{place}.{number}", op.body
            yield from _forked(op.body, f"{place}.{number}")
        else:
            for branch, inner in enumerate(parts(op)):
                yield from _forked(inner, f"{place}.{number}:{branch}")


class Performance:
    """One agent's or branch's performance of a body. `seen` is all it saw; every later request contains it."""

    def __init__(self, outside: Outside, ctx: Context, place: str, seen: tuple[Any, ...] = ()) -> None:
        self.outside = outside
        self.ctx = ctx
        self.place = place
        self.seen: list[Any] = list(seen)
        self.handles: list[Handle] = []

    async def perform(self, body: Body) -> list[Any]:
        try:
            results = [await self._op(op, f"{self.place}.{number}") for number, op in enumerate(body)]
        except (StepFailed, Skipped):
            await self._wait_for_all()
            raise
        return [*results, *await self._wait_for_all()]

    async def _wait_for_all(self) -> list[Any]:
        results = []
        while self.handles:
            results.append(await self._op(Wait(), f"{self.place}.end"))
        return results

    async def _op(self, op: Op, place: str) -> Any:
        await self.outside.weather()
        site = f"{first_lineage(self.ctx.agent.lineage)}|{place}"
        try:
            match op:
                case Step():
                    return await self._step(op, site)
                case Note():
                    self.seen.append(await self.ctx.note("chance", lambda: uuid4().hex))
                    return "note"
                case Now():
                    self.seen.append((await self.ctx.now()).isoformat())
                    return "now"
                case Ask():
                    answer = await self.ctx.ask("input", {"site": site, "seen": self.seen})
                    self.seen.append(answer)
                    return answer
                case AskTogether():
                    question = {"site": f"shared {op.name}"}
                    answer = await self.ctx.ask_together("budget", op.name, lambda: question)
                    self.seen.append(answer)
                    return answer
                case Emit():
                    self.ctx.emit(Stage(name=site, description="", status=StageStatus.RUNNING))
                    return "emitted"
                case Do():
                    return await self._do(op, site, {"site": site, "world": op.world})
                case DoTheSame():
                    return await self._do(Do(probe=Probe.TRUTHFUL), site, {"to": "everybody"})
                case All():
                    return await self._all(op, place)
                case Fork():
                    after = self.handles[-op.after :] if op.after else []
                    value = {"body": place, "seen": self.seen}
                    self.handles.append(await self.ctx.fork("child", value, after=after, step_id=place))
                    return "forked"
                case Skip() if "." in self.ctx.agent.lineage:
                    raise Skipped(f"{site} has nothing to do")
                case Skip():
                    raise StepFailed("nothing_to_do", site)
                case Hear():
                    self.seen.append(await self.ctx.heard())
                    return "heard"
                case Limited():
                    return await self._limited(op, place)
                case Scripted():
                    return await self._scripted(op, place)
                case Wait():
                    return await self.ctx.wait(self.handles.pop(0)) if self.handles else "nobody to wait for"
        except StepFailed as error:
            if getattr(op, "caught", True):
                return error.as_json()
            raise

    async def _step(self, op: Step, site: str) -> Any:
        async def perform() -> Outcome:
            self.outside.reached(self.ctx)
            self._must_not_be_recorded(site)
            await self.outside.weather()
            self.outside.reached(self.ctx)
            if op.fails:
                raise OutsideError("no", f"{site} says no", retryable=True)
            return Outcome(uuid4().hex, {"prompt_tokens": 1})

        self.seen.append(await self.ctx.step(StepKind.MODEL, "flash", {"site": site, "seen": self.seen}, perform))
        return "done"

    def _must_not_be_recorded(self, site: str) -> None:
        if self.ctx.run.agent(self.ctx.agent.id).modified:
            return  # it began anew, and that its journal was cut may not be durable yet
        for step in self.outside.store.steps(self.ctx.run.execution_id):
            here = isinstance(step.request, dict) and step.request.get("site") == site
            if here and step.status is not StepStatus.STARTED and step.agent_id == self.ctx.agent.id:
                self.outside.violations.append(f"{site} was performed again")

    async def _do(self, op: Do, site: str, arguments: Any) -> Any:
        async def perform(key: str) -> Any:
            self.outside.reached(self.ctx)
            rows = self.outside.store.effects(self.ctx.run.execution_id)
            if not any(row.key == key and row.status is EffectStatus.STARTED for row in rows):
                self.outside.violations.append(f"{site} was performed before its row was durable")
            await self.outside.weather()
            self.outside.reached(self.ctx)
            if op.world is World.REFUSES:
                raise OutsideError("refused", f"{site} is refused")
            if op.world is not World.FAILS_SILENTLY:
                self.outside.happened[site] += 1
                self.outside.keys.setdefault(site, set()).add(key)
            await self.outside.weather()
            self.outside.reached(self.ctx)
            if op.world is not World.WORKS:
                raise OutsideError("silent", f"{site} says nothing", may_have_happened=True)
            return {"message_id": uuid4().hex}

        async def probe(key: str) -> bool | None:
            self.outside.reached(self.ctx)
            if op.probe is Probe.BREAKS:
                raise OutsideError("away", "the other side is away")
            return bool(self.outside.happened[site]) if op.probe is Probe.TRUTHFUL else None

        effect = Effect("send", arguments, perform, None if op.probe is Probe.NONE else probe)
        self.seen.append(await self.ctx.effect(effect))
        return "sent"

    async def _scripted(self, op: Scripted, place: str) -> Any:
        async def perform(script: Script) -> Outcome:
            async def call(number: int, body: Body) -> Any:
                await self.outside.weather()

                async def inside(ctx: Context) -> Any:
                    return await Performance(self.outside, ctx, f"{place}:{number}", tuple(self.seen)).perform(body)

                try:
                    return number, await script.call("call", [place, number], inside)
                except StepFailed as error:
                    return number, error.as_json()

            calls = [call(number, body) for number, body in enumerate(op.calls)]
            self.outside.chance.shuffle(calls)
            return Outcome([value for _, value in sorted(await asyncio.gather(*calls), key=lambda one: one[0])])

        waits = Waits(resting_s=self.outside.chance.choice([0, 0.001]), settling_s=0.05)
        return await self.ctx.script("script", {"place": place, "seen": self.seen}, perform, waits=waits)

    async def _limited(self, op: Limited, place: str) -> Any:
        async def body(ctx: Context) -> Any:
            inner = Performance(self.outside, ctx, f"{place}:0", tuple(self.seen))
            results = await inner.perform(op.body)
            while op.hangs:
                self.outside.reached(ctx)
                await asyncio.sleep(0)
            return results

        # What hangs has a moment to do some of what it would; what comes of it is the same, however much that is.
        timeout_s = self.outside.chance.choice([0, 0, 0.0005, 0.002]) if op.hangs else 3600
        try:
            return await self.ctx.within(timeout_s, body, name="attempt")
        except StepFailed as error:
            if op.hangs:
                return "out of time, or failed before"
            return error.as_json()

    async def _all(self, op: All, place: str) -> Any:
        async def branch(ctx: Context, number: int, body: Body) -> Any:
            return await Performance(self.outside, ctx, f"{place}:{number}", tuple(self.seen)).perform(body)

        def bound(number: int, body: Body) -> Any:
            return lambda ctx: branch(ctx, number, body)

        return await self.ctx.all(*[bound(number, body) for number, body in enumerate(op.branches)])
