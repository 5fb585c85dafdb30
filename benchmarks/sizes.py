"""How much is measured: a full run, and a quick one that only shows that everything works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Counts, and seconds. `patience_s`: how long each round waits for the machine to be quiet."""

    rounds: int
    warm_s: float
    window_s: float
    streams: int
    late_streams: int
    plot_streams: tuple[int, ...]
    climb_from: int
    climb_to: int
    first_tokens: int
    at_once_rounds: int
    starts: int
    starts_rounds: int
    planned_rounds: int
    resume_rounds: int
    resume_agents: int
    settle_s: float
    idle_s: float
    sockets: int
    runs: int
    patience_s: float
    conversations: int
    read_path_streams: int
    read_path_s: float
    vector_owners: tuple[int, ...]
    vector_questions: int
    vectors_made: int


FULL = Sizes(
    rounds=5,
    warm_s=2.0,
    window_s=8.0,
    streams=20,
    late_streams=8,
    plot_streams=(1, 4, 8, 16, 32),
    climb_from=5,
    climb_to=640,
    first_tokens=40,
    at_once_rounds=10,
    starts=20,
    starts_rounds=5,
    planned_rounds=10,
    resume_rounds=5,
    resume_agents=10,
    settle_s=60.0,
    idle_s=60.0,
    sockets=500,
    runs=100,
    patience_s=20.0,
    conversations=4000,
    read_path_streams=50,
    read_path_s=10.0,
    vector_owners=(100_000, *[10_000] * 12, *[1_000] * 60, *[100] * 200),
    vector_questions=20,
    vectors_made=120,
)
QUICK = Sizes(
    rounds=1,
    warm_s=0.2,
    window_s=1.0,
    streams=2,
    late_streams=2,
    plot_streams=(1, 2),
    climb_from=2,
    climb_to=2,
    first_tokens=2,
    at_once_rounds=1,
    starts=2,
    starts_rounds=1,
    planned_rounds=1,
    resume_rounds=1,
    resume_agents=1,
    settle_s=0.0,
    idle_s=1.0,
    sockets=5,
    runs=3,
    patience_s=0.0,
    conversations=200,
    read_path_streams=2,
    read_path_s=1.0,
    vector_owners=(1_000, 100),
    vector_questions=2,
    vectors_made=4,
)
