"""Runs in the admin: read-only, quick on large tables, and silent about what people said."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.admin import as_tree
from agents.engine.events import Complete
from agents.log.partitions import EVENTS
from agents.models import AgentExecution, Effect, Event, Execution, Intervention, Runner, Step
from conversations import actions
from conversations.models import Conversation, Message
from hitl.models import Request
from hyperagent.accounts.models import User
from tests.faces.runs import append, make_agent, make_request, make_run, make_step, tokens

MODELS: tuple[Any, ...] = (
    Execution, AgentExecution, Intervention, Step, Effect, Event, Runner, Conversation, Message, Request,
)  # fmt: skip
PLAN = {
    "tasks": [
        {"id": "web-1", "agent": "web", "task": "secret look", "depends_on": [], "stage": 1, "status": "completed"},
        {
            "id": "writing-1",
            "agent": "writing",
            "task": "write",
            "depends_on": ["web-1"],
            "stage": 2,
            "status": "failed",
        },
    ]
}


def page_of(model: Any, *parts: str) -> str:
    meta = model._meta
    return "/".join(("/admin", meta.app_label, meta.model_name, *parts, ""))


@pytest.fixture
def a_turn(alice: Any) -> Any:
    """A turn with a row in every table."""
    said = actions.say(alice, actions.create(alice).id, actions.Question("Alice's secret question"))
    run = said.execution
    now = run.created_at
    agent = AgentExecution.objects.create(
        execution=run, agent_name="chat", lineage="root", task="secret task", status="running", started_at=now
    )
    Step.objects.create(
        agent=agent, path=[1], kind="model", name="pro", request={"text": "secret request"}, request_hash=b"x" * 32,
        status="finished", response={"text": "secret response"}, epoch=1, started_at=now,
    )  # fmt: skip
    Effect.objects.create(
        key="key-1", execution=run, agent=agent, tool="send_mail", arguments={"to": "secret@example.org"},
        arguments_hash=b"x" * 32, status="finished", response={}, epoch=1, started_at=now,
    )  # fmt: skip
    Runner.objects.create(name="runner-1", host="host", pid=1, started_at=now, seen_at=now)
    make_agent(run, "web", parent=agent, step_id="web-1", modified=True, prompt_tokens=1234)
    Intervention.objects.create(execution=run, agent_id=agent.id, kind="modify", text="secret wish", by=alice)
    make_request(run, "decision", agent, question={"question": "secret question of mine", "options": ["a"]})
    run.result = {"plan": PLAN, "routing": {}}
    append(run, *tokens("secret answer"), Complete(answer="secret answer"))
    return said


@pytest.mark.slow
@pytest.mark.spec("S210")
def test_bob_sees_every_run_with_its_agents_steps_effects_and_events(
    a_turn: Any, bob: Any, client_of: Callable[[Any], Client]
) -> None:
    admin = client_of(bob)

    for model in MODELS:
        row = model.objects.first()
        listed = admin.get(page_of(model), follow=True)
        shown = admin.get(page_of(model, str(row.pk), "change"))
        assert (listed.status_code, shown.status_code) == (200, 200), model
    run_page = admin.get(page_of(Execution, str(a_turn.execution.id), "change")).content.decode()
    assert all(word in run_page for word in ("chat", "1 model pro", "send_mail", "complete", "all steps"))
    for model in (Event, AgentExecution, Intervention, Effect, Step):
        field = "agent__execution" if model is Step else "execution"
        assert admin.get(f"{page_of(model)}?{field}__id__exact={a_turn.execution.id}").status_code == 200
    for term in (Request.objects.get().request_id, a_turn.execution.id, "nothing", "\x00"):
        assert admin.get(f"{page_of(Request)}", {"q": str(term)}).status_code == 200


@pytest.mark.spec("S161", "S210")
def test_a_runs_page_shows_its_plan_its_tree_and_what_people_wanted(
    a_turn: Any, alice: Any, client_of: Callable[[Any], Client]
) -> None:
    alice.is_staff = True
    alice.save()

    page = client_of(alice).get(page_of(Execution, str(a_turn.execution.id), "change")).content.decode()

    for words in ("secret look", "writing-1", "running, modified", "1234", "modify", "not yet"):
        assert words in page
    # Below the agent that forked it.
    assert "\u2003<a" in page


@pytest.mark.spec("B15")
def test_the_tree_on_a_runs_page_says_what_each_agent_has_taken_so_far(
    alice: Any, client_of: Callable[[Any], Client]
) -> None:
    alice.is_staff = True
    alice.save()
    run = make_run(alice)
    for name, cost in (("web", "0.25"), ("code", None)):
        used = {"prompt_tokens": 1234, "completion_tokens": 5, "cost_usd": cost}
        make_step(make_agent(run, name), [1], "model", "pro", usage=used)

    page = client_of(alice).get(page_of(Execution, str(run.id), "change")).content.decode()

    for words in ("Cost (US$)", "<td>1234</td>", "<td>0.250000</td>", "<td>unknown</td>"):
        assert words in page, words


def test_agents_stand_below_the_ones_that_forked_them(alice: Any) -> None:
    run = make_run(alice)
    root = make_agent(run, "turn")
    first, second = make_agent(run, "web", parent=root), make_agent(run, "code", parent=root)
    below = make_agent(run, "data", parent=first)

    shown = [(agent.id, depth) for agent, depth in as_tree(run.agents.all())]

    assert shown == [(root.id, 0), (first.id, 1), (below.id, 2), (second.id, 1)]


def test_a_plan_that_is_not_in_the_result_is_read_from_the_log(alice: Any, client_of: Callable[[Any], Client]) -> None:
    from tests.faces.test_runs_api import OVERVIEW

    alice.is_staff = True
    alice.save()
    run = make_run(alice)
    append(run, OVERVIEW)

    page = client_of(alice).get(page_of(Execution, str(run.id), "change")).content.decode()

    assert "Look it up" in page


@pytest.mark.slow
@pytest.mark.spec("S210")
@pytest.mark.threat("T06")
def test_what_alice_said_is_hidden_from_bob_until_he_has_the_permission(
    a_turn: Any, bob: Any, client_of: Callable[[Any], Client]
) -> None:
    admin = client_of(bob)
    pages = [page_of(model, str(model.objects.first().pk), "change") for model in MODELS]
    pages += [page_of(model) for model in MODELS]

    hidden = "".join(admin.get(page).content.decode() for page in pages)
    bob.user_permissions.add(Permission.objects.get(codename="view_content"))
    shown = "".join(admin.get(page).content.decode() for page in pages)

    assert "secret" not in hidden
    assert "somebody else" in hidden
    said = (
        "secret question",
        "secret answer",
        "secret task",
        "secret request",
        "secret response",
        "secret@example.org",
        "secret look",
        "secret wish",
        "secret question of mine",
    )
    assert all(text in shown for text in said)


def test_bob_reads_his_own_without_the_permission(bob: Any, client_of: Callable[[Any], Client]) -> None:
    run = make_run(bob, question="Bob's own question")

    shown = client_of(bob).get(page_of(Execution, str(run.id), "change")).content.decode()

    assert "own question" in shown


@pytest.mark.slow
@pytest.mark.threat("T06")
def test_nothing_can_be_added_changed_or_deleted(
    a_turn: Any, admin_user: Any, client_of: Callable[[Any], Client]
) -> None:
    admin = client_of(admin_user)

    for model in MODELS:
        row = model.objects.first()
        answers = [
            admin.get(page_of(model, "add")),
            admin.post(page_of(model, "add"), {}),
            admin.post(page_of(model, str(row.pk), "change"), {"status": "failed", "text": "changed"}),
            admin.post(page_of(model, str(row.pk), "delete"), {"post": "yes"}),
        ]
        admin.post(page_of(model), {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"})
        assert [answer.status_code for answer in answers] == [403] * 4, model
        assert model.objects.filter(pk=row.pk).exists()


def test_people_who_are_no_administrators_see_no_admin(
    a_turn: Any, charlie: Any, client_of: Callable[[Any], Client]
) -> None:
    for model in MODELS:
        assert client_of(charlie).get(page_of(model)).status_code == 302


def test_hostile_text_is_shown_as_text(bob: Any, client_of: Callable[[Any], Client]) -> None:
    run = make_run(
        bob, question="<script>alert(1)</script>", error_message="<img src=x onerror=alert(2)>", error_code="x"
    )
    append(run, *tokens("</pre><script>alert(3)</script>"))

    pages = [page_of(Execution, str(run.id), "change"), page_of(Event, str(run.events.get().pk), "change")]

    for page in pages:
        shown = client_of(bob).get(page).content.decode()
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown


@pytest.fixture(scope="module")
def many_rows(django_db_setup: None, django_db_blocker: Any) -> Any:
    """100,000 executions and 300,000 events, multiplied by the database from one of each."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        user = User.objects.create(email="many@example.org")
        run = make_run(user, question="q" * 500)
        append(run, *tokens("x"), Complete(answer="a" * 2000))
        cursor.execute(
            # Not `(…).*`, which would make each row anew for each of its columns.
            "INSERT INTO agents_execution SELECT made.* FROM agents_execution e, generate_series(1, 99999) n,"
            " jsonb_populate_record(e, jsonb_build_object("
            "  'id', gen_random_uuid(), 'created_at', e.created_at - n * interval '1 minute')) made"
        )
        cursor.execute(
            # The one event is looked up once, not anew for each run in the table that grows meanwhile.
            "WITH v AS MATERIALIZED (SELECT * FROM agents_event WHERE execution_id = %s AND seq = 1)"
            " INSERT INTO agents_event (execution_id, seq, type, body, hash, origin, created_at)"
            " SELECT e.id, n, v.type, v.body, v.hash, '', e.created_at"
            " FROM v, agents_execution e, generate_series(1, 3) n WHERE e.id <> v.execution_id",
            [run.pk],
        )
        cursor.execute("ANALYZE agents_execution, agents_event")
        yield user, run
        cursor.execute("TRUNCATE accounts_user, agents_execution, agents_event CASCADE")
        cursor.execute("ANALYZE agents_execution, agents_event")


