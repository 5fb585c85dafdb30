"""The pure verdict: what becomes of a call by policies, rules and what was approved beforehand."""

import random
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.conditions import Condition, Preapproved
from hitl.kinds import ApproverKind, Op, PolicyAction, Risk, RuleEffect, RuleScope
from hitl.policy import ONLY_ONE, Approvers, Call, PolicyFacts, RuleFacts, Standing, Verdict, verdict
from tests.hitl.standing import ALICE_ID, AT_CORP, CONVERSATION, NOW, RUN, a_call, a_rule, unhurried

REVIEWERS = Approvers(ApproverKind.ROLE, "reviewer")
ELSEWHERE = Condition("to", Op.DOMAIN, "example.org")

ids = st.sampled_from([ALICE_ID, uuid.UUID(int=9)])
approvers = st.builds(
    Approvers,
    kind=st.sampled_from(ApproverKind),
    name=st.just("reviewer"),
    user_ids=st.lists(ids, max_size=2).map(tuple),
    different_person=st.booleans(),
)
policies = st.builds(
    PolicyFacts,
    name=st.text(max_size=5),
    tool=st.sampled_from(["", "write_note", "send_email"]),
    risk=st.sampled_from(["", *Risk]),
    agent_name=st.sampled_from(["", "mail", "chat"]),
    action=st.sampled_from(PolicyAction),
    approvers=approvers,
    allow_rules=st.booleans(),
    somebody_can=st.booleans(),
)
rules = st.builds(
    RuleFacts,
    id=st.uuids(),
    user_id=ids,
    effect=st.sampled_from(RuleEffect),
    scope=st.sampled_from(RuleScope),
    tool=st.sampled_from(["write_note", "send_email"]),
    agent_name=st.sampled_from(["", "mail", "chat"]),
    execution_id=st.sampled_from([None, RUN, uuid.UUID(int=8)]),
    conversation_id=st.sampled_from([None, CONVERSATION, uuid.UUID(int=7)]),
    conditions=st.lists(st.sampled_from([AT_CORP, ELSEWHERE]), max_size=2).map(tuple),
    text=st.text(max_size=5),
    until=st.sampled_from([None, NOW - timedelta(seconds=1), NOW, NOW + timedelta(seconds=1)]),
    uses_left=st.sampled_from([None, 0, 1, 5]),
)
preapproved = st.builds(
    Preapproved,
    tool=st.sampled_from(["write_note", "send_email"]),
    conditions=st.lists(st.sampled_from([AT_CORP, ELSEWHERE]), max_size=2).map(tuple),
)
standings = st.builds(
    Standing,
    now=st.just(NOW),
    policies=st.lists(policies, max_size=3).map(tuple),
    rules=st.lists(rules, max_size=5).map(tuple),
    preapproved=st.lists(preapproved, max_size=2).map(tuple),
)
calls = st.builds(
    a_call,
    tool=st.sampled_from(["write_note", "send_email"]),
    risk=st.sampled_from(Risk),
    irreversible=st.booleans(),
    requires_approval=st.booleans(),
    agent_name=st.sampled_from(["mail", "chat"]),
    user_id=ids | st.none(),
    conversation_id=st.sampled_from([None, CONVERSATION]),
)


def given_(*policies_: PolicyFacts, rules: Any = (), preapproved: Any = ()) -> Standing:
    return Standing(NOW, tuple(policies_), tuple(rules), tuple(preapproved))


@pytest.mark.slow
@pytest.mark.spec("B7")
@unhurried
@given(calls, standings, st.integers(min_value=0, max_value=5), st.randoms())
def test_deny_wins_whatever_the_order(call: Call, standing: Standing, place: int, chance: random.Random) -> None:
    denying = a_rule(RuleEffect.DENY, tool=call.tool, user_id=ALICE_ID, conditions=(AT_CORP,))
    call = replace(call, user_id=ALICE_ID)
    mixed = [*standing.rules[:place], denying, *standing.rules[place:]]
    chance.shuffle(mixed)

    found = verdict(call, replace(standing, rules=tuple(mixed)))

    assert found.kind == "deny"


@pytest.mark.slow
@pytest.mark.spec("B7")
@unhurried
@given(calls, standings)
def test_what_cannot_be_undone_is_allowed_by_no_rule_unless_the_administrators_policy_says_so(
    call: Call, standing: Standing
) -> None:
    call = replace(call, irreversible=True, requires_approval=True)

    found = verdict(call, standing)

    policy = next((one for one in standing.policies if one.fits(call)), None)
    if found.kind == "allow":
        assert policy is not None
        assert policy.action is PolicyAction.ALLOW or policy.allow_rules
    if policy is None or not policy.allow_rules:
        assert not found.rules_allowed


