"""The pages of schedules: what one picks, sees and does, with and without JavaScript."""

import re
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from playwright.sync_api import expect

from agents.models import Execution
from conversations.models import Share
from conversations.schedules.kinds import ApprovalRule, Kind, Talk
from conversations.schedules.models import Schedule
from conversations.schedules.starting import start_due
from tests.accounts.test_in_a_browser import browser, open_page, sign_in
from tests.clean_page import axe_faults
from tests.faces.test_sharing import said, shared
from tests.schedules.making import QUESTION, falls_due, finish_runs, hourly, made, wish

__all__ = ["browser", "open_page"]
TYPED = {
    "question": QUESTION, "title": "News", "frequency": "weekly", "at": "08:30", "weekdays": ["1", "5"], "day": "1",
    "unit": "hours", "time_zone": "Europe/Berlin", "on_approval": "wait", "talk": "new", "mode": "task",
    "when_missed": "skip",
}  # fmt: skip
SEND = {
    "on_approval": "preapproved", "tool_1": "send_email", "path_1": "to", "op_1": "domain", "value_1": "example.org"
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.spec("B27")
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({}, "Every Monday and Friday at 08:30"),
        ({"frequency": "daily"}, "Every day at 08:30"),
        ({"frequency": "workdays"}, "Monday to Friday at 08:30"),
        ({"frequency": "monthly", "day": "L"}, "On the last day of each month at 08:30"),
        ({"frequency": "every", "count": "6"}, "Every 6 hours"),
        ({"frequency": "once", "moment": "2035-03-25T02:30"}, "Once, on 25 Mar 2035 03:30 CEST"),
        ({"frequency": "cron", "cron": "*/10 9 * * *"}, "By cron: */10 9 * * *"),
        ({"frequency": "cron", "cron": "30 08 05 * *"}, "On day 5 of each month at 08:30"),
    ],
)
def test_what_is_picked_is_made_and_stands_in_the_form_again(
    alice: Any, client_of: Any, typed: dict[str, str], words: str
) -> None:
    page = client_of(alice)

    answer = page.post("/schedules/new/", {**TYPED, **typed, "until": "2036-01-31"}, follow=True)
    schedule = Schedule.objects.get()
    again = page.get(f"/schedules/{schedule.pk}/edit/").context["form"]
    due = schedule.next_due_at
    same = {name: again[name].value() for name in again.fields if again[name].value() is not None}
    saved = page.post(f"/schedules/{schedule.pk}/edit/", same)

    assert saved.status_code == 302
    assert words in answer.content.decode()
    assert schedule.local(schedule.ends_at).isoformat() == "2036-01-31T23:59:59+01:00"  # type: ignore[arg-type]
    schedule.refresh_from_db()
    assert (schedule.next_due_at, schedule.when_missed) == (due, "skip")
    assert words in page.get("/schedules/").content.decode()


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"question": " "}, "question", "empty"),
        ({"on_approval": ""}, "on_approval", "what happens then"),
        ({"at": ""}, "at", "at what time"),
        ({"weekdays": []}, "weekdays", "day of the week"),
        ({"frequency": "every", "count": "4", "unit": "minutes"}, "count", "at least five"),
        ({"frequency": "every"}, "count", "how many"),
        ({"frequency": "once", "moment": "soon"}, "moment", "such as"),
        ({"frequency": "once", "moment": "2020-01-01T09:00"}, "moment", "still to come"),
        ({"frequency": "cron", "cron": "* * * * *"}, "cron", "1 min apart"),
        ({"until": "2020-01-01"}, "until", "before its first time"),
        ({**SEND, "tool_1": ""}, "tool_1", "Choose the tool"),
        ({**SEND, "path_1": "", "value_1": ""}, "path_1", "for which calls"),
        ({**SEND, "tool_1": "", "path_1": "", "value_1": ""}, "on_approval", "which calls are approved"),
    ],
)
def test_what_cannot_be_is_said_at_its_field_and_nothing_typed_is_lost(
    alice: Any, client_of: Any, typed: dict[str, Any], field: str, said: str
) -> None:
    answer = client_of(alice).post("/schedules/new/", {**TYPED, **typed})

    assert answer.status_code == 400
    assert said in str(answer.context["form"].errors[field])
    assert not Schedule.objects.exists()
    assert 'value="News"' in answer.content.decode()


