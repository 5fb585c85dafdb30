"""What people do by real requests stands in the log, once, with who and from where; and what they wrote does not."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db.models import F
from django.test import Client
from django.utils import timezone

from agents.usage.models import ModelCall
from conversations import actions as talking
from conversations import retention
from conversations.models import Conversation
from hitl.kinds import Via
from hitl.models import Policy, Rule
from hyperagent.accounts import closing
from hyperagent.accounts.middleware import SocketOrigin
from hyperagent.accounts.models import UserQuota
from hyperagent.audit import origin, reading
from hyperagent.audit.models import AuditEvent
from hyperagent.audit.origin import Origin
from hyperagent.audit.verifying import verify
from hyperagent.lib.threads import in_thread
from memory import projects
from tests.faces.runs import make_run
from tests.hitl.asking import ask
from tests.memory.giving import given
from tests.walls.owners import person_with

pytestmark = pytest.mark.django_db
PASSWORD, WORD = "correct horse battery staple", "zqword"
TOMORROW = str(timezone.now().date() + timedelta(days=1))
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"


class Log:
    """What was told since it was asked last: kind, who, to whom or what, details."""

    def __init__(self) -> None:
        self._number = len(reading.after(0))

    def new(self) -> list[tuple[str, str]]:
        rows = reading.after(self._number)
        self._number += len(rows)
        return [(row.kind, row.actor_name.partition("@")[0]) for row in rows]


@pytest.fixture
def log(db: None) -> Log:
    return Log()


@pytest.fixture(autouse=True)
def _own_files(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


@pytest.mark.spec("B21")
def test_coming_and_going_is_told_with_where_it_came_from_and_not_with_what_was_typed(alice: Any, log: Log) -> None:
    alice.set_password(PASSWORD)
    alice.save()
    page = Client(headers={"user-agent": FIREFOX}, REMOTE_ADDR="203.0.113.8")
    login = "/accounts/login/"

    page.post(login, {"email": alice.email, "password": "hunter2-wrong"})
    page.post(login, {"email": "my-password@example.org", "password": "x"})
    page.post(login, {"email": alice.email, "password": PASSWORD})
    new = f"{PASSWORD} 2"
    page.post("/settings/security/", {"old_password": PASSWORD, "password": new, "password_again": new})
    page.post("/settings/security/sign-ins/others/end/")
    page.post("/accounts/logout/")
    page.post("/accounts/password/reset/", {"email": alice.email})

    assert log.new() == [
        ("sign_in.failed", ""), ("sign_in.failed", ""), ("sign_in.succeeded", "alice"), ("password.changed", "alice"),
        ("sessions.ended", "alice"), ("sign_out", "alice"), ("password.reset_asked", ""),
    ]  # fmt: skip
    rows = reading.after(0)
    assert {(row.address, row.browser) for row in rows} == {("203.0.113.8", "Firefox on Windows")}
    assert all(row.request_id for row in rows)
    assert [row.details.get("why") for row in rows[:2]] == ["password", "unknown"]
    assert [row.target_id for row in rows[:2]] == [str(alice.pk), ""]
    assert not [row for row in rows if "hunter2" in str(vars(row)) or "my-password" in str(vars(row))]


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_tokens_webhooks_exports_shares_and_connections_are_told(
    alice: Any, bob: Any, charlie: Any, log: Log, client_of: Callable[..., Any], api_of: Callable[..., Any]
) -> None:
    page, said = client_of(alice), talking.say_in_new(alice, talking.Question(f"{WORD} question"))
    document = given(alice, f"{WORD} document")
    project = projects.create(alice, name=WORD)
    api = api_of(alice)
    conversation = f"/api/v1/conversations/{said.conversation.id}"

    hook = api.post("/api/v1/webhooks", {"url": "https://x.example.org/?key=s3", "events": ["run.completed"]}).json()
    api.patch(f"/api/v1/webhooks/{hook['id']}", {"enabled": False})
    api.delete(f"/api/v1/webhooks/{hook['id']}")
    share = api.post(f"{conversation}/share", {}).json()
    api.delete(f"{conversation}/share/{share['id']}")
    api.get(f"{conversation}/export")
    api.get("/api/v1/memory/export")
    page.get("/usage/file")
    api.patch(f"/api/v1/documents/{document.pk}", {"shared_with": "everyone"})
    api.post(f"/api/v1/projects/{project.id}/members", {"email": charlie.email})
    api.post(f"/api/v1/projects/{project.id}/documents", {"document_ids": [str(document.pk)]})
    page.post("/settings/data/export/")
    server = {"name": "calc", "url": "http://127.0.0.1:9/mcp", "agents": ["chat"], "is_inner": "on"}
    client_of(bob).post("/settings/mcp/", {**server, "for_installation": "on"})
    token = page.post("/settings/tokens/", {"name": "CI", "scopes": ["read"], "ends_on": TOMORROW})

    told = log.new()
    kinds = [kind for kind, who in told if who == "alice"]
    assert token.status_code == 201
    assert kinds == [
        "token.made", "webhook.added", "webhook.changed", "webhook.removed", "share.made", "share.revoked",
        "export.taken", "export.taken", "export.taken", "document.shared", "project.shared", "document.shared",
        "export.asked", "token.made",
    ]  # fmt: skip
    assert ("connection.added", "bob") in told
    everything = [str(vars(row)) for row in reading.after(0)]
    assert not [row for row in everything if WORD in row or "key=s3" in row]


@pytest.mark.spec("B21")
def test_with_a_project_that_is_deleted_ends_what_its_members_saw(alice: Any, charlie: Any, log: Log) -> None:
    project = projects.create(alice, name=WORD)
    projects.add_member(alice, project.id, charlie.email)
    projects.delete(alice, project.id)

    assert log.new() == [("project.shared", "alice"), ("project.unshared", "alice")]
    last = reading.after(0)[-1]
    assert (last.target_id, last.details) == (str(project.id), {"member": str(charlie.pk)})


@pytest.mark.spec("B21")
def test_whose_usage_somebody_took_with_them_is_told(
    alice: Any, bob: Any, log: Log, client_of: Callable[..., Any]
) -> None:
    client_of(bob).get("/usage/file", {"user": str(alice.pk)})
    client_of(bob).get("/usage/file")

    assert log.new() == [("export.taken", "bob")] * 2
    assert [row.details.get("user") for row in reading.after(0)[-2:]] == [str(alice.pk), None]


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_decisions_rules_switches_and_policies_are_told_by_whatever_face(
    alice: Any, bob: Any, admin_user: Any, log: Log, client_of: Callable[..., Any], api_of: Callable[..., Any]
) -> None:
    by_api = ask(alice)
    by_admin = ask(alice, approvers={"kind": "role", "name": "reviewer", "user_ids": [],
                                                         "different_person": False})  # fmt: skip
    reviewer, root, api = (
        person_with("reviewer"),
        client_of(admin_user),
        api_of(bob, scopes=["admin", "read", "approve"]),
    )
    log.new()

    api_of(alice).post("/api/v1/hitl/respond", {"request_id": str(by_api.pk), "decision": "denied"})
    # Said again it is decided already, and nothing is told.
    api_of(alice).post("/api/v1/hitl/respond", {"request_id": str(by_api.pk), "decision": "denied"})
    client_of(reviewer).post(
        "/admin/hitl/request/", {"action": "deny", "_selected_action": [str(by_admin.pk)], "confirmed": "yes"}
    )
    rule = Rule.objects.create(user=alice, effect="allow", scope="rule", tool="t", text=WORD)
    api_of(alice).delete(f"/api/v1/hitl/rules/{rule.pk}")
    switch = api.post("/api/v1/hitl/switches", {"scope": "installation", "reason": WORD}).json()
    api.delete(f"/api/v1/hitl/switches/{switch['id']}")
    policy = {"name": "mails", "position": "1", "is_enabled": "on", "action": "ask", "approver_kind": "named"}
    root.post("/admin/hitl/policy/add/", {**policy, "approvers": [str(bob.pk)]})
    found = Policy.objects.get()
    root.post("/admin/hitl/policy/", {"action": "delete_selected", "_selected_action": [found.pk], "post": "yes"})
    root.post("/admin/accounts/userquota/add/", {"quota": "runs_at_once", "user": str(alice.pk), "amount": "3"})
    root.post("/admin/auth/group/add/", {"name": "finance"})

    told = [one for one in log.new() if not one[0].startswith("token")]
    rows = reading.after(0)
    decisions = [row for row in rows if row.kind == "decision.made"]
    assert told == [
        ("decision.made", "alice"), ("decision.made", "reviewer"), ("rule.revoked", "alice"), ("switch.thrown", "bob"),
        ("switch.thrown", "bob"), ("policy.changed", "admin"), ("policy.changed", "admin"),
        ("quota.changed", "admin"), ("group.changed", "admin"),
    ]  # fmt: skip
    assert [(row.details["via"], row.details["decision"]) for row in decisions] == [
        (Via.API, "denied"),
        (Via.ADMIN, "denied"),
    ]
    assert [row.details["what"] for row in rows if row.kind == "policy.changed"] == ["added", "deleted"]
    assert UserQuota.objects.count() == 1
    assert not [row for row in rows if WORD in str(vars(row))]


@pytest.mark.slow
@pytest.mark.spec("B21")
@pytest.mark.threat("T06")
def test_a_look_at_what_others_said_is_one_event_and_names_no_word_of_it(
    alice: Any, bob: Any, log: Log, client_of: Callable[..., Any]
) -> None:
    run = make_run(alice, question=f"{WORD} question")
    bob.user_permissions.add(Permission.objects.get(codename="view_content"))
    client_of(bob).get(f"/admin/agents/execution/{run.pk}/change/")
    client_of(bob).get("/admin/hitl/decision/export.csv")

    assert log.new() == [("content.looked_at", "bob"), ("export.taken", "bob")]
    looked = reading.after(0)[0]
    assert (looked.target_type, looked.target_id, looked.details) == (
        "execution", str(run.pk), {"how": "read", "count": 1},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.spec("B21")
@pytest.mark.spec("S148")
def test_an_account_that_ends_leaves_what_it_did_and_no_name(
    alice: Any, bob: Any, log: Log, client_of: Callable[..., Any], django_capture_on_commit_callbacks: Any
) -> None:
    alice.set_password(PASSWORD)
    alice.save()
    page = Client(REMOTE_ADDR="203.0.113.8")
    page.post("/accounts/login/", {"email": alice.email, "password": PASSWORD})
    page.post("/settings/tokens/", {"name": "Alice's own", "scopes": ["read"], "ends_on": TOMORROW})
    client_of(bob).get("/admin/")

    with django_capture_on_commit_callbacks(execute=True):
        page.post("/settings/data/delete/", {"typed": alice.email, "password": PASSWORD})
    closing.erase(alice.pk)

    name = closing.pseudonym(alice.pk)
    rows = AuditEvent.objects.order_by("id")
    assert [(row.kind, row.actor_name) for row in rows if row.actor_id == alice.pk] == [
        ("sign_in.succeeded", name), ("token.made", name), ("user.deleted", name),
    ]  # fmt: skip
    assert [row.address for row in rows][:2] == ["203.0.113.0/24"] * 2
    assert not [row for row in rows if "alice" in str(vars(row)).lower()]
    assert list(verify()) == []


@pytest.mark.spec("B21")
@pytest.mark.spec("S148")
def test_what_retention_deletes_of_conversations_leaves_audit_and_cost(alice: Any, settings: Any) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"retention_days": 30, "retention_deleted_days": 1})
    said = talking.say_in_new(alice, talking.Question(f"{WORD} question"))
    run = said.execution
    type(run).objects.filter(pk=run.pk).update(status="completed", ended_at=timezone.now())
    used = {"agent_name": "chat", "provider": "p", "model": "m", "prompt_tokens": 1, "completion_tokens": 1}
    ModelCall.objects.create(step_id=1, execution_id=run.pk, user=alice, at=timezone.now(), **used)
    Conversation.objects.update(updated_at=F("updated_at") - timedelta(days=60))
    retention.keep_no_longer()
    Conversation.objects.update(deleted_at=F("deleted_at") - timedelta(days=60))
    before = [row.number for row in reading.after(0)]

    retention.keep_no_longer()

    told = reading.after(0)
    assert (Conversation.objects.count(), ModelCall.objects.count()) == (0, 1)
    assert [row.number for row in told][: len(before)] == before
    assert [row.kind for row in told].count("retention.ran") == 2
    assert told[-1].details["what"] == "conversations"


@pytest.mark.spec("B21")
def test_what_an_administrator_does_to_an_account_in_the_admin_is_told(
    alice: Any, admin_user: Any, log: Log, client_of: Callable[..., Any]
) -> None:
    root = client_of(admin_user)
    new = "another correct horse"
    root.post(
        f"/admin/accounts/user/{alice.pk}/password/", {"password1": new, "password2": new, "usable_password": "true"}
    )

    assert log.new() == [("password.changed", "admin")]
    (row,) = reading.after(0)
    assert (row.target_id, row.target_name, row.details["via"]) == (str(alice.pk), alice.email, "admin")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_threads")
async def test_what_is_said_on_a_socket_came_from_where_the_socket_came_from() -> None:
    seen = []

    async def inner(_scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(await in_thread(origin.current)())

    scope = {"client": ("203.0.113.4", 5000), "headers": [(b"user-agent", FIREFOX.encode())]}
    await SocketOrigin(inner)(scope, None, None)

    assert (seen, origin.current()) == ([Origin("203.0.113.4", "Firefox on Windows")], origin.NOWHERE)
