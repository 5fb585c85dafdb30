"""What was used, over the API and as a file: whose it is, how it is summed up, and that it outlives what it was for."""

import csv
import io
import itertools
import json
import re
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.log.shapes import reply_summary
from agents.models import Execution, Step
from agents.run_budget import shared_question
from agents.runtime.loading import first_token_ms
from agents.usage.models import ModelCall
from agents.usage.showing import change_percent, csv_lines, short, span_text
from agents.usage.spans import Span, months, span_fault
from agents.usage.spent import Spent, cost_text
from conversations import actions
from hitl.models import RequestKind, RequestStatus
from hyperagent.lib import admin_values
from hyperagent.lib.languages import dollars, speaking
from tests.faces.runs import make_agent, make_request, make_run, make_step
from tests.runtime.driving import Runners, ended, events, start
from tests.scripted.script import Script, ScriptedUsage
from tests.scripted.server import ScriptedServer

USAGE = "/api/v1/usage"
_numbers = itertools.count(1)


def call(user: Any, at: str, cost: str | None = "0.50", **fields: Any) -> ModelCall:
    """One call of a model in the ledger: of a run of its own unless told."""
    values = {
        "execution_id": uuid.uuid4(), "agent_name": "chat", "provider": "openai", "model": "gpt", "prompt_tokens": 100,
        "completion_tokens": 10, **fields,
    }  # fmt: skip
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    priced = None if cost is None else Decimal(cost)
    return ModelCall.objects.create(step_id=next(_numbers), user=user, at=moment, cost_usd=priced, **values)


def asked(client: Any, **query: str) -> Any:
    return client.get(USAGE, {"from": "2026-11-01", "to": "2026-11-03", **query})


def by_key(answer: Any) -> dict[str | None, dict[str, Any]]:
    assert answer.status_code == 200, answer.content
    return {row["key"]: row for row in answer.json()["results"]}


def test_each_sees_their_own_usage_and_only_administrators_everybodys(
    alice: Any, bob: Any, charlie: Any, api_of: Callable[..., Any], client_of: Callable[[Any], Client]
) -> None:
    call(alice, "2026-11-01 12:00")
    call(bob, "2026-11-02 12:00", "2.00")

    own = asked(api_of(alice))
    nobodys = asked(api_of(charlie))
    people = by_key(asked(client_of(bob), group_by="user"))
    of_alice = asked(api_of(bob, scopes=["admin"]), user=str(alice.pk))

    assert (own.json()["total"]["cost_usd"], own.json()["total"]["runs"]) == (0.5, 1)
    assert nobodys.json()["total"] == {
        "prompt_tokens": 0, "completion_tokens": 0, "calls": 0, "runs": 0, "cost_usd": 0.0, "unpriced_calls": 0,
    }  # fmt: skip
    assert {key: row["cost_usd"] for key, row in people.items()} == {str(bob.pk): 2.0, str(alice.pk): 0.5}
    assert people[str(alice.pk)]["name"] == "Alice (alice@example.org)"
    assert of_alice.json()["total"] == own.json()["total"]
    assert asked(api_of(alice), user=str(alice.pk)).json() == own.json()


