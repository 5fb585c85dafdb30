"""An installation as queues: web processes, runners, Postgres, Redis, and runs that arrive and stream. Pure and
repeatable: it reads no clock, and chance comes from a seed.

A runner works as `hyperagent.lib.llm.pace` and `agents.runtime.writer` do: streams are read at beats, of very many each
beat has a part, and what was read at one beat shares one commit; records and the first word of an answer do not wait.
Every piece of work takes a station for its cost; what comes meanwhile waits in line. Stations may share the cores of
one machine.
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count

Act = Callable[[], None]

# As in `agents.runtime.writer` and `hyperagent.lib.llm.pace`; a test holds them together.
TICK_S = 0.04
CROWDED_TICK_S = 0.06
CROWDED = 16
AT_ONCE = 64
# Of a loop's timer: the kernel is asked to wait for whole milliseconds.
WAKE_S = 0.001


def tick_s(crowd: float) -> float:
    return CROWDED_TICK_S if crowd > CROWDED else TICK_S


def beats_a_tick(crowd: float) -> int:
    return max(1, math.ceil(crowd / AT_ONCE))


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU in microseconds, on a core of the machine that was measured; `…_wait_ms` are times in which nobody works.

    A frame is what one run said in one tick: a row, an announcement, and a message to each socket. Frames that were
    read at one beat share a commit, and come to a web process together: those are `runner_tick`, `postgres_commit` and
    `web_burst`.
    """

    web_ask: float
    """A question, until its message and execution are written; `web_rest`: what it takes besides, until the end."""
    web_rest: float
    web_burst: float
    web_frame: float
    runner_start: float
    """From the claim to the first token; `runner_rest`: what a run takes besides, without its tokens."""
    runner_rest: float
    runner_tick: float
    runner_frame: float
    runner_token: float
    postgres_commit: float
    postgres_row: float
    redis_frame: float
    model_wake: float = 0.0
    """Of a scripted model and of the load's own client, where they share the machine; else nothing of ours. Tokens that
    are due within the same WAKE_S are one wake of the model: its loop's clock knows no less."""
    model_token: float = 0.0
    client_burst: float = 0.0
    client_frame: float = 0.0
    durable_wait_ms: float = 3.5
    wake_wait_ms: float = 0.5
    timer_wait_ms: float = 0.6
    """How late a loop's timer rings: so beats do not keep step with evenly spaced tokens."""

    def scaled(self, factor: float) -> "Costs":
        """On a machine whose cores take `factor` times as long."""
        return Costs(
            **{name: value if name.endswith("_wait_ms") else value * factor for name, value in asdict(self).items()}
        )


@dataclass(frozen=True, slots=True)
class Plant:
    """What there is. `cores`: of one machine that all of it shares; 0 gives each process a core of its own, and
    Postgres as many as `postgres_cores`."""

    webs: int = 1
    runners: int = 1
    postgres_cores: int = 4
    cores: int = 0


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of it: `streams` that all go on for the whole time, `at_once` runs at its beginning, or
    `runs_a_second` that arrive by chance (Poisson). Each run has `steps` records to be stored before its answer of
    `tokens` tokens, one after the other.

    A token comes each 1 / `rate` s in the mean, evenly or (`is_even` false) by chance.
    """

    streams: int = 0
    at_once: int = 0
    runs_a_second: float = 0.0
    tokens: int = 400
    rate: float = 50.0
    steps: int = 0
    sockets_a_run: int = 1
    is_even: bool = True


@dataclass(frozen=True, slots=True)
class Seen:
    """What a simulation gave. Latencies in ms, of what was asked and came after the warming; `cores`: how many each
    kind of part kept busy; `shares`: of what it has, 0..1."""

    seconds: float
    tokens: int
    commits: int
    frames: int
    runs_ended: int
    ttft_ms: tuple[float, ...]
    latency_ms: tuple[float, ...]
    cores: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    def cpu_us_a_token(self, part: str) -> float:
        return self.cores[part] * self.seconds / self.tokens * 1e6


class World:
    """The clock of the simulation, and what is to happen when."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._due: list[tuple[float, int, Act]] = []
        self._numbers = count()

    def after(self, delay_s: float, act: Act) -> None:
        heapq.heappush(self._due, (self.now_s + delay_s, next(self._numbers), act))

    def run(self, until_s: float) -> None:
        while self._due and self._due[0][0] <= until_s:
            self.now_s, _, act = heapq.heappop(self._due)
            act()
        self.now_s = until_s


