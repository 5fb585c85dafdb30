"""Accounts of programs: tokens and nothing else, a person who answers for each, and an end."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from conversations import handshake
from hitl import reading
from hitl.deadlines import Deadlines
from hitl.models import Request
from hitl.store import OPEN_REQUEST, opening
from hitl.telling import tell_of_new
from hyperagent.accounts import actions, people, people_groups, service_accounts
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.service_accounts import ServiceAccountInput
from hyperagent.accounts.tasks import mail_password_reset, stop_the_inactive, sweep_letters
from hyperagent.accounts.tokens import user_for_token
from hyperagent.audit.models import AuditEvent
from hyperagent.lib.refusals import Conflict, Refused
from hyperagent.notices.models import Mail
from tests.accounts.test_api import error, with_token
from tests.faces.runs import make_agent, make_run

PROGRAMS = "/api/v1/service-accounts"


def a_wish(owner: Any, **other: Any) -> ServiceAccountInput:
    values = {
        "name": "Nightly report",
        "owner_id": owner.pk,
        "scopes": ["run", "read"],
        "ends_at": timezone.now() + timedelta(days=30),
    }
    return ServiceAccountInput(**(values | other))


def asked(user: User, **approvers: Any) -> Request:
    """As a runner opens it."""
    run = make_run(user)
    agent = make_agent(run)
    question = {"question": "May I?", **({"approvers": approvers} if approvers else {})}
    values = opening(
        agent.pk, agent_id=agent.pk, agent_name="chat", kind="input", question=question, deadlines=Deadlines()
    )
    with connection.cursor() as cursor:
        cursor.execute(OPEN_REQUEST, {**values, "execution_id": run.pk, "epoch": run.epoch})
    return Request.objects.get(pk=agent.pk)


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_a_program_acts_by_its_tokens_and_by_nothing_else(
    alice: Any, bob: Any, api: Any, page: Client, django_capture_on_commit_callbacks: Any
) -> None:
    admin = with_token(api, bob, "admin")
    made = admin.post(PROGRAMS, {"name": "Nightly report", "owner": str(alice.pk), "scopes": ["run", "read"]}).json()
    token = admin.post(f"{PROGRAMS}/{made['id']}/tokens", {"name": "cron"})
    raw = token.json()["token"]
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {raw}")

    me = api.get("/api/v1/me").json()
    too_far = api.get("/api/v1/people").status_code, api.post("/api/v1/hitl/respond", {}).status_code
    page.post("/accounts/login/", {"email": made["known_as"], "password": "!"})
    with django_capture_on_commit_callbacks(execute=True):
        page.post("/accounts/password/reset/", {"email": made["known_as"]})
    mail_password_reset(made["id"])
    sweep_letters()

    assert (me["kind"], me["display_name"]) == ("service", "Nightly report")
    assert made["known_as"].endswith("@service.invalid")
    assert token["Cache-Control"] == "no-store"
    assert too_far == (403, 403)
    assert page.get("/settings/").status_code == 302
    assert mail.outbox == []
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.filter(pk=made["id"]).update(password="pbkdf2_sha256$1$a$b")
    with pytest.raises(Refused):
        people.set_roles(bob, User.objects.get(pk=made["id"]).pk, ["auditor"])  # type: ignore[list-item]
    event = AuditEvent.objects.get(kind="token.made", target_id=token.json()["id"])
    assert (event.actor_id, event.details["account"]) == (bob.pk, "service")
    assert AuditEvent.objects.get(kind="service_account.made").details["owner"] == str(alice.pk)


def test_what_cannot_be_is_refused_with_every_fault(alice: Any, bob: Any, api: Any) -> None:
    admin = with_token(api, bob, "admin")
    long_ago = (timezone.now() - timedelta(days=1)).isoformat()
    bad = {"name": "x" * 101, "owner": str(ApiToken.objects.get().pk), "scopes": ["approve"], "ends_at": long_ago}

    refused = admin.post(PROGRAMS, bad)
    program = service_accounts.make(bob, a_wish(alice))
    too_much = admin.post(f"{PROGRAMS}/{program.pk}/tokens", {"name": "x", "scopes": ["documents"]})

    assert set(error(refused)["fields"]) == {"name", "owner", "scopes", "ends_at"}
    assert error(too_much)["fields"].keys() == {"scopes"}
    assert admin.get(f"{PROGRAMS}/{alice.pk}").status_code == 404
    assert admin.post(f"{PROGRAMS}/{alice.pk}/tokens", {"name": "x"}).status_code == 404


@pytest.mark.spec("B21", "B4")
def test_what_a_program_asks_its_owner_is_asked_and_never_the_program(alice: Any, bob: Any, charlie: Any) -> None:
    program = service_accounts.make(bob, a_wish(alice))
    group = people.plain_groups().create(name="Legal")
    people.set_groups(bob, program.pk, [group.pk])
    people.set_groups(bob, charlie.pk, [group.pk])

    its_own = asked(program)
    for_legal = asked(program, kind="group", name="Legal")
    four_eyes = asked(program, kind="named", user_ids=[str(alice.pk), str(charlie.pk)], different_person=True)

    assert (its_own.approver_kind, its_own.approver_ids) == ("named", [alice.pk])
    who = reading.deciders_of([its_own.pk, for_legal.pk, four_eyes.pk])
    assert who == {its_own.pk: {alice.pk}, for_legal.pk: {charlie.pk}, four_eyes.pk: {charlie.pk}}
    for request, deciders in who.items():
        for person in (alice, bob, charlie, program):
            may = Request.objects.decidable_by(person).filter(pk=request).exists()
            assert may == (person.pk in deciders), (person, request)
    assert reading.pending_by_user([alice.pk, program.pk]) == {alice.pk: 1}


@pytest.mark.spec("B21")
def test_whoever_gets_a_program_decides_what_it_asked_before(alice: Any, bob: Any, charlie: Any) -> None:
    program = service_accounts.make(bob, a_wish(alice))
    its_own, plainly = asked(program), asked(program)
    by_policy = asked(program, kind="named", user_ids=[str(alice.pk)])
    Request.objects.filter(pk=plainly.pk).update(question={"question": "Which?"})
    tell_of_new()

    service_accounts.change(bob, program.pk, a_wish(charlie))
    tell_of_new()

    who = reading.deciders_of([its_own.pk, plainly.pk, by_policy.pk])
    assert who == {its_own.pk: {charlie.pk}, plainly.pk: {charlie.pk}, by_policy.pk: {alice.pk}}
    told = Mail.objects.filter(kind="request_waiting").values_list("subject_id", "user")
    assert {(str(its_own.pk), charlie.pk), (str(plainly.pk), charlie.pk)} <= set(told)
    assert (str(by_policy.pk), charlie.pk) not in set(told)


@pytest.mark.spec("B21")
@pytest.mark.threat("T25")
def test_a_socket_of_a_program_that_may_read_no_longer_is_closed(alice: Any, bob: Any) -> None:
    program = service_accounts.make(bob, a_wish(alice))
    _token, raw = service_accounts.make_token(bob, program.pk, name="cron")
    caller = handshake.identify(handshake.Credentials(token=raw))
    assert caller is not None

    service_accounts.change(bob, program.pk, a_wish(alice, purpose="Reads and asks"))
    before = handshake.still_let_in([caller])
    service_accounts.change(bob, program.pk, a_wish(alice, scopes=["run"]))

    assert before == {id(caller)}
    assert handshake.still_let_in([caller]) == set()


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_a_token_is_shown_once_and_replaced_with_a_grace(alice: Any, bob: Any, page: Client) -> None:
    page.force_login(bob)
    page.post(
        "/people/service-accounts/new/",
        {
            "name": "Bot",
            "owner": "Alice@example.org",
            "scopes": ["read"],
            "ends_on": timezone.now().date() + timedelta(40),
        },
    )
    program = User.objects.get(kind="service")
    address = f"/people/service-accounts/{program.pk}/"
    tomorrow = timezone.now().date() + timedelta(days=1)

    made = page.post(address, {"verb": "token", "name": "one", "scopes": ["read"], "ends_on": tomorrow})
    old = ApiToken.objects.get(user=program)
    raw = made.context["raw"]
    later = page.get(address)
    replaced = page.post(address, {"verb": "rotate", "token": str(old.pk), "grace": "1"})
    new_raw = replaced.context["raw"]
    both = user_for_token(raw), user_for_token(new_raw)
    old.refresh_from_db()
    at_once = page.post(address, {"verb": "rotate", "token": str(old.pk), "grace": "0"})

    assert made.status_code == 201
    assert raw in made.content.decode()
    assert raw not in later.content.decode()
    assert all(both)
    assert timedelta(minutes=50) < old.expires_at - timezone.now() <= timedelta(hours=1)
    assert user_for_token(raw) is None
    assert user_for_token(at_once.context["raw"])
    assert page.post(address, {"verb": "rotate", "token": str(old.pk), "grace": "5"}).status_code == 404


@pytest.mark.slow
def test_a_token_that_still_works_is_shown_however_many_came_after_it(bob: Any, page: Client) -> None:
    page.force_login(bob)
    program = service_accounts.make(bob, a_wish(bob))
    oldest, raw = service_accounts.make_token(bob, program.pk, name="The oldest")
    for number in range(60):
        token, _ = service_accounts.make_token(bob, program.pk, name=f"No. {number}")
        service_accounts.revoke(bob, program.pk, token.pk)
    address = f"/people/service-accounts/{program.pk}/"

    shown = page.get(address).context["tokens"]
    page.post(address, {"verb": "revoke", "token": str(oldest.pk)})

    assert (shown[0].pk, len(shown)) == (oldest.pk, 51)
    assert user_for_token(raw) is None


@pytest.mark.spec("B21")
def test_a_program_ends_at_its_end_and_with_its_owner(
    alice: Any, bob: Any, api: Any, django_capture_on_commit_callbacks: Any
) -> None:
    ending, owned = service_accounts.make(bob, a_wish(bob)), service_accounts.make(bob, a_wish(alice))
    tokens = [service_accounts.make_token(bob, one.pk, name="x")[1] for one in (ending, owned)]
    runs = [make_run(ending), make_run(owned)]
    soon = timezone.now() + timedelta(seconds=1)
    service_accounts.change(bob, ending.pk, a_wish(bob, ends_at=soon))
    short = ApiToken.objects.get(user=ending).expires_at

    with django_capture_on_commit_callbacks(execute=True):
        people.deactivate(bob, alice.pk)
        ending.service_account.__class__.objects.filter(pk=ending.pk).update(ends_at=timezone.now())
        stop_the_inactive()

    assert short == soon
    assert [user_for_token(raw) for raw in tokens] == [None, None]
    for run in runs:
        run.refresh_from_db()
        assert run.cancel_requested_at is not None
    for program in (ending, owned):
        with pytest.raises(Conflict):
            people.activate(bob, program.pk)
    service_accounts.change(bob, owned.pk, a_wish(bob))
    assert people.activate(bob, owned.pk).is_active


@pytest.mark.threat("T25")
@pytest.mark.threat("T25")
def test_what_one_program_leaves_out_stays_as_another_has_just_made_it(bob: Any, api: Any, during: Any) -> None:
    made = service_accounts.make(bob, a_wish(bob, scopes=["run", "read", "documents"]))
    legal, sales = people_groups.make(bob, "Legal"), people_groups.make(bob, "Sales")
    people.set_groups(bob, made.pk, [legal.pk])
    admin = with_token(api, bob, "admin")

    with during(lambda: admin.patch(f"{PROGRAMS}/{made.pk}", {"purpose": "Reports"})):
        service_accounts.change(bob, made.pk, a_wish(bob, scopes=["read"], group_ids=[sales.pk]))

    program = User.objects.get(pk=made.pk).service_account
    assert (program.purpose, program.scopes) == ("Reports", ["read"])
    assert list(made.groups.all()) == [sales]


def test_its_tokens_stay_when_whoever_answers_for_it_changes_their_own_password(bob: Any) -> None:
    program = service_accounts.make(bob, a_wish(bob))
    _, raw = service_accounts.make_token(bob, program.pk, name="nightly")
    _, own = actions.make_token(bob)

    actions.change_password(bob, "a quite different sentence", by=bob)

    assert (user_for_token(own), user_for_token(raw) is None) == (None, False)


@pytest.mark.spec("B21")
def test_a_token_that_is_replaced_twice_is_replaced_by_one_that_lives_as_long(bob: Any) -> None:
    program = service_accounts.make(bob, a_wish(bob, ends_at=timezone.now() + timedelta(days=300)))
    token, _raw = service_accounts.make_token(bob, program.pk, name="nightly")
    lives = token.expires_at - token.created_at

    # What was shown the first time was lost.
    made = [service_accounts.rotate(bob, program.pk, token.pk, grace=timedelta(hours=1))[0] for _ in range(3)]

    token.refresh_from_db()
    assert [abs(one.expires_at - one.created_at - lives) < timedelta(minutes=1) for one in made] == [True] * 3
    assert token.expires_at < timezone.now() + timedelta(hours=1, minutes=1)


@pytest.mark.spec("B21")
def test_of_a_program_whose_end_has_passed_the_rest_can_be_changed(bob: Any, api: Any, page: Client) -> None:
    program = service_accounts.make(bob, a_wish(bob))
    over = timezone.now() - timedelta(days=2)
    program.service_account.__class__.objects.filter(pk=program.pk).update(ends_at=over)
    admin = with_token(api, bob, "admin")
    page.force_login(bob)
    form = {"name": "Bot", "owner": bob.email, "scopes": ["read"], "purpose": "On the page"}

    by_api = admin.patch(f"{PROGRAMS}/{program.pk}", {"purpose": "Over the API"})
    past = admin.patch(f"{PROGRAMS}/{program.pk}", {"ends_at": (over - timedelta(days=1)).isoformat()})
    on_page = page.post(f"/people/service-accounts/{program.pk}/", {**form, "ends_on": over.date().isoformat()})

    assert (by_api.status_code, by_api.json()["purpose"]) == (200, "Over the API")
    assert (past.status_code, set(error(past)["fields"])) == (400, {"ends_at"})
    assert on_page.status_code == 302
    changed = User.objects.get(pk=program.pk).service_account
    assert (changed.purpose, changed.ends_at) == ("On the page", over)