def test_by_person_somebody_who_is_no_administrator_sees_the_one_row_that_is_theirs(
    alice: Any, bob: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    call(alice, "2026-11-01 12:00")
    call(bob, "2026-11-02 12:00", "2.00")

    own, nobodys = asked(api_of(alice), group_by="user"), asked(api_of(charlie), group_by="user")
    with_a_small_token = asked(api_of(bob, scopes=["read"]), group_by="user")

    assert by_key(own).keys() == {str(alice.pk)}
    assert by_key(own)[str(alice.pk)]["name"] == "Alice (alice@example.org)"
    assert own.json()["total"]["cost_usd"] == 0.5
    assert nobodys.json()["results"] == []
    assert by_key(with_a_small_token).keys() == {str(bob.pk)}
    others = {"group_by": "user", "user": str(bob.pk)}
    assert asked(api_of(alice), **others).json()["error"]["code"] == "administrators_only"


@pytest.mark.parametrize("query", [{"all": "true"}, {"user": "somebody else"}])
def test_what_is_others_is_refused_in_a_clear_word(
    query: dict[str, str], alice: Any, bob: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    call(alice, "2026-11-01 12:00")
    if "user" in query:
        query = {"user": str(alice.pk)}

    refused = [asked(api_of(charlie), **query), asked(api_of(bob, scopes=["read"]), **query)]

    for answer in refused:
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "administrators_only")
        assert "Only administrators" in answer.json()["error"]["message"]
    assert asked(api_of(charlie), user=str(uuid.uuid4())).status_code == 403
    assert asked(api_of(bob, scopes=["admin"]), user=str(uuid.uuid4())).status_code == 404
    assert asked(api_of(bob, scopes=["documents"])).status_code == 403
    assert Client().get(USAGE).status_code == 401


def test_a_day_is_one_of_the_readers_time_zone(alice: Any, api_of: Callable[..., Any]) -> None:
    call(alice, "2026-11-01 23:30", "1")
    call(alice, "2026-11-02 12:00", "2")
    client = api_of(alice)

    in_utc, in_berlin = by_key(asked(client)), by_key(asked(client, time_zone="Europe/Berlin"))
    alice.time_zone = "Europe/Berlin"
    alice.save()

    assert [row["cost_usd"] for row in in_utc.values()] == [1, 2, 0]
    assert [row["cost_usd"] for row in in_berlin.values()] == [0, 3, 0]
    assert list(in_utc) == list(in_berlin) == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert by_key(asked(client)) == in_berlin


def test_an_unknown_price_is_counted_and_never_zero(alice: Any, api_of: Callable[..., Any]) -> None:
    run = uuid.uuid4()
    call(alice, "2026-11-01 12:00", "1.20", execution_id=run)
    for _ in range(3):
        call(alice, "2026-11-01 12:00", None, execution_id=run, provider="mine", model="llama", agent_name="web")
    client = api_of(alice)

    models, agents = by_key(asked(client, group_by="model")), by_key(asked(client, group_by="agent"))
    total = asked(client).json()["total"]

    assert (models["gpt"]["cost_usd"], models["gpt"]["unpriced_calls"]) == (1.2, 0)
    assert (models["llama"]["cost_usd"], models["llama"]["unpriced_calls"]) == (None, 3)
    assert models["llama"]["provider"] == "mine"
    assert (agents["web"]["prompt_tokens"], agents["web"]["runs"]) == (300, 1)
    assert (total["cost_usd"], total["unpriced_calls"], total["runs"], total["calls"]) == (1.2, 3, 1, 4)


def test_conversations_and_projects_are_groups_too(alice: Any, api_of: Callable[..., Any]) -> None:
    conversation, gone = uuid.uuid4(), uuid.uuid4()
    call(alice, "2026-11-01 12:00", conversation_id=conversation)
    call(alice, "2026-11-01 12:00", project_id=gone)
    client = api_of(alice)

    conversations = by_key(asked(client, group_by="conversation"))
    projects = by_key(asked(client, group_by="project"))

    assert conversations.keys() == {str(conversation), None}
    assert projects.keys() == {str(gone), None}
    assert projects[str(gone)]["name"] is None


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"group_by": "week"}, "group_by"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"time_zone": "Europe"}, "time_zone"),
        ({"from": "2026-11-04"}, "from"),
        ({"from": "2024-01-01"}, "from"),
        ({"from": "0001-01-01", "to": "0001-01-02"}, "from"),
        ({"to": "9999-12-31"}, "from"),
        ({"user": "me"}, "user"),
        ({"all": "true", "user": "00000000-0000-0000-0000-000000000000"}, None),
    ],
)
def test_what_cannot_be_asked_is_said_with_the_way_out(
    query: dict[str, str], field: str | None, bob: Any, client_of: Callable[[Any], Client]
) -> None:
    answer = asked(client_of(bob), **query)

    assert answer.status_code == 400
    assert field is None or field in answer.json()["error"]["fields"]


