"""The admin's home: every number leads to the rows that it counts, and each role sees its own."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.models import Effect, Runner
from agents.sandbox.models import SandboxSession
from agents.usage.models import ModelCall
from hitl.kinds import SwitchScope
from hitl.switches import throw
from hyperagent.accounts.models import User
from hyperagent.lib.admin_home import Line, Panel
from tests.faces.runs import make_agent, make_run
from tests.hitl.asking import ROLE, ask

ClientOf = Callable[[Any], Client]
# Of these two are Django's for an administrator who is no superuser: which lists there are for them.
AT_MOST_QUERIES = 16
NO_LIST = ("Disk", "Database", "Worker of background jobs", "Model providers")


@pytest.fixture(autouse=True)
def _costs_are_summed_anew() -> Iterator[None]:
    cache.delete("admin.home.spent")
    yield
    cache.delete("admin.home.spent")


def with_role(role: str) -> User:
    someone = User.objects.create(email=f"{role}@example.org")
    someone.groups.add(Group.objects.get_or_create(name=role)[0])
    return someone


def panels(client: Client) -> dict[str, Panel]:
    answer = client.get("/admin/")
    assert answer.status_code == 200
    return {one.key: one for one in answer.context["panels"]}


def lines_of(panel: Panel) -> list[Line]:
    head = [panel.headline] if panel.headline else []
    return [*head, *panel.lines, *(line for _, lines in panel.groups for line in lines)]


def line(panel: Panel, text: str) -> Line:
    return next(one for one in lines_of(panel) if str(one.text).startswith(text))


@pytest.fixture
def a_day(alice: Any) -> Any:
    """What can happen in a day, and what was before."""
    now = timezone.now()
    for code, age in (("model_unavailable", 1), ("model_unavailable", 2), ("crashed", 3), ("crashed", 30)):
        at = now - timedelta(hours=age)
        make_run(alice, status="failed", error_code=code, created_at=at, ended_at=at)
    waiting = make_run(alice, status="awaiting_user")
    for number, status in enumerate(("in_doubt", "finished")):
        Effect.objects.create(
            key=f"key-{number}", execution=waiting, agent=make_agent(waiting), tool="send_email", arguments={},
            arguments_hash=bytes(32), status=status, epoch=1, started_at=now,
        )  # fmt: skip
    for number, (model, cost) in enumerate((("dear", 2), ("dear", 1), ("unheard-of", None))):
        ModelCall.objects.create(
            step_id=number, user=alice, execution_id=waiting.id, agent_name="chat", provider="some", model=model,
            prompt_tokens=10, completion_tokens=1, cost_usd=cost, at=now,
        )  # fmt: skip
    Runner.objects.create(name="one", host="here", pid=1, driving=2, concurrency=8, started_at=now, seen_at=now)
    SandboxSession.objects.create(task_id=waiting.id, sandbox_type="code", key="a", provider="local", host="here")
    ask(alice, approvers=ROLE)
    ask(alice, approvers=ROLE)
    ask(alice, kind="decision")
    return alice


@pytest.mark.slow
@pytest.mark.spec("S210", "B3")
def test_each_number_leads_to_exactly_the_rows_that_it_counts(a_day: Any, bob: Any, client_of: ClientOf) -> None:
    client = client_of(bob)

    home = panels(client)

    assert {"waits", "failed", "costs", "workers", "documents", "house"} <= home.keys()
    counted = 0
    for one in (one for panel in home.values() for one in lines_of(panel)):
        if one.url and str(one.value).replace(",", "").isdigit() and "jobs" not in one.url:
            shown = client.get(one.url)
            assert shown.context["cl"].result_count == int(str(one.value)), one
            counted += 1
        assert one.url or str(one.text) in NO_LIST, one
    assert counted >= 12
    assert line(home["failed"], "model_unavailable").value == "2"
    assert home["failed"].headline.value == "3"  # type: ignore[union-attr]
    assert line(home["failed"], "Effects in doubt").value == "1"
    assert line(home["waits"], "Approvals").value == "2"


@pytest.mark.spec("S210")
def test_it_says_what_it_costs_and_that_a_price_is_unknown(a_day: Any, bob: Any, client_of: ClientOf) -> None:
    costs = panels(client_of(bob))["costs"]

    assert costs.headline.value == "at least $3.00"  # type: ignore[union-attr]
    assert line(costs, "dear").value == "$3.00"
    assert line(costs, "unheard-of").value == "unknown"
    assert line(costs, "call without a known price").value == "1"


def test_what_it_costs_is_said_in_each_readers_language(a_day: Any, bob: Any, client_of: ClientOf) -> None:
    panels(client_of(bob))
    german = client_of(bob)
    german.cookies[settings.LANGUAGE_COOKIE_NAME] = "de"

    costs = panels(german)["costs"]

    assert costs.headline.value == "mindestens $3,00"  # type: ignore[union-attr]
    assert line(costs, "unheard-of").value == "unbekannt"


@pytest.mark.spec("B3", "B4")
def test_a_reviewer_sees_what_waits_for_them_and_nothing_else(a_day: Any, client_of: ClientOf) -> None:
    home = panels(client_of(with_role("reviewer")))

    assert set(home) == {"waits"}
    assert home["waits"].headline.value == "2"  # type: ignore[union-attr]
    first, lines = home["waits"].groups[0]
    assert first == "Mine to decide, oldest first"
    assert [str(one.text) for one in lines] == ["mail: send_email"] * 2 + ["All of mine"]


@pytest.mark.spec("B4")
def test_an_auditor_sees_all_that_waits_and_nothing_that_only_administrators_see(
    a_day: Any, charlie: Any, client_of: ClientOf
) -> None:
    home = panels(client_of(with_role("auditor")))

    assert set(home) == {"waits", "guardrails"}
    assert home["waits"].headline.value == "3"  # type: ignore[union-attr]
    assert client_of(charlie).get("/admin/").status_code == 302


@pytest.mark.spec("S210")
def test_the_home_costs_the_same_however_much_there_is(a_day: Any, bob: Any, client_of: ClientOf) -> None:
    client = client_of(bob)
    for _ in range(20):
        ask(a_day, approvers=ROLE)
        make_run(a_day, status="failed", error_code="crashed", ended_at=timezone.now())
    client.get("/admin/")  # the sums of the costs are kept for a minute

    with CaptureQueriesContext(connection) as caught:
        client.get("/admin/")

    ours = [query for query in caught.captured_queries if "SAVEPOINT" not in query["sql"]]
    assert len(ours) <= AT_MOST_QUERIES, [query["sql"] for query in ours]


def test_a_web_server_with_a_wrong_clock_tells_of_the_workers_that_there_are(
    a_day: Any, bob: Any, client_of: ClientOf
) -> None:
    client = client_of(bob)

    with time_machine.travel(timezone.now() + timedelta(minutes=10)):
        home = panels(client)

    assert home["workers"].headline.value == "1"  # type: ignore[union-attr]


@pytest.mark.spec("B17")
def test_a_switch_that_is_thrown_stands_on_the_home_until_it_is_lifted(
    bob: Any, admin_user: Any, client_of: ClientOf
) -> None:
    before = panels(client_of(bob))
    throw(admin_user, scope=SwitchScope.TOOL, target="send_email", reason="It writes to everybody.")

    after = panels(client_of(bob))

    assert "switches" not in before
    assert "It writes to everybody." in str(after["switches"].lines[0].note)


@pytest.mark.threat("T24")
def test_a_failed_job_is_told_by_its_name_and_nothing_of_it_is_loaded(
    bob: Any, client_of: ClientOf, tmp_path: Any
) -> None:
    canary = tmp_path / "canary"
    loaded = f"cposix\nsystem\n(S'touch {canary}'\ntR."
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_q_task (id, name, func, args, kwargs, result, started, stopped, success, attempt_count)"
            " VALUES ('1', 'x', 'memory.tasks.read', %(p)s, %(p)s, %(p)s, now(), now(), false, 1)",
            {"p": loaded},
        )
        cursor.execute("INSERT INTO django_q_ormq (key, payload, lock) VALUES ('x', %s, now())", [loaded])

    page = client_of(bob).get("/admin/jobs/").content.decode()
    house = panels(client_of(bob))["house"]

    assert "memory.tasks.read" in page
    assert line(house, "Background jobs failed").value == line(house, "Background jobs waiting").value == "1"
    assert not canary.exists()
