"""Kill switches: who throws and lifts them, and what a runner reads before each effect."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hitl import switches
from hitl.kinds import SwitchScope
from hitl.models import Switch
from hitl.policy_sql import OWNER_GONE, thrown
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.refusals import NotAllowed, NotThere, Refused
from tests.at_once import elsewhere, somebody_waits
from tests.house.waiting import until

Connect = Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]
SWITCHES = "/api/v1/hitl/switches"
ALL, AGENT, TOOL, USER = SwitchScope.INSTALLATION, SwitchScope.AGENT, SwitchScope.TOOL, SwitchScope.USER

throw, lift = sync_to_async(switches.throw), sync_to_async(switches.lift)


async def why(connect: Connect, user: Any = None, *, agent: str = "mail", tool: str = "send_email") -> str:
    return await thrown(await connect(), user_id=user.pk if user else None, agent_name=agent, tool=tool)


@pytest.mark.spec("B17")
async def test_a_switch_stops_its_scope_and_nothing_else_until_it_is_lifted(
    connect: Connect, alice: Any, bob: Any, charlie: Any
) -> None:
    async def stopped() -> list[bool]:
        """Alice's mail, Charlie's mail, Alice's other tool, Alice's other agent."""
        return [
            bool(await why(connect, alice)),
            bool(await why(connect, charlie)),
            bool(await why(connect, alice, tool="write_note")),
            bool(await why(connect, alice, agent="chat")),
        ]

    found = [await stopped()]
    for scope, target in ((ALL, ""), (USER, alice.email), (AGENT, "mail"), (TOOL, "send_email")):
        switch = await throw(bob, scope=scope, target=target, reason="Because")
        found.append(await stopped())
        await lift(bob, switch.id)
    found.append(await stopped())

    assert found == [
        [False, False, False, False],
        [True, True, True, True],
        [True, False, True, True],
        [True, True, True, False],
        [True, True, False, True],
        [False, False, False, False],
    ]


@pytest.mark.spec("B17")
async def test_who_is_stopped_reads_what_when_and_why(connect: Connect, alice: Any, bob: Any) -> None:
    switch = await throw(bob, scope=TOOL, target="send_email", reason="The list went out twice.")

    said = await why(connect, alice)

    at = f"{switch.thrown_at:%Y-%m-%d %H:%M}"
    assert said == (
        f"An administrator stopped the tool send_email ({at} UTC): The list went out twice. It takes an administrator"
        " to go on."
    )


async def test_a_name_in_other_letters_is_stopped_as_well_and_so_is_the_run_of_a_person_who_is_gone(
    connect: Connect, alice: Any, bob: Any
) -> None:
    await throw(bob, scope=TOOL, target="Send_Email", reason="x")
    assert await why(connect, alice)

    await throw(bob, scope=USER, target=str(alice.pk), reason="x")
    assert await why(connect, None, tool="other") == OWNER_GONE


@pytest.mark.spec("B17")
async def test_thrown_by_several_at_once_it_is_thrown_once(transactional_db: None, bob: Any) -> None:
    thrown_ = await asyncio.gather(
        *(
            asyncio.to_thread(_thrown_in_a_thread, bob, f"Reason {number}")
            for number in range(6)
        )
    )  # fmt: skip

    assert len(set(thrown_)) == await Switch.objects.acount() == 1
    await sync_to_async(connections.close_all)()


def _thrown_in_a_thread(by: Any, reason: str) -> tuple[uuid.UUID, str]:
    try:
        switch = switches.throw(by, scope=AGENT, target="mail", reason=reason)
        return switch.id, switch.reason
    finally:
        connections.close_all()


@pytest.mark.spec("B17")
def test_thrown_again_the_first_stays_and_lifted_again_too_and_then_it_can_be_thrown_anew(alice: Any, bob: Any) -> None:
    alice.is_staff = True
    first = switches.throw(bob, scope=ALL, reason="First")
    second = switches.throw(alice, scope=ALL, reason="Second")
    lifted = switches.lift(alice, first.id)
    again = switches.lift(bob, first.id)
    anew = switches.throw(bob, scope=ALL, reason="Third")

    assert (second.id, second.reason, second.thrown_by) == (first.id, "First", bob)
    assert (lifted.lifted_by, again.lifted_by, again.lifted_at) == (alice, alice, lifted.lifted_at)
    assert (anew.reason, Switch.objects.count(), Switch.objects.thrown().get()) == ("Third", 2, anew)


@pytest.mark.parametrize(
    ("scope", "target", "reason", "fields"),
    [
        (ALL, "", " \n", {"reason"}),
        (ALL, "", "x" * 1001, {"reason"}),
        (ALL, "mail", "x", {"target"}),
        (TOOL, " ", "", {"target", "reason"}),
        (AGENT, "a" * 121, "x", {"target"}),
        (USER, "nobody@example.org", "x", {"target"}),
        (USER, "00000000-0000-4000-8000-000000000000", "x", {"target"}),
        (USER, "not an id", "x", {"target"}),
    ],
)
def test_a_switch_without_a_reason_or_for_nothing_is_refused(
    bob: Any, scope: SwitchScope, target: str, reason: str, fields: set[str]
) -> None:
    with pytest.raises(Refused) as refused:
        switches.throw(bob, scope=scope, target=target, reason=reason)

    assert set(refused.value.fields) == fields
    assert not Switch.objects.exists()


def test_a_person_is_named_by_id_or_address(alice: Any, bob: Any) -> None:
    by_address = switches.throw(bob, scope=USER, target=f" {alice.email.upper()} ", reason="x")
    by_id = switches.throw(bob, scope=USER, target=str(alice.pk), reason="y")

    assert by_address.id == by_id.id
    assert by_address.target == str(alice.pk)


@pytest.mark.spec("B17", "B21")
def test_only_administrators_throw_and_lift(alice: Any, bob: Any) -> None:
    switch = switches.throw(bob, scope=ALL, reason="x")
    bob.is_active = False

    for person in (alice, bob):
        with pytest.raises(NotAllowed):
            switches.throw(person, scope=ALL, reason="x")
        with pytest.raises(NotAllowed):
            switches.lift(person, switch.id)
    switch.refresh_from_db()
    assert switch.lifted_at is None


def test_the_database_holds_one_thrown_switch_for_each_target(bob: Any) -> None:
    switches.throw(bob, scope=ALL, reason="x")

    with pytest.raises(IntegrityError, match="hitl_switch_thrown_once"):
        Switch.objects.create(scope=ALL, target="", reason="y")


# --- over the API


@pytest.mark.spec("B17")
def test_an_administrator_throws_lists_and_lifts_over_the_api(alice: Any, bob: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(bob, scopes=[Scope.ADMIN])

    of_alice = api.post(SWITCHES, {"scope": "user", "target": alice.email, "reason": "Lost laptop"})
    again = api.post(SWITCHES, {"scope": "user", "target": str(alice.pk), "reason": "Another"})
    of_tool = api.post(SWITCHES, {"scope": "tool", "target": "no_such_tool", "reason": "Wrong"})
    lifted = api.delete(f"{SWITCHES}/{of_tool.json()['id']}")

    assert [answer.status_code for answer in (of_alice, again, of_tool, lifted)] == [200] * 4
    told = of_alice.json()
    assert told == again.json()
    assert (told["target"], told["target_name"], told["target_checked"]) == (str(alice.pk), alice.email, True)
    assert (told["reason"], told["thrown_by"], told["thrown_by_name"]) == ("Lost laptop", str(bob.pk), bob.email)
    assert (told["lifted_at"], told["lifted_by"], told["lifted_by_name"]) == (None, None, "")
    assert (of_tool.json()["target_name"], of_tool.json()["target_checked"]) == ("no_such_tool", False)
    assert (lifted.json()["lifted_by_name"], lifted.json()["reason"]) == (bob.email, "Wrong")
    assert [one["id"] for one in api.get(SWITCHES).json()["results"]] == [of_tool.json()["id"], told["id"]]
    assert [one["id"] for one in api.get(f"{SWITCHES}?thrown=true").json()["results"]] == [told["id"]]
    assert [one["id"] for one in api.get(f"{SWITCHES}?scope=tool").json()["results"]] == [of_tool.json()["id"]]


@pytest.mark.spec("B17", "B21")
def test_who_is_no_administrator_sees_no_switch_and_neither_does_an_administrators_everyday_token(
    alice: Any, bob: Any, api_of: Callable[..., Any], client_of: Callable[[Any], Client]
) -> None:
    switch = switches.throw(bob, scope=USER, target=alice.email, reason="Suspected")
    body = {"scope": "installation", "reason": "x"}

    for client in (api_of(alice), api_of(bob), client_of(alice)):
        for id_ in (switch.id, uuid.uuid4()):
            assert client.delete(f"{SWITCHES}/{id_}").status_code == 403
        assert client.get(SWITCHES).status_code == client.post(SWITCHES, body).status_code == 403
    assert client_of(bob).get(SWITCHES).status_code == 200
    assert Switch.objects.thrown().count() == 1


def test_what_is_wrong_with_a_switch_is_said_at_its_field(bob: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(bob, scopes=[Scope.ADMIN])

    def fields(**body: str) -> set[str]:
        answer = api.post(SWITCHES, body)
        assert answer.status_code == 400
        return set(answer.json()["error"]["fields"])

    assert fields() == {"scope", "reason"}
    assert fields(scope="world", reason="x") == {"scope"}
    assert fields(scope="user", target="nobody@example.org", reason="x") == {"target"}
    assert api.delete(f"{SWITCHES}/{uuid.uuid4()}").status_code == 404


def test_the_list_costs_the_same_number_of_queries_however_long_it_is(
    alice: Any, bob: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(bob, scopes=[Scope.ADMIN])

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as caught:
            assert api.get(SWITCHES).status_code == 200
        return [one["sql"] for one in caught.captured_queries]

    switches.throw(bob, scope=USER, target=alice.email, reason="x")
    queries()
    few = queries()
    switches.throw(bob, scope=USER, target=charlie.email, reason="x")
    for number in range(10):
        switches.throw(bob, scope=TOOL, target=f"tool_{number}", reason="x")

    many = queries()
    assert len(many) == len(few) == 3, (few, many)


def test_a_switch_that_never_was_cannot_be_lifted(bob: Any) -> None:
    with pytest.raises(NotThere):
        switches.lift(bob, uuid.uuid4())


@pytest.mark.django_db(transaction=True)
def test_a_switch_that_is_thrown_while_somebody_lifts_it_is_thrown(bob: Any, alice: Any) -> None:
    alice.is_staff = True
    alice.save()
    first = switches.throw(alice, scope=ALL, reason="Stop.")

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            switches.lift(alice, first.id)
            thrown_again = pool.submit(elsewhere, lambda: switches.throw(bob, scope=ALL, reason="Still."))
            until(somebody_waits, what="the second administrator")
        second = thrown_again.result(20)

    assert (second.id != first.id, second.reason) == (True, "Still.")
    assert Switch.objects.thrown().get() == second
