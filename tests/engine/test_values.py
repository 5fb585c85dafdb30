"""The pure parts: canonical values, the hash chain, the table of moves, paths and keys."""

import itertools
import math
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.engine.canonical import Written, canonical, digest, plain
from agents.engine.chain import GENESIS, Fault, faults, link
from agents.engine.journal import (
    child_lineage,
    effect_key,
    fallen_origins,
    falls_to,
    first_lineage,
    is_within,
    origin_of,
)
from agents.engine.states import (
    EXECUTION_MOVES,
    LIVE_AGENTS,
    TERMINAL_STATUSES,
    AgentStatus,
    ExecutionStatus,
    IllegalMove,
    may_move,
    move,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


# --- canonical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": [2, {"c": 3, "d": 4}]}, {"b": [2, {"d": 4, "c": 3}], "a": 1}),
        ((1, (2, 3)), [1, [2, 3]]),
        ({1: "a"}, {"1": "a"}),
        (1e16, 10**16),
        (1e22, 10**22),
        (-0.0, 0.0),
    ],
)
def test_equal_values_have_equal_hashes(one: Any, other: Any) -> None:
    assert digest(plain(one)) == digest(plain(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (1, True), (None, "null"), ([], {}), ("\u00e9", "e\u0301"), (0.1, 0.1 + 1e-16), ("a", ["a"])],
)
def test_different_values_have_different_hashes(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_the_canonical_form_has_sorted_keys_no_spaces_and_readable_text() -> None:
    assert canonical({"b": [1, 2.5, None], "a": "漢字 🙂"}) == '{"a":"漢字 🙂","b":[1,2.5,null]}'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [1, {"a": math.nan}]])
def test_what_json_has_no_number_for_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical(value)


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", UUID(int=0)])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="JSON serializable"):
        canonical(value)


def test_a_lone_surrogate_has_a_hash_all_the_same() -> None:
    assert digest("\ud800") != digest("\ud801")


def test_a_number_too_large_for_a_float_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="400 digits"):
        plain(int("9" * 400))


@pytest.mark.slow
@given(json_values)
@settings(max_examples=200, derandomize=True, database=None)
def test_a_plain_value_stays_as_it_is(value: Any) -> None:
    once = plain(value)

    assert canonical(plain(once)) == canonical(once)
    assert all(-(2**63) <= number < 2**63 for number in _ints(once))


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (3.118241460687191e16, 31182414606871910),
        (-1e18, -(10**18)),
        (1e19, 1e19),
        (2**63, 2.0**63),
        (2**63 - 1, 2**63 - 1),
        (2.0, 2.0),
        (1e-7, 1e-7),
        (-0.0, 0.0),
    ],
)
def test_a_large_number_is_already_what_storage_makes_of_it(value: Any, stored: Any) -> None:
    assert (plain(value), type(plain(value)), str(plain(value))) == (stored, type(stored), str(stored))


def _ints(value: Any) -> list[int]:
    if isinstance(value, dict):
        return _ints(list(value.values()))
    if isinstance(value, list):
        return [number for inner in value for number in _ints(inner)]
    return [value] if type(value) is int else []


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(json_values)
def test_what_is_written_is_the_value_as_it_comes_back_from_storage(value: Any) -> None:
    written = Written.of({"of": value})

    assert canonical(written.value) == canonical(plain({"of": value}))
    assert digest(written) == digest(plain({"of": value}))


@pytest.mark.parametrize(
    "value", [1e16, -1e16, 1e22, 10**18, -(10**18), 10**30, -0.0, 0.0, -0, 1.5, 1e-7, "-0.0", "[1e16"]
)
@pytest.mark.parametrize("around", [lambda value: value, lambda value: [value], lambda value: {"a": [0, {"b": value}]}])
def test_a_number_that_storage_changes_is_changed_before_it_is_written(value: Any, around: Any) -> None:
    written = Written.of(around(value))

    assert canonical(written.value) == canonical(plain(around(value)))
    assert digest(written) == digest(plain(around(value)))


# --- the chain


def chain_of(bodies: list[str]) -> list[tuple[int, str, bytes]]:
    hashes = list(itertools.accumulate(bodies, link, initial=GENESIS))[1:]
    return [(seq, body, hashed) for seq, (body, hashed) in enumerate(zip(bodies, hashes, strict=True), 1)]


@pytest.mark.slow
@pytest.mark.spec("B9")
@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=8))
@settings(max_examples=50, derandomize=True, database=None)
def test_an_untouched_log_has_no_faults(bodies: list[str]) -> None:
    assert list(faults(chain_of(bodies))) == []


@pytest.mark.slow
@pytest.mark.spec("B9")
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, max_size=6), st.data())
@settings(max_examples=200, derandomize=True, database=None)
def test_a_change_a_removal_a_swap_or_an_insertion_is_found(bodies: list[str], data: st.DataObject) -> None:
    rows = chain_of(bodies)
    place = data.draw(st.integers(0, len(rows) - 1))
    seq, body, hashed = rows[place]
    rehashed = link(rows[place - 1][2] if place else GENESIS, body + "x")
    tampered = [
        [*rows[:place], (seq, body + "x", hashed), *rows[place + 1 :]],
        [
            *rows[:place],
            (seq, body + "x", rehashed),
            *rows[place + 1 :],
        ],
        [*rows[: place + 1], *rows[place:]],
    ]
    if place < len(rows) - 1:
        following = rows[place + 1]
        tampered.append(rows[:place] + rows[place + 1 :])
        tampered.append([*rows[:place], (seq, *following[1:]), (following[0], body, hashed), *rows[place + 2 :]])
        renumbered = [(number, *row[1:]) for number, row in enumerate(rows[:place] + rows[place + 1 :], 1)]
        tampered.append(renumbered)

    for number, changed in enumerate(tampered):
        # A last event that is replaced with its hash is a log that says something else: only its copies show that.
        if number == 1 and place == len(rows) - 1:
            continue
        assert list(faults(changed)), number