@pytest.mark.slow
@pytest.mark.spec("S210")
def test_a_hundred_thousand_runs_are_listed_by_indexes(
    many_rows: tuple[User, Execution], bob: Any, client_of: Callable[[Any], Client], capsys: Any
) -> None:
    _, run = many_rows
    admin = client_of(bob)
    pages = {
        "list": page_of(Execution),
        "last page": f"{page_of(Execution)}?p=200",
        "by status": f"{page_of(Execution)}?status__exact=completed",
        "by id": f"{page_of(Execution)}?q={run.id}",
        "by user": f"{page_of(Execution)}?q=many@example",
        "one run": page_of(Execution, str(run.id), "change"),
        "its events": f"{page_of(Event)}?execution__id__exact={run.id}",
        "all events": page_of(Event),
    }

    for name, url in pages.items():
        begun = time.perf_counter()
        with CaptureQueriesContext(connection) as caught:
            answer = admin.get(url)
        with capsys.disabled():
            print(f"\n{name}: {len(caught)} queries, {1000 * (time.perf_counter() - begun):.0f} ms", end="")
        assert answer.status_code == 200, name
        assert len(caught) <= 12, [query["sql"] for query in caught]
        for query in caught.captured_queries:
            assert "COUNT(*)" not in query["sql"] or "LIMIT" in query["sql"], query["sql"]
            if name != "last page":
                assert scanned_whole(query["sql"]) == set(), (name, query["sql"])


