"""Who reads the log and how: the page of the admin, the API, the files, the stream. Charlie reads nothing."""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group

from hyperagent.accounts import actions, invitations
from hyperagent.accounts.audit_log import streaming
from hyperagent.accounts.models import ApiToken
from hyperagent.audit import reading
from hyperagent.audit.origin import Origin, coming_from
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.audit.sealing import seal
from tests.walls.owners import person_with

pytestmark = pytest.mark.django_db
PAGE, API = "/admin/audit/auditevent/", "/api/v1/audit"
FORMULA = '=HYPERLINK("http://evil.example","x")'


def numbers(answer: Any) -> list[int]:
    return [row["number"] for row in answer.json()["results"]]


@pytest.mark.slow
@pytest.mark.spec("B21")
@pytest.mark.threat("T06")
def test_administrators_and_auditors_read_the_log_and_nobody_else(
    alice: Any, bob: Any, api_of: Callable[..., Any], client_of: Callable[..., Any]
) -> None:
    auditor, reviewer = person_with("auditor"), person_with("reviewer")
    # The stream looks in a thread of its own, and is in a test of its own.
    paths = (API, f"{API}/export")

    def told(api: Any) -> set[int]:
        return {api.get(path).status_code for path in paths}

    closed = {
        "Charlie": told(api_of(alice)),
        "reviewer": told(api_of(reviewer, scopes=["read", "run", "approve"])),
        "administrator without the scope": told(api_of(bob, scopes=["read"])),
        "auditor without the scope": told(api_of(auditor, scopes=["run"])),
        "stranger": told(client_of(alice).__class__()),
    }
    pages = [client_of(person).get(f"{PAGE}?p=1").status_code for person in (alice, reviewer, auditor, bob)]

    assert closed == {name: {401} if name == "stranger" else {403} for name in closed}
    assert api_of(auditor, scopes=["read"]).get(API).status_code == 200
    assert api_of(bob, scopes=["admin"]).get(API).status_code == 200
    assert client_of(auditor).get(API).status_code == 200
    assert pages == [302, 403, 200, 200]


@pytest.mark.spec("B21")
def test_a_page_of_the_log_goes_on_by_its_cursor_and_is_narrowed_down_by_each_filter(
    alice: Any, bob: Any, charlie: Any, api_of: Callable[..., Any], write: Callable[..., None]
) -> None:
    api = api_of(bob, scopes=["admin"])
    write(alice, 3)
    with coming_from(Origin("203.0.113.5", "Firefox on Linux")):
        record("sign_in.failed", actor=None, target=Target("user", str(charlie.pk), charlie.email))
    write(charlie, 2, kind="rule.made")

    first = api.get(API, {"page_size": 4}).json()
    second = api.get(first["next"]).json()
    by = {
        "kind": numbers(api.get(API, {"kind": "sign_in.*,rule.made"})),
        "actor": numbers(api.get(API, {"actor": "alice@"})),
        "actor's id": numbers(api.get(API, {"actor": str(charlie.pk), "kind": "rule.made"})),
        "target": numbers(api.get(API, {"target": str(charlie.pk)})),
        "address": numbers(api.get(API, {"address": "203.0.113.5"})),
        "nobody": numbers(api.get(API, {"actor": "nobody@example.org"})),
        "time": numbers(api.get(API, {"since": "2999-01-01T00:00:00Z"})),
        "before": len(numbers(api.get(API, {"until": "2999-01-01T00:00:00Z"}))),
    }
    refused = api.get(API, {"kind": "sideways"})

    # The first is the token that Bob made for this test.
    assert [row["number"] for page in (first, second) for row in page["results"]] == [7, 6, 5, 4, 3, 2, 1]
    assert by == {
        "kind": [7, 6, 5], "actor": [4, 3, 2], "actor's id": [7, 6], "target": [5], "address": [5], "nobody": [],
        "time": [], "before": 7,
    }  # fmt: skip
    assert (refused.status_code, "is no kind of event" in refused.json()["error"]["message"]) == (400, True)
    assert first["results"][2] | {"at": "", "hash": ""} == {
        "number": 5, "at": "", "kind": "sign_in.failed", "actor": None,
        "target": {"type": "user", "id": str(charlie.pk), "name": charlie.email}, "address": "203.0.113.5",
        "browser": "Firefox on Linux", "request_id": first["results"][2]["request_id"], "details": {}, "hash": "",
    }  # fmt: skip


