"""What stands, as a runner reads it from the database."""

import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import ProtectedError
from django.utils import timezone

from hitl.conditions import Condition
from hitl.kinds import ApproverKind, Op, PolicyAction, RuleEffect, RuleScope
from hitl.models import Policy, Rule, RuleUse
from hitl.models.policies import named_fault
from hitl.policy import Approvers, Standing
from hitl.policy_sql import read_standing

Connect = Callable[[], Awaitable[psycopg.AsyncConnection[Any]]]


async def standing(connect: Connect, user: Any, tool: str = "write_note", **options: Any) -> Standing:
    return await read_standing(await connect(), user_id=user.pk if user else None, tool=tool, **options)


@sync_to_async
def make_policy(name: str = "P", *, named: Any = (), **fields: Any) -> Policy:
    policy = Policy.objects.create(name=name, **fields)
    policy.approvers.set(named)
    return policy


@sync_to_async
def make_rule(user: Any, **fields: Any) -> Rule:
    values = {"effect": "allow", "scope": "rule", "tool": "write_note", "text": "As it was shown."}
    return Rule.objects.create(user=user, **(values | fields))


@sync_to_async
def join(user: Any, group: str) -> Group:
    found, _ = Group.objects.get_or_create(name=group)
    user.groups.add(found)
    return found


@sync_to_async
def deactivate(user: Any) -> None:
    user.is_active = False
    user.save()


async def test_nothing_stands_where_nothing_was_set_up(connect: Connect, alice: Any) -> None:
    before = timezone.now() - timedelta(minutes=1)

    for user in (alice, None):
        found = await standing(connect, user)
        assert (found.policies, found.rules, found.preapproved) == ((), (), ())
        assert before < found.now < before + timedelta(minutes=2)


async def test_policies_come_in_order_of_position_without_those_for_other_tools_or_switched_off(
    connect: Connect, alice: Any
) -> None:
    await make_policy("last", position=200)
    await make_policy("first", position=1, tool="write_note", action="ask", allow_rules=True, risk="medium")
    await make_policy("another tool's", tool="send_email")
    await make_policy("off", is_enabled=False)
    await make_policy("second", position=1, agent_name="mail")

    found = (await standing(connect, alice)).policies

    assert [one.name for one in found] == ["first", "second", "last"]
    assert (found[0].tool, found[0].risk, found[0].action, found[0].allow_rules) == (
        "write_note",
        "medium",
        PolicyAction.ASK,
        True,
    )
    assert (found[1].agent_name, found[1].approvers, found[1].somebody_can) == ("mail", Approvers(), True)
    assert [one.name for one in (await standing(connect, alice, "")).policies] == ["second", "last"]


@pytest.mark.spec("B4")
async def test_a_policy_about_some_peoples_runs_is_read_for_theirs_alone(
    connect: Connect, alice: Any, bob: Any, charlie: Any
) -> None:
    interns = await join(alice, "Interns")
    await make_policy("everybody's", position=3)
    await make_policy("interns'", position=1, for_group=interns, action="deny")
    await make_policy("Bob's", position=2, for_person=bob)

    async def names(user: Any) -> list[str]:
        return [policy.name for policy in (await standing(connect, user)).policies]

    assert await names(alice) == ["interns'", "everybody's"]
    assert await names(bob) == ["Bob's", "everybody's"]
    assert await names(charlie) == ["everybody's"]
    assert await names(None) == ["everybody's"], "whose person is gone is nobody's"
    await sync_to_async(alice.groups.clear)()
    assert await names(alice) == ["everybody's"], "whoever leaves the group is meant no longer"


@pytest.mark.spec("B4")
def test_neither_group_nor_person_goes_while_a_policy_is_about_them(alice: Any) -> None:
    group = Group.objects.create(name="Interns")
    Policy.objects.create(name="Interns ask", for_group=group)
    Policy.objects.create(name="Alice asks", for_person=alice)

    for row in (group, alice):
        with pytest.raises(ProtectedError):
            row.delete()
    group.name = "Trainees"
    group.save()
    assert Policy.objects.get(for_group__name="Trainees").name == "Interns ask"


@pytest.mark.spec("B4")
async def test_named_people_are_those_who_are_active(connect: Connect, alice: Any, bob: Any, charlie: Any) -> None:
    await make_policy(approver_kind="named", named=[bob, charlie], require_different_person=True)
    await deactivate(charlie)

    (policy,) = (await standing(connect, alice)).policies

    assert policy.approvers == Approvers(ApproverKind.NAMED, "", (bob.pk,), different_person=True)
    assert policy.somebody_can


