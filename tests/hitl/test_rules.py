"""Standing rules: shown in words, made with a decision, listed, taken back."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.models import Execution
from hitl import rules
from hitl.conditions import Condition
from hitl.kinds import Op, RequestStatus, RuleEffect, RuleScope
from hitl.models import Policy, Request, Rule
from hitl.remembering import preapproved_from, remember_from
from hitl.wording import Draft, words_of
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.refusals import Conflict, NotThere, Refused
from tests.faces.runs import make_request, make_run
from tests.hitl.standing import MAIL, NOW, question_of

RULES, PREVIEW, RESPOND = "/api/v1/hitl/rules", "/api/v1/hitl/rules/preview", "/api/v1/hitl/respond"
AT_CORP = {"path": "to", "op": "domain", "value": "corp.com"}
CONVERSATION = uuid.UUID(int=3)
UNFIT: dict[str, list[Any]] = {
    "domain": ["", "@", "*", "*.corp.com", "a@corp.com", "corp .com", "corp.com, x", ".com", 5, "a/b"],
    "equals": [None, [], {}, float("nan"), float("inf"), 10**400, "x" * 2001],
    "one_of": ["a", [], [None], [["a"]], ["a"] * 101],
    "starts_with": ["", 5, "https://corp.com", "https://x@corp.com/", "https:///a", "://a/"],
    "matches": ["", "*", "***", "https://*.corp.com/**", "http*://corp.com/", "https://corp.com**", "*" + "a" * 200],
    "at_most": ["5", None, True, float("nan"), float("inf")],
}


@pytest.fixture
def run(alice: Any) -> Execution:
    return make_run(alice, status="awaiting_user", conversation_id=CONVERSATION)


def ask(run: Execution, tool: str = "write_note", **call: Any) -> Request:
    """An approval that this run waits for."""
    question = question_of(tool, **call)
    shown = question["tool_calls"][0]
    return make_request(run, "approval", question=question, agent_name="mail", tool_names=[tool], stage="tool",
                        risk=shown["risk"], arguments_hash=shown["arguments_hash"])  # fmt: skip


def preview(user: Any, request: Request, decision: str = "approved", **remember: Any) -> rules.Proposed:
    given = remember_from({"scope": "rule", **remember}, now=timezone.now())
    return rules.preview(user, request.request_id, given=given, decision=RequestStatus(decision))


def make_rule(user: Any, **fields: Any) -> Rule:
    values = {"effect": "allow", "scope": "rule", "tool": "write_note", "text": "As it was shown."}
    return Rule.objects.create(user=user, **(values | fields))


# --- in words


@pytest.mark.spec("B7")
def test_a_rule_says_what_it_covers_how_far_it_reaches_and_what_may_be_anything() -> None:
    draft = Draft(
        effect=RuleEffect.ALLOW,
        scope=RuleScope.RULE,
        tool="send_email",
        agent_name="mail",
        arguments={"to": ["a@corp.com"], "subject": "", "body": ""},
        conditions=(Condition("to", Op.DOMAIN, "corp.com"),),
        until=datetime(2026, 12, 1, tzinfo=UTC),
        uses=20,
    )

    assert words_of(draft) == (
        "Always allow “Send a mail” by the mail agent to addresses at corp.com only, in every run of yours, until "
        "1 Dec 2026, 00:00 UTC, at most 20 times. Its subject and body may be anything."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "Always allow “Pay” by the mail agent, in this run. Its to and sum may be anything."),
        ({"arguments": {}}, "Always allow “Pay” by the mail agent, in this run."),
        ({"scope": RuleScope.CONVERSATION, "uses": 1, "agent_name": ""},
         "Always allow “Pay” by any agent, in this conversation, once. Its to and sum may be anything."),
        ({"effect": RuleEffect.DENY, "scope": RuleScope.CONVERSATION, "agent_name": "", "arguments": {}},
         "Always deny “Pay” by any agent, in this conversation."),
        ({"effect": RuleEffect.DENY}, "Always deny “Pay” by the mail agent, in this run. Whatever its to and sum are."),
        ({"effect": RuleEffect.DENY, "conditions": (Condition("to.name", Op.EQUALS, "Bob"),)},
         "Always deny “Pay” by the mail agent if any to.name is “Bob”, in this run. Whatever its sum and the rest of to"
         " are."),
        ({"conditions": (Condition("to", Op.ONE_OF, ["a", 1, True]), Condition("sum", Op.AT_MOST, 9.5))},
         "Always allow “Pay” by the mail agent with to only “a”, 1 or true and with sum at most 9.5, in this run."),
        ({"conditions": (Condition("to", Op.STARTS_WITH, "a\u202eb\nc"),), "arguments": {"to": ""}},
         "Always allow “Pay” by the mail agent with to beginning with “a\\u202eb\\u000ac”, in this run."),
        ({"conditions": (Condition("to", Op.MATCHES, "/a/*"), Condition("cc", Op.DOMAIN, "b.org")), "exception": "X."},
         "Always allow “Pay” by the mail agent with to like “/a/*” (* is anything without a slash, ** anything, ? one"
         " character) and with cc at b.org only, in this run. Its sum may be anything. X."),
    ],
)  # fmt: skip
def test_nothing_of_a_rule_is_left_out_of_its_words(changes: dict[str, Any], words: str) -> None:
    values: dict[str, Any] = {
        "effect": RuleEffect.ALLOW,
        "scope": RuleScope.RUN,
        "tool": "pay",
        "agent_name": "mail",
        "arguments": {"to": "", "sum": 1},
    }

    assert words_of(Draft(**(values | changes))) == words


# --- what people send


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ("always", "remember"),
        ({}, "remember.scope"),
        ({"scope": "ever"}, "remember.scope"),
        ({"scope": ["run"]}, "remember.scope"),
        ({"scope": "run", "tool": "send_email"}, "remember.tool"),
        ({"scope": "run", "until": "tomorrow"}, "remember.until"),
        ({"scope": "run", "until": "2026-12-01T00:00:00"}, "remember.until"),
        ({"scope": "run", "until": "2026-11-22T11:59:59Z"}, "remember.until"),
        ({"scope": "run", "until": "2099-01-01T00:00:00Z"}, "remember.until"),
        ({"scope": "run", "until": "9999-12-31T23:59:59-14:00"}, "remember.until"),
        ({"scope": "run", "until": 5}, "remember.until"),
        ({"scope": "run", "uses": 0}, "remember.uses"),
        ({"scope": "run", "uses": 2.5}, "remember.uses"),
        ({"scope": "run", "uses": True}, "remember.uses"),
        ({"scope": "run", "uses": 10**9}, "remember.uses"),
        ({"scope": "run", "text": 5}, "remember.text"),
        ({"scope": "run", "conditions": {}}, "remember.conditions"),
        ({"scope": "run", "conditions": [AT_CORP] * 11}, "remember.conditions"),
        ({"scope": "run", "conditions": ["to"]}, "remember.conditions.0"),
        ({"scope": "run", "conditions": [AT_CORP, {**AT_CORP, "not": 1}]}, "remember.conditions.1"),
        ({"scope": "run", "conditions": [{**AT_CORP, "path": ""}]}, "remember.conditions.0.path"),
        ({"scope": "run", "conditions": [{**AT_CORP, "path": "a..b"}]}, "remember.conditions.0.path"),
        ({"scope": "run", "conditions": [{**AT_CORP, "op": "regex"}]}, "remember.conditions.0.op"),
        *(
            ({"scope": "run", "conditions": [{"path": "to", "op": op, "value": value}]}, "remember.conditions.0.value")
            for op, values in UNFIT.items()
            for value in values
        ),
    ],
)  # fmt: skip
def test_what_describes_no_rule_is_refused_where_it_is_wrong(given: Any, field: str) -> None:
    with pytest.raises(Refused) as refused:
        remember_from(given, now=NOW)

    assert set(refused.value.fields) == {field}
    assert all(len(messages[0]) > 15 for messages in refused.value.fields.values())


def test_every_fault_is_named_at_once() -> None:
    given = {"scope": "x", "uses": 0, "until": "x", "conditions": [{**AT_CORP, "value": 1}, 5], "why": ""}

    with pytest.raises(Refused) as refused:
        remember_from(given, now=NOW)

    assert set(refused.value.fields) == {
        "remember.scope",
        "remember.uses",
        "remember.until",
        "remember.conditions.0.value",
        "remember.conditions.1",
        "remember.why",
    }


def test_what_describes_a_rule_is_brought_into_one_form() -> None:
    given = {
        "scope": "run",
        "until": "2026-12-01T01:00:00+01:00",
        "uses": 3,
        "text": "a\x00",
        "conditions": [
            {"path": "to", "op": "domain", "value": " @Corp.COM. "},
            {"path": "url", "op": "starts_with", "value": "https://corp.com/a"},
            {"path": "url", "op": "matches", "value": "https://corp.com/*"},
            {"path": "n", "op": "at_most", "value": 5},
        ],
    }

    found = remember_from(given, now=NOW)

    assert (found.scope, found.until, found.uses, found.words) == (
        RuleScope.RUN,
        datetime(2026, 12, 1, tzinfo=UTC),
        3,
        "a\ufffd",
    )
    assert [(one.op, one.value) for one in found.conditions] == [
        (Op.DOMAIN, "corp.com"),
        (Op.STARTS_WITH, "https://corp.com/a"),
        (Op.MATCHES, "https://corp.com/*"),
        (Op.AT_MOST, 5),
    ]


@pytest.mark.spec("B8")
def test_what_is_approved_beforehand_says_towards_whom_or_what() -> None:
    (found,) = preapproved_from([{"tool": "send_email", "conditions": [AT_CORP]}])
    with pytest.raises(Refused) as refused:
        preapproved_from([{"tool": "send_email"}, {"conditions": [AT_CORP]}, {"tool": "a", "conditions": [{}]}, 5])

    assert (found.tool, found.conditions) == ("send_email", (Condition("to", Op.DOMAIN, "corp.com"),))
    assert set(refused.value.fields) == {
        "preapproved.0.conditions",
        "preapproved.1.tool",
        "preapproved.2.conditions.0",
        "preapproved.3.tool",
    }


# --- preview and save


@pytest.mark.spec("B7", "S113")
def test_the_rule_that_is_saved_reads_as_it_was_shown(run: Execution, alice: Any, api_of: Callable[..., Any]) -> None:
    asked, api = ask(run), api_of(alice)
    until = timezone.now() + timedelta(days=3)
    remember = {"scope": "rule", "conditions": [AT_CORP], "until": until.isoformat(), "uses": 20}
    said = {"request_id": str(asked.request_id), "decision": "approved"}

    shown = api.post(PREVIEW, {**said, "remember": remember})
    nothing_yet = Rule.objects.count()
    decided = api.post(RESPOND, {**said, "remember": {**remember, "text": shown.json()["text"]}})

    assert (shown.status_code, decided.status_code, nothing_yet) == (200, 200, 0)
    rule = Rule.objects.get()
    assert rule.text == shown.json()["text"]
    assert "to addresses at corp.com only, in every run of yours" in rule.text
    assert rule.text.endswith("Its subject, body, cc and bcc may be anything.")
    assert (rule.user, rule.effect, rule.scope, rule.tool, rule.agent_name) == (
        alice,
        "allow",
        "rule",
        "write_note",
        "mail",
    )
    assert (rule.conditions, rule.max_uses, rule.uses, rule.until) == ([AT_CORP], 20, 0, until)
    assert (rule.made_from, rule.execution_id, rule.conversation_id) == (asked.request_id, None, None)
    listed = api.get(RULES).json()["results"]
    assert {**shown.json()["rule"], "id": str(rule.id), "created_at": listed[0]["created_at"]} == listed[0]


@pytest.mark.spec("B7")
@pytest.mark.parametrize("decision", ["approved", "denied"])
def test_a_decision_is_remembered_for_the_run_or_the_conversation(run: Execution, alice: Any, decision: str) -> None:
    asked = ask(run)
    effect = RuleEffect.ALLOW if decision == "approved" else RuleEffect.DENY

    of_run = preview(alice, asked, decision, scope="run").rule
    of_conversation = preview(alice, asked, decision, scope="conversation").rule

    assert (of_run.effect, of_run.execution_id, of_run.conversation_id) == (effect, run.id, None)
    assert (of_conversation.execution_id, of_conversation.conversation_id) == (None, CONVERSATION)
    assert (of_run.agent_name, of_conversation.agent_name) == ("mail", "")
    assert "by any agent, in this conversation" in of_conversation.text


@pytest.mark.spec("B7", "S113")
def test_what_cannot_be_undone_gets_no_rule_until_a_policy_allows_it_and_then_the_rule_says_so(
    run: Execution, alice: Any
) -> None:
    asked = ask(run, "send_email", irreversible=True, risk="high")

    with pytest.raises(Refused, match=r"cannot be undone.*an administrator can allow rules") as refused:
        preview(alice, asked, conditions=[AT_CORP])
    denying = preview(alice, asked, "denied", conditions=[AT_CORP])
    Policy.objects.create(name="Mails", tool="send_email", allow_rules=True)
    allowing = preview(alice, asked, conditions=[AT_CORP])

    assert (refused.value.code, set(refused.value.fields)) == ("rules_not_allowed", {"remember"})
    assert denying.text.startswith("Always deny “Send a mail” by the mail agent if any to is at corp.com")
    assert allowing.text.endswith("It cannot be undone; the policy “Mails” lets rules allow it all the same.")


def test_a_question_that_does_not_say_whether_it_can_be_undone_counts_as_one_that_cannot(
    run: Execution, alice: Any
) -> None:
    asked = ask(run, irreversible=None)

    with pytest.raises(Refused, match="cannot be undone"):
        preview(alice, asked)


@pytest.mark.spec("B4", "B7")
def test_what_others_decide_is_not_waved_through_by_a_rule_of_ones_own(run: Execution, alice: Any) -> None:
    asked = ask(run)
    Policy.objects.create(name="Reviewed", approver_kind="role", approver_role="reviewer")

    with pytest.raises(Refused, match="“Reviewed” says who approves write_note"):
        preview(alice, asked)


@pytest.mark.spec("B4", "B7")
def test_who_decides_for_somebody_else_makes_no_rule_of_it(
    run: Execution, alice: Any, bob: Any, api_of: Callable[..., Any]
) -> None:
    asked = ask(run)
    Request.objects.update(approver_kind="named", approver_ids=[bob.pk])
    said = {"request_id": str(asked.request_id), "decision": "approved", "remember": {"scope": "rule"}}

    answers = [api_of(bob).post(PREVIEW, said), api_of(bob).post(RESPOND, said), api_of(alice).post(PREVIEW, said)]

    assert [answer.status_code for answer in answers] == [400, 400, 403]
    assert answers[2].json()["error"]["code"] == "not_yours_to_decide"
    asked.refresh_from_db()
    assert (asked.status, Rule.objects.count()) == ("pending", 0)


@pytest.mark.spec("B7")
def test_a_rule_that_would_read_otherwise_than_it_was_shown_is_not_saved_and_nothing_is_decided(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    asked = ask(run, "send_email", irreversible=True)
    policy = Policy.objects.create(name="Mails", allow_rules=True)
    shown = preview(alice, asked)
    policy.name = "Letters"
    policy.save()

    answer = api_of(alice).post(
        RESPOND,
        {
            "request_id": str(asked.request_id),
            "decision": "approved",
            "remember": {"scope": "rule", "text": shown.text},
        },
    )

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "rule_changed")
    assert "“Letters”" in error["text"]
    asked.refresh_from_db()
    assert (asked.status, Rule.objects.count()) == ("pending", 0)


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"conditions": [{**AT_CORP, "value": "example.org"}]}, "remember.conditions.0", "does not fit"),
        ({"conditions": [{**AT_CORP, "path": "from"}]}, "remember.conditions.0.path", "to, subject, body, cc, bcc"),
        ({"decision": "denied", "uses": 3}, "remember.uses", "not counted"),
        ({"decision": "answered"}, "decision", "approved, denied"),
        ({"uses": 0}, "remember.uses", "whole number"),
    ],
)
def test_a_rule_that_would_not_decide_this_very_call_is_refused(
    run: Execution, alice: Any, api_of: Callable[..., Any], given: dict[str, Any], field: str, words: str
) -> None:
    decision = given.pop("decision", "approved")
    said = {
        "request_id": str(ask(run).request_id),
        "decision": decision,
        "remember": {"scope": "rule", **given},
    }

    answer = api_of(alice).post(PREVIEW, said)

    assert answer.status_code == 400
    assert words in answer.json()["error"]["fields"][field][0]


def test_a_rule_is_held_against_the_arguments_as_they_were_edited(
    run: Execution, alice: Any, api_of: Callable[..., Any]
) -> None:
    asked, api = ask(run), api_of(alice)
    remember = {"scope": "rule", "conditions": [{**AT_CORP, "value": "example.org"}]}
    said = {
        "request_id": str(asked.request_id),
        "decision": "approved",
        "remember": remember,
        "edited_arguments": {**MAIL, "to": ["x@example.org"]},
    }

    shown, decided = api.post(PREVIEW, said), api.post(RESPOND, said)

    assert (shown.status_code, decided.status_code) == (200, 200), decided.content
    assert Rule.objects.get().text == shown.json()["text"]


def test_only_the_calls_of_one_tool_can_be_ruled_about(run: Execution, alice: Any) -> None:
    before_an_agent = make_request(run, "approval", question={"question": "May it begin?", "tool_calls": []})
    without_conversation = ask(make_run(alice))

    with pytest.raises(Refused, match="about the calls of one tool"):
        preview(alice, before_an_agent)
    with pytest.raises(Refused, match="belongs to no conversation"):
        preview(alice, without_conversation, scope="conversation")


def test_a_request_that_is_decided_makes_no_rule_any_more(run: Execution, alice: Any) -> None:
    asked = ask(run)
    Request.objects.update(status="denied")

    with pytest.raises(Conflict, match="denied already"):
        preview(alice, asked)


def test_nobody_heaps_up_rules_without_end(run: Execution, alice: Any) -> None:
    asked = ask(run)
    Rule.objects.bulk_create(
        Rule(user=alice, effect="allow", scope="rule", tool="t", text="") for _ in range(rules.MAX_STANDING)
    )

    with pytest.raises(Refused, match="Revoke some"):
        preview(alice, asked)


# --- the list, and taking back


@pytest.mark.spec("B7")
def test_a_rule_is_taken_back_once_and_for_all_and_stays_in_the_list(alice: Any, api_of: Callable[..., Any]) -> None:
    rule, api = make_rule(alice), api_of(alice)

    first, again = api.delete(f"{RULES}/{rule.id}"), api.delete(f"{RULES}/{rule.id}")

    assert (first.status_code, first.json()["state"]) == (200, "revoked")
    assert first.json() == again.json()
    assert (first.json()["revoked_by"], first.json()["revoked_by_name"]) == (str(alice.pk), alice.email)
    assert [one["state"] for one in api.get(RULES).json()["results"]] == ["revoked"]


@pytest.mark.spec("B4", "B7")
def test_charlie_sees_no_rule_of_alices_and_takes_none_back(
    run: Execution, alice: Any, charlie: Any, api_of: Callable[..., Any]
) -> None:
    rule, asked, api = make_rule(alice), ask(run), api_of(charlie)
    said = {"decision": "approved", "remember": {"scope": "rule"}}

    assert api.get(RULES).json()["results"] == []
    foreign, missing = (api.delete(f"{RULES}/{id_}") for id_ in (rule.id, uuid.uuid4()))
    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    foreign, missing = (api.post(PREVIEW, {**said, "request_id": str(id_)}) for id_ in (asked.request_id, uuid.uuid4()))
    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    with pytest.raises(NotThere):
        rules.revoke_as_administrator(charlie, rule.id)
    rule.refresh_from_db()
    assert rule.revoked_at is None


@pytest.mark.spec("B7")
def test_an_administrator_takes_back_anybodys_rule_with_a_token_for_that(
    alice: Any, bob: Any, api_of: Callable[..., Any]
) -> None:
    rule = make_rule(alice)

    without = api_of(bob).delete(f"{RULES}/{rule.id}")
    with_it = api_of(bob, scopes=[Scope.APPROVE, Scope.ADMIN]).delete(f"{RULES}/{rule.id}")

    assert (without.status_code, with_it.status_code) == (404, 200)
    assert with_it.json()["revoked_by_name"] == bob.email
    assert api_of(bob).get(RULES).json()["results"] == []


def test_the_list_says_what_became_of_each_and_shows_those_that_stand(alice: Any, api_of: Callable[..., Any]) -> None:
    past = timezone.now() - timedelta(seconds=1)
    make_rule(alice, until=past)
    make_rule(alice, max_uses=2, uses=2)
    make_rule(alice, revoked_at=past)
    make_rule(alice, tool="send_email", effect="deny")
    make_rule(alice, max_uses=2, uses=1, until=past + timedelta(days=1))
    api = api_of(alice)

    def states(query: str = "") -> list[str]:
        return [one["state"] for one in api.get(f"{RULES}{query}").json()["results"]]

    assert states() == ["standing", "standing", "revoked", "used_up", "over"]
    assert states("?standing=true") == ["standing", "standing"]
    assert states("?standing=false") == ["revoked", "used_up", "over"]
    assert states("?effect=deny&tool=send_email") == ["standing"]


def test_the_list_costs_the_same_number_of_queries_however_long_it_is(
    alice: Any, bob: Any, api_of: Callable[..., Any]
) -> None:
    api = api_of(alice)

    def queries() -> int:
        with CaptureQueriesContext(connection) as caught:
            assert api.get(RULES).status_code == 200
        return len(caught)

    make_rule(alice)
    queries()
    few = queries()
    for _ in range(20):
        make_rule(alice, revoked_at=timezone.now(), revoked_by=bob)

    assert queries() == few == 2


def test_each_needs_its_scope(run: Execution, alice: Any, api_of: Callable[..., Any]) -> None:
    rule, asked = make_rule(alice), ask(run)
    said = {"request_id": str(asked.request_id), "decision": "approved", "remember": {"scope": "rule"}}
    reads, runs = api_of(alice, scopes=[Scope.READ]), api_of(alice, scopes=[Scope.RUN])

    assert runs.get(RULES).status_code == 403
    assert reads.get(RULES).status_code == 200
    assert reads.post(PREVIEW, said).status_code == reads.delete(f"{RULES}/{rule.id}").status_code == 403


@pytest.mark.parametrize("page", [1, 2])
def test_the_page_never_says_that_you_are_asked_always_while_a_rule_stands(
    alice: Any, client_of: Callable[[Any], Client], page: int
) -> None:
    make_rule(alice, text="To anyone at example.org.")
    for number in range(50):
        make_rule(alice, text=f"Twice, {number}.", max_uses=2, uses=2)

    shown = client_of(alice).get(f"/rules/?page={page}").content.decode()

    assert ("Rules that stand" in shown, "To anyone at example.org." in shown) == (page == 1,) * 2
    assert "You are asked each time" not in shown


def test_where_no_rule_stands_any_more_the_page_says_that_you_are_asked(
    alice: Any, client_of: Callable[[Any], Client]
) -> None:
    browser = client_of(alice)
    at_first = browser.get("/rules/").content.decode()
    make_rule(alice, max_uses=2, uses=2)
    later = browser.get("/rules/").content.decode()

    assert ("No rules yet" in at_first, "No rules yet" in later) == (True, False)
    assert "No rule stands" in later
    assert "You are asked each time" in at_first
    assert "You are asked each time" in later
