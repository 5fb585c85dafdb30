"""The simulation keeps the laws of queues, is the product's writer in its times, and is fitted to what was measured."""

import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.runtime import writer
from benchmarks import simulation, simulation_model
from benchmarks.figure import percentile
from benchmarks.simulation import Habits, Measured, fit, held, need
from benchmarks.simulation_model import Costs, Load, Plant, most_streams, runner_share, simulate
from hyperagent.lib.llm.pace import Pace

COSTS = Costs(
    web_ask=6_000,
    web_rest=2_000,
    web_burst=100,
    web_frame=500,
    runner_start=3_000,
    runner_rest=5_000,
    runner_tick=1_000,
    runner_frame=120,
    runner_token=80,
    postgres_commit=400,
    postgres_row=30,
    redis_frame=30,
)
# Of a machine that is four times as slow: it is full of fewer streams, and is simulated sooner.
SLOW = COSTS.scaled(4)
WIDE = Plant(webs=16)


def test_its_ticks_are_the_writers_and_its_beats_those_at_which_streams_are_read() -> None:
    crowds = (0, 1, 16, 17, 64, 65, 200)

    assert [simulation_model.tick_s(crowd) for crowd in crowds] == [writer.tick_s(crowd) for crowd in crowds]
    assert inspect.signature(Pace).parameters["at_once"].default == simulation_model.AT_ONCE


def test_an_idle_system_adds_no_queueing() -> None:
    """One question in a long time: each of its stations is free when it comes."""
    seen = simulate(WIDE, COSTS, Load(runs_a_second=0.02, tokens=5, steps=2), seconds=2_000)

    durable_ms, wake_ms, store_ms = COSTS.durable_wait_ms, COSTS.wake_wait_ms, (COSTS.postgres_commit + 30) / 1e3
    asked = 6.0 + (0.4 + 3 * 0.03 + durable_ms) + wake_ms
    claimed = 1.0 + store_ms + durable_ms
    began = 3.0 + 2 * ((1.0 + 0.12) + store_ms + durable_ms)
    spoken = 0.08 + (1.0 + 0.12) + store_ms + 0.03 + (0.1 + 0.5)
    assert min(seen.ttft_ms) == pytest.approx(asked + claimed + began + spoken, rel=0.001)
    assert percentile(seen.ttft_ms, 0.5) == pytest.approx(min(seen.ttft_ms), rel=0.001)


@pytest.mark.parametrize("streams", [1, 8, 16, 30, 60])
def test_utilisation_is_load_times_cost(streams: int) -> None:
    seen = simulate(WIDE, COSTS, Load(streams=streams), seconds=10)

    runner = seen.commits * 1_000 + seen.frames * 120 + seen.tokens * 80
    assert seen.shares["runner"] == pytest.approx(runner / 1e6 / 10, rel=0.02)
    assert seen.cores["postgres"] == pytest.approx((seen.commits * 400 + seen.frames * 30) / 1e6 / 10, rel=0.02)
    assert seen.shares["runner"] == pytest.approx(runner_share(COSTS, streams=streams, rate=50), rel=0.05)


@pytest.mark.slow
def test_a_runner_saturates_at_the_derived_limit() -> None:
    limit = most_streams(COSTS, rate=50)

    below = simulate(WIDE, COSTS, Load(streams=int(0.9 * limit)), seconds=10)
    above = simulate(WIDE, COSTS, Load(streams=int(1.6 * limit)), seconds=10)
    assert below.tokens == pytest.approx(int(0.9 * limit) * 50 * 10, rel=0.02)
    assert above.shares["runner"] == pytest.approx(1.0, abs=0.01)
    assert above.tokens < int(1.6 * limit) * 50 * 10 * 0.95
    assert 0.75 * limit < held(COSTS, WIDE, most=400) <= 1.05 * limit


@pytest.mark.slow
def test_two_runners_hold_twice_as_many() -> None:
    one, two = (held(COSTS, replace(WIDE, runners=number), most=400, seconds=4) for number in (1, 2))

    assert two == pytest.approx(2 * one, rel=0.06)


def test_shared_cores_are_never_busier_than_there_are() -> None:
    load = Load(streams=80)

    shared = simulate(Plant(webs=1, cores=2), COSTS, load, seconds=6)
    alone = simulate(WIDE, COSTS, load, seconds=6)
    assert sum(shared.cores.values()) <= 2.001
    assert percentile(shared.latency_ms, 0.95) > percentile(alone.latency_ms, 0.95)


def test_frames_share_the_commits_of_their_tick() -> None:
    one, crowded = (simulate(WIDE, COSTS, Load(streams=streams), seconds=10) for streams in (1, 40))

    assert one.commits / 10 == pytest.approx(1 / writer.TICK_S, rel=0.05)
    assert crowded.commits / 10 == pytest.approx(1 / writer.CROWDED_TICK_S, rel=0.05)
    assert crowded.tokens / crowded.commits > 100


