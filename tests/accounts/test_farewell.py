"""The end of an account: who may, what goes, what stays without a name, and that it comes to an end."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client

from agents.engine.states import ExecutionStatus
from agents.models import Execution, Step
from agents.usage.models import ModelCall
from hitl import actions as deciding
from hitl.answers import Response
from hitl.kinds import Via
from hitl.models import Decision, Request, RequestStatus, Rule, RuleUse
from hyperagent.accounts import actions, closing, exporting, invitations
from hyperagent.accounts.models import ApiToken, Closing, User
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.tokens import user_for_token
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.refusals import Conflict, NotAllowed
from memory.actions import documents
from memory.kinds import WorkspaceScope
from memory.models import Document, Project
from memory.workspaces import files, keeping
from memory.workspaces.places import Place
from tests.accounts.conftest import PASSWORD
from tests.accounts.keeping import SECRET, keep_something_of, tables_with
from tests.hitl.asking import ask

DELETE = "/settings/data/delete/"


@pytest.fixture(autouse=True)
def _own_files(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"


def stored() -> list[str]:
    return [str(path) for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()]


@pytest.mark.spec("S148")
def test_nothing_of_alice_is_left_but_the_audit_which_names_nobody(
    alice: Any, charlie: Any, django_capture_on_commit_callbacks: Any
) -> None:
    kept = keep_something_of(alice, charlie)
    export = exporting.ask(alice)
    with django_capture_on_commit_callbacks(execute=True):
        exporting.make(export.pk)
        before = stored()
        closing.close(alice, by=alice)
    name = closing.pseudonym(alice.pk)

    with django_capture_on_commit_callbacks(execute=True):
        closing.erase(alice.pk)

    # The project that Charlie is in is his now, with the name that all of them knew.
    assert Project.objects.get().owner == charlie
    Project.objects.update(name="Ours")
    assert len(before) == 4
    assert stored() == []
    assert tables_with(SECRET) == {}
    assert tables_with("alice@") == {}
    run, decision, request = Execution.objects.get(), Decision.objects.get(), Request.objects.get()
    assert (run.user_id, run.status, run.prompt_tokens) == (alice.pk, ExecutionStatus.COMPLETED, 12)
    assert (decision.actor_id, decision.actor_name, decision.happening) == (alice.pk, name, "approved")
    assert (request.pk, request.tool_names, request.status) == (kept.request.pk, ["send_mail"], "approved")
    rule, use = Rule.objects.get(), RuleUse.objects.get()
    assert (rule.user_id, rule.effect, rule.tool, rule.text) == (alice.pk, "allow", "send_mail", "")
    assert rule.revoked_at is not None
    assert (use.rule_id, use.execution_id, use.tool, use.arguments_hash) == (rule.pk, run.pk, "send_mail", "5e11")
    assert ModelCall.objects.get().user_id == alice.pk
    assert Step.objects.get().usage == {"prompt_tokens": 12}
    assert str(User.objects.get(pk=alice.pk).display_name) == name
    assert Closing.objects.get().done_at is not None


@pytest.mark.spec("S148")
def test_what_alice_said_to_requests_of_others_is_gone_from_their_history(alice: Any, charlie: Any) -> None:
    theirs = {"kind": "named", "name": "", "user_ids": [str(alice.pk)], "different_person": False}
    asked = ask(charlie, "input", question={"question": "Whom?"}, approvers=theirs)
    answer = Response(RequestStatus.ANSWERED, text=f"Ask {SECRET}.", instructions=f"Because of {SECRET}.")
    deciding.respond(alice, asked.pk, answer, via=Via.PAGE)

    closing.close(alice, by=alice)
    closing.erase(alice.pk)

    decision = Decision.objects.get(request=asked)
    assert (decision.happening, decision.actor_name) == ("answered", closing.pseudonym(alice.pk))
    assert (decision.note, decision.details) == ("", {})
    # What Charlie's run was told is his.
    asked.refresh_from_db()
    assert SECRET in asked.answer["text"]


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_who_came_by_an_invitation_is_not_named_by_it_either(
    charlie: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        invited = invitations.invite(None, "Zora@example.org", roles=["auditor"])
        zora = invitations.accept_as_new(invited, PASSWORD)
        before = tables_with("zora@")
        closing.close(zora, by=zora)
        link_is_open = Invitation.objects.unanswered().exists()
        closing.erase(zora.pk)

    assert {"audit_event", "accounts_invitation"} <= before.keys()
    assert tables_with("zora@") == {}
    assert not link_is_open
    assert not Invitation.objects.exists()
    named = dict(AuditEvent.objects.filter(target_type="invitation").values_list("kind", "target_name"))
    assert set(named.values()) == {"", closing.pseudonym(zora.pk)}


@pytest.mark.slow
def test_a_worker_that_is_killed_at_any_lot_leaves_nothing_undone(alice: Any, charlie: Any, monkeypatch: Any) -> None:
    keep_something_of(alice, charlie)
    closing.close(alice, by=alice)

    rounds = 0
    while Closing.objects.filter(done_at=None).exists():
        # One lot, and then as if the process were gone: its lease is over some time after.
        closing.erase(alice.pk, work_s=-1)
        Closing.objects.filter(done_at=None).update(lease_until=None)
        rounds += 1
        assert rounds < 100
    closing.erase(alice.pk)

    Project.objects.update(name="Ours")
    assert rounds > 5
    assert tables_with(SECRET) == {}


@pytest.mark.slow
def test_from_the_yes_on_nothing_of_alice_opens_a_door_or_goes_on(
    alice: Any, charlie: Any, alices_page: Client, page: Client
) -> None:
    keep_something_of(alice, charlie)
    _, raw = actions.make_token(alice, name="cli")
    going = Execution.objects.create(user=alice, question="Go on", input={"version": 1}, status="awaiting_user")
    elsewhere = Client()
    elsewhere.force_login(alice)

    wrong = alices_page.post(DELETE, {"typed": "charlie@example.org", "password": PASSWORD})
    unproved = alices_page.post(DELETE, {"typed": alice.email, "password": "wrong"})
    still_there = User.objects.get(pk=alice.pk).is_active
    gone = alices_page.post(DELETE, {"typed": " ALICE@example.org ", "password": PASSWORD})

    assert b"not the e-mail address of this account" in wrong.content
    assert still_there
    assert b"This is not your password." in unproved.content
    assert b"Your account is deleted" in gone.content
    for client in (alices_page, elsewhere):
        assert client.get("/settings/profile/").status_code == 302
    assert user_for_token(raw) is None
    assert not ApiToken.objects.filter(user=alice, revoked_at=None).exists()
    page.post("/accounts/login/", {"email": "alice@example.org", "password": PASSWORD})
    assert page.get("/settings/profile/").status_code == 302
    going.refresh_from_db()
    assert going.cancel_requested_at is not None

    # Erased only once the run has ended: else it would write what was erased already.
    closing.erase(alice.pk)
    assert Document.objects.filter(owner=alice).exists()
    Execution.objects.filter(pk=going.pk).update(status="cancelled", ended_at=going.created_at)
    Closing.objects.update(lease_until=None)
    closing.erase(alice.pk)
    assert not Document.objects.filter(owner=alice).exists()
    # The address is free again.
    assert actions.register("alice@example.org", PASSWORD).pk != alice.pk


def test_the_last_administrator_stays_and_nobody_deletes_others(
    alice: Any, bob: Any, charlie: Any, page: Client
) -> None:
    page.force_login(bob)

    shown = page.get(DELETE)
    refused = page.post(DELETE, {"typed": bob.email, "password": PASSWORD})

    assert b"last administrator" in shown.content
    assert b"last administrator" in refused.content
    with pytest.raises(Conflict):
        closing.close(bob, by=bob)
    with pytest.raises(NotAllowed):
        closing.close(alice, by=charlie)
    User.objects.filter(pk=charlie.pk).update(is_staff=True)
    closing.close(bob, by=bob)
    assert not User.objects.get(pk=bob.pk).is_active


@pytest.mark.slow
@pytest.mark.spec("F22")
def test_an_administrator_deletes_alice_with_her_documents_the_same_way(
    alice: Any, bob: Any, charlie: Any, page: Client
) -> None:
    keep_something_of(alice, charlie)
    bob.is_superuser = True
    bob.save()
    page.force_login(bob)

    asked = page.get(f"/admin/accounts/user/{alice.pk}/delete/")
    one = page.post(f"/admin/accounts/user/{alice.pk}/delete/", {"post": "yes"})
    many = {"action": "delete_selected", "_selected_action": [str(charlie.pk), str(bob.pk)], "post": "yes"}
    with_himself = page.post("/admin/accounts/user/", many)
    closing.erase(alice.pk)

    assert b"Your " not in asked.content
    assert b"Documents and everything" in asked.content
    assert b"becomes the owner" in asked.content
    assert one.status_code == 302
    assert b"last administrator" in with_himself.content
    assert User.objects.get(pk=charlie.pk).is_active
    Project.objects.update(name="Ours")
    assert tables_with(SECRET) == {}
    assert tables_with("alice@example.org") == {}
    assert page.get(f"/admin/accounts/user/{alice.pk}/delete/").status_code == 403


@pytest.mark.spec("S148")
def test_what_was_on_its_way_when_the_account_was_deleted_is_not_stored(
    alice: Any, monkeypatch: Any, django_capture_on_commit_callbacks: Any
) -> None:
    kept = keeping.stored

    def kept_while_she_leaves(*given: Any) -> Any:
        with django_capture_on_commit_callbacks(execute=True):
            closing.close(User.objects.get(pk=alice.pk), by=alice)
            closing.erase(alice.pk)
        return kept(*given)

    monkeypatch.setattr(keeping, "stored", kept_while_she_leaves)
    with pytest.raises(NotAllowed, match="deleted"):
        files.write(alice.pk, Place(WorkspaceScope.USER, alice.pk), "late.txt", b"Late words.")
    with pytest.raises(NotAllowed, match="deleted"):
        documents.add(alice, io.BytesIO(b"Late words."), filename="late.txt")
    with pytest.raises(NotAllowed, match="deleted"), transaction.atomic():
        User.objects.hold(alice.pk)

    assert stored() == []
    assert not Document.objects.exists()
