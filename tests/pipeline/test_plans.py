"""Plans as values: everything that can be wrong with one, their stages, their ids."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pipeline.plans import (
    MAX_TASKS,
    Plan,
    PlanTask,
    continued,
    downstream,
    faults_of,
    find_cycle,
    overview,
    planned_steps,
    single,
    stages,
    task_id,
    with_tools,
    with_unique_ids,
)
from tests.pipeline.rosters import ROSTER


def task(id_: str, *after: str, agent: str = "chat", **more: object) -> PlanTask:
    return PlanTask.model_validate({"id": id_, "agent": agent, "task": f"Do {id_}", "depends_on": after, **more})


def plan(*tasks: PlanTask, **more: object) -> Plan:
    return Plan.model_validate({"tasks": tasks, **more})


PARALLEL = plan(task("a"), task("b"))
CHAIN = plan(task("a"), task("b", "a"), task("c", "b"))
DIAMOND = plan(task("a"), task("b", "a"), task("c", "a"), task("d", "b", "c"))


class TestFaults:
    @pytest.mark.parametrize("good", [PARALLEL, CHAIN, DIAMOND, single("Why?", "chat")])
    def test_a_plan_that_can_be_run_has_none(self, good: Plan) -> None:
        assert faults_of(good, agents=ROSTER) == []

    @pytest.mark.spec("S26", "S27")
    @pytest.mark.parametrize(
        ("bad", "told"),
        [
            (plan(), "the plan has no task"),
            (plan(task("a", "b"), task("b", "a")), "circular dependency: a -> b -> a"),
            (plan(task("a", "c"), task("b", "a"), task("c", "b")), "circular dependency: a -> c -> b -> a"),
            (plan(task("a", "a")), "task 'a' waits for itself"),
            (plan(task("a", "z")), "task 'a' waits for 'z', which is not in the plan"),
            (plan(task("a", agent="composer")), "task 'a' names the agent 'composer'; there are: chat, code"),
            (plan(task("a"), task("a")), "the id 'a' is used by 2 tasks"),
            (plan(task("a", task="  ")), "task 'a' does not say what to do"),
            (plan(task("")), "a task has no id"),
            (plan(task("a", agent="rag", tools=("fly",))), "task 'a' names the tool 'fly', which does not exist"),
            (
                plan(task("a", agent="rag", tools=("send_email",))),
                "task 'a' gives the rag agent the tool 'send_email'; it has: search_documents, read_document",
            ),
            (plan(*(task(str(number)) for number in range(200))), "the plan has 200 tasks; at most 16 are allowed"),
        ],
    )
    def test_each_is_named(self, bad: Plan, told: str) -> None:
        assert [fault for fault in faults_of(bad, agents=ROSTER) if fault.startswith(told)]

    def test_all_are_told_at_once(self) -> None:
        bad = plan(
            task("a", "b", agent="nobody"),
            task("b", "a", "x"),
            task("c", "c", agent="web", tools=("fly",)),
            task("c", task=""),
        )

        told = "\n".join(faults_of(bad, agents=ROSTER))

        for part in ("nobody", "a -> b -> a", "'x'", "waits for itself", "'fly'", "used by 2", "does not say"):
            assert part in told

    @pytest.mark.spec("S27")
    def test_of_an_agent_that_is_not_there_the_tools_are_looked_at_all_the_same(self) -> None:
        bad = plan(task("a", agent="nobody", tools=("fly", "send_email")))

        assert faults_of(bad, agents=ROSTER) == [
            f"task 'a' names the agent 'nobody'; there are: {', '.join(sorted(ROSTER))}",
            "task 'a' names the tool 'fly', which does not exist",
        ]

    @pytest.mark.spec("S27")
    def test_of_several_circles_each_is_told(self) -> None:
        bad = plan(task("a", "b"), task("b", "a"), task("c"), task("d", "e", "a"), task("e", "f"), task("f", "d", "c"))

        assert faults_of(bad, agents=ROSTER) == [
            "circular dependency: a -> b -> a",
            "circular dependency: d -> e -> f -> d",
        ]

    @pytest.mark.spec("S27")
    def test_of_several_circles_with_a_task_in_common_each_is_told(self) -> None:
        bad = plan(task("a", "b", "c"), task("b", "a"), task("c", "d"), task("d", "a"))

        assert faults_of(bad, agents=ROSTER) == [
            "circular dependency: a -> b -> a",
            "circular dependency: a -> c -> d -> a",
        ]

    def test_what_is_done_may_be_waited_for_and_not_be_done_again(self) -> None:
        assert faults_of(plan(task("b", "old")), agents=ROSTER, done={"old"}) == []
        assert faults_of(plan(task("old")), agents=ROSTER, done={"old"}) == [
            "the id 'old' belongs to a task that is already done"
        ]

    def test_as_many_tasks_as_are_allowed_are_allowed(self) -> None:
        assert faults_of(plan(*(task(str(number)) for number in range(MAX_TASKS))), agents=ROSTER) == []


class TestStages:
    @pytest.mark.spec("S26", "S28")
    @pytest.mark.parametrize(
        ("good", "found"),
        [
            (PARALLEL, [["a", "b"]]),
            (CHAIN, [["a"], ["b"], ["c"]]),
            (DIAMOND, [["a"], ["b", "c"], ["d"]]),
            (plan(task("d", "b"), task("b"), task("c", "d", "b")), [["b"], ["d"], ["c"]]),
            (plan(), []),
        ],
    )
    def test_each_has_what_could_run_together(self, good: Plan, found: list[list[str]]) -> None:
        assert stages(good) == found

    @pytest.mark.spec("S27")
    def test_a_circle_is_an_error_that_names_it(self) -> None:
        with pytest.raises(ValueError, match=r"^Circular dependency: b -> c -> b$"):
            stages(plan(task("a"), task("b", "a", "c"), task("c", "b")))

    def test_what_is_not_in_the_plan_counts_as_done(self) -> None:
        assert stages(plan(task("a", "old"), task("b", "a"))) == [["a"], ["b"]]

    @given(
        st.integers(1, 30).flatmap(
            lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60).map(
                lambda edges: (n, edges)
            )
        )
    )
    def test_the_order_holds_for_any_graph_and_a_circle_is_always_found(
        self, drawn: tuple[int, list[tuple[int, int]]]
    ) -> None:
        count, edges = drawn
        graph = plan(
            *(task(str(one), *dict.fromkeys(str(b) for a, b in edges if a == one and a != b)) for one in range(count))
        )
        waits_for = {one.id: one.depends_on for one in graph.tasks}

        cycle = find_cycle(waits_for)

        if cycle:
            assert cycle[0] == cycle[-1]
            assert all(after in waits_for[before] for before, after in pairwise(cycle))
            with pytest.raises(ValueError, match="Circular dependency"):
                stages(graph)
        else:
            found = stages(graph)
            place = {id_: number for number, stage in enumerate(found) for id_ in stage}
            assert sorted(place) == sorted(graph.ids)
            assert all(place[other] < place[id_] for id_, others in waits_for.items() for other in others)
            assert all(
                number == max((place[other] + 1 for other in waits_for[id_]), default=0)
                for id_, number in place.items()
            )

    def test_what_depends_on_a_task_is_found_however_far_away(self) -> None:
        assert downstream(DIAMOND, ["b"]) == {"b", "d"}
        assert downstream(DIAMOND, ["a"]) == {"a", "b", "c", "d"}


class TestIds:
    @pytest.mark.spec("S25")
    def test_they_are_made_unique_and_the_edges_follow(self) -> None:
        named = with_unique_ids(plan(task("1", agent="rag"), task("2", "1", agent="web"), task("3", "1", "2")))

        first, second, third = named.tasks
        assert first.id == task_id(0, "rag", "Do 1")
        assert first.id.startswith("rag_agent-")
        assert len(first.id) == len("rag_agent-a1b2c3")
        assert second.depends_on == (first.id,)
        assert third.depends_on == (first.id, second.id)

    def test_they_are_the_same_each_time_and_others_in_another_revision(self) -> None:
        once = plan(task("1"), task("2"))

        assert with_unique_ids(once) == with_unique_ids(once)
        assert not set(with_unique_ids(once).ids) & set(with_unique_ids(once.model_copy(update={"revision": 1})).ids)

    def test_equal_tasks_have_ids_of_their_own(self) -> None:
        twins = with_unique_ids(plan(task("1", task="Look"), task("2", task="Look")))

        assert len(set(twins.ids)) == 2

    def test_ids_that_are_taken_stay(self) -> None:
        named = with_unique_ids(plan(task("kept"), task("added-1", "kept")), keep=["kept"])

        assert named.ids[0] == "kept"
        assert named.ids[1].startswith("chat_agent-")
        assert named.tasks[1].depends_on == ("kept",)


def test_a_plan_goes_on_from_what_is_done_of_another() -> None:
    before = plan(task("a"), task("b", "a"), task("c", "b"))

    after = continued(before, {"a", "c"}, plan(task("d", "c"), revision=1))

    assert after.ids == ("a", "c", "d")
    assert after.tasks[1].depends_on == ()
    assert stages(after) == [["a", "c"], ["d"]]
    assert after.revision == 1


def test_a_task_without_tools_has_all_of_its_agent() -> None:
    spelled = with_tools(plan(task("a", agent="rag"), task("b", agent="rag", tools=("read_document",))), ROSTER)

    assert spelled.tasks[0].tools == ROSTER["rag"].tools
    assert spelled.tasks[1].tools == ("read_document",)


@pytest.mark.spec("S13")
def test_people_see_every_step_with_its_stage_and_what_they_will_be_asked() -> None:
    shown = plan(task("a", agent="mail", tools=("send_email",)), task("b", "a"), intent="a report", notice="Mind this")

    event = overview(shown, asks_about=["send_email", "reply_to_message"])

    assert [step.stage for step in event.steps] == [1, 2]
    assert [step.id for step in planned_steps(shown)] == ["a", "b"]
    assert event.asks_about == ("send_email",)
    assert (event.intent, event.notice) == ("a report", "Mind this")