@pytest.mark.slow
@pytest.mark.spec("B8")
@pytest.mark.django_db
def test_a_yes_beforehand_is_one_row_and_what_a_program_approved_is_never_widened(alice: Any, client_of: Any) -> None:
    page = client_of(alice)
    page.post("/schedules/new/", {**TYPED, **SEND})
    by_form = Schedule.objects.get()
    both = [{"path": "to", "op": "equals", "value": "a@b.org"}, {"path": "subject", "op": "equals", "value": "Hi"}]
    by_program = made(
        alice, wish(on_approval=ApprovalRule.PREAPPROVED, preapproved=[{"tool": "send_email", "conditions": both}])
    )

    shown = page.get(f"/schedules/{by_program.pk}/edit/").content.decode()
    page.post(f"/schedules/{by_program.pk}/edit/", {**TYPED, "on_approval": "preapproved"})

    target = {"path": "to", "op": "domain", "value": "example.org"}
    assert by_form.preapproved == [{"tool": "send_email", "conditions": [target]}]
    assert "has the domain example.org" in page.get(f"/schedules/{by_form.pk}/").content.decode()
    assert "set by a program" in shown
    by_program.refresh_from_db()
    assert (by_program.preapproved[0]["conditions"], by_program.title) == (both, "News")


@pytest.mark.spec("B27")
@pytest.mark.django_db
def test_the_history_says_what_came_of_each_time(alice: Any, client_of: Any) -> None:
    schedule = made(alice, hourly(title="<b>News</b>", talk=Talk.SAME))
    start_due(falls_due(schedule, timedelta(hours=3, minutes=20)).pk)
    start_due(falls_due(schedule, timedelta(seconds=20)).pk)
    Execution.objects.update(status="failed", ended_at=schedule.created_at, error_message="The model was away.")

    shown = client_of(alice).get(f"/schedules/{schedule.pk}/").content.decode()

    conversation = schedule.runs.exclude(conversation=None).get().conversation_id
    for told in ("made up for on", "stands for 3 later times too", "the run before was still going on", "Failed"):
        assert told in shown
    assert "The model was away." in shown
    assert f'href="/c/{conversation}/"' in shown
    assert "<b>News" not in shown


@pytest.mark.slow
@pytest.mark.django_db
def test_its_buttons_do_what_they_say_for_its_owner_alone(alice: Any, charlie: Any, client_of: Any) -> None:
    schedule = made(alice)
    place, mine, theirs = f"/schedules/{schedule.pk}/", client_of(alice), client_of(charlie)

    for address in (place, f"{place}edit/"):
        assert theirs.get(address).status_code == 404
        assert theirs.post(address, {**TYPED, "verb": "delete"}).status_code == 404
    assert mine.post(place, {"verb": "dance"}).status_code == 404
    assert "Paused" in mine.post(place, {"verb": "pause"}, follow=True).content.decode()
    assert "It goes on." in mine.post(place, {"verb": "resume", "list": "1"}, follow=True).content.decode()
    assert "It is asked now." in mine.post(place, {"verb": "run"}, follow=True).content.decode()
    assert "not over yet" in mine.post(place, {"verb": "run"}, follow=True).content.decode()
    finish_runs()
    empty = mine.post(place, {"verb": "delete"}, follow=True).content.decode()

    assert "Nothing is scheduled yet" in empty
    assert "News" not in theirs.get("/schedules/").content.decode()


@pytest.mark.slow
@pytest.mark.django_db
def test_a_refused_form_shows_the_next_times_as_before(alice: Any, client_of: Any) -> None:
    refused = {**TYPED, "question": "", "on_approval": "", "frequency": "daily"}

    new = client_of(alice).post("/schedules/new/", refused).content.decode()
    changed = client_of(alice).post(f"/schedules/{made(alice).pk}/edit/", refused).content.decode()

    for shown in (new, changed):
        assert "Every day at 08:30" in shown
        assert shown.count("<li><time") == 5


@pytest.mark.slow
@pytest.mark.django_db
def test_next_times_are_told_in_the_zone_of_the_schedule(alice: Any, client_of: Any) -> None:
    alice.time_zone = "Asia/Tokyo"
    alice.save()

    refused = client_of(alice).post("/schedules/new/", {**TYPED, "question": "", "frequency": "daily"}).content.decode()
    one = client_of(alice).post("/schedules/new/", {**TYPED, "frequency": "daily"}, follow=True).content.decode()

    for shown in (refused, one):
        assert len(re.findall(r"08:30 CES?T</time>", shown)) == 5


@pytest.mark.django_db
def test_a_form_that_changes_other_words_leaves_times_to_the_second(alice: Any, client_of: Any) -> None:
    """As a program set them. The second 02:30 of the night in which clocks go back is shown as the first is."""
    at = datetime(2035, 10, 28, 1, 30, 30, tzinfo=UTC)
    once = made(alice, wish(kind=Kind.ONCE, cron="", at=at))
    noon = datetime(2035, 12, 31, 12, tzinfo=UTC)
    daily = made(alice, wish(ends_at=noon))

    for schedule, more in (
        (once, {"frequency": "once", "moment": "2035-10-28T02:30"}),
        (daily, {"until": "2035-12-31"}),
    ):
        typed = {**TYPED, "frequency": "daily", "at": "09:00", **more, "question": "What else?"}
        saved = client_of(alice).post(f"/schedules/{schedule.pk}/edit/", typed)
        schedule.refresh_from_db()
        assert (saved.status_code, schedule.question) == (302, "What else?")

    assert (once.at, daily.ends_at) == (at, noon)
    client_of(alice).post(f"/schedules/{once.pk}/edit/", {**TYPED, "frequency": "once", "moment": "2035-10-28T02:31"})
    once.refresh_from_db()
    assert once.at == datetime(2035, 10, 28, 0, 31, tzinfo=UTC)


