"""Reviewers decide and audit in the admin: what each role sees, deciding one and many, exports, switches, policies."""

import csv
import io
import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, Permission
from django.test import Client

from hitl.admin import decisions
from hitl.models import Decision, Policy, Request, RequestStatus, Rule, Switch
from tests.hitl.asking import MAIL, ROLE, ask, mail_question

QUEUE = "/admin/hitl/request/"
AUDIT = "/admin/hitl/decision/"
ClientOf = Callable[[Any], Client]


def form_of(request: Request) -> str:
    return f"{QUEUE}{request.pk}/change/"


def content(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode() if answer.streaming else answer.content.decode()


@pytest.fixture
def reviewer(charlie: Any) -> Any:
    """Somebody who holds the role of a reviewer and is no administrator."""
    charlie.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    return charlie


@pytest.fixture
def auditor(db: None, django_user_model: Any) -> Any:
    someone = django_user_model.objects.create_user("auditor@example.org")
    someone.groups.add(Group.objects.get_or_create(name="auditor")[0])
    return someone


@pytest.mark.spec("B3", "B4")
def test_the_queue_shows_a_reviewer_what_a_policy_gives_them_and_nothing_else(
    alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    theirs, hers = ask(alice, approvers=ROLE), ask(alice)

    listed = content(client_of(reviewer).get(QUEUE, follow=True))

    assert str(theirs.pk) in listed
    assert str(hers.pk) not in listed
    assert client_of(reviewer).get(form_of(hers)).status_code == 302
    for other in (AUDIT, "/admin/hitl/policy/", "/admin/hitl/switch/", "/admin/hitl/rule/", "/admin/agents/execution/"):
        assert client_of(reviewer).get(other).status_code == 403, other


@pytest.mark.spec("B4")
def test_who_has_no_role_sees_no_queue(alice: Any, charlie: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE)

    assert client_of(charlie).get(QUEUE).status_code == 302
    assert client_of(charlie).get(form_of(request)).status_code == 302
    client_of(charlie).post(form_of(request), {"decision": "approved"})
    request.refresh_from_db()
    assert request.status == RequestStatus.PENDING


@pytest.mark.spec("B3", "B12")
def test_choices_are_called_in_the_form_as_on_the_card_and_a_limit_is_asked_for_by_name(
    alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    labels = {"raise": "Raise the limit to 20,000 tokens", "finish": "Finish with what there is"}
    asked = {"question": "What shall be done?", "options": ["raise", "finish"], "labels": labels}
    request = ask(
        alice, "budget", question={**asked, "unit": "tokens", "used": 10_412, "suggested": 20_000}, approvers=ROLE
    )
    shared = ask(alice, "budget", question=asked, approvers=ROLE)
    client = client_of(reviewer)

    shown = content(client.get(form_of(request)))
    client.post(form_of(request), {"decision": "answered", "choice": "raise", "text": "30000"})

    assert '<option value="finish">Finish with what there is</option>' in shown
    assert "New limit" in shown
    request.refresh_from_db()
    assert request.answer == {"choice": "raise", "text": "30000", "unit": "tokens"}
    assert 'name="text"' not in content(client.get(form_of(shared)))


@pytest.mark.spec("S119", "B3", "B5")
def test_a_reviewer_approves_exactly_what_the_form_shows(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE)
    client = client_of(reviewer)

    shown = content(client.get(form_of(request)))
    answer = client.post(
        form_of(request),
        {
            "decision": "approved",
            "arguments_hash": request.arguments_hash,
            "edited_arguments": json.dumps(MAIL),
            "instructions": "",
        },
    )

    assert all(words in shown for words in ("bob@corp.com", "Hello", request.arguments_hash))
    assert answer.status_code == 302
    request.refresh_from_db()
    assert (request.status, request.decided_by, request.decided_via) == ("approved", reviewer, "admin")
    assert request.edited_arguments is None
    assert Decision.objects.get(request=request).actor_name == reviewer.email


@pytest.mark.spec("S133", "B5")
def test_edited_arguments_stand_beside_the_original(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE)
    client = client_of(reviewer)

    client.post(
        form_of(request), {"decision": "approved", "edited_arguments": json.dumps({**MAIL, "subject": "Good day"})}
    )

    request.refresh_from_db()
    assert request.edited_arguments["subject"] == "Good day"
    page = content(client.get(form_of(request)))
    assert "Asked for" in page
    assert "Good day" in page
    assert "Hello" in page


def test_arguments_that_the_tool_does_not_take_leave_the_request_open_and_the_text_in_the_form(
    alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    request = ask(alice, approvers=ROLE)

    answer = client_of(reviewer).post(
        form_of(request),
        {"decision": "approved", "edited_arguments": json.dumps({**MAIL, "to": 7}), "instructions": "my own words"},
    )

    page = content(answer)
    assert "to: This has to be a list." in page
    assert "my own words" in page
    request.refresh_from_db()
    assert request.status == RequestStatus.PENDING


@pytest.mark.parametrize("given", ["{", "[1]", "7", '"text"'])
def test_what_is_no_object_is_told_at_its_field(given: str, alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE)

    answer = client_of(reviewer).post(form_of(request), {"decision": "approved", "edited_arguments": given})

    assert answer.status_code == 200
    assert "errorlist" in content(answer)
    request.refresh_from_db()
    assert request.status == RequestStatus.PENDING


@pytest.mark.spec("S120")
def test_a_late_decision_says_how_it_was_decided(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE, status=RequestStatus.DENIED)

    page = content(client_of(reviewer).post(form_of(request), {"decision": "approved"}))

    assert "denied already" in page


def test_arguments_that_were_changed_after_the_form_was_shown_are_not_approved(
    alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    request = ask(alice, approvers=ROLE)

    page = content(client_of(reviewer).post(form_of(request), {"decision": "approved", "arguments_hash": "0" * 64}))

    assert "not what you were shown" in page
    request.refresh_from_db()
    assert request.status == RequestStatus.PENDING


@pytest.mark.spec("B3")
def test_many_are_decided_at_once_after_they_were_shown(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    mine = [ask(alice, approvers=ROLE) for _ in range(3)]
    closed, hers = ask(alice, approvers=ROLE, status=RequestStatus.APPROVED), ask(alice)
    chosen = {"action": "deny", "_selected_action": [str(one.pk) for one in (*mine, closed, hers)]}
    client = client_of(reviewer)

    shown = content(client.post(QUEUE, chosen))
    assert Request.objects.pending().count() == 4
    client.post(QUEUE, {**chosen, "confirmed": "yes", "instructions": "not today"})

    assert "Deny 3 requests?" in shown
    assert "bob@corp.com" in shown
    assert str(hers.pk) not in shown
    for one in mine:
        one.refresh_from_db()
        assert (one.status, one.user_instructions, one.decided_by) == ("denied", "not today", reviewer)
    hers.refresh_from_db()
    assert hers.status == RequestStatus.PENDING


@pytest.mark.spec("B3", "B12", "B13")
def test_budgets_and_plans_are_not_decided_many_at_once(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    others = [ask(alice, kind, approvers=ROLE) for kind in ("plan", "budget")]
    mine = ask(alice, approvers=ROLE)
    client = client_of(reviewer)
    chosen = {"action": "approve", "_selected_action": [str(one.pk) for one in (*others, mine)]}

    shown = content(client.post(QUEUE, chosen))
    client.post(QUEUE, {**chosen, "confirmed": "yes"})
    told = content(client.post(QUEUE, chosen, follow=True))

    assert "Approve 1 request?" in shown
    assert "2 more were selected that are no approvals" in shown
    assert set(Request.objects.pending()) == set(others)
    assert "None of these is an approval" in told


@pytest.mark.spec("B13", "S119")
def test_the_form_of_a_plan_shows_its_tasks_and_offers_what_can_succeed(
    alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    tasks = [
        {"id": "look", "agent": "web", "task": "Look for <b>numbers</b>", "depends_on": [], "tools": []},
        {"id": "mail", "agent": "mail", "task": "Mail them", "depends_on": ["look"], "tools": ["send_email"]},
    ]
    request = ask(alice, "plan", question={"question": "This is the plan.", "tasks": tasks}, approvers=ROLE)
    client = client_of(reviewer)

    form = content(client.get(form_of(request))).partition('id="decide"')[2].partition("</form>")[0]
    answered = content(client.post(form_of(request), {"decision": "answered"}))
    client.post(form_of(request), {"decision": "approved"})

    assert "Look for &lt;b&gt;numbers&lt;/b&gt;" in form
    assert "<td>mail</td><td>Mail them</td><td>look</td><td>send_email</td>" in form
    assert ('value="approved"' in form, 'value="denied"' in form, 'value="answered"' in form) == (True, True, False)
    assert "Select a valid choice" in answered
    request.refresh_from_db()
    assert request.status == RequestStatus.APPROVED


@pytest.mark.spec("B3")
def test_a_question_is_answered_with_one_of_its_choices(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    question = {"question": "Which?", "options": ["red", "blue"], "approvers": ROLE}
    request = ask(alice, "decision", question=question)

    client_of(reviewer).post(form_of(request), {"decision": "answered", "choice": "blue"})

    request.refresh_from_db()
    assert (request.status, request.answer["choice"]) == ("answered", "blue")


def test_an_administrator_sees_that_alices_request_waits_but_not_what_it_says(
    alice: Any, bob: Any, client_of: ClientOf
) -> None:
    request = ask(alice)
    client = client_of(bob)

    before = content(client.get(form_of(request)))
    client.post(form_of(request), {"decision": "approved"})
    bob.user_permissions.add(Permission.objects.get(codename="view_content"))
    after = content(client.get(form_of(request)))

    assert "bob@corp.com" not in before
    assert "bob@corp.com" in after
    assert "id_decision" not in after
    request.refresh_from_db()
    assert request.status == RequestStatus.PENDING


def test_hostile_arguments_are_shown_as_text(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    request = ask(alice, approvers=ROLE)
    question = request.question
    question["tool_calls"][0]["arguments"]["body"] = "</pre><script>alert(1)</script>"
    Request.objects.filter(pk=request.pk).update(question=question)

    page = content(client_of(reviewer).get(form_of(request)))

    assert "<script>alert" not in page


@pytest.mark.spec("S132", "B5")
def test_a_reviewer_sees_what_of_a_file_would_go_and_what_would_come(
    alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    kept = "".join(f"line {number}\n" for number in range(20))
    preview = {"kind": "diff", "path": "a.toml", "before": f"{kept}old\n", "after": f"{kept}<b>new</b>\n"}
    question = mail_question(question="Make this change?")
    question["tool_calls"][0]["preview"] = {**preview, "notes": ["clipped"]}
    request = ask(alice, question=question, approvers=ROLE)
    client = client_of(reviewer)

    form = content(client.get(form_of(request)))
    many = content(client.post(QUEUE, {"action": "approve", "_selected_action": [str(request.pk)]}))

    for page in (form, many):
        assert "Changes of a.toml" in page
        assert '<span class="is-gone">− old\n</span><span class="is-new">+ &lt;b&gt;new&lt;/b&gt;\n</span>' in page
        assert "line 16\n</span>" not in page
        assert "line 17\n</span>" in page
        assert "Only the beginning of this change is shown." in page


@pytest.mark.spec("B5")
@pytest.mark.threat("T20")
def test_signs_that_cannot_be_seen_are_named_in_the_form_and_the_inbox(
    alice: Any, reviewer: Any, client_of: ClientOf
) -> None:
    question = mail_question()
    question["tool_calls"][0]["arguments"]["to"] = ["bob@corp.com\u200b.evil.example"]
    question["tool_calls"][0]["preview"] = {"kind": "mail", "to": ["moc.proc\u202e@bob"], "subject": "Hi"}
    request = ask(alice, question=question, approvers=ROLE)

    form = content(client_of(reviewer).get(form_of(request)))
    inbox = content(client_of(reviewer).get("/inbox/"))

    assert "bob@corp.com⟨U+200B⟩.evil.example" in form[form.index('id="decide"') : form.index('name="decision"')]
    assert "moc.proc⟨U+202E⟩@bob" in inbox
    assert "\u202e" not in inbox


@pytest.mark.slow
@pytest.mark.spec("S210")
def test_nobody_is_led_to_pages_that_are_closed_to_them(
    alice: Any, reviewer: Any, auditor: Any, admin_user: Any, client_of: ClientOf
) -> None:
    request = ask(alice, approvers=ROLE, conversation_id=uuid.uuid4())
    Switch.objects.create(scope="tool", target="send_email", reason="A reason", thrown_by=admin_user)
    pages = [form_of(request), f"/admin/hitl/switch/{Switch.objects.get().pk}/change/"]

    def led_to(person: Any) -> set[str]:
        shown = [content(answer) for answer in map(client_of(person).get, pages) if answer.status_code == 200]
        return {link for page in shown for link in re.findall(r'href="(/admin/[a-z]+/[a-z]+/[^"/]{8,}/change/)"', page)}

    theirs = f"/admin/accounts/user/{alice.pk}/change/"
    closed = {
        link for one in (reviewer, auditor) for link in led_to(one) if client_of(one).get(link).status_code != 200
    }
    assert closed == set()
    assert theirs in led_to(admin_user)
    assert alice.email in content(client_of(reviewer).get(form_of(request)))


@pytest.mark.spec("B5")
def test_what_of_others_was_read_is_said_once(alice: Any, reviewer: Any, client_of: ClientOf) -> None:
    why = "This run has read text that others wrote (“A page”), and pay sends data out: a person decides each time."
    question = mail_question(why=f"{why} The policy “P” asks for it.", tainted_by=[{"kind": "web", "title": "A page"}])
    request = ask(alice, question=question, approvers=ROLE)

    page = content(client_of(reviewer).get(form_of(request)))

    decide = page[page.index('id="decide"') : page.index('name="decision"')]
    assert "a person decides each time" not in decide
    assert "The policy “P” asks for it." in decide
    assert decide.count("A page") == 1


# --- the audit


@pytest.fixture
def history(alice: Any, reviewer: Any, client_of: ClientOf) -> list[Request]:
    """One request approved by a reviewer, one denied."""
    found = [ask(alice, approvers=ROLE) for _ in range(2)]
    client = client_of(reviewer)
    client.post(form_of(found[0]), {"decision": "approved", "instructions": "=HYPERLINK(0)"})
    client.post(form_of(found[1]), {"decision": "denied", "instructions": "secret reason"})
    return found


@pytest.mark.slow
@pytest.mark.spec("B3")
def test_the_audit_is_searched_by_person_tool_and_request(
    history: list[Request], auditor: Any, reviewer: Any, alice: Any, client_of: ClientOf
) -> None:
    client = client_of(auditor)

    for term in (reviewer.email, alice.email, "send_email", "mail", str(history[0].pk)):
        assert "approved" in content(client.get(AUDIT, {"q": term})).split('id="result_list"')[-1], term
    assert 'id="result_list"' not in content(client.get(AUDIT, {"q": "nobody@example.org"}))
    assert content(client.get(AUDIT, {"happening__exact": "denied"})).count('class="field-at') == 1


async def exported(client: Client, form: str, **filters: str) -> str:
    """Lot by lot: what is read all at once, the web process has whole in its memory."""
    answer = await sync_to_async(client.get)(f"{AUDIT}export.{form}", filters)
    return b"".join([part async for part in answer.streaming_content]).decode()  # type: ignore[attr-defined]


@pytest.mark.spec("B3")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_threads")
async def test_the_audit_is_exported_as_csv_and_json(
    history: list[Request], auditor: Any, client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "READ_AT_ONCE", 1)
    client = await sync_to_async(client_of)(auditor)

    rows = list(csv.DictReader(io.StringIO(await exported(client, "csv"))))
    all_ = json.loads(await exported(client, "json"))
    found = json.loads(await exported(client, "json", happening__exact="denied"))
    nothing = json.loads(await exported(client, "json", happening__exact="snoozed"))

    assert [row["id"] for row in rows] == [str(one["id"]) for one in all_]
    assert [one["happening"] for one in all_] == ["denied", "approved"], "the newest first, as in the list"
    assert nothing == []
    assert {row["happening"] for row in rows} == {"approved", "denied"}
    # A spreadsheet would run what begins with an equals sign.
    assert {row["note"] for row in rows} == {"'=HYPERLINK(0)", "secret reason"}
    assert [one["note"] for one in found] == ["secret reason"]
    assert found[0]["request_id"] == str(history[1].pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_threads")
async def test_an_administrator_without_the_permission_exports_no_words(
    history: list[Request], bob: Any, client_of: ClientOf
) -> None:
    told = await exported(await sync_to_async(client_of)(bob), "json")

    assert len(json.loads(told)) == 2
    assert "secret" not in told


def test_nobody_else_exports(history: list[Request], reviewer: Any, alice: Any, client_of: ClientOf) -> None:
    assert client_of(reviewer).get(f"{AUDIT}export.csv").status_code == 403
    assert client_of(alice).get(f"{AUDIT}export.csv").status_code == 302


def test_no_row_of_the_audit_is_added_changed_or_deleted(
    history: list[Request], admin_user: Any, client_of: ClientOf
) -> None:
    client = client_of(admin_user)
    row = Decision.objects.first()
    assert row is not None

    answers = [
        client.get(f"{AUDIT}add/"),
        client.post(f"{AUDIT}{row.pk}/change/", {"note": "changed"}),
        client.post(f"{AUDIT}{row.pk}/delete/", {"post": "yes"}),
        client.post(f"{QUEUE}{row.request_id}/delete/", {"post": "yes"}),
    ]

    assert [answer.status_code for answer in answers] == [403] * 4
    client.post(AUDIT, {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"})
    assert Decision.objects.count() == 2


# --- what stands


@pytest.mark.spec("B17")
def test_an_administrator_throws_and_lifts_a_kill_switch(bob: Any, alice: Any, client_of: ClientOf) -> None:
    client = client_of(bob)

    client.post("/admin/hitl/switch/add/", {"scope": "user", "target": alice.email, "reason": "odd mails"})
    switch = Switch.objects.get()
    assert (switch.scope, switch.target, switch.thrown_by, switch.reason) == ("user", str(alice.pk), bob, "odd mails")
    client.post("/admin/hitl/switch/", {"action": "lift", "_selected_action": [str(switch.pk)]})

    switch.refresh_from_db()
    assert switch.lifted_by == bob


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scope": "tool", "target": "", "reason": "x"}, "name the agent"),
        ({"scope": "installation", "target": "mail", "reason": "x"}, "Leave this empty"),
        ({"scope": "user", "target": "nobody@example.org", "reason": "x"}, "Nobody here"),
        ({"scope": "installation", "target": "", "reason": ""}, "This field is required"),
    ],
)
def test_a_switch_that_names_nothing_is_refused_at_its_field(
    given: dict[str, str], words: str, bob: Any, client_of: ClientOf
) -> None:
    page = content(client_of(bob).post("/admin/hitl/switch/add/", given))

    assert words in page
    assert not Switch.objects.exists()


@pytest.mark.spec("B4")
def test_a_policy_that_nobody_could_fulfil_is_refused(bob: Any, admin_user: Any, client_of: ClientOf) -> None:
    given = {"name": "mails", "position": "1", "is_enabled": "on", "action": "ask", "approver_kind": "named"}
    client = client_of(admin_user)

    refused = content(client.post("/admin/hitl/policy/add/", given))
    client.post("/admin/hitl/policy/add/", {**given, "approvers": [str(bob.pk)]})

    assert "Name at least one active person" in refused
    assert list(Policy.objects.get().approvers.all()) == [bob]


@pytest.mark.spec("B4")
def test_an_older_page_of_a_policy_does_not_loosen_what_another_administrator_tightened(
    admin_user: Any, client_of: ClientOf
) -> None:
    policy = Policy.objects.create(name="mails", action="ask", allow_rules=True)
    address, client = f"/admin/hitl/policy/{policy.pk}/change/", client_of(admin_user)
    shown = client.get(address).context["adminform"].form
    typed = {"name": "Mails", "position": "1", "is_enabled": "on", "action": "ask", "approver_kind": "self"}

    Policy.objects.get(pk=policy.pk).save()
    late = client.post(address, {**typed, "allow_rules": "on", "was": shown["was"].value()})
    fresh = client.post(address, {**typed, "was": client.get(address).context["adminform"].form["was"].value()})

    assert "Somebody changed this policy since the page was shown" in content(late)
    assert fresh.status_code == 302
    assert (Policy.objects.get().name, Policy.objects.get().allow_rules) == ("Mails", False)


@pytest.mark.spec("B4")
def test_a_policy_is_made_about_the_runs_of_a_group_or_of_a_person_and_not_of_both(
    alice: Any, admin_user: Any, client_of: ClientOf, django_assert_max_num_queries: Any
) -> None:
    group = Group.objects.create(name="Interns")
    given = {"position": "1", "is_enabled": "on", "action": "deny", "approver_kind": "self"}
    of_group, of_person = {"for_group": str(group.pk)}, {"for_person": str(alice.pk)}
    client = client_of(admin_user)

    both = content(client.post("/admin/hitl/policy/add/", {**given, "name": "both", **of_group, **of_person}))
    client.post("/admin/hitl/policy/add/", {**given, "name": "interns", **of_group})
    client.post("/admin/hitl/policy/add/", {**given, "name": "alice", **of_person})
    for number in range(10):
        Policy.objects.create(name=f"more {number}", for_group=Group.objects.create(name=f"Group {number}"))
    with django_assert_max_num_queries(12):
        listed = content(client.get("/admin/hitl/policy/"))

    assert "about the runs of a group or of a person" in both
    assert {policy.name: (policy.for_group, policy.for_person) for policy in Policy.objects.all()[:2]} == {
        "interns": (group, None),
        "alice": (None, alice),
    }
    assert ("Interns" in listed, alice.email in listed) == (True, True)


@pytest.mark.spec("B7")
def test_an_administrator_revokes_somebodys_rule(alice: Any, bob: Any, auditor: Any, client_of: ClientOf) -> None:
    rule = Rule.objects.create(user=alice, effect="allow", scope="rule", tool="send_email", text="Always allow it.")
    revoke = {"action": "revoke", "_selected_action": [str(rule.pk)]}

    client_of(auditor).post("/admin/hitl/rule/", revoke)
    rule.refresh_from_db()
    assert rule.revoked_at is None
    client_of(bob).post("/admin/hitl/rule/", revoke)

    rule.refresh_from_db()
    assert rule.revoked_by == bob