def test_a_gap_and_a_double_are_named_by_their_numbers() -> None:
    one, two, three = chain_of(["a", "b", "c"])

    assert next(faults([one, three])) == Fault(3, "number 2 is missing")
    assert Fault(2, "number 2 stands twice") in list(faults([one, two, two, three]))


# --- states


def test_the_table_of_moves_is_the_one_that_was_agreed() -> None:
    pending, running, waiting, completed, failed, cancelled = ExecutionStatus
    legal = {
        (pending, running),
        (pending, failed),
        (pending, cancelled),
        (running, pending),
        (running, waiting),
        (running, completed),
        (running, failed),
        (running, cancelled),
        (waiting, pending),
        (waiting, running),
        (waiting, failed),
        (waiting, cancelled),
    }

    assert {pair for pair in itertools.product(ExecutionStatus, repeat=2) if may_move(*pair)} == legal
    assert set(EXECUTION_MOVES) == set(ExecutionStatus)


def test_what_is_over_never_changes() -> None:
    assert {status.value for status in TERMINAL_STATUSES} == {"completed", "failed", "cancelled"}
    for now, then in itertools.product(TERMINAL_STATUSES, ExecutionStatus):
        with pytest.raises(IllegalMove, match="it is final"):
            move(now, then)


def test_an_illegal_move_says_what_may_follow() -> None:
    with pytest.raises(IllegalMove, match=r"awaiting_user cannot .* completed.*cancelled, failed, pending, running"):
        move(ExecutionStatus.AWAITING_USER, ExecutionStatus.COMPLETED)
    assert move(ExecutionStatus.PENDING, ExecutionStatus.RUNNING) is ExecutionStatus.RUNNING


def test_an_agent_lives_until_it_has_ended() -> None:
    over = {AgentStatus.COMPLETED, AgentStatus.FAILED, AgentStatus.SKIPPED, AgentStatus.CANCELLED, AgentStatus.DELETED}

    assert set(AgentStatus) - over == LIVE_AGENTS


# --- paths, lineages, keys


@pytest.mark.parametrize(
    ("cut", "falls", "stays"),
    [
        ((2,), [(2,), (3,), (10,), (2, 0, 0), (5, 1, 0)], [(0,), (1,), (1, 9, 9)]),
        (
            (1, 1, 1),
            [(1, 1, 1), (1, 1, 2), (1, 1, 1, 0, 0)],
            [(1,), (2,), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 0, 5, 5)],
        ),
    ],
)
def test_a_cut_takes_its_own_scope_from_there_on(cut: Any, falls: list[Any], stays: list[Any]) -> None:
    assert [path for path in falls + stays if falls_to(cut, path)] == falls


def test_emissions_before_the_cut_call_stay_and_later_ones_fall() -> None:
    def at(*position: int, ordinal: int = 0) -> str:
        return origin_of("root.a/b-0", position, ordinal)

    stays = [at(0), at(2), at(2, ordinal=5), at(1, 0, 7), at(1, 0)]
    falls = [at(3), at(2, 0), at(2, 0, 0), at(2, 1, 4), at(11)]
    of_others = [origin_of("root", (9,), 0), origin_of("root.a/b-01", (9,), 0)]

    assert list(fallen_origins([*stays, *falls, *of_others], "root.a/b-0", (2,))) == falls


def test_the_origin_of_an_emission_in_a_branch_falls_with_its_branch_only() -> None:
    origins = [origin_of("root", position, 0) for position in [(1, 0, 1), (1, 1, 0), (1, 1, 1), (1, 1, 2), (2,)]]

    assert fallen_origins(origins, "root", (1, 1, 1)) == (origin_of("root", (1, 1, 2), 0),)


def test_an_agent_that_is_forked_again_has_the_effects_of_the_first() -> None:
    first = child_lineage(child_lineage("root", (), "a", 0), (1,), "b", 2)
    again = child_lineage(child_lineage("root", (), "a", 0) + "~0badcafe", (1,), "b", 2) + "~12345678"

    def key_of(lineage: str) -> str:
        return effect_key(UUID(int=1), lineage, (0,), tool="send", arguments_hash=b"h", ordinal=0)

    assert first_lineage(again) == first
    assert key_of(again) == key_of(first)


def test_every_part_of_an_effect_is_in_its_key() -> None:
    usual: dict[str, Any] = {
        "execution_id": UUID(int=1),
        "lineage": "root",
        "branches": (0,),
        "tool": "send",
        "arguments_hash": b"a",
        "ordinal": 0,
    }
    changes: dict[str, Any] = {
        "execution_id": UUID(int=2),
        "lineage": "root.a-0",
        "branches": (0, 0),
        "tool": "write",
        "arguments_hash": b"b",
        "ordinal": 1,
    }

    keys = {effect_key(**usual), *[effect_key(**(usual | {name: value})) for name, value in changes.items()]}

    assert len(keys) == 7
    assert all(len(key) == 40 and set(key) <= set("0123456789abcdef") for key in keys)


def test_an_agent_is_within_those_above_it_only() -> None:
    assert is_within("root.a-1.b-0", "root.a-1")
    assert is_within("root.a-1", "root.a-1")
    assert not is_within("root.a-10", "root.a-1")
