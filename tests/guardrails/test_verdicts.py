"""What was found is told and kept: lines, excerpts, rows beside the events, and what people say of them."""

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from agents.engine.context import Outcome
from agents.engine.states import StepKind
from agents.guardrails.actions import judge as judge_rows
from agents.guardrails.judging import Verdict, judge
from agents.guardrails.models import Feedback
from agents.guardrails.models import Verdict as Row
from agents.guardrails.reporting import Act, FindingSummary, excerpt, lines_of, tell
from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject
from agents.guardrails.settings import GuardSettings
from agents.runtime.context import AgentContext
from hyperagent.accounts.models import User
from hyperagent.lib.refusals import NotAllowed
from tests.faces.runs import make_run
from tests.runtime.driving import Runners, ended, events, start
from tests.runtime.test_waiting import answer, request_of
from tests.scripted.server import ScriptedServer

MAIL = "Write to alice@example.org or call +49 170 1234567, as bob@example.org said."


def at(text: str, part: str, *, kind: str = "email", replacement: str = "[email removed]", **more: Any) -> Finding:
    start = text.index(part)
    return Finding("pii", kind, start, start + len(part), Certainty.CERTAIN, "A mail.", replacement, **more)


def test_findings_are_told_by_scanner_and_kind_and_what_was_late_too() -> None:
    first, second = at(MAIL, "alice@example.org"), at(MAIL, "bob@example.org")
    phone = at(MAIL, "+49 170 1234567", kind="phone", replacement="[phone removed]")
    verdict = Verdict(Place.OUTPUT, (first, phone, second), "block", ("slow",), (0, 0, 0))

    lines = lines_of(verdict, [MAIL])

    assert [(one.scanner, one.kind, one.action, one.count) for one in lines] == [
        ("pii", "email", "block", 2), ("pii", "phone", "block", 1), ("slow", "late", "block", 1),
    ]  # fmt: skip
    assert {one.action for one in lines_of(verdict, [MAIL], action=Act.REDACT)} == {"redact"}
    assert [FindingSummary.from_json(one.as_json()) for one in lines] == list(lines)


def test_an_excerpt_is_short_and_has_no_value_in_it_but_a_phrase_stands_as_it_is() -> None:
    found = [at(MAIL, "alice@example.org"), at(MAIL, "bob@example.org")]
    for one in found:
        shown = excerpt(MAIL, one, found)
        assert len(shown) <= 80
        assert not any(value in shown for value in ("alice@", "bob@", "1234567"))
        assert "[email removed]" in shown
    phrase = at(MAIL, "Write to", replacement="")
    assert excerpt(MAIL, phrase, found) == "Write to"
    long = "x" * 500
    assert len(excerpt(long, at(long, long, replacement=""))) == 80


def test_each_finding_knows_its_text() -> None:
    scanner = Scanner("any", frozenset({Place.TOOL}), lambda text, _: [at(text, text)] if text != "b" else [])
    given = [(Subject(), text) for text in ("a", "b", "c")]

    verdict = judge(given, place=Place.TOOL, settings=GuardSettings(), scanners=[scanner])

    assert verdict.of == (0, 2)


async def _telling(context: AgentContext, turn: dict[str, Any]) -> dict[str, Any]:
    """Tells inside a step and outside, then waits for a person: a second driver passes both again."""
    verdict = Verdict(Place.OUTPUT, (at(MAIL, "alice@example.org"),), "block", (), (0,))

    async def perform() -> Outcome:
        tell(context, verdict, [MAIL], action=Act.REDACT)
        return Outcome(None)

    await context.step(StepKind.NOTE, "inside", None, perform)
    tell(context, verdict, [MAIL], tool="send_email", call_id="c1")
    await context.ask("input", {"question": "Go on?"})
    return {"answer": "done", "sources": [], "model": None}


