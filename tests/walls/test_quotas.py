"""T30: what one person may have done for them, by whichever door, and that nobody's work starves another's."""

import asyncio
import io
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from django.core.exceptions import ValidationError
from django.db import connection, connections
from psycopg import AsyncConnection

from agents.models import Execution
from agents.runtime.context import AgentContext
from conversations import actions
from conversations.models import Conversation, Message
from hyperagent.accounts import metering
from hyperagent.accounts.models import User, UserMeter, UserQuota
from hyperagent.accounts.quotas import Quota, Work, cost_s, refusal, wait_s
from hyperagent.lib.conf import BadConfig, load
from hyperagent.lib.refusals import Refused, TooMuch
from memory.actions import documents
from memory.models import Document
from tests.faces.conftest import api_of, client_of, in_threads
from tests.faces.sockets import Socket, address, browser, cookie_of
from tests.runtime.conftest import make_runner
from tests.runtime.driving import database_dsn, ended, until
from tests.scripted.fixtures import echo_server, scripted_server

__all__ = ["api_of", "client_of", "echo_server", "in_threads", "make_runner", "scripted_server"]

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)

pytestmark = [pytest.mark.threat("T30"), pytest.mark.django_db]


@pytest.fixture
def limits(settings: Any) -> Any:
    """Sets amounts for everybody."""

    def set_(**amounts: int) -> None:
        settings.CONFIG = settings.CONFIG.model_copy(update=amounts)

    return set_


@pytest.fixture
def talk(alice: Any) -> Conversation:
    return actions.create(alice)