def test_without_a_range_it_is_thirty_days_and_the_queries_are_few(
    alice: Any, bob: Any, client_of: Callable[[Any], Client]
) -> None:
    client = client_of(bob)
    counts = []

    for calls in (1, 5):
        for number in range(calls):
            call((alice, bob)[number % 2], "2026-11-01 12:00", agent_name=f"agent {next(_numbers)}")
        with CaptureQueriesContext(connection) as of_api:
            answer = client.get(USAGE, {"group_by": "user", "to": "2026-11-20"})
        with CaptureQueriesContext(connection) as of_page:
            client.get("/usage/", {"all": "true", "from": "2026-11-01", "to": "2026-11-20"})
        # What somebody may ask in a minute is looked up once a minute, whether there are budgets every few seconds.
        counted = [
            sum("accounts_userquota" not in one["sql"] and "accounts_budget" not in one["sql"] for one in queries)
            for queries in (of_api, of_page)
        ]
        counts.append(counted)

    assert (answer.json()["from"], answer.json()["to"]) == ("2026-10-22", "2026-11-20")
    assert counts[0] == counts[1]


async def test_what_a_run_used_is_in_the_ledger_and_outlives_the_run(
    transactional_db: None, alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    used = ScriptedUsage(prompt_tokens=120, completion_tokens=7)
    project = str(uuid.uuid4())
    scripted_server.script(Script(text="Hello.", usage=used, thinking="They greet. So do I.", tokens_per_s=50))
    await make_runner(scripted_server.url)

    run = await ended(await start(alice, "Hi", options={"project_id": project}))
    kept = await ModelCall.objects.aget(execution_id=run.id)
    frames = [event for event in await events(run.id) if event["type"] == "token"]
    said = next(frame for frame in frames if frame["channel"] == "answer")
    thought = [frame["timestamp"] for frame in frames if frame["channel"] == "thinking"]
    summary = reply_summary(run)
    await sync_to_async(_delete_run_and_person)(run.id, alice)
    await kept.arefresh_from_db()

    assert (kept.prompt_tokens, kept.completion_tokens) == (120, 7) == (run.prompt_tokens, run.completion_tokens)
    assert (kept.provider, kept.model, kept.cost_usd) == ("scripted", "scripted-pro", None)
    assert (str(kept.project_id), kept.user_id) == (project, None)
    assert (summary["provider"], summary["model"]) == ("scripted", "scripted-pro")
    assert summary["usage"] == {"prompt_tokens": 120, "completion_tokens": 7, "cost_usd": None}
    assert datetime.fromisoformat(summary["first_token_at"]).timestamp() == pytest.approx(said["timestamp"] / 1000)
    assert summary["started_at"] < summary["first_token_at"] < summary["ended_at"]
    assert summary["thought_ms"] == thought[-1] - thought[0]


def _delete_run_and_person(run_id: uuid.UUID, person: Any) -> None:
    [step] = Step.objects.filter(agent__execution=run_id, usage__isnull=False)
    assert ModelCall.objects.get(execution_id=run_id).step_id == step.id
    Execution.objects.filter(id=run_id).delete()
    person.delete()


def test_what_was_used_before_there_was_a_ledger_is_put_into_it(alice: Any) -> None:
    fill = import_module("agents.migrations.0008_model_calls").FILL
    project = uuid.uuid4()
    agent = make_agent(make_run(alice, input={"version": 1, "options": {"project_id": str(project)}}), "web")
    used = {"model": "gpt", "provider": "openai", "prompt_tokens": 5, "completion_tokens": 2, "cost_usd": "0.0000012"}
    step = make_step(agent, [0], "model", "agent", usage=used)
    make_step(agent, [1], "tool", "web_search")

    with connection.cursor() as cursor:
        for _ in range(2):
            cursor.execute(fill)

    kept = ModelCall.objects.get()
    assert (kept.step_id, kept.user, kept.agent_name, kept.project_id) == (step.id, alice, "web", project)
    assert (kept.prompt_tokens, kept.completion_tokens, kept.cost_usd) == (5, 2, Decimal("0.0000012"))
    assert kept.at == step.ended_at


def test_deleting_a_conversation_changes_no_sum(alice: Any, api_of: Callable[..., Any]) -> None:
    conversation = actions.create(alice)
    call(alice, "2026-11-01 12:00", conversation_id=conversation.id)
    client = api_of(alice)
    before = asked(client).json()

    actions.delete(alice, conversation.id)

    assert before["total"]["cost_usd"] == 0.5
    assert asked(client).json() == before


def test_the_file_says_the_same_as_the_page(alice: Any, bob: Any, client_of: Callable[[Any], Client]) -> None:
    call(alice, "2026-11-02 12:00", "0.0000005")
    call(bob, "2026-11-02 12:00", None, model='=HYPERLINK("http://evil.example")')
    span = {"from": "2026-11-02", "to": "2026-11-03"}

    own = client_of(alice).get("/usage/file", span)
    models = client_of(bob).get("/usage/file", {**span, "group_by": "model"})
    people = client_of(bob).get("/usage/file", {**span, "group_by": "user", "all": "true"})

    assert own.headers["content-disposition"] == 'attachment; filename="usage-by-day-2026-11-02-2026-11-03.csv"'
    assert own.content.decode().splitlines() == [
        "day,runs,calls,prompt_tokens,completion_tokens,cost_usd,unpriced_calls",
        "2026-11-02,1,1,100,10,0.0000005,0",
        "2026-11-03,0,0,0,0,0,0",
    ]
    assert models.content.decode().splitlines()[1] == '"\'=HYPERLINK(""http://evil.example"")",openai,1,1,100,10,,1'
    assert "Alice (alice@example.org)" in people.content.decode()
    assert client_of(alice).get("/usage/file", {"group_by": "user"}).status_code == 403
    assert client_of(alice).get("/usage/file", {"all": "true"}).status_code == 403
    assert client_of(alice).get("/usage/file", {"group_by": "week"}).status_code == 404


def test_the_file_has_every_row_so_that_it_adds_up(alice: Any, client_of: Callable[[Any], Client]) -> None:
    calls = [call(alice, "2026-11-02 12:00", "0.01") for _ in range(2)]
    rows = [
        ModelCall(
            step_id=next(_numbers), user=alice, execution_id=uuid.uuid4(), conversation_id=uuid.uuid4(), at=calls[0].at,
            agent_name="chat", provider="openai", model="gpt", prompt_tokens=1, completion_tokens=0, cost_usd="0.01",
        )
        for _ in range(1_003)
    ]  # fmt: skip
    ModelCall.objects.bulk_create(rows)
    span = {"from": "2026-11-02", "to": "2026-11-02"}

    def lines(group: str) -> list[dict[str, str]]:
        file = client_of(alice).get("/usage/file", {**span, "group_by": group}).content.decode()
        return list(csv.DictReader(io.StringIO(file)))

    by_conversation, (day,) = lines("conversation"), lines("day")
    assert len(by_conversation) == 1_004
    assert sum(Decimal(line["cost_usd"]) for line in by_conversation) == Decimal(day["cost_usd"])


def test_budgets_that_were_used_up_are_told_with_what_became_of_them(
    alice: Any, client_of: Callable[[Any], Client]
) -> None:
    run = make_run(alice)
    call(alice, datetime.now(UTC).isoformat(" ", "minutes")[:16])
    own = {"question": "What shall be done?", "limit": 1_000, "used": 990, "unit": "tokens"}
    shared = shared_question("Your budget of $5.00 a day is used up: $4.99 are used.", may_raise=False, end=1)
    raised = {"choice": "raise"}
    for status, question, answer in [
        (RequestStatus.EXPIRED, own, None),
        (RequestStatus.CANCELLED, own, None),
        (RequestStatus.TIMED_OUT, own, None),
        (RequestStatus.ANSWERED, shared, raised),
    ]:
        make_request(run, RequestKind.BUDGET, question=question, status=status, answer=answer)

    page = client_of(alice).get("/usage/").content.decode()
    alice.language = "de"
    alice.save()
    in_german = client_of(alice).get("/usage/", headers={"accept-language": "de"}).content.decode()

    said = re.findall(r'<span class="badge">([^<]*)</span>', page[page.index('aria-labelledby="budgets"') :])
    assert sorted(said) == ["nobody answered in time", "the run ended before anybody answered", "went on", "withdrawn"]
    assert "Your budget of $5.00 a day is used up: $4.99 are used." in page
    assert "–" not in page[page.index('aria-labelledby="budgets"') :]
    assert "Ihr Budget von" in in_german


def test_who_worked_is_named_in_the_readers_language(alice: Any, client_of: Callable[[Any], Client]) -> None:
    alice.language = "de"
    alice.save()
    for name in ("turn", "composer", "afterwards", "embedder", "slide", "image"):
        call(alice, datetime.now(UTC).isoformat(" ", "minutes")[:16], agent_name=name)

    page = client_of(alice).get("/usage/", headers={"accept-language": "de"}).content.decode()

    agents = page[page.index('data-group="agent"') :]
    assert sorted(re.findall(r'<span class="usage-name" dir="auto">([^<]*)</span>', agents)) == [
        "Bild", "Folien", "Planen und Zusammenstellen", "Suche nach Bedeutung", "Titel und Erinnerungen",
        "Zusammenstellen der Antwort",
    ]  # fmt: skip


def test_the_page_shows_nobody_what_is_anothers(
    alice: Any, bob: Any, charlie: Any, client_of: Callable[[Any], Client]
) -> None:
    conversation = actions.create(alice, title="Merger")
    run = Execution.objects.create(
        user=alice, conversation_id=conversation.id, question="What of the merger?", input={"version": 1}
    )
    today = datetime.now(UTC).isoformat(" ", "minutes")[:16]
    call(alice, today, execution_id=run.id, conversation_id=conversation.id)

    own = client_of(alice).get("/usage/").content.decode()
    everybodys = client_of(bob).get("/usage/", {"all": "true"}).content.decode()
    actions.delete(alice, conversation.id)
    afterwards = client_of(alice).get("/usage/").content.decode()

    assert f'<a href="/c/{conversation.id}/" dir="auto">What of the merger?</a>' in own
    assert "alice@example.org" in everybodys
    assert "merger" not in everybodys
    assert "In a deleted conversation" in afterwards
    assert "merger" not in afterwards
    assert "$0.50" in afterwards
    assert "Nothing used yet" in client_of(charlie).get("/usage/").content.decode()
    for query in ({"all": "true"}, {"user": str(alice.pk)}):
        assert client_of(charlie).get("/usage/", query).status_code == 403
    assert client_of(bob).get("/usage/", {"user": str(alice.pk)}).status_code == 200
    assert client_of(bob).get("/usage/", {"user": str(uuid.uuid4())}).status_code == 404
    assert Client().get("/usage/").headers["location"].startswith("/accounts/login/")


@pytest.mark.parametrize("query", [{"days": "8"}, {"from": "x"}, {"from": "2026-11-02", "to": "2026-11-01"}])
def test_a_range_that_is_none_shows_the_usual_one_and_says_so(
    query: dict[str, str], alice: Any, client_of: Callable[[Any], Client]
) -> None:
    answer = client_of(alice).get("/usage/", query)

    assert answer.status_code == 400
    assert 'role="alert"' in answer.content.decode()


# --- pure


def test_the_first_word_is_that_of_the_answer_also_after_a_take_over() -> None:
    thought = json.dumps({"channel": "thinking", "timestamp": 1})
    folded = "\n".join(json.dumps({"channel": "answer", "timestamp": time}) for time in (5, 6))
    agent = uuid.uuid4()

    assert first_token_ms([(agent, "token", thought), (agent, "token_reset", thought), (agent, "token", folded)]) == 5
    assert first_token_ms([(agent, "token", thought)]) is None


def test_months_are_compared_over_the_same_days() -> None:
    zone = ZoneInfo("Europe/Berlin")

    found = months(date(2026, 3, 30), zone)

    assert (found.now.first, found.now.last) == (date(2026, 3, 1), date(2026, 3, 30))
    assert (found.same_days_before.first, found.same_days_before.last) == (date(2026, 2, 1), date(2026, 2, 28))
    assert found.bounds == sorted(found.bounds)
    assert span_text(found.now) == "1 – 30 March 2026"
    turn = Span(date(2025, 12, 30), date(2026, 1, 2), zone)
    assert span_text(turn) == "30 December 2025 – 2 January 2026"
    with speaking("de"):
        assert span_text(found.now) == "1. – 30. März 2026"
        assert span_text(turn) == "30. Dezember 2025 – 2. Januar 2026"


def test_a_day_of_a_change_of_clocks_has_its_own_length() -> None:
    day = Span(date(2026, 3, 29), date(2026, 3, 29), ZoneInfo("Europe/Berlin"))

    assert day.end.astimezone(UTC) - day.start.astimezone(UTC) == timedelta(hours=23)
    assert span_fault(date(2026, 1, 1), date(2026, 12, 31)) == ""
    assert "367 days" in span_fault(date(2026, 1, 1), date(2027, 1, 2))


def test_figures_are_told_as_people_read_them() -> None:
    some = Spent(calls=4, unpriced_calls=3, cost_usd=Decimal("1.2"))

    assert cost_text(some) == "at least $1.20"
    assert cost_text(Spent(calls=3, unpriced_calls=3)) == "unknown"
    assert cost_text(Spent(calls=2, unpriced_calls=1, cost_usd=Decimal("0.0599"))) == "at least $0.05"
    assert cost_text(Spent()) == "$0.00"
    assert [dollars(Decimal(amount)) for amount in ("1234.5", "0.0123", "0.00042", "0.0000001")] == [
        "$1,234.50", "$0.01", "$0.00042", "< $0.000001",
    ]  # fmt: skip
    with speaking("de"):
        assert [admin_values.dollars(amount) for amount in (None, Decimal("1234.5"), Decimal("0.00004"))] == [
            "—", "$1.234,50", "$0,000040",
        ]  # fmt: skip
    assert [short(number) for number in (0, 99_999, 123_456, 1_234_567, 45_000_000_000)] == [
        "0", "99,999", "123\u00a0k", "1.23\u00a0M", "45.0\u00a0B",
    ]  # fmt: skip
    assert [change_percent(3, 2), change_percent(0, 4), change_percent(4, 0)] == [50, -100, None]
    assert csv_lines(["day"], [(["2026-11-01"], some)])[1] == ["2026-11-01", "0", "4", "0", "0", "1.2", "3"]


def test_long_numbers_are_shortened_as_the_readers_language_does() -> None:
    with speaking("de"):
        said = [short(number) for number in (99_999, 123_456, 1_234_567, 45_000_000_000)]

    assert said == ["99.999", "123\u00a0Tsd.", "1,23\u00a0Mio.", "45,0\u00a0Mrd."]