@pytest.mark.spec("B21")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_threads")
async def test_the_log_is_taken_away_whole_as_a_file_in_which_no_cell_is_a_formula_and_that_is_in_the_log(
    alice: Any, bob: Any, api_of: Callable[..., Any], client_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "AT_ONCE", 2)

    def asked() -> tuple[Any, Any, Any]:
        for name in (FORMULA, "laptop", "@sum", "phone", "é\r\nx"):
            record("token.made", actor=actor_of(alice), target=Target("api_token", "t", name))
        api = api_of(bob, scopes=["admin"])
        lines = api.get(f"{API}/export", {"kind": "token.made", "actor": str(alice.pk)})
        table = client_of(bob).get(f"{PAGE}export.csv", {"q": "alice@"})
        everything = api.get(f"{API}/export", {"form": "csv"})
        return lines, table, everything

    async def text(answer: Any) -> str:
        return b"".join([part async for part in answer.streaming_content]).decode()

    lines, table, everything = await sync_to_async(asked)()
    rows = [json.loads(line) for line in (await text(lines)).splitlines()]
    cells = list(csv.DictReader(io.StringIO(await text(table))))
    whole = list(csv.DictReader(io.StringIO(await text(everything))))
    log = await sync_to_async(lambda: [row.kind for row in reading.after(0, limit=99)])()

    assert [row["target"]["name"] for row in rows] == [FORMULA, "laptop", "@sum", "phone", "é\r\nx"]
    assert [cell["target_name"] for cell in cells] == [f"'{FORMULA}", "laptop", "'@sum", "phone", "é\r\nx"]
    assert [cell["number"] for cell in cells] == ["1", "2", "3", "4", "5"]
    # Its own export is the last that it tells of.
    assert log[-3:] == ["audit.exported"] * 3
    assert [cell["kind"] for cell in whole] == log[:-1]
    assert lines["Content-Disposition"] == 'attachment; filename="audit.jsonl"'


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_threads")
@pytest.mark.spec("B21")
async def test_the_stream_tells_what_is_there_then_what_comes_and_ends_when_it_is_no_longer_theirs(
    alice: Any,
    charlie: Any,
    client_of: Callable[..., Any],
    write: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streaming, "LOOK_S", 0.02)

    def prepare() -> tuple[Any, Any]:
        auditor = person_with("auditor")
        token, _raw = actions.make_token(auditor, scopes=["read"])
        write(alice, 3)
        return auditor, token

    def pulled() -> list[Any]:
        page = client_of(auditor).get(f"{API}/stream", {"after": 1, "limit": 2}).json()
        more = client_of(auditor).get(page["next"]).json()
        return [[row["number"] for row in one["results"]] for one in (page, more)]

    def refused() -> list[int]:
        return [client_of(person).get(f"{API}/stream").status_code for person in (alice, charlie)]

    async def next_of(parts: AsyncIterator[bytes]) -> dict[str, str]:
        async for part in parts:
            if part.startswith(b"id: "):
                return dict(line.split(": ", 1) for line in part.decode().strip().split("\n"))
        return {}

    auditor, token = await sync_to_async(prepare)()
    assert (await sync_to_async(pulled)(), await sync_to_async(refused)()) == ([[2, 3], [4]], [403, 403])
    async with aclosing(streaming.server_sent(2, user_id=auditor.pk, token_id=token.pk)) as parts:
        old = [await next_of(parts), await next_of(parts)]
        await sync_to_async(write)(alice, kind="rule.made")
        new = await next_of(parts)
        await sync_to_async(actions.revoke_token)(auditor, token.pk)
        rest = [part async for part in parts]

    assert [event["id"] for event in old] == ["3", "4"]
    assert (new["id"], new["event"], json.loads(new["data"])["actor"]["name"]) == ("5", "rule.made", alice.email)
    assert rest[-1] == streaming.NO_LONGER


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_threads")
@pytest.mark.threat("T25")
async def test_the_stream_of_a_browser_ends_with_its_session(
    client_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "LOOK_S", 0.02)
    browser = await sync_to_async(lambda: client_of(person_with("auditor")))()
    answer = await sync_to_async(browser.get)(f"{API}/stream", HTTP_ACCEPT="text/event-stream")
    parts = answer.streaming_content

    first = [await anext(parts), await anext(parts)]
    await sync_to_async(browser.post)("/accounts/logout/")
    async with asyncio.timeout(10):
        rest = [part async for part in parts]

    assert first[1].startswith(b"id: ")
    assert rest[-1] == streaming.NO_LONGER


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_threads")
def test_a_number_that_came_by_the_header_is_refused_by_its_name(client_of: Callable[..., Any]) -> None:
    refused = client_of(person_with("auditor")).get(f"{API}/stream", HTTP_LAST_EVENT_ID="abc")

    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"Last-Event-ID"})


