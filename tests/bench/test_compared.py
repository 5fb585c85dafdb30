"""What the bench makes of what it saw: the table, shares, the plot's values, the climb and the critical path."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import environments, report
from benchmarks.compared import Column, Comparison, table
from benchmarks.environments import LANGGRAPH, NoEnvironment, Use
from benchmarks.figure import shares
from benchmarks.model import Asked, critical_path
from benchmarks.profile import by_own_line, costs_of, told
from benchmarks.streaming import Window
from benchmarks.streams import next_count


def window(contender: str, streams: int, *, cpu_s: float, tokens: int | None = None, late_ms: float = 10.0) -> Window:
    """Of ten seconds at 50 tokens a second."""
    return Window(
        contender=contender,
        worker=contender,
        streams=streams,
        rate=50,
        seconds=10.0,
        tokens=streams * 500 if tokens is None else tokens,
        cpu_s={contender: cpu_s},
        latencies_ms=[late_ms] * 10,
        client_share=0.0,
        others_share=0.0,
    )


def asked(came_ms: int, ended_ms: int, *, finished: bool = True) -> Asked:
    return Asked("?", came_ms * 1_000_000, ended_ms * 1_000_000, finished)


def cells(line: str) -> list[str]:
    return [cell for cell in line.split("  ") if cell.strip()]


def test_the_table_has_medians_and_our_share_of_theirs() -> None:
    comparison = Comparison()
    comparison.note("langgraph", Column.ALL_CPU, 900.0, 1000.0, 5000.0)
    comparison.note("hyperagent", Column.ALL_CPU, 250.0)
    comparison.note("hyperagent", Column.MEMORY, 99.04)

    lines = table(comparison.medians(), ours="hyperagent")

    assert [[cell.strip() for cell in cells(line)] for line in lines] == [
        ["all µs/token", "memory MB"],
        ["langgraph", "1000", "-"],
        ["hyperagent", "250", "99.0"],
        ["hyperagent / langgraph", "0.25×", "-"],
    ]
    assert len({len(line) for line in lines}) == 1


def test_a_share_of_nothing_is_not_shown() -> None:
    medians = {"fastapi": {Column.FIRST_P50: -0.5}, "hyperagent": {Column.FIRST_P50: 20.0}}

    assert "×" not in "\n".join(table(medians, ours="hyperagent"))
    assert table({}, ours="hyperagent") == []


def test_shares_are_formed_within_a_round() -> None:
    assert shares([1.0, 9.0], [2.0, 3.0]) == [0.5, 3.0]
    with pytest.raises(ValueError, match="zip"):
        shares([1.0], [1.0, 2.0])


def test_a_stream_is_held_if_its_tokens_come_and_come_soon() -> None:
    assert window("us", 4, cpu_s=1.0).is_held
    assert not window("us", 4, cpu_s=1.0, tokens=1800).is_held
    assert not window("us", 4, cpu_s=1.0, late_ms=101.0).is_held


def test_the_plot_shows_no_cost_where_tokens_pile_up() -> None:
    windows = [
        window("us", 8, cpu_s=2.0),
        window("us", 8, cpu_s=4.0),
        window("us", 8, cpu_s=3.0),
        window("us", 4, cpu_s=1.0),
        window("them", 4, cpu_s=2.0),
        window("them", 8, cpu_s=2.0, tokens=100),
    ]

    assert report.costs_by_load(windows) == {"us": {4: 500.0, 8: 750.0}, "them": {4: 1000.0}}


@pytest.mark.slow
def test_the_plot_tells_every_contender_without_colours(tmp_path: Path) -> None:
    names = ["hyperagent", "fastapi", "aiohttp", *(peer.name for peer in environments.PEERS)]

    report.plot(tmp_path / "plot.png", [window(name, streams, cpu_s=1.0) for name in names for streams in (1, 4)])

    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert len(set(report.STROKES)) == len(report.STROKES) >= len(names)


@pytest.mark.parametrize("most_held", [0, 1, 7, 11, 40, 99, 160])
def test_the_climb_finds_how_many_are_held(most_held: int) -> None:
    held, failed, tried = 0, None, 0

    while (streams := next_count(held, failed, first=5, most=160)) is not None:
        tried += 1
        held, failed = (streams, failed) if streams <= most_held else (held, streams)

    assert most_held - max(1, most_held // 9) <= held <= most_held
    assert tried <= 12


def test_the_critical_path_is_what_was_waited_for_one_after_the_other() -> None:
    plan, quick, slow, after, hung = (
        asked(0, 10),
        asked(12, 15),
        asked(11, 30),
        asked(31, 33),
        asked(1, 0, finished=False),
    )

    assert critical_path([hung, plan, quick, slow, after]) == [plan, slow, after]
    assert critical_path([]) == []


def spent(line: str, within: str, cpu_s: float) -> dict[str, object]:
    return {"line": line, "within": within, "cpu_s": cpu_s}


def test_the_most_costly_lines_come_first_with_what_led_there() -> None:
    seen: Sequence[dict[str, object]] = [
        spent("json/encoder.py:258 iterencode", "agents/a.py:1 one", 1.0),
        spent("json/encoder.py:258 iterencode", "agents/b.py:2 two", 2.0),
        spent("agents/a.py:9 nine", "", 1.0),
    ]

    assert told(costs_of(seen), most=1) == [" 75.0%  json/encoder.py:258 iterencode  < agents/b.py:2 two and 1 more"]
    assert told(by_own_line(seen)) == [
        " 50.0%  agents/b.py:2 two",
        " 25.0%  agents/a.py:1 one",
        " 25.0%  agents/a.py:9 nine",
    ]


def test_a_peer_without_an_environment_is_left_out_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))

    with pytest.raises(NoEnvironment, match="langgraph is left out: it has no environment yet"):
        environments.python_of(LANGGRAPH, Use.MADE)
    with pytest.raises(NoEnvironment, match="langgraph is left out, as was asked for"):
        environments.python_of(LANGGRAPH, Use.NONE)


@pytest.mark.parametrize("peer", environments.PEERS, ids=lambda peer: peer.name)
def test_the_packages_of_a_peer_stand_each_at_one_version(peer: environments.Peer) -> None:
    wanted = [line.partition(";")[0] for line in peer.requirements.read_text().splitlines() if line and line[0] != "#"]

    assert peer.app.exists()
    assert wanted
    assert all(line.count("==") == 1 for line in wanted)
