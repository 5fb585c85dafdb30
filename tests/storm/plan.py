"""What happens in a storm, from its seed: which runs are begun, what people do to them, and what breaks when. Pure: the
same seed and number give the same round, whatever the rounds before it were."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from random import Random
from typing import Final, TypeVar

PEOPLE: Final = 10
ROUND_S: Final = 20.0
RUNS: Final = 36
FAULTS: Final = 10
T = TypeVar("T")


class Shape(StrEnum):
    """What kind of run it is: what the model is told to do with it."""

    CHAT = "chat"
    PLAN = "plan"
    """Four agents that wait for each other, a verifier and a composer."""
    FILES = "files"
    """A loop of tools without approvals."""
    MAIL = "mail"
    """One mail, which a person has to approve; its probe looks into the mailbox."""
    ORDER = "order"
    """An order at a server of others, which takes the idempotency key and cannot be asked afterwards."""
    CODE = "code"
    CODEACT = "codeact"
    BUDGET = "budget"
    LOOP = "loop"
    """The model calls the same tool for ever."""


class Deed(StrEnum):
    """What its person does while it works."""

    WATCH = "watch"
    CANCEL = "cancel"
    STEER = "steer"
    RETRY = "retry"
    """Tries it again once it is over."""
    SAY_TWICE = "say_twice"
    """Sends the question again under the same name."""


class Reply(StrEnum):
    """What its person makes of an approval."""

    APPROVE = "approve"
    DENY = "deny"
    BOTH = "both"
    """Two people's worth of clicks at the same moment, for and against."""
    EXPIRE = "expire"
    """Nobody answers in time, and then somebody does."""
    NEXT_ROUND = "next_round"


class Trouble(StrEnum):
    """What goes wrong with the model in this run, once."""

    NONE = "none"
    BUSY = "busy"
    STALL = "stall"
    RESET = "reset"
    MALFORMED = "malformed"
    ERROR = "error"


class Fault(StrEnum):
    KILL_RUNNER = "kill_runner"
    KILL_WORKER = "kill_worker"
    """With all that it started, as when its machine loses power."""
    KILL_JOBS = "kill_jobs"
    KILL_SANDBOXES = "kill_sandboxes"
    """The process that holds the boxes, and with it every box."""
    KILL_WEB = "kill_web"
    EMPTY_VALKEY = "empty_valkey"
    RESTART_POSTGRES = "restart_postgres"
    CRASH_POSTGRES = "crash_postgres"
    """At once, as when it dies: what did not wait for the disk and was not written yet is gone."""
    FREEZE_POSTGRES = "freeze_postgres"
    """It answers nobody and ends no connection, as where its disk stalls."""
    FREEZE_VALKEY = "freeze_valkey"
    KILL_AT_EFFECT = "kill_at_effect"
    """All runners, at the instant at which the next mail or order has arrived and its sender was not told."""
    FREEZE_WORKER = "freeze_worker"
    """Longer than its leases."""
    SINK_HANGS_UP = "sink_hangs_up"
    """It takes what comes and says nothing about it."""
    SINK_REFUSES = "sink_refuses"
    DEPLOY = "deploy"
    """This version's migrations while all works, and then every process ends in order and is started again from it."""


KILLS: Final = frozenset(
    {
        Fault.KILL_RUNNER,
        Fault.KILL_AT_EFFECT,
        Fault.KILL_WORKER,
        Fault.KILL_JOBS,
        Fault.KILL_SANDBOXES,
        Fault.KILL_WEB,
        Fault.EMPTY_VALKEY,
        Fault.RESTART_POSTGRES,
        Fault.CRASH_POSTGRES,
        Fault.DEPLOY,
    }
)
"""Those that end processes; the others only disturb."""