@pytest.mark.django_db
def test_without_javascript_a_button_shows_the_next_times_and_keeps_what_was_typed(alice: Any, client_of: Any) -> None:
    alice.time_zone = "Asia/Tokyo"
    alice.save()
    half = {**TYPED, "question": "", "on_approval": "", "time_zone": "UTC", "at": "09:00", "frequency": "daily"}

    answer = client_of(alice).post("/schedules/new/", {**half, "look": "1"})
    piece = client_of(alice).post("/schedules/times/", {**half, "frequency": "cron", "cron": "nonsense"})

    assert answer.status_code == 200
    assert answer.content.decode().count("09:00 UTC") == 5
    assert "errorlist" not in answer.content.decode()
    assert 'value="News"' in answer.content.decode()
    assert "five fields" in piece.content.decode()
    assert not Schedule.objects.exists()


@pytest.mark.slow
def test_a_refused_form_puts_its_first_fault_in_view_and_the_focus_there(alice: Any, open_page: Any) -> None:
    page = open_page(viewport={"width": 1440, "height": 900})
    sign_in(page, alice.email)
    page.goto("/schedules/new/")
    page.get_by_label("What to ask").fill(QUESTION)

    page.get_by_role("button", name="Make schedule").click()

    expect(page.get_by_role("radio", name="It waits in your inbox")).to_be_focused()
    expect(page.get_by_text("Choose what happens then.")).to_be_in_viewport()
    page.get_by_role("radio", name="It waits in your inbox").check()
    page.get_by_role("button", name="Make schedule").click()
    page.get_by_text("The schedule is made.").wait_for()


@pytest.mark.slow
@pytest.mark.spec("B27", "B24")
def test_alice_picks_sees_the_next_times_before_she_saves_and_runs_it(alice: Any, open_page: Any) -> None:
    page = open_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    sign_in(page, alice.email)
    found = {}

    page.goto("/schedules/")
    found["empty"] = faults(page)
    page.get_by_role("link", name="Make the first one").click()
    page.get_by_label("What to ask").fill(QUESTION)
    page.get_by_role("radio", name="Weekly").check()
    page.get_by_role("checkbox", name="Friday").check()
    page.get_by_role("checkbox", name="Monday").uncheck()
    page.get_by_label("At", exact=True).fill("17:15")
    page.get_by_text("Every Friday at 17:15").wait_for()
    times = page.locator(".schedule-coming li").all_inner_texts()
    hidden = page.get_by_label("Cron expression").is_visible()
    # "Once" stands among what becomes of missed times too, and is not how often it comes.
    of_once, end = page.locator("#id_moment").is_visible(), page.locator("#id_until").is_visible()
    page.get_by_role("radio", name="Only what I approve").check()
    page.get_by_label("Tool").first.select_option("send_email")
    page.get_by_label("Argument").first.fill("to")
    page.get_by_label("Value").first.fill("bob@example.org")
    found["form"] = faults(page)
    page.get_by_role("button", name="Make schedule").click()
    page.get_by_role("button", name="Run now").click()
    page.get_by_text("It is asked now.").wait_for()
    found["one"] = faults(page)
    page.goto("/schedules/")
    found["list"] = faults(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    found["list on a phone"] = faults(page)

    assert found == {name: [] for name in found}
    assert (len(times), {time[:3] for time in times}, hidden) == (5, {"Fri"}, False)
    assert (of_once, end) == (False, True)
    assert errors == []


def faults(page: Any) -> list[str]:
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return axe_faults(page) + ([f"{wide} px too wide"] if wide > 0 else [])


@pytest.mark.django_db
def test_ends_that_were_taken_before_such_were_refused_break_no_page(alice: Any, client_of: Any, api_of: Any) -> None:
    cut = import_module("conversations.migrations.0009_tellable_ends").CUT
    kept = datetime(2036, 1, 31, 12, tzinfo=UTC)
    one, other = made(alice, hourly(ends_at=kept)), made(alice)
    shared(api_of(alice), said(alice, "How did it go?", "Well.").conversation)
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    Schedule.objects.filter(pk=other.pk).update(ends_at=last)
    Share.objects.update(ends_at=last)

    with connection.cursor() as cursor:
        cursor.execute(cut)

    page = client_of(alice)
    pages = ["/schedules/", f"/schedules/{other.pk}/", f"/schedules/{other.pk}/edit/"]
    assert [page.get(path).status_code for path in pages] == [200, 200, 200]
    one.refresh_from_db()
    assert (one.ends_at, Share.objects.get().ends_at) == (kept, last.replace(year=9998))