@pytest.mark.spec("B4")
@unhurried
@given(calls, standings)
def test_nobody_waves_through_what_is_for_others_to_decide(call: Call, standing: Standing) -> None:
    policy = next((one for one in standing.policies if one.fits(call)), PolicyFacts(""))
    others = policy.approvers.kind is not ApproverKind.SELF or policy.approvers.different_person

    found = verdict(call, standing)

    asked = call.requires_approval or policy.action is PolicyAction.ASK
    if others and asked and not policy.allow_rules and policy.action is not PolicyAction.ALLOW:
        assert found.kind in ("ask", "deny")


@pytest.mark.slow
@unhurried
@given(calls, standings)
def test_a_rule_decides_only_for_its_owner_in_its_reach_in_its_time_and_where_it_fits(
    call: Call, standing: Standing
) -> None:
    found = verdict(call, standing)

    if found.rule_id is None:
        return
    rule = next(one for one in standing.rules if one.id == found.rule_id)
    assert (rule.user_id, rule.tool) == (call.user_id, call.tool)
    assert rule.agent_name in ("", call.agent_name)
    assert rule.scope is not RuleScope.RUN or rule.execution_id == call.execution_id
    assert rule.scope is not RuleScope.CONVERSATION or rule.conversation_id == call.conversation_id == CONVERSATION
    assert rule.until is None or rule.until > NOW
    assert rule.uses_left != 0
    assert ELSEWHERE not in rule.conditions
    assert found.kind == rule.effect


@unhurried
@given(calls, standings)
def test_a_verdict_that_was_recorded_reads_as_it_was(call: Call, standing: Standing) -> None:
    found = verdict(call, standing)

    assert Verdict.from_json(orjson.loads(orjson.dumps(found.as_json()))) == found
    assert found.why


@pytest.mark.spec("B4")
def test_without_any_policy_the_runs_own_user_is_asked_about_what_the_tool_marks() -> None:
    asked, free = verdict(a_call(), given_()), verdict(a_call(requires_approval=False), given_())

    assert (asked.kind, asked.approvers, asked.rules_allowed) == ("ask", Approvers(), True)
    assert asked.approvers.as_json() == {"kind": "self", "name": "", "user_ids": [], "different_person": False}
    assert (free.kind, free.rule_id, free.policy) == ("allow", None, "")


@pytest.mark.spec("S114")
def test_the_tools_own_mark_decides_where_no_policy_says_otherwise() -> None:
    by_the_tool = PolicyFacts("P", approvers=REVIEWERS)

    assert verdict(a_call(requires_approval=False), given_(by_the_tool)).kind == "allow"
    assert verdict(a_call(requires_approval=True), given_(by_the_tool)).approvers == REVIEWERS


@pytest.mark.parametrize(
    ("action", "marked", "unmarked"),
    [("default", "ask", "allow"), ("ask", "ask", "ask"), ("allow", "allow", "allow"), ("deny", "deny", "deny")],
)
def test_a_policy_overrides_the_tools_mark(action: str, marked: str, unmarked: str) -> None:
    policy = PolicyFacts("P", action=PolicyAction(action))

    assert verdict(a_call(requires_approval=True), given_(policy)).kind == marked
    assert verdict(a_call(requires_approval=False), given_(policy)).kind == unmarked


def test_the_first_policy_that_fits_counts_and_no_other() -> None:
    mails = PolicyFacts("mails", tool="send_email", action=PolicyAction.DENY)
    risky = PolicyFacts("risky", risk="high", action=PolicyAction.ASK, approvers=REVIEWERS)
    mail_agent = PolicyFacts("mail agent", agent_name="mail", action=PolicyAction.ALLOW)
    all_of_it = PolicyFacts("all", action=PolicyAction.DENY)
    standing = given_(mails, risky, mail_agent, all_of_it)

    found = [
        verdict(call, standing)
        for call in (
            a_call(tool="send_email"),
            a_call(risk=Risk.HIGH),
            a_call(risk=Risk.LOW),
            a_call(agent_name="chat"),
        )
    ]

    assert [(one.kind, one.policy) for one in found] == [
        ("deny", "mails"),
        ("ask", "risky"),
        ("allow", "mail agent"),
        ("deny", "all"),
    ]