@pytest.mark.spec("B4")
@pytest.mark.parametrize("kind", ["role", "group", "named", "administrator"])
async def test_whether_anybody_can_decide_by_a_policy_is_known(
    connect: Connect, alice: Any, bob: Any, charlie: Any, kind: str
) -> None:
    """First nobody, then only the run's own user, then somebody else; who is inactive does not count."""
    group = await sync_to_async(Group.objects.create)(name="Board")
    kinds: dict[str, dict[str, Any]] = {
        "role": {"approver_kind": "role", "approver_role": "reviewer"},
        "group": {"approver_kind": "group", "approver_group": group},
        "named": {"approver_kind": "named"},
        "administrator": {"approver_kind": "role", "approver_role": "administrator"},
    }
    await make_policy("anybody", position=1, **kinds[kind])
    await make_policy("another", position=2, require_different_person=True, **kinds[kind])

    @sync_to_async
    def let(user: Any) -> None:
        if kind == "named":
            for policy in Policy.objects.all():
                policy.approvers.add(user)
        elif kind == "administrator":
            user.is_staff = True
            user.save()
        else:
            user.groups.add(Group.objects.get_or_create(name={"role": "reviewer", "group": "Board"}[kind])[0])

    async def can() -> list[bool]:
        return [policy.somebody_can for policy in (await standing(connect, alice)).policies]

    await deactivate(bob)
    await let(bob)
    assert await can() == [False, False]
    await let(alice)
    assert await can() == [True, False]
    await let(charlie)
    assert await can() == [True, True]


@pytest.mark.spec("B4")
async def test_where_an_administrator_asks_it_takes_a_second_one_to_decide_in_the_place_of_others(
    connect: Connect, alice: Any, bob: Any
) -> None:
    """Bob is an administrator, and the policies name reviewers, of whom there are none."""
    reviewers = {"approver_kind": "role", "approver_role": "reviewer"}
    await make_policy("anybody", position=1, **reviewers)
    await make_policy("another", position=2, require_different_person=True, **reviewers)

    async def can(user: Any) -> list[bool]:
        return [policy.an_administrator_can for policy in (await standing(connect, user)).policies]

    assert await can(alice) == [True, True]
    assert await can(bob) == [True, False]
    alice.is_staff = True
    await sync_to_async(alice.save)()
    assert await can(bob) == [True, True]


@pytest.mark.spec("B4")
async def test_a_group_that_is_called_like_a_role_does_not_make_administrators(connect: Connect, alice: Any) -> None:
    await make_policy(approver_kind="role", approver_role="administrator")
    await join(alice, "administrator")

    assert not (await standing(connect, alice)).policies[0].somebody_can


@pytest.mark.spec("B7")
async def test_the_rules_that_stand_are_the_persons_own_for_the_tool_oldest_first(
    connect: Connect, alice: Any, charlie: Any
) -> None:
    soon = timezone.now() + timedelta(hours=1)
    run, conversation = uuid.uuid4(), uuid.uuid4()
    conditions = [{"path": "to", "op": "domain", "value": "corp.com"}]
    first = await make_rule(alice, conditions=conditions, until=soon, max_uses=5, uses=2, agent_name="mail")
    second = await make_rule(alice, effect="deny", scope="run", execution_id=run)
    third = await make_rule(alice, scope="conversation", conversation_id=conversation)
    await make_rule(charlie)
    await make_rule(alice, tool="send_email")
    await make_rule(alice, revoked_at=timezone.now())
    await make_rule(alice, until=timezone.now() - timedelta(seconds=1))
    await make_rule(alice, max_uses=2, uses=2)

    found = (await standing(connect, alice)).rules

    assert [rule.id for rule in found] == [first.id, second.id, third.id]
    assert found[0].conditions == (Condition("to", Op.DOMAIN, "corp.com"),)
    assert (found[0].until, found[0].uses_left, found[0].agent_name) == (soon, 3, "mail")
    assert (found[0].user_id, found[0].text) == (alice.pk, "As it was shown.")
    assert (found[1].effect, found[1].scope, found[1].execution_id) == (RuleEffect.DENY, RuleScope.RUN, run)
    assert (found[2].scope, found[2].conversation_id) == (RuleScope.CONVERSATION, conversation)
    assert (await standing(connect, None)).rules == ()


async def test_a_call_that_has_the_last_use_of_a_rule_finds_it_again_and_no_other_call_does(
    connect: Connect, alice: Any
) -> None:
    rule = await make_rule(alice, max_uses=1, uses=1)
    await RuleUse.objects.acreate(
        rule=rule, call_key="mine", execution_id=uuid.uuid4(), tool="write_note", arguments={}, arguments_hash="a"
    )

    mine, other = await standing(connect, alice, call_key="mine"), await standing(connect, alice, call_key="other")

    assert [found.uses_left for found in mine.rules] == [1]
    assert other.rules == ()


def test_a_policy_without_anybody_to_decide_is_refused_when_it_is_saved() -> None:
    def faults(**fields: Any) -> set[str]:
        try:
            Policy(name="P", **fields).clean()
        except ValidationError as error:
            return set(error.message_dict)
        return set()

    assert faults(approver_kind="role") == {"approver_role"}
    assert faults(approver_kind="group") == {"approver_group"}
    assert faults(approver_kind="self", require_different_person=True) == {"require_different_person"}
    assert faults(approver_kind="role", approver_role="reviewer", require_different_person=True) == set()
    assert faults() == set()
    assert faults(for_group_id=1, for_person_id=uuid.UUID(int=1)) == {"for_person"}
    assert faults(for_group_id=1) == faults(for_person_id=uuid.UUID(int=1)) == set()


def test_a_policy_that_names_people_names_one_who_is_there(alice: Any, bob: Any) -> None:
    bob.is_active = False

    assert named_fault("named", [])
    assert named_fault("named", [bob])
    assert not named_fault("named", [bob, alice])
    assert not named_fault("self", [])
