"""How a run went, over the API: its plan, its route, its agents; and what can be done with it while it goes on."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from agents.api import serializers
from agents.engine.events import (
    Complete,
    PlannedStep,
    PlanOverview,
    PlanStep,
    PlanStepCompleted,
    Routing,
    StatusChanged,
)
from agents.log import plan_reading
from agents.models import Execution, Intervention
from agents.pipeline.route import Route
from conversations import actions
from conversations.options import approval_rule, chosen
from tests.faces.runs import append, make_agent, make_run, make_step, tokens

LOOK = PlannedStep(id="web-1", agent="web", task="Look it up", expected_outcome="A date", tools=("web_search",))
WRITE = PlannedStep(id="writing-1", agent="writing", task="Write it", depends_on=("web-1",), stage=2)
ROUTE = Routing(agent="planner", reason="Two things are asked.", confidence=0.9, method="heuristic")
OVERVIEW = PlanOverview(steps=(LOOK, WRITE), intent="report", entities={"year": 2024}, asks_about=("send_email",))


@pytest.mark.spec("S13", "S16", "S148")
def test_the_plan_of_a_run_that_goes_on_comes_from_its_log(alice: Any, api_of: Callable[..., Any]) -> None:
    run = make_run(alice)
    append(run, StatusChanged(status="running"), ROUTE, *tokens("a"), OVERVIEW, PlanStep(step=LOOK))
    api = api_of(alice)

    first = api.get(f"/api/v1/executions/{run.id}").json()
    append(run, PlanStepCompleted(step_id="web-1", status="completed"), PlanStep(step=WRITE))
    second = api.get(f"/api/v1/executions/{run.id}").json()
    append(run, PlanStepCompleted(step_id="writing-1", status="failed", error="no words"))
    third = api.get(f"/api/v1/executions/{run.id}").json()

    plan = first["plan"]
    assert (plan["intent"], plan["entities"], plan["revision"], plan["asks_about"]) == (
        "report",
        {"year": 2024},
        0,
        ["send_email"],
    )
    assert [(task["id"], task["stage"], task["status"]) for task in plan["tasks"]] == [
        ("web-1", 1, "running"),
        ("writing-1", 2, "pending"),
    ]
    assert plan["tasks"][1]["depends_on"] == ["web-1"]
    assert (plan["tasks"][0]["expected_outcome"], plan["tasks"][0]["tools"]) == ("A date", ["web_search"])
    assert [task["status"] for task in second["plan"]["tasks"]] == ["completed", "running"]
    assert (third["plan"]["tasks"][1]["status"], third["plan"]["tasks"][1]["error"]) == ("failed", "no words")
    assert (first["routing"]["agent"], first["routing"]["method"]) == ("planner", "heuristic")
    assert first["skipped"] == []


@pytest.mark.spec("S14")
def test_a_later_plan_takes_the_place_of_the_first_and_keeps_what_was_done(alice: Any) -> None:
    run = make_run(alice)
    again = PlanOverview(steps=(LOOK, WRITE.model_copy(update={"id": "writing-2"})), revision=1)
    done = PlanStepCompleted(step_id="web-1", status="completed")
    append(run, OVERVIEW, PlanStep(step=LOOK), done, PlanStepCompleted(step_id="writing-1", status="failed"), again)

    plan = plan_reading.told_by_log(run.id).plan

    assert plan is not None
    assert plan["revision"] == 1
    assert [(task["id"], task["status"]) for task in plan["tasks"]] == [
        ("web-1", "completed"),
        ("writing-2", "pending"),
    ]


def test_the_result_of_a_run_that_is_over_says_plan_route_and_what_was_skipped(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    plan = {"intent": "report", "entities": {}, "revision": 2, "tasks": [{"id": "web-1", "status": "completed"}]}
    skipped = [{"agent_id": "mail-1", "agent_name": "mail", "error": "hitl_skipped_non_streaming"}]
    run = make_run(alice, result={"plan": plan, "routing": {"agent": "planner"}, "skipped": skipped})
    agent = make_agent(run, "web", step_id="web-1", modified=True, user_comment="modify")
    append(run, OVERVIEW, Complete(answer="Done"))

    told = api_of(alice).get(f"/api/v1/executions/{run.id}").json()

    assert (told["plan"]["revision"], told["plan"]["tasks"]) == (2, plan["tasks"])
    assert (told["routing"], told["skipped"]) == (
        {"agent": "planner"},
        [{"step_id": "mail-1", **skipped[0]}],
    )
    (shown,) = told["agents"]
    assert (shown["agent_id"], shown["step_id"], shown["modified"], shown["user_comment"]) == (
        str(agent.id),
        "web-1",
        True,
        "modify",
    )


@pytest.mark.spec("B15", "B11")
def test_a_run_that_goes_on_says_what_it_and_its_agents_have_used_so_far(
    alice: Any, api_of: Callable[..., Any]
) -> None:
    run = make_run(alice)
    root = make_agent(run, "turn")
    web, other = make_agent(run, "web", parent=root), make_agent(run, "code", parent=root)
    priced = {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": "0.25"}
    make_step(web, [1], "model", "search", usage=priced)
    make_step(web, [2], "model", "answer", usage=priced)
    make_step(root, [1], "model", "router", usage=priced)
    api = api_of(alice)

    first = api.get(f"/api/v1/executions/{run.id}").json()
    make_step(other, [1], "model", "generate", usage={**priced, "cost_usd": None})
    second = api.get(f"/api/v1/executions/{run.id}").json()

    assert first["usage"] == {"prompt_tokens": 30, "completion_tokens": 15, "cost_usd": 0.75}
    used = {agent["agent_name"]: agent["usage"]["prompt_tokens"] for agent in first["agents"]}
    assert used == {"turn": 10, "web": 20, "code": 0}
    assert second["usage"] == {"prompt_tokens": 40, "completion_tokens": 20, "cost_usd": None}


@pytest.mark.spec("B11")
def test_lists_say_what_a_run_that_is_worked_on_has_used_so_far(alice: Any, api_of: Callable[..., Any]) -> None:
    priced = {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": "0.25"}
    said = [actions.say(alice, actions.create(alice).id, actions.Question("Hi")) for _ in range(3)]
    priced_run, unpriced_run, waiting = [one.execution for one in said]
    Execution.objects.update(status="running", started_at=timezone.now())
    Execution.objects.filter(pk=waiting.pk).update(status="awaiting_user", prompt_tokens=7, cost_usd="0.1")
    for run, usage in ((priced_run, priced), (unpriced_run, {**priced, "cost_usd": None})):
        agent = make_agent(run, "chat")
        make_step(agent, [1], "model", "answer", usage=priced)
        make_step(agent, [2], "model", "answer", usage=usage)
        make_step(agent, [3], "tool", "web_search", usage={"calls": 1})
    api = api_of(alice)

    listed = {one["id"]: one["usage"] for one in api.get("/api/v1/executions").json()["results"]}
    told = {}
    for one in said:
        _, reply = api.get(f"/api/v1/conversations/{one.conversation.id}/messages").json()["results"]
        told[reply["execution"]["id"]] = reply["execution"]["usage"]

    assert listed == told
    assert listed[str(priced_run.pk)] == {"prompt_tokens": 20, "completion_tokens": 10, "cost_usd": 0.5}
    assert listed[str(unpriced_run.pk)] == {"prompt_tokens": 20, "completion_tokens": 10, "cost_usd": None}
    assert listed[str(waiting.pk)] == {"prompt_tokens": 7, "completion_tokens": 0, "cost_usd": 0.1}


def test_a_run_without_a_plan_has_none(alice: Any, api_of: Callable[..., Any]) -> None:
    run = make_run(alice)
    append(run, *tokens("a"))

    told = api_of(alice).get(f"/api/v1/executions/{run.id}").json()

    assert (told["plan"], told["routing"], told["forked_from"]) == (None, None, None)


@pytest.mark.django_db(transaction=True)
def test_how_a_run_went_is_read_without_its_tokens(alice: Any, api_of: Callable[..., Any]) -> None:
    run = make_run(alice)
    append(run, ROUTE, *tokens(*"abcdefgh"), OVERVIEW, *tokens(*"ijkl"), Complete(answer="abcdefghijkl"))
    api, url = api_of(alice), f"/api/v1/executions/{run.id}/events"

    first = api.get(f"{url}?without=token&limit=2").json()
    second = api.get(first["next"]).json()

    told = [(event["seq"], event["type"]) for event in first["results"] + second["results"]]
    assert told == [(1, "routing"), (10, "plan_overview"), (15, "complete")]
    assert second["next"] is None
    assert api.get(f"{url}?without=complete").status_code == 400


@pytest.mark.usefixtures("in_threads")
def test_a_program_that_may_only_ask_follows_its_runs(alice: Any, api_of: Callable[..., Any]) -> None:
    run = make_run(alice)
    append(run, Complete(answer="Hello"))
    asker, reviewer = (api_of(alice, scopes=[scope]) for scope in ("run", "approve"))
    url = f"/api/v1/executions/{run.id}"

    assert (asker.get(url).status_code, asker.get(url).json()["answer"]) == (200, "Hello")
    assert [event["type"] for event in asker.get(f"{url}/events").json()["results"]] == ["complete"]
    assert {reviewer.get(address).status_code for address in (url, f"{url}/events", f"{url}/events/1/result")} == {403}


def test_a_run_that_goes_on_is_told_something(alice: Any, api_of: Callable[..., Any]) -> None:
    run = make_run(alice)

    steered = api_of(alice).post(f"/api/v1/executions/{run.id}/steer", {"text": "Only in English"})

    assert (steered.status_code, steered.json()["id"]) == (202, str(run.id))
    wished = Intervention.objects.get()
    assert (wished.kind, wished.text, wished.agent_id, wished.by) == ("steer", "Only in English", None, alice)


def test_a_run_is_told_once_what_is_said_under_one_client_id(alice: Any, api_of: Callable[..., Any]) -> None:
    run, other = make_run(alice), make_run(alice)
    said = {"text": "Only in English", "client_id": "c1"}

    told = [api_of(alice).post(f"/api/v1/executions/{one.id}/steer", said) for one in (run, run, other)]
    for _ in range(2):
        api_of(alice).post(f"/api/v1/executions/{run.id}/steer", {"text": "In years"})
    append(run, Complete(answer="Done"))
    late = api_of(alice).post(f"/api/v1/executions/{run.id}/steer", said)

    assert [answer.status_code for answer in (*told, late)] == [202, 202, 202, 202]
    wished = list(Intervention.objects.filter(execution=run).values_list("text", flat=True))
    assert wished == ["Only in English", "In years", "In years"]
    assert Intervention.objects.filter(execution=other).count() == 1


def test_the_database_has_what_was_said_under_one_client_id_once(alice: Any) -> None:
    run = make_run(alice)
    Intervention.objects.create(execution=run, kind="steer", text="Shorter", client_id="c1")

    with pytest.raises(IntegrityError, match="agents_intervention_said_once"):
        Intervention.objects.create(execution=run, kind="steer", text="Shorter", client_id="c1")


@pytest.mark.parametrize(
    ("said", "status", "field"),
    [
        ({"text": "Shorter", "client_id": "x" * 101}, 400, "client_id"),
        ({"text": "Shorter", "client_id": "a\nb"}, 400, "client_id"),
        ({"text": " "}, 400, "text"),
        ({}, 400, "text"),
        ({"text": "x" * 10_000}, 400, "text"),
        ({"text": [1]}, 400, "text"),
    ],
)
def test_words_that_are_none_are_refused(
    alice: Any, api_of: Callable[..., Any], said: Any, status: int, field: str
) -> None:
    run = make_run(alice)

    refused = api_of(alice).post(f"/api/v1/executions/{run.id}/steer", said)

    assert refused.status_code == status
    assert refused.json()["error"]["fields"][field]
    assert not Intervention.objects.exists()


def test_a_run_that_is_over_hears_nothing(alice: Any, api_of: Callable[..., Any]) -> None:
    run = make_run(alice)
    append(run, Complete(answer="Done"))

    refused = api_of(alice).post(f"/api/v1/executions/{run.id}/steer", {"text": "Shorter"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "run_is_over")


def test_a_question_says_what_its_run_shall_be_like(alice: Any, api_of: Callable[..., Any]) -> None:
    conversation = actions.create(alice)
    url = f"/api/v1/conversations/{conversation.id}/messages"
    options = {"depth": "deep", "scenario": "academic", "execution_mode": "codeact", "show_plan": True}

    asked = api_of(alice).post(url, {"text": "What is known?", "options": options})
    refused = api_of(alice).post(url, {"text": "What is known?", "options": {"depth": "bottomless"}})

    assert asked.status_code == 201
    assert Execution.objects.get().input["options"] == options
    assert refused.status_code == 400
    assert "quick, standard, deep" in refused.json()["error"]["fields"]["options.depth"][0]


def test_a_wish_that_nobody_would_heed_is_refused_by_its_name(alice: Any, api_of: Callable[..., Any]) -> None:
    conversation = actions.create(alice)

    refused = api_of(alice).post(
        f"/api/v1/conversations/{conversation.id}/messages",
        {"text": "Hi", "options": {"depth": "deep", "model": "gpt-9"}},
        format="json",
    )

    assert refused.status_code == 400
    assert list(refused.json()["error"]["fields"]) == ["options.model"]
    assert "Use depth, scenario, execution_mode, show_plan, budget" in refused.json()["error"]["message"]
    assert not Execution.objects.exists()


def test_another_answer_to_a_programs_question_may_ask_whoever_wants_it(alice: Any) -> None:
    options = chosen({"depth": "deep"}) | approval_rule(None, is_watched=False)
    said = actions.say_in_new(alice, actions.Question("What is known?", options=options))
    append(said.execution, Complete(answer="Little"))

    again = actions.retry_reply(alice, said.reply.id)

    assert again.execution.input["options"] == {"depth": "deep"}


def test_a_question_keeps_what_was_chosen_for_it_and_nothing_else(alice: Any) -> None:
    options = chosen({"depth": "deep", "show_plan": False, "budget": None}) | approval_rule(None, is_watched=True)

    plain = actions.say_in_new(alice, actions.Question("Hi", options=chosen({})))
    watched = actions.say_in_new(alice, actions.Question("Hi", options=options))

    kept = {"depth": "deep", "on_approval": "ask", "interactive": True}
    assert (plain.message.metadata, plain.execution.input["options"]) == ({}, {})
    assert (watched.message.metadata, watched.execution.input["options"]) == ({"options": kept}, kept)


def test_an_installation_may_let_agents_act_by_scripts(alice: Any, settings: Any) -> None:
    from hyperagent.lib.conf import ExecutionMode

    assert chosen({"depth": None, "show_plan": False}) == {}
    settings.CONFIG = settings.CONFIG.model_copy(update={"execution_mode": ExecutionMode.CODEACT})
    assert chosen({}) == {"execution_mode": "codeact"}
    assert chosen({"execution_mode": "standard"}) == {"execution_mode": "standard"}


@pytest.fixture
def answered(alice: Any) -> Any:
    """A turn whose run has failed in one of its agents."""
    said = actions.say(
        alice, actions.create(alice).id, actions.Question("Look it up and write it", options={"task_id": "ticket-7"})
    )
    run = said.execution
    root = make_agent(run, "turn", lineage="turn", status="failed", ended_at=run.created_at)
    agent = make_agent(run, "web", parent=root, status="failed", ended_at=run.created_at)
    make_step(root, [1], "note", "models", response={})
    make_step(agent, [1], "model", "agent", response={"text": "Nothing"})
    Execution.objects.filter(id=run.id).update(
        status="failed", started_at=run.created_at, ended_at=run.created_at, error_code="failed", error_message="No."
    )
    return said


@pytest.mark.spec("B14")
@pytest.mark.parametrize("verb", ["retry", "fork"])
def test_a_run_that_begins_from_another_answers_the_same_question_beside_it(
    alice: Any, answered: Any, api_of: Callable[..., Any], verb: str
) -> None:
    run, api = answered.execution, api_of(alice)
    agent = run.agents.get(agent_name="web")
    said = {"agent_id": str(agent.id), "step": "1"} if verb == "fork" else {}

    begun = api.post(f"/api/v1/executions/{run.id}/{verb}", said)

    told = begun.json()
    assert begun.status_code == 202
    assert (told["forked_from"], told["question"], told["task_id"]) == (str(run.id), run.question, "ticket-7")
    assert told["id"] != str(run.id)
    messages = api.get(f"/api/v1/conversations/{run.conversation_id}/messages").json()["results"]
    question, old, new = messages
    assert (old["parent_id"], new["parent_id"]) == (question["id"], question["id"])
    assert (old["execution"]["id"], new["execution"]["id"]) == (str(run.id), told["id"])
    assert Execution.objects.get(id=run.id).status == "failed"


@pytest.mark.spec("B14")
def test_one_agent_of_a_run_is_done_again(alice: Any, answered: Any, api_of: Callable[..., Any]) -> None:
    run = answered.execution
    agent = run.agents.get(agent_name="web")

    begun = api_of(alice).post(f"/api/v1/executions/{run.id}/retry", {"agent_id": str(agent.id)})

    assert (begun.status_code, begun.json()["forked_from"]) == (202, str(run.id))


def test_a_run_that_goes_on_is_not_begun_again(alice: Any, api_of: Callable[..., Any]) -> None:
    run = make_run(alice)

    refused = api_of(alice).post(f"/api/v1/executions/{run.id}/retry", {})

    assert refused.status_code == 409
    assert refused.json()["error"]["message"]
    assert Execution.objects.count() == 1


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({}, "agent_id"),
        ({"agent_id": "mine", "step": "1"}, "agent_id"),
        ({"agent_id": "9d1c4f0e-0000-4000-8000-000000000000"}, "step"),
        ({"agent_id": "9d1c4f0e-0000-4000-8000-000000000000", "step": "first"}, "step"),
        ({"agent_id": "9d1c4f0e-0000-4000-8000-000000000000", "step": "1..2"}, "step"),
        ({"agent_id": "9d1c4f0e-0000-4000-8000-000000000000", "step": ["1"]}, "step"),
    ],
)
def test_a_place_that_is_none_cannot_be_forked_from(
    alice: Any, answered: Any, api_of: Callable[..., Any], said: Any, field: str
) -> None:
    refused = api_of(alice).post(f"/api/v1/executions/{answered.execution.id}/fork", said)

    assert refused.status_code == 400
    assert refused.json()["error"]["fields"][field]


def test_an_agent_or_a_step_of_no_such_run_is_not_there(alice: Any, answered: Any, api_of: Callable[..., Any]) -> None:
    run, api = answered.execution, api_of(alice)
    foreign, own = make_agent(make_run(alice)), run.agents.get(agent_name="web")

    answers = [
        api.post(f"/api/v1/executions/{run.id}/retry", {"agent_id": str(foreign.id)}),
        api.post(f"/api/v1/executions/{run.id}/fork", {"agent_id": str(foreign.id), "step": "1"}),
        api.post(f"/api/v1/executions/{run.id}/fork", {"agent_id": str(own.id), "step": "99.9"}),
    ]

    assert [answer.status_code for answer in answers[:2]] == [404, 404]
    assert answers[2].status_code in {400, 404}
    assert Execution.objects.count() == 2


def test_the_description_names_all_that_a_route_has() -> None:
    assert serializers.RoutingSerializer().fields.keys() == {field.name for field in dataclasses.fields(Route)}