def scanned_whole(sql: str) -> set[str]:
    """Large tables that the query reads from end to end, as the planner says."""
    if not sql.startswith("SELECT"):
        return set()
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql.replace('%', '%%')}", [])
        found = cursor.fetchone()[0]
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    nodes, scans = [(plan, False)], set()
    while nodes:
        node, is_limited = nodes.pop()
        if (
            node["Node Type"] == "Seq Scan"
            and not is_limited
            # Where the runs above, whose ids tell no time, have their events.
            and node["Relation Name"] in {"agents_execution", EVENTS.untimed}
        ):
            scans.add(node["Relation Name"])
        nodes += [(child, is_limited or node["Node Type"] == "Limit") for child in node.get("Plans", [])]
    return scans


def test_metrics_and_the_api_do_not_count_finished_runs(
    many_rows: tuple[User, Execution], charlie: Any, api_of: Callable[..., Any], client: Client
) -> None:
    for get in (lambda: client.get("/metrics"), lambda: api_of(charlie).get("/api/v1/executions")):
        with CaptureQueriesContext(connection) as caught:
            assert get().status_code == 200
        assert {table for query in caught.captured_queries for table in scanned_whole(query["sql"])} == set()


def test_every_model_of_ours_is_registered() -> None:
    assert all(site.is_registered(model) for model in MODELS)