class Cores:
    """Of a machine: what a station does needs one, and waits for it in line."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: deque[Act] = deque()

    def take(self, act: Act) -> None:
        if self._free:
            self._free -= 1
            act()
        else:
            self._waiting.append(act)

    def give(self) -> None:
        if self._waiting:
            self._waiting.popleft()()
        else:
            self._free += 1


class Station:
    """Does one thing after the other, `servers` at once."""

    def __init__(self, world: World, *, servers: int = 1, cores: Cores | None = None) -> None:
        self._world, self._cores = world, cores
        self._free = self.servers = servers
        self._waiting: deque[tuple[float, Act | None]] = deque()
        self.busy_s = 0.0

    def work(self, cost_us: float, then: Act | None = None) -> None:
        self._waiting.append((cost_us / 1e6, then))
        if self._free:
            self._free -= 1
            self._begin()

    def _begin(self) -> None:
        cost_s, then = self._waiting.popleft()
        if self._cores is None:
            self._world.after(cost_s, lambda: self._end(cost_s, then))
        else:
            self._cores.take(lambda: self._world.after(cost_s, lambda: self._end(cost_s, then)))

    def _end(self, cost_s: float, then: Act | None) -> None:
        self.busy_s += cost_s
        if self._cores is not None:
            self._cores.give()
        if then is not None:
            then()
        if self._waiting:
            self._begin()
        else:
            self._free += 1


@dataclass(slots=True)
class Run:
    runner: "Runner"
    web: Station
    asked_s: float
    tokens_left: int
    steps_left: int
    waiting_s: list[float] = field(default_factory=list)
    """When the tokens that are not read yet left the model."""
    has_spoken: bool = False


Frame = tuple[Run, list[float]]


class Runner:
    """One process: its loop, its beats, and its writer, which stores what waits of all runs at once."""

    def __init__(self, plant: "_Plant") -> None:
        self._plant = plant
        self._world, self._costs = plant.world, plant.costs
        self.loop = plant.station("runner")
        self._turn: deque[Run] = deque()
        self._frames: list[Frame] = []
        self._records: list[Act] = []
        self._is_set = self._is_writing = False
        self._struck_at_s = -1.0
        self._crowd = 0

    def token(self, run: Run, sent_s: float) -> None:
        """Has come; waits for its beat, but the first of an answer does not."""
        run.waiting_s.append(sent_s)
        if not run.has_spoken:
            run.has_spoken = True
            self._read([run])
        elif len(run.waiting_s) == 1:
            self._turn.append(run)
            self._set()

    def record(self, then: Act) -> None:
        """A step, stored durably before the run goes on."""
        self._records.append(then)
        self._write()

    def _set(self) -> None:
        if self._is_set:
            return
        self._is_set = True
        pause_s = tick_s(self._crowd) / beats_a_tick(self._crowd)
        due_s = max(self._world.now_s, self._struck_at_s + pause_s) + self._costs.timer_wait_ms / 1e3
        self._world.after(due_s - self._world.now_s, self._strike)

    def _strike(self) -> None:
        self._is_set = False
        self._crowd = len(self._turn)
        self._struck_at_s = self._world.now_s
        self._read([self._turn.popleft() for _ in range(math.ceil(self._crowd / beats_a_tick(self._crowd)))])
        if self._turn:
            self._set()

    def _read(self, runs: list[Run]) -> None:
        """Goes on while the database stores what was read before."""
        frames = [(run, run.waiting_s) for run in runs]
        for run in runs:
            run.waiting_s = []
        tokens = sum(len(sent_s) for _, sent_s in frames)

        def done() -> None:
            self._frames += frames
            self._write()

        self.loop.work(self._costs.runner_frame * len(frames) + self._costs.runner_token * tokens, done)

    def _write(self) -> None:
        if self._is_writing or not (self._frames or self._records):
            return
        self._is_writing = True
        frames, self._frames = self._frames, []
        records, self._records = self._records, []
        costs, rows = self._costs, len(frames) + len(records)
        wait_s = costs.durable_wait_ms / 1e3 if records else 0.0

        def stored() -> None:
            self._is_writing = False
            self._plant.announce(frames)
            for then in records:
                then()
            self._write()

        def sent() -> None:
            self._plant.commits += 1
            self._plant.frames += len(frames)
            self._plant.postgres.work(
                costs.postgres_commit + costs.postgres_row * rows, lambda: self._world.after(wait_s, stored)
            )

        self.loop.work(costs.runner_tick + costs.runner_frame * len(records), sent)


class _Plant:
    """The stations, and the way of a run through them."""

    def __init__(self, plant: Plant, costs: Costs, load: Load, *, seed: int) -> None:
        self.world, self.costs, self._load = World(), costs, load
        self._cores = Cores(plant.cores) if plant.cores else None
        self._chance = random.Random(seed)
        self._stations: dict[str, list[Station]] = {}
        self.webs = [self.station("web") for _ in range(plant.webs)]
        self.postgres = self.station("postgres", servers=plant.postgres_cores)
        self._redis = self.station("redis")
        self._model, self._client = self.station("model"), self.station("client")
        self._runners = [Runner(self) for _ in range(plant.runners)]
        self._made = count()
        self._model_woke = -1
        self.commits = self.frames = self.runs_ended = 0
        self.heard_s: list[float] = []
        self.sent_s: list[float] = []
        self.ttft: list[tuple[float, float]] = []

    def station(self, kind: str, *, servers: int = 1) -> Station:
        made = Station(self.world, servers=servers, cores=self._cores)
        self._stations.setdefault(kind, []).append(made)
        return made

    def busy_s(self) -> dict[str, float]:
        return {kind: sum(one.busy_s for one in some) for kind, some in self._stations.items()}

    def servers(self) -> dict[str, int]:
        return {kind: sum(one.servers for one in some) for kind, some in self._stations.items()}

    def begin(self) -> None:
        for _ in range(self._load.streams):
            run = self._new(tokens=-1)
            run.asked_s = -1.0
            self.world.after(self._chance.random() / self._load.rate, lambda run=run: self._speak(run))  # type: ignore[misc]
        for _ in range(self._load.at_once):
            self._ask()
        if self._load.runs_a_second:
            self.world.after(self._chance.expovariate(self._load.runs_a_second), self._arrive)

    def announce(self, frames: list[Frame]) -> None:
        woken: set[int] = set()
        for run, sent_s in frames:
            is_first = id(run.web) not in woken
            woken.add(id(run.web))
            self._redis.work(
                self.costs.redis_frame,
                lambda run=run, sent_s=sent_s, is_first=is_first: self._show(run, sent_s, is_first),  # type: ignore[misc]
            )

    def _new(self, *, tokens: int) -> Run:
        number = next(self._made)
        runner, web = self._runners[number % len(self._runners)], self.webs[number % len(self.webs)]
        return Run(runner, web, self.world.now_s, tokens, self._load.steps)

    def _arrive(self) -> None:
        self.world.after(self._chance.expovariate(self._load.runs_a_second), self._arrive)
        self._ask()

    def _ask(self) -> None:
        """Asked → written → woken → claimed → started → steps → the first token."""
        run, costs, world = self._new(tokens=self._load.tokens), self.costs, self.world

        def step() -> None:
            if run.steps_left:
                run.steps_left -= 1
                run.runner.record(step)
            else:
                self._speak(run)

        def durably(rows: int, then: Act) -> None:
            work_us = costs.postgres_commit + costs.postgres_row * rows
            self.postgres.work(work_us, lambda: world.after(costs.durable_wait_ms / 1e3, then))

        def claimed() -> None:
            run.runner.loop.work(costs.runner_start, step)

        def woken() -> None:
            run.runner.loop.work(costs.runner_tick, lambda: durably(1, claimed))

        def written() -> None:
            world.after(costs.wake_wait_ms / 1e3, woken)

        run.web.work(costs.web_ask, lambda: durably(3, written))

    def _speak(self, run: Run) -> None:
        """A token leaves the model; the next one follows in its time."""
        if run.tokens_left == 0:
            run.web.work(self.costs.web_rest)
            run.runner.loop.work(self.costs.runner_rest, lambda: run.runner.record(self._ended))
            return
        run.tokens_left -= 1
        sent_s = self.world.now_s
        if self.costs.model_token or self.costs.model_wake:
            self._model.work(self._of_the_model(sent_s), lambda: run.runner.token(run, sent_s))
        else:
            run.runner.token(run, sent_s)
        pause_s = 1 / self._load.rate
        self.world.after(
            pause_s if self._load.is_even else self._chance.expovariate(1 / pause_s), lambda: self._speak(run)
        )

    def _of_the_model(self, sent_s: float) -> float:
        is_awake = int(sent_s / WAKE_S) == self._model_woke
        self._model_woke = int(sent_s / WAKE_S)
        return self.costs.model_token + (0.0 if is_awake else self.costs.model_wake)

    def _ended(self) -> None:
        self.runs_ended += 1

    def _show(self, run: Run, sent_s: list[float], is_first: bool) -> None:
        if is_first:
            run.web.work(self.costs.web_burst)
        for number in range(self._load.sockets_a_run):
            heard = (lambda: self._hear(run, sent_s, is_first)) if number == 0 else None
            run.web.work(self.costs.web_frame, heard)

    def _hear(self, run: Run, sent_s: list[float], is_first: bool) -> None:
        def heard() -> None:
            if run.asked_s >= 0:
                self.ttft.append((run.asked_s, self.world.now_s - run.asked_s))
                run.asked_s = -1.0
            self.heard_s += [self.world.now_s] * len(sent_s)
            self.sent_s += sent_s

        if self.costs.client_frame or self.costs.client_burst:
            self._client.work(self.costs.client_frame + self.costs.client_burst * is_first, heard)
        else:
            heard()


def simulate(
    plant: Plant, costs: Costs, load: Load, *, seconds: float = 20.0, warm_s: float = 3.0, seed: int = 1
) -> Seen:
    """Looks for `seconds` after `warm_s`. The same arguments give the same. Raises ValueError for a load of nothing."""
    if not (load.streams or load.at_once or load.runs_a_second):
        raise ValueError("a load has streams, runs at_once or runs_a_second; this has none of them")
    town = _Plant(plant, costs, load, seed=seed)
    town.begin()
    town.world.run(warm_s)
    busy_s, commits, frames, ended = town.busy_s(), town.commits, town.frames, town.runs_ended
    town.world.run(warm_s + seconds)
    spent_s = {kind: now - busy_s[kind] for kind, now in town.busy_s().items()}
    servers = town.servers()
    heard = [(at, came) for at, came in zip(town.sent_s, town.heard_s, strict=True) if came >= warm_s]
    return Seen(
        seconds=seconds,
        tokens=len(heard),
        commits=town.commits - commits,
        frames=town.frames - frames,
        runs_ended=town.runs_ended - ended,
        ttft_ms=tuple(1e3 * took for at, took in town.ttft if at >= warm_s),
        latency_ms=tuple(1e3 * (came - at) for at, came in heard),
        cores={kind: spent / seconds for kind, spent in spent_s.items()},
        shares={kind: spent / seconds / servers[kind] for kind, spent in spent_s.items()},
    )


def runner_share(costs: Costs, *, streams: float, rate: float) -> float:
    """What a runner works for so many streams, as a share of its one core: the formula of `docs/scale.md`."""
    tick = tick_s(streams)
    of_beats = costs.runner_tick * beats_a_tick(streams) / tick
    return (of_beats + streams * (costs.runner_frame / tick + rate * costs.runner_token)) / 1e6


def most_streams(costs: Costs, *, rate: float, share: float = 1.0) -> int:
    """How many streams use up that share of a runner's core: `runner_share` solved for streams."""
    most = 0
    for streams in count(1):
        if runner_share(costs, streams=streams, rate=rate) <= share:
            most = streams
        elif streams > CROWDED + 1:  # up to there, more of them may take less
            break
    return most