@pytest.mark.spec("S208")
async def test_a_row_stands_beside_each_event_once_however_often_the_run_is_driven_and_goes_with_it(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    first = await make_runner(scripted_server.url, extra={"telling": _telling})
    run_id = await start(alice, "Tell", pipeline="telling")
    request = await request_of(run_id)
    first.stop()
    await make_runner(scripted_server.url, name="runner-2", extra={"telling": _telling})
    await answer(request, alice)

    run = await ended(run_id)

    assert run.answer == "done"
    told = [one for one in await events(run_id) if one["type"] == "guardrail"]
    rows = [row async for row in Row.objects.filter(execution=run_id).order_by("seq")]
    assert [(row.seq, row.place, row.kind, row.action, row.tool) for row in rows] == [
        (told[0]["seq"], "output", "email", "redact", ""), (told[1]["seq"], "output", "email", "block", "send_email"),
    ]  # fmt: skip
    assert len(told) == 2
    assert [(row.user_id, row.agent_name, row.feedback) for row in rows] == [(alice.pk, "telling", "")] * 2
    assert "alice@" not in rows[0].excerpt

    await sync_to_async(run.delete)()

    assert not await Row.objects.filter(execution=run_id).aexists()


# ── In the admin ──────────────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(user: Any) -> Any:
    """Three found in the last day for a run of this person, one of a month ago."""
    run = make_run(user)
    now = timezone.now()
    given = [
        ("injection", "override", "block", "certain", now),
        ("injection", "override", "warn", "suspected", now),
        ("pii", "email", "redact", "certain", now),
        ("pii", "email", "redact", "certain", now - timedelta(days=30)),
    ]
    return run, [
        Row.objects.create(
            execution=run, seq=number, agent_name="chat", user=user, place="input", scanner=scanner, kind=kind,
            certainty=certainty, action=action, reason="It gives orders.", excerpt="ignore the rules", created_at=at,
        )
        for number, (scanner, kind, action, certainty, at) in enumerate(given, 1)
    ]  # fmt: skip


def with_role(role: str) -> Any:
    someone = User.objects.create(email=f"{role}@example.org")
    someone.groups.add(Group.objects.get_or_create(name=role)[0])
    return someone


def client_of(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


LIST = "/admin/agents/verdict/"


@pytest.mark.slow
@pytest.mark.spec("S208")
@pytest.mark.django_db
def test_whoever_looks_after_the_guardrails_finds_each_verdict_and_says_whether_it_was_right(
    alice: Any, bob: Any, charlie: Any
) -> None:
    run, rows = rows_of(alice)
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    keeper = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    auditor, reviewer = with_role("auditor"), with_role("reviewer")
    one = f"{LIST}{rows[0].pk}/change/"
    feedback = f"{LIST}{rows[0].pk}/feedback/"

    assert {client_of(who).get(LIST).status_code for who in (keeper, bob, auditor)} == {200}
    assert {client_of(who).get(one).status_code for who in (charlie, alice, reviewer)} <= {302, 403, 404}
    whole, hidden, audited = (client_of(who).get(one).content.decode() for who in (keeper, bob, auditor))
    assert "ignore the rules" in whole
    assert "ignore the rules" in audited
    assert "ignore the rules" not in hidden
    assert f"/admin/agents/execution/{run.pk}/" in whole
    assert f"/admin/agents/execution/{run.pk}/" not in audited
    assert "Was the guardrail right?" in whole
    assert "Was the guardrail right?" not in hidden
    found = client_of(keeper).get(LIST, {"by": "pii", "action__exact": "redact", "q": str(run.pk)})
    assert len(found.context["cl"].result_list) == 2

    for who in (charlie, alice, reviewer, auditor, bob):
        assert client_of(who).post(feedback, {"feedback": "wrong"}).status_code in (302, 403, 404)
    assert client_of(keeper).post(feedback, {"feedback": "maybe"}).status_code == 400
    assert client_of(keeper).get(feedback).status_code == 405
    rows[0].refresh_from_db()
    assert rows[0].feedback == ""

    assert client_of(keeper).post(feedback, {"feedback": "wrong"}).status_code == 302
    chosen = {"action": "mark_right", "_selected_action": [rows[1].pk, rows[2].pk]}
    client_of(keeper).post(LIST, chosen)
    denied = {"action": "mark_wrong", "_selected_action": [rows[3].pk]}
    client_of(bob).post(LIST, denied)

    said = {row.pk: (row.feedback, row.feedback_by_id, row.feedback_at is not None) for row in Row.objects.all()}
    assert [said[row.pk] for row in rows] == [
        ("wrong", keeper.pk, True), ("right", keeper.pk, True), ("right", keeper.pk, True), ("", None, False),
    ]  # fmt: skip


@pytest.mark.django_db
def test_the_home_counts_what_was_found_in_a_day_and_how_often_a_scanner_was_called_wrong(alice: Any) -> None:
    _, rows = rows_of(alice)
    keeper = User.objects.create(email="root@example.org", is_staff=True, is_superuser=True)
    judge_rows(Row.objects.filter(pk=rows[0].pk), Feedback.WRONG, by=keeper)
    judge_rows(Row.objects.filter(pk__in=[rows[1].pk, rows[2].pk]), Feedback.RIGHT, by=keeper)
    client = client_of(keeper)

    panel = next(one for one in client.get("/admin/").context["panels"] if one.key == "guardrails")

    assert panel.headline is not None
    assert (panel.headline.value, panel.headline.note) == ("3", "1 refused")
    assert [(str(line.text), line.value, line.note) for line in panel.lines] == [
        ("injection · refused", "1", ""), ("injection · warned", "1", ""), ("pii · taken out", "1", ""),
        ("injection was wrong", "50%", "1 of 2 that people judged"),
        ("pii was wrong", "0%", "0 of 1 that people judged"),
    ]  # fmt: skip
    for line in (panel.headline, *panel.lines):
        listed = client.get(line.url).context["cl"].result_list
        expected = {"injection was wrong": 1, "pii was wrong": 0}.get(str(line.text), int(line.value.rstrip("%")))
        assert len(listed) == expected
    assert not any(one.key == "guardrails" for one in client_of(with_role("reviewer")).get("/admin/").context["panels"])
    with pytest.raises(NotAllowed):
        judge_rows(Row.objects.all(), Feedback.WRONG, by=alice)