def test_a_policy_that_denies_wins_over_every_rule_and_a_rule_that_denies_over_a_policy_that_allows() -> None:
    forbidden = given_(PolicyFacts("P", action=PolicyAction.DENY, allow_rules=True), rules=[a_rule()])
    denied = given_(PolicyFacts("P", action=PolicyAction.ALLOW), rules=[a_rule(RuleEffect.DENY)])

    assert verdict(a_call(), forbidden).kind == "deny"
    assert verdict(a_call(), denied).kind == "deny"
    assert verdict(a_call(requires_approval=False), denied).kind == "deny"


def test_a_rule_that_allows_what_the_policy_asks_about_spares_the_question() -> None:
    rule = a_rule(conditions=(AT_CORP,))
    standing = given_(PolicyFacts("P", action=PolicyAction.ASK), rules=[rule])

    fits, other = a_call(requires_approval=False), a_call(arguments={"to": ["x@example.org"]})

    assert (verdict(fits, standing).kind, verdict(fits, standing).rule_id) == ("allow", rule.id)
    assert verdict(other, standing).kind == "ask"


@pytest.mark.spec("B7")
def test_an_administrators_policy_lets_rules_cover_what_cannot_be_undone() -> None:
    call, rule = a_call(irreversible=True), a_rule()

    without = verdict(call, given_(rules=[rule]))
    with_it = verdict(call, given_(PolicyFacts("Mails", allow_rules=True), rules=[rule]))

    assert (without.kind, without.rules_allowed) == ("ask", False)
    assert (with_it.kind, with_it.rule_id) == ("allow", rule.id)


@pytest.mark.spec("B8")
def test_what_was_approved_beforehand_is_held_to_what_rules_are_held_to() -> None:
    beforehand = [Preapproved("write_note", (AT_CORP,))]

    def kind(call: Call, *policies_: PolicyFacts) -> str:
        return verdict(call, given_(*policies_, preapproved=beforehand)).kind

    assert kind(a_call()) == "allow"
    assert kind(a_call(arguments={"to": ["x@evil.com"]})) == "ask"
    assert kind(a_call(tool="other")) == "ask"
    assert kind(a_call(irreversible=True)) == "ask"
    assert kind(a_call(irreversible=True), PolicyFacts("P", allow_rules=True)) == "allow"
    assert kind(a_call(), PolicyFacts("P", approvers=REVIEWERS)) == "ask"
    assert kind(a_call(), PolicyFacts("P", action=PolicyAction.DENY)) == "deny"


def test_a_rule_with_a_number_of_uses_is_kept_for_where_no_other_fits() -> None:
    few, beforehand = a_rule(uses_left=2), Preapproved("write_note")
    always = a_rule()

    assert verdict(a_call(), given_(rules=[few])).rule_id == few.id
    assert verdict(a_call(), given_(rules=[few, always])).rule_id == always.id
    assert verdict(a_call(), given_(rules=[few], preapproved=[beforehand])).rule_id is None


@pytest.mark.spec("B4")
def test_where_nobody_can_decide_by_the_policy_administrators_are_asked_and_it_is_said() -> None:
    nobody = PolicyFacts("Two keys", approvers=replace(REVIEWERS, different_person=True), somebody_can=False)

    found = verdict(a_call(), given_(nobody))

    assert found.approvers == Approvers(ApproverKind.ROLE, "administrator", different_person=True)
    assert "Two keys" in found.why
    assert "administrators can" in found.why


@pytest.mark.spec("B4")
def test_where_not_even_an_administrator_can_decide_it_is_said_at_once() -> None:
    nobody = PolicyFacts("Two keys", approvers=REVIEWERS, somebody_can=False, an_administrator_can=False)

    found = verdict(a_call(), given_(nobody))

    assert found.kind == "ask"
    assert ONLY_ONE in found.why
    assert "administrators can" not in found.why


def test_a_gate_before_an_agent_begins_falls_under_the_policies_for_every_tool() -> None:
    gate = a_call(tool="", arguments={}, agent_name="mail")
    standing = given_(
        PolicyFacts("mails", tool="send_email", action=PolicyAction.DENY),
        PolicyFacts("mail agent", agent_name="mail", approvers=REVIEWERS),
        rules=[a_rule()],
    )

    found = verdict(gate, standing)

    assert (found.kind, found.approvers, found.why) == ("ask", REVIEWERS, "mail needs a person's approval.")