@pytest.mark.slow
def test_of_very_many_streams_each_beat_has_a_part() -> None:
    seen = simulate(WIDE, COSTS, Load(streams=100), seconds=10)

    assert seen.commits / 10 == pytest.approx(2 / writer.CROWDED_TICK_S, rel=0.05)
    assert seen.frames / seen.commits == pytest.approx(50, rel=0.05)


def test_more_load_makes_people_wait_longer() -> None:
    firsts = [
        percentile(simulate(Plant(), SLOW, Load(runs_a_second=runs, tokens=50), seconds=60).ttft_ms, 0.95)
        for runs in (0.2, 3.0, 7.0)
    ]

    assert firsts == sorted(firsts)
    assert firsts[-1] > 1.5 * firsts[0]


def test_the_same_seed_gives_the_same_and_another_another() -> None:
    load = Load(runs_a_second=2.0, tokens=50, is_even=False)

    first, again, other = (simulate(WIDE, COSTS, load, seconds=20, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.ttft_ms != other.ttft_ms


def test_a_load_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="has none of them"):
        simulate(WIDE, COSTS, Load())


def _windows(costs: Costs) -> list[dict[str, Any]]:
    """What a bench would have measured of parts that cost this."""
    found = []
    for streams, rate in ((1, 50), (4, 50), (8, 50), (8, 100), (16, 50), (32, 50), (48, 50)):
        seen = simulate(Plant(), costs, Load(streams=streams, rate=rate), seconds=8)
        found.append(
            {
                "contender": "hyperagent",
                "streams": streams,
                "rate": rate,
                "seconds": 8.0,
                "tokens": seen.tokens,
                "commits": seen.commits,
                "events": seen.frames,
                "client_share": 0.0,
                "latency_p95_ms": percentile(seen.latency_ms, 0.95),
                "cpu_us_a_token": {
                    "valkey" if part == "redis" else part: seen.cpu_us_a_token(part)
                    for part in ("runner", "web", "postgres", "redis")
                },
            }
        )
    return found


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    alone = simulate(WIDE, COSTS, Load(at_once=1, tokens=1), seconds=2, warm_s=0).ttft_ms[0]
    starts = {"cpu_us_a_run": {"web": 8_000, "runner": 8_000}, "added_ttft_ms": {"1": alone}}
    kept = tmp_path / "bench.json"
    other = {"contender": "fastapi", "tokens": 5}
    kept.write_text(json.dumps({"windows": [*_windows(COSTS), other], "starts": starts, "machine": {"cores": 0}}))
    return Measured.read(kept)


def test_costs_are_found_again_in_what_they_gave(measured: Measured) -> None:
    found = fit(measured)

    assert found.runner_tick == pytest.approx(COSTS.runner_tick, rel=0.1)
    assert (found.runner_frame, found.runner_token) == pytest.approx((120, 80), rel=0.1)
    assert (found.postgres_commit, found.web_burst, found.web_frame) == pytest.approx((400, 100, 500), rel=0.1)
    assert found.runner_start + found.web_ask == pytest.approx(3_000 + 6_000, rel=0.1)
    assert (found.runner_start + found.runner_rest, found.web_ask + found.web_rest) == pytest.approx((8_000, 8_000))


@pytest.mark.slow
def test_what_was_not_fitted_is_foreseen(measured: Measured) -> None:
    rows = simulation.compare(measured, fit(measured), seconds=8)

    foreseen = [row for row in rows if not row.is_fitted]
    assert {row.what for row in foreseen} >= {
        " 32 streams: runner, CPU a token (µs)",
        " 48 streams: all parts, CPU a token (µs)",
        "  4 streams: commits for events (/s)",
    }
    assert max(abs(row.off) for row in foreseen) < 0.1
    assert str(rows[0]).endswith("fitted to")


def test_a_file_without_the_product_is_refused(tmp_path: Path) -> None:
    kept = tmp_path / "bench.json"
    kept.write_text(json.dumps({"windows": [], "machine": {"cores": 2}}))

    with pytest.raises(ValueError, match="has no window of the product"):
        Measured.read(kept)


def test_the_defaults_of_the_project_can_be_read_and_fitted() -> None:
    costs = fit(Measured.read(simulation.DEFAULTS))

    assert min(costs.runner_tick + costs.runner_frame, costs.web_frame, costs.postgres_commit + costs.postgres_row) > 0


def test_a_hundred_times_as_many_people_need_no_more_than_a_hundred_times_as_much() -> None:
    few, many = (need(COSTS, Habits(), users) for users in (10_000, 1_000_000))

    assert many.streams == pytest.approx(100 * few.streams)
    assert 1 < many.runners <= 100 * few.runners
    assert many.postgres_cores <= 101 * few.postgres_cores
    assert few.runs_a_second == pytest.approx(10_000 * 0.4 * 8 * 0.2 / 3600)