# How often, in parts of the sum.
SHAPES: Final[Mapping[Shape, int]] = {
    Shape.CHAT: 40,
    Shape.PLAN: 6,
    Shape.FILES: 12,
    Shape.MAIL: 14,
    Shape.ORDER: 14,
    Shape.CODE: 3,
    Shape.CODEACT: 3,
    Shape.BUDGET: 5,
    Shape.LOOP: 3,
}
DEEDS: Final[Mapping[Deed, int]] = {
    Deed.WATCH: 66,
    Deed.CANCEL: 10,
    Deed.STEER: 8,
    Deed.RETRY: 6,
    Deed.SAY_TWICE: 10,
}
REPLIES: Final[Mapping[Reply, int]] = {
    Reply.APPROVE: 50,
    Reply.DENY: 12,
    Reply.BOTH: 16,
    Reply.EXPIRE: 10,
    Reply.NEXT_ROUND: 12,
}
TROUBLES: Final[Mapping[Trouble, int]] = {
    Trouble.NONE: 75,
    Trouble.BUSY: 7,
    Trouble.STALL: 3,
    Trouble.RESET: 6,
    Trouble.MALFORMED: 4,
    Trouble.ERROR: 5,
}
FAULT_PARTS: Final[Mapping[Fault, int]] = {
    Fault.KILL_RUNNER: 34,
    Fault.KILL_AT_EFFECT: 8,
    Fault.KILL_WORKER: 4,
    Fault.KILL_JOBS: 8,
    Fault.KILL_SANDBOXES: 4,
    Fault.KILL_WEB: 12,
    Fault.EMPTY_VALKEY: 14,
    Fault.RESTART_POSTGRES: 5,
    Fault.CRASH_POSTGRES: 5,
    Fault.FREEZE_POSTGRES: 3,
    Fault.FREEZE_VALKEY: 3,
    Fault.FREEZE_WORKER: 4,
    Fault.SINK_HANGS_UP: 8,
    Fault.SINK_REFUSES: 6,
    Fault.DEPLOY: 3,
}
SKEWS: Final = ("", "", "-2s", "+10m")


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """Seconds are since the round's start; `after_s` of a deed or a reply, since it can be done."""

    tag: str
    shape: Shape
    person: int
    at_s: float
    tokens: int
    rate: int
    deed: Deed
    deed_after_s: float
    reply: Reply
    reply_after_s: float
    trouble: Trouble
    by_socket: bool

    @property
    def question(self) -> str:
        """All that the model needs to know of it."""
        said = {
            Shape.CHAT: f"say {self.tokens} tokens at {self.rate}/s",
            Shape.PLAN: "First look at the numbers, then compare them, and then write it all up for the board.",
            Shape.MAIL: f"Send a mail to {self.tag}@example.org saying hello.",
        }
        return f"{said.get(self.shape, 'Do it.')} [storm {self.tag} {self.shape} {self.trouble}]"


@dataclass(frozen=True, slots=True)
class PlannedFault:
    at_s: float
    kind: Fault
    which: int
    """Of those that there are, counted round."""
    lasts_s: float


@dataclass(frozen=True, slots=True)
class Round:
    seed: int
    number: int
    runs: tuple[PlannedRun, ...]
    faults: tuple[PlannedFault, ...]
    skew: str
    """Of the clock of the second worker, where it is started anew in this round."""

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=1)


def plan_round(
    seed: int,
    number: int,
    *,
    runs: int = RUNS,
    faults: int = FAULTS,
    length_s: float = ROUND_S,
    shapes: Sequence[Shape] = tuple(Shape),
) -> Round:
    chance = Random(f"{seed}/{number}")
    planned = [_run(chance, f"s{seed}r{number}n{one}", length_s=length_s, shapes=shapes) for one in range(runs)]
    broken = [_fault(chance, length_s=length_s) for _ in range(faults)]
    return Round(
        seed,
        number,
        tuple(sorted(planned, key=lambda run: run.at_s)),
        tuple(sorted(broken, key=lambda fault: fault.at_s)),
        chance.choice(SKEWS),
    )


def _run(chance: Random, tag: str, *, length_s: float, shapes: Sequence[Shape]) -> PlannedRun:
    return PlannedRun(
        tag=tag,
        shape=_one_of(chance, {shape: parts for shape, parts in SHAPES.items() if shape in shapes}),
        person=chance.randrange(PEOPLE),
        at_s=round(chance.uniform(0, length_s * 0.7), 2),
        tokens=chance.randint(5, 120),
        rate=chance.choice((10, 20, 40)),
        deed=_one_of(chance, DEEDS),
        deed_after_s=round(chance.uniform(0, 4), 2),
        reply=_one_of(chance, REPLIES),
        reply_after_s=round(chance.uniform(0, 6), 2),
        trouble=_one_of(chance, TROUBLES),
        by_socket=chance.random() < 0.4,
    )


def _fault(chance: Random, *, length_s: float) -> PlannedFault:
    return PlannedFault(
        at_s=round(chance.uniform(1, length_s), 2),
        kind=_one_of(chance, FAULT_PARTS),
        which=chance.randrange(1000),
        lasts_s=round(chance.uniform(5, 9), 2),
    )


def _one_of(chance: Random, parts: Mapping[T, int]) -> T:
    return chance.choices(list(parts), weights=list(parts.values()))[0]