def age(user: Any, seconds: float) -> None:
    """Lets the meters of this person drain for so long."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE accounts_usermeter SET first_clears_at = first_clears_at - %s * interval '1 second', "
            "second_clears_at = second_clears_at - %s * interval '1 second' WHERE user_id = %s",
            [seconds, seconds, user.pk],
        )


# ── the arithmetic ──


def test_a_meter_drains_evenly() -> None:
    assert cost_s(1, amount=60, window_s=60) == 1.0
    assert cost_s(1, amount=0, window_s=60) == 0.0


def test_nobody_waits_while_it_fits() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert wait_s(None, now, 1.0, 60) == 0.0
    assert wait_s(now + timedelta(seconds=59), now, 1.0, 60) == 0.0
    assert wait_s(now + timedelta(seconds=60), now, 1.0, 60) == 1.0
    assert wait_s(now - timedelta(hours=1), now, 1.0, 60) == 0.0


def test_the_words_say_what_is_used_up_and_how_long_to_wait() -> None:
    assert refusal(Quota.RUNS_PER_MINUTE, 3, 20) == (
        "You have asked 3 times within a minute, which is as often as you may. Wait 20 seconds, then try again."
    )
    assert refusal(Quota.UPLOADS_PER_HOUR, 1_000, 1_800).endswith("Wait 30 minutes, then try again.")
    assert refusal(Quota.UPLOAD_BYTES_PER_DAY, 5, 40_000).endswith("Wait 12 hours, then try again.")
    assert all(refusal(quota, 7) for quota in Quota)


def test_a_quota_that_cannot_be_is_named_at_the_start() -> None:
    with pytest.raises(BadConfig) as refused:
        load({"RUNS_PER_MINUTE": "-1"}, needs_servers=False)

    assert "RUNS_PER_MINUTE='-1' is not allowed; allowed: questions of one person in a minute, 0 for no limit" in str(
        refused.value
    )


# ── counting ──


def test_what_fits_is_counted_in_one_statement(alice: Any, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        metering.take(alice.pk, Work.RUN)


def amounts_of_many() -> None:
    """A house in which many people and groups have amounts of their own, as the planner knows it."""
    people = User.objects.bulk_create(User(email=f"p{number}@example.org") for number in range(400))
    groups = Group.objects.bulk_create(Group(name=f"g{number}") for number in range(100))
    quotas = list(Quota)[:4]
    UserQuota.objects.bulk_create(
        UserQuota(quota=one.value, amount=5, user=person) for one in quotas for person in people
    )
    UserQuota.objects.bulk_create(
        UserQuota(quota=one.value, amount=5, group=group) for one in quotas for group in groups
    )
    belongs = User.groups.through
    belongs.objects.bulk_create(
        belongs(user_id=one.pk, group_id=groups[number % 100].pk) for number, one in enumerate(people)
    )
    UserMeter.objects.bulk_create(
        UserMeter(user=one, work=Work.RUN, first_clears_at=LONG_AGO, second_clears_at=LONG_AGO) for one in people
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_userquota, accounts_user_groups, accounts_usermeter")


def test_it_is_found_by_indexes(alice: Any) -> None:
    amounts_of_many()
    asked = metering.asked_for([Quota.RUNS_PER_MINUTE, Quota.RUNS_PER_HOUR])
    values = {"user": alice.pk, "work": "run", **asked}

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {metering._TAKE}", values)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "accounts_userquota_user" in plan
    assert "accounts_userquota_group" in plan
    assert "accounts_usermeter_one" in plan
    assert "Seq Scan" not in plan


def test_who_asks_often_is_counted_by_a_plan_that_was_made_before(alice: Any) -> None:
    amounts_of_many()
    # Psycopg prepares what it has seen five times, and Postgres makes five plans before it keeps one.
    for _ in range(12):
        metering.take(alice.pk, Work.RUN)
        metering.amounts_of(alice.pk, [Quota.SOCKETS_AT_ONCE])

    with connection.cursor() as cursor:
        cursor.execute("SELECT generic_plans > 0 FROM pg_prepared_statements WHERE statement LIKE '%_userquota%'")
        assert cursor.fetchall() == [(True,), (True,)]


def test_what_does_not_fit_is_not_counted(alice: Any, limits: Any) -> None:
    limits(searches_per_minute=2)
    metering.take(alice.pk, Work.SEARCH)
    metering.take(alice.pk, Work.SEARCH)
    before = UserMeter.objects.get(user=alice).first_clears_at

    with pytest.raises(TooMuch) as refused:
        metering.take(alice.pk, Work.SEARCH)

    assert 25 <= (refused.value.retry_after_s or 0) <= 30
    assert UserMeter.objects.get(user=alice).first_clears_at == before
    age(alice, 30)
    metering.take(alice.pk, Work.SEARCH)
    with pytest.raises(TooMuch):
        metering.take(alice.pk, Work.SEARCH)


def test_the_longer_window_holds_when_the_shorter_has_drained(alice: Any, limits: Any) -> None:
    limits(runs_per_minute=2, runs_per_hour=3)
    metering.take(alice.pk, Work.RUN)
    metering.take(alice.pk, Work.RUN)
    age(alice, 60)
    metering.take(alice.pk, Work.RUN)
    age(alice, 60)

    with pytest.raises(TooMuch, match="3 times within an hour") as refused:
        metering.take(alice.pk, Work.RUN)

    assert 900 < (refused.value.retry_after_s or 0) <= 1_200


def test_one_persons_meter_is_not_anothers(alice: Any, bob: Any, limits: Any) -> None:
    limits(searches_per_minute=1)
    metering.take(alice.pk, Work.SEARCH)

    metering.take(bob.pk, Work.SEARCH)


def test_none_is_no_limit(alice: Any, limits: Any) -> None:
    limits(searches_per_minute=0)

    for _ in range(50):
        metering.take(alice.pk, Work.SEARCH)


def test_what_is_more_than_a_day_allows_is_refused_for_good(alice: Any, limits: Any) -> None:
    limits(upload_bytes_per_day=1_000)

    with pytest.raises(Refused, match="more than the 1,000 bytes") as refused:
        metering.take(alice.pk, Work.UPLOAD, 1, 1_001)

    assert refused.value.status == 400
    metering.take(alice.pk, Work.UPLOAD, 1, 1_000)


def test_of_many_at_once_no_more_get_through_than_one_after_another(in_threads: None, alice: Any, limits: Any) -> None:
    limits(searches_per_minute=5)

    def one(_number: int) -> bool:
        try:
            metering.take(alice.pk, Work.SEARCH)
        except TooMuch:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(40))) == 5


def test_an_administrator_gives_a_person_or_a_group_another_amount(alice: Any, bob: Any, limits: Any) -> None:
    limits(searches_per_minute=1)
    readers, writers = Group.objects.create(name="readers"), Group.objects.create(name="writers")
    alice.groups.set([readers, writers])
    UserQuota.objects.create(group=readers, quota=Quota.SEARCHES_PER_MINUTE, amount=7)
    UserQuota.objects.create(group=writers, quota=Quota.SEARCHES_PER_MINUTE, amount=9)

    assert metering.amounts_of(alice.pk, [Quota.SEARCHES_PER_MINUTE, Quota.RUNS_AT_ONCE]) == {
        Quota.SEARCHES_PER_MINUTE: 9,
        Quota.RUNS_AT_ONCE: 500,
    }
    UserQuota.objects.create(user=alice, quota=Quota.SEARCHES_PER_MINUTE, amount=2)
    assert metering.amounts_of(alice.pk, [Quota.SEARCHES_PER_MINUTE]) == {Quota.SEARCHES_PER_MINUTE: 2}
    assert metering.amounts_of(bob.pk, [Quota.SEARCHES_PER_MINUTE]) == {Quota.SEARCHES_PER_MINUTE: 1}
    metering.take(alice.pk, Work.SEARCH)
    metering.take(alice.pk, Work.SEARCH)
    with pytest.raises(TooMuch, match="2 times"):
        metering.take(alice.pk, Work.SEARCH)


def test_a_quota_is_of_a_person_or_of_a_group(alice: Any) -> None:
    for fields in ({}, {"user": alice, "group": Group.objects.create(name="readers")}):
        with pytest.raises(ValidationError, match="Name a person or a group, and not both"):
            UserQuota(quota=Quota.RUNS_AT_ONCE, amount=1, **fields).full_clean()


def test_quotas_are_set_in_the_admin(client_of: Any, alice: Any, bob: Any) -> None:
    bob.is_superuser = True
    bob.save()

    answer = client_of(bob).post(
        "/admin/accounts/userquota/add/", {"user": str(alice.pk), "group": "", "quota": "runs_at_once", "amount": "3"}
    )

    assert answer.status_code == 302, answer.content
    assert metering.amounts_of(alice.pk, [Quota.RUNS_AT_ONCE]) == {Quota.RUNS_AT_ONCE: 3}


# ── the doors ──


def test_a_question_too_many_is_refused_before_anything_is_written(
    api_of: Any, alice: Any, talk: Conversation, limits: Any
) -> None:
    limits(runs_per_minute=1)
    api = api_of(alice)
    first = api.post(f"/api/v1/conversations/{talk.pk}/messages", {"text": "one", "client_id": "a"})
    assert first.status_code == 201

    refused = api.post(f"/api/v1/conversations/{talk.pk}/messages", {"text": "two"})

    assert refused.status_code == 429
    assert int(refused["Retry-After"]) == refused.json()["error"]["retry_after_s"] > 0
    assert refused.json()["error"]["code"] == "too_many_requests"
    assert "Wait" in refused.json()["error"]["message"]
    assert Message.objects.filter(text="two").count() == 0
    assert Execution.objects.count() == 1
    # The same question again is the first one, and costs nothing.
    assert api.post(f"/api/v1/conversations/{talk.pk}/messages", {"text": "one", "client_id": "a"}).status_code == 200


@pytest.mark.parametrize("door", ["query", "retry", "message_retry"])
def test_no_other_door_starts_a_run_past_the_quota(
    in_threads: None, api_of: Any, alice: Any, talk: Conversation, limits: Any, door: str
) -> None:
    limits(runs_per_hour=1)
    said = actions.say(alice, talk.pk, actions.Question("first"))
    Execution.objects.filter(pk=said.execution.pk).update(
        status="failed", ended_at="2026-01-01T00:00:00Z", error_code="internal"
    )
    api = api_of(alice)
    ways = {
        "query": ("/api/v1/query", {"query": "second"}),
        "retry": (f"/api/v1/executions/{said.execution.pk}/retry", {}),
        "message_retry": (f"/api/v1/messages/{said.reply.pk}/retry", {}),
    }

    path, body = ways[door]
    refused = api.post(path, body)

    assert refused.status_code == 429, refused.content
    assert Execution.objects.count() == 1


def test_only_so_many_are_worked_on_at_once(alice: Any, bob: Any, talk: Conversation, limits: Any) -> None:
    limits(runs_at_once=2)
    running = actions.say(alice, talk.pk, actions.Question("one")).execution
    actions.say(alice, talk.pk, actions.Question("two"))

    with pytest.raises(TooMuch, match="2 of your questions are being worked on"):
        actions.say(alice, talk.pk, actions.Question("three"))

    actions.say(bob, actions.create(bob).pk, actions.Question("another's"))
    # One that waits for a person holds nothing.
    Execution.objects.filter(pk=running.pk).update(status="awaiting_user")
    actions.say(alice, talk.pk, actions.Question("three"))


def test_what_runs_in_ones_name_by_itself_is_not_counted(alice: Any, limits: Any) -> None:
    from agents import actions as runs

    limits(runs_per_minute=1)
    runs.start(user=alice, conversation_id=None, question="one")

    for pipeline in ("summary", "describe", "rerank", "follow_ups", "afterwards"):
        runs.start(user=alice, conversation_id=None, question="by itself", pipeline=pipeline)


def test_uploads_are_counted_by_number_and_by_bytes(api_of: Any, alice: Any, limits: Any) -> None:
    limits(uploads_per_hour=2, upload_bytes_per_day=1_000)
    api = api_of(alice, scopes=["documents", "read"])

    def upload(text: str) -> Any:
        file = io.BytesIO(text.encode())
        file.name = "a.txt"
        return api.post("/api/v1/documents", {"file": file}, format="multipart")

    assert upload("small").status_code == 201
    much = upload("x" * 996)
    assert (much.status_code, much["Retry-After"]) != (201, "")
    assert much.status_code == 429
    assert upload("small too").status_code == 201
    assert upload("a third").status_code == 429
    assert Document.objects.filter(owner=alice).count() == 2


def test_files_of_a_workspace_are_counted_with_them(api_of: Any, alice: Any, limits: Any) -> None:
    limits(uploads_per_hour=1)
    api = api_of(alice, scopes=["documents", "read", "run"])
    path = f"/api/v1/files/user/{alice.pk}/notes"

    assert api.put(f"{path}/a.txt", b"one", content_type="text/plain").status_code == 201
    refused = api.put(f"{path}/b.txt", b"two", content_type="text/plain")

    assert refused.status_code == 429
    assert api.get(f"{path}/b.txt").status_code == 404


def test_what_an_administrator_brings_is_no_upload(alice: Any, limits: Any) -> None:
    from memory.kinds import Origin

    limits(uploads_per_hour=1)

    for number in range(3):
        documents.add(alice, io.BytesIO(b"%d" % number), filename=f"{number}.txt", origin=Origin.COMMAND)


def test_searches_are_counted_together(in_threads: None, api_of: Any, client_of: Any, alice: Any, limits: Any) -> None:
    limits(searches_per_minute=2)
    api = api_of(alice)
    assert api.get("/api/v1/search/all", {"q": "boats"}).status_code == 200
    assert api.post("/api/v1/search", {"query": "boats"}).status_code == 200

    assert api.post("/api/v1/search", {"query": "boats"}).status_code == 429
    page = client_of(alice).get("/search/", {"q": "boats in the harbour"})

    assert page.status_code == 429
    assert int(page["Retry-After"]) > 0
    assert "You have searched 2 times within a minute" in page.content.decode()
    assert 'value="boats in the harbour"' in page.content.decode(), "what was typed stays"


def test_requests_to_the_api_are_counted_by_person(api_of: Any, alice: Any, bob: Any, limits: Any) -> None:
    limits(requests_per_minute=3)
    api = api_of(alice)
    answers = [api.get("/api/v1/me").status_code for _ in range(7)]

    # The minute may have ended in between.
    assert 429 in answers
    assert answers[:3] == [200] * 3
    refused = api.get("/api/v1/me")
    if refused.status_code == 429:
        assert 0 < int(refused["Retry-After"]) <= 61
    assert api_of(bob).get("/api/v1/me").status_code == 200


def test_they_are_counted_while_redis_is_away(api_of: Any, alice: Any, limits: Any, settings: Any) -> None:
    away = {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {**settings.CACHES, "default": away}
    assert isinstance(cache._connections["default"], RedisCache)  # type: ignore[attr-defined]
    limits(requests_per_minute=3)
    api = api_of(alice)

    answers = [api.get("/api/v1/me").status_code for _ in range(7)]

    assert 429 in answers
    limits(searches_per_minute=1)
    metering.take(alice.pk, Work.SEARCH)
    with pytest.raises(TooMuch):
        metering.take(alice.pk, Work.SEARCH)


async def test_only_so_many_sockets_of_one_person_are_open(in_threads: None, alice: Any, bob: Any, limits: Any) -> None:
    limits(sockets_at_once=2)
    talk = await sync_to_async(actions.create)(alice)
    cookie = cookie_of(await browser(alice))

    async with Socket("/ws/inbox/", cookie=cookie) as first, Socket(address(talk.pk), cookie=cookie) as second:
        await first.frame("requests")
        await second.send(type="ping")
        await second.frame("pong")
        async with Socket("/ws/inbox/", cookie=cookie) as third:
            error = await third.frame("error")
            assert "2 windows of yours are connected" in error["error"]["message"]
            assert await third.closed() == 4029
        async with Socket("/ws/inbox/", cookie=cookie_of(await browser(bob))) as others:
            await others.frame("requests")
    async with Socket("/ws/inbox/", cookie=cookie) as again:
        await again.frame("requests")


async def test_a_socket_that_the_server_ends_in_the_midst_of_a_word_is_open_no_more(
    in_threads: None, alice: Any, limits: Any
) -> None:
    limits(sockets_at_once=1)
    talk = await sync_to_async(actions.create)(alice)
    cookie = cookie_of(await browser(alice))

    async with await AsyncConnection.connect(database_dsn()) as holder:
        await holder.execute("SELECT FROM conversations_conversation WHERE id = %s FOR UPDATE", [talk.pk])
        async with Socket(address(talk.pk), cookie=cookie) as socket:
            await socket.send(type="say", text="Are you there?", client_id="a")
            await until(lambda: one_waits_for(holder))
            await socket.end_busy()

        async with Socket("/ws/inbox/", cookie=cookie) as again:
            await again.frame("requests")

    # What was said is said, though nobody could be told.
    await until(Message.objects.aexists)


async def one_waits_for(holder: AsyncConnection[Any]) -> bool:
    waiting = "SELECT count(*) FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    row = await (await holder.execute(waiting)).fetchone()
    return row is not None and row[0] > 0


async def test_a_question_on_the_socket_is_refused_with_its_id_so_that_the_page_keeps_it(
    in_threads: None, alice: Any, limits: Any
) -> None:
    limits(runs_per_minute=1)
    talk = await sync_to_async(actions.create)(alice)

    async with Socket(address(talk.pk), cookie=cookie_of(await browser(alice))) as socket:
        await socket.send(type="say", text="one", client_id="a")
        await socket.frame("said")
        await socket.send(type="say", text="two", client_id="b")
        refused = await socket.frame("error")

    assert refused["client_id"] == "b"
    assert refused["error"]["code"] == "too_many_requests"
    assert refused["error"]["retry_after_s"] > 0


# ── fairness ──


@pytest.mark.slow
async def test_a_single_run_comes_before_the_rest_of_another_persons_forty(
    make_runner: Any, scripted_server: Any, alice: Any, bob: Any
) -> None:
    gate, order = asyncio.Semaphore(0), []

    async def held(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
        order.append(turn["question"])
        await gate.acquire()
        return {"answer": "done", "sources": []}

    def ask(user: Any, *questions: str) -> list[uuid.UUID]:
        from agents import actions as runs

        return [
            runs.start(user=user, conversation_id=None, question=question, pipeline="held").id for question in questions
        ]

    of_alice = await sync_to_async(ask)(alice, *(f"alice {number}" for number in range(40)))
    # A lease that no pause of a busy machine outlasts: what is driven anew would stand in the order twice.
    await make_runner(scripted_server.url, concurrency=4, extra={"held": held}, lease_s=60)

    async def begun(count: int) -> list[str]:
        for _ in range(900):
            if len(order) >= count:
                break
            await asyncio.sleep(0.05)
        return list(order)

    assert await begun(4) == ["alice 0", "alice 1", "alice 2", "alice 3"]
    (of_bob,) = await sync_to_async(ask)(bob, "bob 0")
    gate.release()
    assert (await begun(5))[4:] == ["bob 0"]
    for _ in range(50):
        gate.release()
    await ended(of_bob)
    await ended(of_alice[-1])
    assert order[5:] == [f"alice {number}" for number in range(4, 40)]


async def test_people_take_turns_and_nothing_waits_for_ever(
    in_threads: None, alice: Any, bob: Any, charlie: Any
) -> None:
    import psycopg

    from agents.runtime import leases
    from tests.runtime.driving import database_dsn

    def ask(user: Any, count: int) -> None:
        from agents import actions as runs

        for number in range(count):
            runs.start(user=user, conversation_id=None, question=f"{user.display_name} {number}")

    for user, count in ((alice, 5), (bob, 2), (charlie, 1)):
        await sync_to_async(ask)(user, count)
    nobody = await sync_to_async(Execution.objects.create)(question="nobody's", input={"version": 1}, user=None)
    claimed: list[str] = []
    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as postgres:
        for _ in range(4):
            some = await leases.claim(postgres, runner="r", limit=2, lease_s=60, suspects=False)
            claimed += sorted(claim.question for claim in some)
        rest = await leases.claim(postgres, runner="r", limit=20, lease_s=60, suspects=False)

    assert sorted(claimed[:4]) == ["Alice 0", "Bob 0", "Charlie 0", "nobody's"]
    assert sorted(claimed[4:]) == ["Alice 1", "Alice 2", "Alice 3", "Bob 1"]
    assert [claim.question for claim in rest] == ["Alice 4"]
    assert nobody.question in claimed


async def test_a_claim_takes_no_more_than_it_may_where_the_database_believes_that_there_is_one_run(
    in_threads: None, alice: Any
) -> None:
    import psycopg

    from agents import actions as runs
    from agents.runtime import leases
    from tests.runtime.driving import database_dsn

    def ask(*numbers: int) -> None:
        for number in numbers:
            runs.start(user=alice, conversation_id=None, question=f"Alice {number}")

    async with await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True) as postgres:
        await sync_to_async(ask)(0)
        await postgres.execute("VACUUM ANALYZE agents_execution")
        await sync_to_async(ask)(*range(1, 12))

        claimed = await leases.claim(postgres, runner="r", limit=2, lease_s=60, suspects=False)
        again = await leases.claim(postgres, runner="r", limit=3, lease_s=60, suspects=False)

    assert sorted(claim.question for claim in claimed) == ["Alice 0", "Alice 1"]
    assert len(again) == 3
