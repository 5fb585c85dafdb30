"""Graphs of agents through the whole product: Daphne, two runners, Postgres, the API, and what is killed meanwhile."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from tests.pipeline.graphs import DIAMOND, QUESTION, SATISFIED, SHAPES, order, plan_text
from tests.scripted.script import Script
from tests.site import Follower, Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ANSWER = "The board reads: all of it was found."


@pytest.fixture
def graphs(site: Site) -> Iterator[Site]:
    """The site with a model that knows the plans of `tests.pipeline.graphs`."""
    yield site
    site.model.reset()


def know(site: Site, graph: Any, *, tokens_per_s: float | None = None) -> None:
    """Teaches the model one graph. Its planner is asked first, its verifier next, and the composer is told results."""
    site.model.script(
        Script(match="## Results\n### ", text=ANSWER, times=0),
        Script(match="## Results\n- id", text=SATISFIED, times=0),
        *(
            Script(
                match=f"Work on {name} now.",
                text=f"Found {name}. " + "and more " * 8,
                times=0,
                tokens_per_s=tokens_per_s,
            )
            for name in graph
        ),
        Script(match=QUESTION, text=plan_text(graph), times=0),
    )


@pytest.mark.spec("S1", "S11", "S28", "S29")
@pytest.mark.parametrize("shape", SHAPES)
async def test_a_graph_is_answered_end_to_end_and_a_follower_sees_what_is_stored(shape: str, graphs: Site) -> None:
    graph = SHAPES[shape]
    know(graphs, graph)

    id_ = await asyncio.to_thread(graphs.ask, QUESTION)
    seen = await Follower(graphs, id_).follow()

    graphs.check_log(id_)
    assert seen == graphs.events(id_)
    assert graphs.execution(id_)["answer"] == ANSWER
    happened = order(seen)
    for name, others in graph.items():
        assert all(happened.index(("ended", other)) < happened.index(("began", name)) for other in others)


@pytest.mark.spec("B1", "S29")
async def test_a_diamond_whose_runner_is_killed_at_each_of_its_states_answers_the_same(graphs: Site) -> None:
    know(graphs, DIAMOND, tokens_per_s=30)
    id_ = await asyncio.to_thread(graphs.ask, QUESTION)
    whole = await Follower(graphs, id_).follow()
    moments = [number for number, event in enumerate(whole, 1) if event["type"] in ("agent_state", "usage")]

    for moment in moments[2::6]:
        graphs.model.calls.clear()
        id_ = await asyncio.to_thread(graphs.ask, QUESTION)
        killed = await asyncio.to_thread(_kill_at, graphs, id_, moment)
        await asyncio.to_thread(graphs.until_ended, id_)

        graphs.check_log(id_)
        assert graphs.execution(id_)["answer"] == ANSWER, moment
        steps = graphs.query(
            "SELECT s.name, a.task, s.status FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id"
            " WHERE a.execution_id = %s AND s.kind = 'model' AND s.cut_at IS NULL",
            id_,
        )
        assert len(steps) == len(DIAMOND) + 3, (moment, steps)
        asked = Counter(call.last_user for call in graphs.model.calls)
        assert max(asked.values()) <= (2 if killed else 1), moment
        assert sum(count - 1 for count in asked.values()) <= 2, "more was asked again than was being answered"
    graphs.manage("verify_log")


@pytest.mark.spec("S93", "S94", "S95", "S101", "S106", "S108", "B15")
async def test_a_part_that_a_person_stops_is_told_of_and_the_others_go_on(graphs: Site) -> None:
    know(graphs, {"alpha": (), "beta": ()}, tokens_per_s=4)
    id_ = await asyncio.to_thread(graphs.ask, QUESTION)
    alpha = await asyncio.to_thread(_agent_at_work, graphs, id_, "alpha")

    said = await asyncio.to_thread(graphs.post, f"agents/{alpha}/intervene", {"user_comment": "delete"})
    await asyncio.to_thread(graphs.until_ended, id_)

    assert said.status_code == 200, said.text
    assert said.json()["success"] is True
    tree = _tree(graphs, id_)
    assert tree[alpha]["status"] == "deleted"
    assert sorted(agent["status"] for agent in tree.values() if agent["task"].startswith("Work on")) == [
        "completed",
        "deleted",
    ]
    composer = next(call for call in graphs.model.calls if "## Results\n### " in call.last_user)
    assert "Work on alpha now." in composer.last_user
    assert "the user stopped it" in composer.last_user
    assert graphs.execution(id_)["status"] == "completed"


@pytest.mark.spec("S93", "S100", "B15")
async def test_new_instructions_for_an_agent_at_work_take_the_place_of_its_task(graphs: Site) -> None:
    know(graphs, {"alpha": (), "beta": ("alpha",)}, tokens_per_s=4)
    graphs.model.script(Script(match="Look at gamma instead", text="Found gamma.", times=0))
    id_ = await asyncio.to_thread(graphs.ask, QUESTION)
    await asyncio.to_thread(_agent_at_work, graphs, id_, "alpha")
    beta = _agent(graphs, id_, "beta")

    body = {"user_comment": "modify", "user_content": "Look at gamma instead"}
    said = await asyncio.to_thread(graphs.post, f"agents/{beta}/intervene", body)
    await asyncio.to_thread(graphs.until_ended, id_)

    assert said.status_code == 200, said.text
    assert any("Look at gamma instead" in call.last_user for call in graphs.model.calls)
    assert not any(
        "Work on beta now." in call.last_user.split("## Question")[0].split("## Results")[0]
        for call in graphs.model.calls
    )
    assert _tree(graphs, id_)[beta]["user_comment"] == "modify"


def _kill_at(site: Site, id_: UUID, moment: int) -> bool:
    """Kills the runner that drives the run once it has said so much; False if the run was over before."""
    deadline = time.monotonic() + 30
    while len(site.events(id_)) < moment:
        if site.execution(id_)["ended_at"]:
            return False
        assert time.monotonic() < deadline, "the run says nothing more"
        time.sleep(0.01)
    name = site.execution(id_)["leased_by"]
    if not name:
        return False
    site.kill(name)
    site.restart(name)
    return True


def _tree(site: Site, id_: UUID) -> dict[str, dict[str, Any]]:
    import httpx

    got = httpx.get(site.url(f"agents/tree?execution={id_}"), headers=site.headers, timeout=10)
    assert got.status_code == 200, got.text
    agents: dict[str, dict[str, Any]] = got.json()["agents"]
    return agents


def _agent(site: Site, id_: UUID, name: str) -> str:
    return next(one for one, agent in _tree(site, id_).items() if f"on {name} now" in agent["task"])


def _agent_at_work(site: Site, id_: UUID, name: str) -> str:
    """The agent of this task, once the model answers it."""
    site.model.wait_until(
        lambda model: any(f"Work on {name} now." in call.last_user for call in model.calls), timeout_s=30
    )
    return _agent(site, id_, name)
