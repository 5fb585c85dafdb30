"""Graphs of agents through the whole product: Daphne, two runners, Postgres, the API, and what is killed meanwhile."""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from tests.pipeline.graphs import DIAMOND, QUESTION, SATISFIED, SHAPES, order, plan_text
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.site import Follower, Site

pytestmark = pytest.mark.timeout(300)
ANSWER = "The board reads: all of it was found."


@pytest.fixture
def graphs(site: Site) -> Iterator[Site]:
    """The site with a model that knows the plans of `tests.pipeline.graphs`."""
    yield site
    site.model.reset()


# By part of a planned run: what its prompt has. The planner's question stands in all of them, so its line comes last.
CLOSING = {"composer": "## Results\n### ", "verifier": "## Results\n- id"}
PLANNER = {"planner": QUESTION}
# How many answers a diamond has when it waits for that of one part alone.
BEFORE = {"planner": 0, "alpha": 1, "beta": 3, "gamma": 3, "delta": 4, "verifier": 5, "composer": 6}


def know(
    site: Site, graph: Any, *, tokens_per_s: float | None = None, held: Collection[str] = (), held_once: str = ""
) -> None:
    """Teaches the model one graph. Agents that are `held` answer to their end at `site.model.release()`; the first
    answer to the part `held_once` never ends."""
    agents = {name: _prompt_of(name) for name in graph}
    texts = {"composer": ANSWER, "verifier": SATISFIED, "planner": plan_text(graph)}
    for part, match in (CLOSING | agents | PLANNER).items():
        line = Script(match=match, text=texts.get(part, f"Found {part}. " + "and more " * 8), times=0)
        if part in agents:
            line = line.model_copy(update={"tokens_per_s": tokens_per_s, "held_after": 2 if part in held else None})
        if part == held_once:
            site.model.script(line.model_copy(update={"times": 1, "held_after": 1}))
        site.model.script(line)


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


@pytest.mark.slow
@pytest.mark.spec("S28", "S29")
@pytest.mark.parametrize(
    ("shape", "together"),
    [
        ("parallel", ("alpha", "beta")),
        ("diamond", ("beta", "gamma")),
        ("twelve agents", tuple(f"root{number}" for number in range(4))),
        ("twelve agents", tuple(f"middle{number}" for number in range(6))),
        ("twelve agents", ("left", "right")),
    ],
    ids=["parallel", "diamond", "twelve, first stage", "twelve, second stage", "twelve, last stage"],
)
async def test_agents_that_can_run_in_parallel_have_all_begun_before_any_of_them_has_ended(
    shape: str, together: Sequence[str], graphs: Site
) -> None:
    graph = SHAPES[shape]
    know(graphs, graph, held=together)

    id_ = await asyncio.to_thread(graphs.ask, QUESTION)
    await asyncio.to_thread(
        graphs.model.wait_until, lambda model: all(_is_answering(model, name) for name in together), timeout_s=30
    )
    graphs.model.release()
    await asyncio.to_thread(graphs.until_ended, id_)

    happened = order(graphs.events(id_))
    began = [happened.index(("began", name)) for name in together]
    assert max(began) < min(happened.index(("ended", name)) for name in together)
    assert graphs.execution(id_)["answer"] == ANSWER


@pytest.mark.slow
@pytest.mark.spec("B1", "S29")
@pytest.mark.parametrize("part", BEFORE)
async def test_a_diamond_whose_runner_is_killed_while_a_part_of_it_is_answered_goes_on(part: str, graphs: Site) -> None:
    know(graphs, DIAMOND, held_once=part)
    id_ = await asyncio.to_thread(graphs.ask, QUESTION)
    await asyncio.to_thread(graphs.model.wait_until, lambda model: _is_answering(model, part), timeout_s=30)
    await asyncio.to_thread(_until_stored, graphs, id_, BEFORE[part])

    await asyncio.to_thread(_kill_driver, graphs, id_)
    await asyncio.to_thread(graphs.until_ended, id_)

    graphs.check_log(id_)
    assert graphs.execution(id_)["answer"] == ANSWER
    assert _answers_stored(graphs, id_) == len(DIAMOND) + 3
    asked = Counter(call.last_user for call in graphs.model.calls)
    again = {words: count for words, count in asked.items() if count > 1}
    assert list(again.values()) == [2], "only what was being answered is asked again"
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


@pytest.mark.slow
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


def _prompt_of(part: str) -> str:
    return (CLOSING | PLANNER).get(part, f"## Task\nWork on {part} now.")


def _is_answering(model: ScriptedServer, part: str) -> bool:
    return any(_prompt_of(part) in call.last_user and call.tokens_sent for call in model.calls)


def _answers_stored(site: Site, id_: UUID) -> int:
    """How many answers of models the run has in its journal."""
    rows = site.query(
        "SELECT count(*) AS answers FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id"
        " WHERE a.execution_id = %s AND s.kind = 'model' AND s.cut_at IS NULL",
        id_,
    )
    return int(rows[0]["answers"])


def _until_stored(site: Site, id_: UUID, answers: int) -> None:
    deadline = time.monotonic() + 30
    while _answers_stored(site, id_) < answers:
        assert time.monotonic() < deadline, "the run stores nothing more"
        time.sleep(0.01)


def _kill_driver(site: Site, id_: UUID) -> None:
    """Kills the runner that drives the run, and starts it again."""
    name = site.execution(id_)["leased_by"]
    assert name, "nobody drives it"
    site.kill(name)
    site.restart(name)


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