def test_its_form_is_taken_as_format_too(bob: Any, api_of: Callable[..., Any]) -> None:
    api = api_of(bob, scopes=["admin"])

    assert api.get(f"{API}/export", {"format": "csv"})["content-type"].startswith("text/csv")
    refused = api.get(f"{API}/export", {"format": "pdf"})
    assert (refused.status_code, set(refused.json()["error"]["fields"])) == (400, {"form"})


@pytest.mark.slow
@pytest.mark.spec("B21")
def test_the_page_finds_by_whatever_an_auditor_has_in_hand_and_asks_few_queries(
    alice: Any,
    bob: Any,
    client_of: Callable[..., Any],
    write: Callable[..., None],
    django_assert_max_num_queries: Any,
) -> None:
    page = client_of(bob)
    write(alice, 30)
    with coming_from(Origin("203.0.113.9", "Edge on Windows")):
        record("role.given", actor=actor_of(bob), target=Target("user", str(alice.pk), alice.email))
    record("sign_in.failed", actor=None)

    def found(term: str) -> list[int]:
        rows = page.get(PAGE, {"q": term}).context_data["cl"].result_list
        return [row.number for row in rows]

    with django_assert_max_num_queries(17):
        shown = page.get(PAGE).content.decode()

    assert all(words in shown for words in ("role.given", "203.0.113.9", "Export as CSV"))
    assert found("alice@example") == [*range(31, 0, -1)]
    assert found(str(bob.pk)) == found("203.0.113.9") == found("31") == found("role.given") == [31]
    assert found("charlie@example.org") == found("nonsense") == []
    assert [row.number for row in page.get(PAGE, {"family": "signing-in"}).context_data["cl"].result_list][:2] == [
        32,
        30,
    ]


def test_what_became_of_an_invitation_is_found_among_what_is_told_of_people(
    bob: Any, client_of: Callable[..., Any]
) -> None:
    invitations.revoke(bob, invitations.invite(bob, "dora@example.org").pk)
    record("price.changed", actor=actor_of(bob))
    record("retention.ran", actor=None)
    page = client_of(bob)

    def told_of(family: str) -> set[str]:
        return {row.kind for row in page.get(PAGE, {"family": family}).context_data["cl"].result_list}

    assert {"user.invited", "invitation.revoked", "price.changed"} <= told_of("people")
    assert told_of("house") == {"retention.ran"}


@pytest.mark.spec("B21")
def test_no_page_and_no_right_changes_the_log(admin_user: Any, client_of: Callable[..., Any], write: Any) -> None:
    write(admin_user)
    seal()
    (row,) = reading.after(0)
    browser = client_of(admin_user)
    tried = [
        browser.post(f"{PAGE}{row.pk}/change/", {"kind": "x"}),
        browser.post(f"{PAGE}{row.pk}/delete/", {"post": "yes"}),
        browser.post(f"{PAGE}add/", {}),
        browser.post(PAGE, {"action": "delete_selected", "_selected_action": [row.pk]}),
    ]

    assert [answer.status_code for answer in tried[:3]] == [403, 403, 403]
    assert [one.hash for one in reading.after(0)][:1] == [row.hash]


def test_who_loses_the_role_loses_the_log(api_of: Callable[..., Any]) -> None:
    auditor = person_with("auditor")
    api = api_of(auditor, scopes=["read"])
    before = api.get(API).status_code
    auditor.groups.remove(Group.objects.get(name="auditor"))

    assert (before, api.get(API).status_code, ApiToken.objects.count()) == (200, 403, 1)
