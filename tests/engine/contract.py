"""What every store of runs must do, whatever it is made of.

A file of its own plugs a store in: it defines a fixture `store` that gives a `StoreUnderTest`, and imports this suite
with `from tests.engine.contract import *`. Each test awaits `committed` before it looks at what is stored, so a store
may write in the background.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

import pytest

from agents.engine.canonical import canonical, digest, plain
from agents.engine.chain import faults
from agents.engine.errors import LeaseLost
from agents.engine.events import Body, Stage, StageStatus, Title, Token, TokenReset
from agents.engine.records import (
    AgentRecord,
    Announced,
    Applied,
    Asked,
    Cut,
    EffectRecord,
    Intervention,
    Loaded,
    Path,
    StepRecord,
    Withdrawn,
)
from agents.engine.run import Journal
from agents.engine.states import AgentStatus, EffectStatus, InterventionKind, StepKind, StepStatus

__all__ = [
    "test_a_cut_clears_the_listed_origins_and_only_those_said_before_it",
    "test_a_cut_in_a_branch_leaves_the_other_branches_and_agents",
    "test_a_cut_removes_the_steps_of_its_scope_from_there_on",
    "test_a_step_may_stand_again_where_one_was_cut",
    "test_a_wish_is_loaded_until_it_is_applied_and_what_was_said_also_after",
    "test_a_wish_that_an_older_journal_applies_stays_to_be_applied",
    "test_a_withdrawn_question_cannot_be_answered_any_more_and_one_that_was_answered_stays_so",
    "test_a_write_call_is_stored_whole_or_not_at_all",
    "test_agents_and_effects_are_loaded_in_their_newest_state",
    "test_an_agent_is_loaded_with_its_place_in_the_plan_and_what_a_person_changed",
    "test_an_answer_is_loaded_by_the_next_driver",
    "test_an_event_says_its_number_run_agent_and_time",
    "test_an_older_journal_is_refused_and_stores_nothing",
    "test_an_older_journal_starts_no_effect",
    "test_any_change_to_the_stored_events_is_found",
    "test_events_are_numbered_without_gap_over_several_drivers",
    "test_events_keep_the_order_of_the_writes",
    "test_exactly_the_written_steps_are_loaded_by_path",
    "test_nothing_of_another_run_is_loaded",
    "test_the_ledger_names_who_tried_an_effect_last",
    "test_the_length_shown_counts_text_by_agent_and_channel_and_follows_resets",
    "test_the_origins_of_emissions_are_loaded",
    "test_values_come_back_as_they_were_written",
    "test_what_a_cut_took_of_answers_and_effects_stays_known",
]


class StoreUnderTest(Protocol):
    """What the suite needs of a store. `events`, `steps` and `effects` read what is durable, without a new epoch."""

    async def new_execution(self) -> UUID:
        """A run that nobody drove yet, with no agents, steps or events."""

    async def take_over(self, execution_id: UUID) -> tuple[Journal, Loaded]:
        """Makes a new epoch, whoever has the run; older journals are fenced off from now on. Loads what is durable."""

    async def answer(self, request_id: UUID, value: Any) -> None:
        """Stores a person's answer to an `Asked` that is durable; `Loaded.answers` has the same value afterwards.

        Nothing if the question was withdrawn.
        """

    async def intervene(
        self, execution_id: UUID, kind: InterventionKind, text: str, *, agent_id: UUID | None = None
    ) -> Intervention:
        """Stores what a person wants, after all that was stored before; `Loaded.interventions` has it afterwards."""

    async def events(self, execution_id: UUID) -> list[tuple[int, str, bytes]]:
        """(seq, exact JSON text, hash) by seq."""

    async def steps(self, execution_id: UUID) -> list[StepRecord]:
        """The steps that count (not cut), in any order."""

    async def effects(self, execution_id: UUID) -> list[EffectRecord]:
        """The rows of the ledger, in any order."""


def agent(name: str = "root", *, parent: AgentRecord | None = None) -> AgentRecord:
    lineage = name if parent is None else f"{parent.lineage}.{name}-0"
    parent_id = parent.id if parent else None
    return AgentRecord(uuid4(), parent_id, name, lineage, "to do something", AgentStatus.RUNNING)


def step(of: AgentRecord, path: Path, response: Any = None, *, status: StepStatus = StepStatus.FINISHED) -> StepRecord:
    request = {"path": list(path)}
    return StepRecord(of.id, path, StepKind.MODEL, "flash", request, digest(request), status, response)


def effect(
    of: AgentRecord, key: str, status: EffectStatus = EffectStatus.STARTED, response: Any = None
) -> EffectRecord:
    arguments = {"to": "bob@example.org"}
    return EffectRecord(key, of.id, "send_mail", arguments, digest(arguments), status, response)


def said(of: AgentRecord, text: str, *, origin: str = "") -> Announced:
    return Announced(of.id, Title(title=text), origin)


async def stored(journal: Journal, *records: Any) -> None:
    journal.write(*records)
    await journal.committed()


def titles(events: Sequence[tuple[int, str, bytes]]) -> list[str]:
    return [body["title"] for _, text, _ in events if (body := json.loads(text))["type"] == "title"]


def paths(loaded: Loaded, of: AgentRecord) -> set[Path]:
    return set(loaded.steps.get(of.id, {}))


@pytest.mark.spec("B9")
async def test_events_keep_the_order_of_the_writes(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()

    journal.write(root, said(root, "0"))
    for number in range(1, 30, 3):
        journal.write(said(root, f"{number}"), step(root, (number,)), said(root, f"{number + 1}"))
        journal.write(said(root, f"{number + 2}"))
    await journal.committed()

    assert titles(await store.events(execution_id)) == [f"{number}" for number in range(31)]


async def test_a_write_call_is_stored_whole_or_not_at_all(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    await stored(journal, root)
    newer, _ = await store.take_over(execution_id)

    with pytest.raises(LeaseLost):
        await stored(journal, step(root, (0,)), effect(root, "key"), said(root, "from an older driver"))
    await stored(newer, step(root, (1,)), effect(root, "other"), said(root, "from the newer"))

    assert [record.path for record in await store.steps(execution_id)] == [(1,)]
    assert [record.key for record in await store.effects(execution_id)] == ["other"]
    assert titles(await store.events(execution_id)) == ["from the newer"]


@pytest.mark.spec("B1")
async def test_an_older_journal_is_refused_and_stores_nothing(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    frozen, _ = await store.take_over(execution_id)
    root = agent()
    await stored(frozen, root, step(root, (0,), "first"), said(root, "before"))
    journal, _ = await store.take_over(execution_id)

    with pytest.raises(LeaseLost):
        await stored(frozen, step(root, (0,), "late"), replace(root, status=AgentStatus.FAILED), said(root, "late"))
    with pytest.raises(LeaseLost):
        frozen.write(said(root, "later"))
    with pytest.raises(LeaseLost):
        await frozen.committed()

    await stored(journal, said(root, "after"))
    _, loaded = await store.take_over(execution_id)
    assert loaded.agents == {"root": root}
    assert loaded.steps[root.id] == {(0,): step(root, (0,), "first").remembered()}
    assert titles(await store.events(execution_id)) == ["before", "after"]


@pytest.mark.spec("B1", "B2")
async def test_an_older_journal_starts_no_effect(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    frozen, _ = await store.take_over(execution_id)
    root = agent()
    await stored(frozen, root)
    await store.take_over(execution_id)

    with pytest.raises(LeaseLost):
        await stored(frozen, effect(root, "key"))

    assert await store.effects(execution_id) == []


@pytest.mark.spec("B1")
async def test_exactly_the_written_steps_are_loaded_by_path(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, empty = await store.take_over(execution_id)
    root = agent()
    child = agent("reader", parent=root)
    steps = [
        step(root, (0,), {"text": "yes"}),
        step(root, (1, 0, 0), ["a", "b"]),
        step(root, (1, 1, 0), {"code": "busy", "message": "m", "retryable": True}, status=StepStatus.FAILED),
        replace(step(root, (2,)), kind=StepKind.TOOL, effect_key="k" * 40, status=StepStatus.STARTED),
        replace(step(child, (0,), "of the child"), usage={"prompt_tokens": 12, "cost_usd": None}),
    ]

    await stored(journal, root, child, *steps)

    _, loaded = await store.take_over(execution_id)
    assert empty == Loaded()
    assert loaded.steps == {
        root.id: {record.path: record.remembered() for record in steps[:4]},
        child.id: {(0,): steps[4].remembered()},
    }
    assert (
        sorted(await store.steps(execution_id), key=lambda record: (record.agent_id != root.id, record.path)) == steps
    )


@pytest.mark.spec("S66")
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="null"),
        pytest.param([], id="empty list"),
        pytest.param("", id="empty text"),
        pytest.param({"b": 1, "a": {"z": [None, True, False]}}, id="nested"),
        pytest.param("Ünïcödé 漢字 🙂 \u2028 \\u0041 \" ' % %s {x}", id="text"),
        pytest.param([0, -1, 2**53 + 1, 2**63 - 1, -(2**63)], id="whole numbers"),
        pytest.param([0.1, 1.5, 1e-7, 1e16, 1e22, 5e-324, 1.7976931348623157e308, -0.0, 10**25], id="numbers"),
        pytest.param({"10": 1, "9": 2, "é": 3}, id="keys"),
    ],
)
async def test_values_come_back_as_they_were_written(store: StoreUnderTest, value: Any) -> None:
    value = plain(value)
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = replace(agent(), output=value)
    request_id = uuid4()
    written = replace(
        step(root, (0,), value), kind=StepKind.NOTE, request=value, usage=value, request_hash=digest(value)
    )
    row = replace(effect(root, "key", EffectStatus.FINISHED, value), arguments=value)

    await stored(journal, root, written, row)
    await stored(journal, step(root, (1,)), Asked(request_id, root.id, "root", "input", {"question": value}))
    await store.answer(request_id, {"text": value})

    _, loaded = await store.take_over(execution_id)
    for back in (
        loaded.agents["root"].output,
        loaded.steps[root.id][0,].request,
        loaded.steps[root.id][0,].response,
        loaded.steps[root.id][0,].usage,
        loaded.effects["key"].arguments,
        loaded.effects["key"].response,
        loaded.answers[request_id]["text"],
    ):
        assert back == value
        assert canonical(plain(back)) == canonical(value)


async def test_agents_and_effects_are_loaded_in_their_newest_state(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    child = agent("reader", parent=root)
    await stored(journal, root, child, effect(root, "one"), effect(child, "two"))

    failed = replace(child, status=AgentStatus.FAILED, output={"code": "busy"}, error="the provider is busy")
    one = effect(root, "one", EffectStatus.FINISHED, {"message_id": 1})
    two = effect(child, "two", EffectStatus.IN_DOUBT)
    await stored(journal, failed, one)
    await stored(journal, two)

    _, loaded = await store.take_over(execution_id)
    assert loaded.agents == {"root": root, "root.reader-0": failed}
    assert loaded.effects == {"one": one, "two": two}
    assert sorted(await store.effects(execution_id), key=lambda row: row.key) == [one, two]


@pytest.mark.spec("S90", "S94")
async def test_an_agent_is_loaded_with_its_place_in_the_plan_and_what_a_person_changed(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    first, other = agent("first", parent=root), agent("other", parent=root)
    waits = replace(agent("waits", parent=root), status=AgentStatus.PENDING, step_id="s3")
    waits = replace(waits, depends_on=(first.id, other.id))
    await stored(journal, root, first, other, waits)
    _, pending = await store.take_over(execution_id)
    journal, _ = await store.take_over(execution_id)

    changed = replace(waits, user_comment="modify", user_content="Do it otherwise", modified=True)
    await stored(journal, changed)
    await stored(journal, replace(changed, status=AgentStatus.RUNNING))

    _, loaded = await store.take_over(execution_id)
    assert pending.agents["root.waits-0"] == waits
    assert loaded.agents["root.waits-0"] == replace(changed, status=AgentStatus.RUNNING)


@pytest.mark.spec("S94", "S100")
async def test_a_wish_is_loaded_until_it_is_applied_and_what_was_said_also_after(store: StoreUnderTest) -> None:
    execution_id, another = await store.new_execution(), await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    child = agent("child", parent=root)
    await stored(journal, root, child)
    wishes = [
        await store.intervene(execution_id, InterventionKind.DELETE, "", agent_id=child.id),
        await store.intervene(execution_id, InterventionKind.STEER, "Shorter"),
        await store.intervene(execution_id, InterventionKind.MODIFY, "Otherwise", agent_id=child.id),
        await store.intervene(execution_id, InterventionKind.COMMENT, "Well done", agent_id=child.id),
    ]
    await store.intervene(another, InterventionKind.STEER, "for another run")

    _, before = await store.take_over(execution_id)
    journal, _ = await store.take_over(execution_id)
    for wish in wishes:
        await stored(journal, child, Applied(wish.id))
    _, after = await store.take_over(execution_id)

    assert list(before.interventions.values()) == wishes
    said = [replace(wish, applied=True) for wish in (wishes[1], wishes[3])]
    assert list(after.interventions.values()) == said


@pytest.mark.spec("B1")
async def test_a_wish_that_an_older_journal_applies_stays_to_be_applied(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    frozen, _ = await store.take_over(execution_id)
    root = agent()
    await stored(frozen, root)
    wish = await store.intervene(execution_id, InterventionKind.STEER, "Shorter")
    await store.take_over(execution_id)

    with pytest.raises(LeaseLost):
        await stored(frozen, Applied(wish.id))

    _, loaded = await store.take_over(execution_id)
    assert loaded.interventions == {wish.id: wish}


@pytest.mark.spec("S106")
async def test_a_withdrawn_question_cannot_be_answered_any_more_and_one_that_was_answered_stays_so(
    store: StoreUnderTest,
) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    asked = [Asked(uuid4(), root.id, root.name, "input", {"question": "?"}) for _ in range(3)]
    await stored(journal, root, *asked)
    answered, open_one, stays = [question.request_id for question in asked]
    await store.answer(answered, {"text": "yes"})

    await stored(journal, Withdrawn((answered, open_one)))
    await store.answer(open_one, {"text": "too late"})
    await store.answer(stays, {"text": "in time"})

    _, loaded = await store.take_over(execution_id)
    assert loaded.answers.get(answered) == {"text": "yes"}
    assert loaded.answers.get(open_one, {}) == {}
    assert loaded.answers.get(stays) == {"text": "in time"}


@pytest.mark.spec("B1")
async def test_an_answer_is_loaded_by_the_next_driver(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    answered, open_one = uuid4(), uuid4()
    for number, request_id in enumerate((answered, open_one)):
        waiting = step(root, (number,), {"request_id": str(request_id)}, status=StepStatus.STARTED)
        question = {"question": "Which one?", "options": ["a", "b"]}
        asked = Asked(request_id, root.id, root.name, "decision", question)
        await stored(journal, root, replace(waiting, kind=StepKind.ASK), asked)

    await store.answer(answered, {"choice": "b"})

    _, loaded = await store.take_over(execution_id)
    assert loaded.answers == {answered: {"choice": "b"}}


async def test_the_origins_of_emissions_are_loaded(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()

    await stored(
        journal, root, said(root, "one", origin="root/0/0"), said(root, "none"), said(root, "two", origin="root/1/0")
    )

    _, loaded = await store.take_over(execution_id)
    assert loaded.origins == {"root/0/0", "root/1/0"}


async def test_the_length_shown_counts_text_by_agent_and_channel_and_follows_resets(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    child = agent("writer", parent=root)

    def show(of: AgentRecord, *bodies: Body) -> None:
        for body in bodies:
            journal.write(Announced(of.id, body))

    journal.write(root, child)
    show(root, Token(content="Grüße 🙂"), Token(content="hm", channel="thinking"))
    show(child, Token(content="abc"), TokenReset(keep=0))
    show(root, Token(content=" more"), TokenReset(keep=9), Token(content="!!"))
    await journal.committed()

    _, loaded = await store.take_over(execution_id)
    assert loaded.shown == {(root.id, "answer"): 11, (root.id, "thinking"): 2, (child.id, "answer"): 0}


@pytest.mark.spec("B1", "B14")
async def test_what_a_cut_took_of_answers_and_effects_stays_known(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    asked = replace(step(root, (0,), {"choice": "b"}), kind=StepKind.ASK, effect_key="question")
    sent = replace(step(root, (1,), "sent"), kind=StepKind.TOOL, effect_key="effect")
    open_one = replace(asked, path=(2,), effect_key="open", status=StepStatus.STARTED)
    read = step(root, (3,), "read")
    await stored(journal, root, asked, sent, open_one, read)

    await stored(journal, Cut(root.id, (0,), ()))
    await stored(journal, replace(asked, response={"choice": "a"}))
    await stored(journal, Cut(root.id, (0,), ()))

    _, loaded = await store.take_over(execution_id)
    assert loaded.steps.get(root.id, {}) == {}
    assert {key: kept.response for key, kept in loaded.answered.items()} == {"question": {"choice": "a"}}
    assert loaded.done_before == {"effect"}


@pytest.mark.spec("B2", "B14")
async def test_the_ledger_names_who_tried_an_effect_last(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    child = agent("writer", parent=root)
    await stored(journal, root, child, effect(root, "key"))
    await stored(journal, effect(root, "key", EffectStatus.FAILED, {"code": "no"}))

    await stored(journal, replace(effect(child, "key"), started_at=datetime.now(UTC)))

    _, loaded = await store.take_over(execution_id)
    assert loaded.effects["key"].agent_id == child.id
    assert loaded.effects["key"].started_at is not None


async def test_a_cut_removes_the_steps_of_its_scope_from_there_on(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    kept = {(0,), (1, 0, 0), (1, 1, 7)}
    gone = {(2,), (2, 0, 0), (3,), (10,), (4, 1, 0, 2, 1)}
    await stored(journal, root, *[step(root, path) for path in kept | gone])

    await stored(journal, Cut(root.id, (2,), ()))

    _, loaded = await store.take_over(execution_id)
    assert paths(loaded, root) == kept
    assert {record.path for record in await store.steps(execution_id)} == kept


async def test_a_cut_in_a_branch_leaves_the_other_branches_and_agents(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    child = agent("reader", parent=root)
    kept = {(0,), (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 2, 1), (2,), (3, 1, 1)}
    gone = {(1, 1, 1), (1, 1, 2), (1, 1, 2, 0, 0)}
    await stored(journal, root, child, *[step(root, path) for path in kept | gone], step(child, (1, 1, 1)))

    await stored(journal, Cut(root.id, (1, 1, 1), ()))

    _, loaded = await store.take_over(execution_id)
    assert paths(loaded, root) == kept
    assert paths(loaded, child) == {(1, 1, 1)}


async def test_a_step_may_stand_again_where_one_was_cut(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    await stored(journal, root, step(root, (0,), "kept"), step(root, (1,), "old"), step(root, (2,), "old"))

    journal.write(Cut(root.id, (1,), ()), said(root, "cut"))
    journal.write(replace(step(root, (1,), "new"), name="pro"))
    await journal.committed()

    _, loaded = await store.take_over(execution_id)
    assert {path: record.response for path, record in loaded.steps[root.id].items()} == {(0,): "kept", (1,): "new"}
    assert loaded.steps[root.id][1,].name == "pro"


async def test_a_cut_clears_the_listed_origins_and_only_those_said_before_it(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    for number in range(3):
        journal.write(root, said(root, f"{number}", origin=f"root/{number}/0"))
    await journal.committed()

    journal.write(Cut(root.id, (1,), ("root/1/0", "root/2/0")))
    journal.write(said(root, "1 again", origin="root/1/0"))
    await journal.committed()

    _, loaded = await store.take_over(execution_id)
    assert loaded.origins == {"root/0/0", "root/1/0"}
    assert titles(await store.events(execution_id)) == ["0", "1", "2", "1 again"]


@pytest.mark.spec("B9")
async def test_events_are_numbered_without_gap_over_several_drivers(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    root = agent()

    for driver in range(4):
        journal, _ = await store.take_over(execution_id)
        journal.write(root, said(root, f"driver {driver}"))
        if driver % 2:
            journal.write(said(root, "more"), said(root, "and more"))
        await journal.committed()

    rows = await store.events(execution_id)
    assert [seq for seq, _, _ in rows] == list(range(1, 9))
    assert list(faults(rows)) == []


@pytest.mark.spec("B9")
async def test_an_event_says_its_number_run_agent_and_time(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    stage = Stage(name="plan", description="Plans the work", status=StageStatus.RUNNING, stage="planning")

    await stored(journal, root, Announced(root.id, stage), Announced(None, Title(title="A title")))

    first, second = [json.loads(text) for _, text, _ in await store.events(execution_id)]
    assert first.pop("timestamp") > 1_600_000_000_000
    assert first == {
        "type": "stage",
        "seq": 1,
        "execution_id": str(execution_id),
        "agent_id": str(root.id),
        "stage": "planning",
        "name": "plan",
        "description": "Plans the work",
        "status": "running",
    }
    assert (second["seq"], second["agent_id"]) == (2, None)


@pytest.mark.spec("B9")
async def test_any_change_to_the_stored_events_is_found(store: StoreUnderTest) -> None:
    execution_id = await store.new_execution()
    journal, _ = await store.take_over(execution_id)
    root = agent()
    journal.write(root)
    for number in range(5):
        await stored(journal, said(root, f"{number}"))

    rows = await store.events(execution_id)

    assert list(faults(rows)) == []
    for place in range(5):
        seq, text, hashed = rows[place]
        changed = [*rows[:place], (seq, text.replace(f'"{place}"', '"x"'), hashed), *rows[place + 1 :]]
        assert [fault.seq for fault in faults(changed)] == [seq]


async def test_nothing_of_another_run_is_loaded(store: StoreUnderTest) -> None:
    first, second = await store.new_execution(), await store.new_execution()
    root, other = agent(), agent()
    request_id = uuid4()
    journal, _ = await store.take_over(first)
    await stored(journal, root, step(root, (0,)), effect(root, "key"), said(root, "one", origin="root/0/0"))
    await stored(journal, step(root, (1,)), Asked(request_id, root.id, "root", "input", {"question": "?"}))
    await stored(journal, Announced(root.id, Token(content="text")))
    await store.answer(request_id, {"text": "!"})

    journal, empty = await store.take_over(second)
    await stored(journal, other, said(other, "two"))

    assert empty == Loaded()
    assert titles(await store.events(first)) == ["one"]
    assert [seq for seq, _, _ in await store.events(second)] == [1]
