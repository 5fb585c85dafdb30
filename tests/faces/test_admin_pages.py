"""Every page of the admin, whichever table it is of: hostile words stay words, and records stay as they are. Who sees
what: `tests.walls`."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from tests.faces.admin_rows import Rows, registered

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)><a href="javascript:alert(3)">'
ClientOf = Callable[[Any], Client]

# All that anybody may write here. Everything else is a record.
WRITABLE = {
    "accounts.Budget", "accounts.User", "accounts.UserQuota", "agents.AgentTuning", "agents.ModelPrice", "auth.Group",
    "hitl.Policy", "hitl.Switch",
}  # fmt: skip


class Elements(HTMLParser):
    """What of a page would run: scripts that stand in it, attributes of events, addresses that are programs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.live: list[str] = []
        self._in_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._in_script = tag == "script"
        events = [name for name in given if name.startswith("on")]
        programs = [value for value in given.values() if (value or "").strip().lower().startswith("javascript:")]
        foreign = [value for value in (given.get("src"),) if value == "x"]
        self.live += [*events, *map(str, programs), *map(str, foreign)]

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script and data.strip():
            self.live.append(data)


def address(model: Any, page: str, *args: Any) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=args)


@pytest.mark.threat("T11", "T29")
def test_hostile_words_in_every_column_of_every_table_stay_words(admin_user: Any, client_of: ClientOf) -> None:
    rows = Rows(HOSTILE)
    client = client_of(admin_user)
    for model in registered():
        rows.of(model)

    for model in registered():
        listed = client.get(address(model, "changelist"), {"p": "1"})
        shown = client.get(address(model, "change", rows.of(model).pk))
        assert (listed.status_code, shown.status_code) == (200, 200), model
        for answer in (listed, shown):
            assert Elements(answer.content.decode()).live == [], model
    home = client.get("/admin/").content.decode()
    assert Elements(home).live == []
    execution = _named("agents.Execution")
    run = client.get(address(execution, "change", rows.of(execution).pk)).content.decode()
    assert "&lt;script&gt;alert(1)" in run


def test_a_page_that_would_run_something_is_seen_to_do_so() -> None:
    assert len(Elements(f'<p title="{HOSTILE}</p>').live) == 4


@pytest.mark.slow
@pytest.mark.spec("B4", "S210")
def test_what_is_a_record_cannot_be_written_by_anybody(admin_user: Any, client_of: ClientOf) -> None:
    rows = Rows("words")
    client = client_of(admin_user)

    for model in [model for model in registered() if model._meta.label not in WRITABLE]:
        row = rows.of(model)
        refused = [
            client.get(address(model, "add")),
            client.post(address(model, "add"), {}),
            client.post(address(model, "delete", row.pk), {"post": "yes"}),
        ]
        assert [answer.status_code for answer in refused] == [403] * 3, model
        assert "delete_selected" not in admin.site._registry[model].get_actions(_request_of(admin_user)), model
        assert not admin.site._registry[model].has_change_permission(_request_of(admin_user), row), model


@pytest.mark.slow
def test_words_of_other_people_stand_on_no_page_for_an_administrator_who_may_not_read_them(
    alice: Any, bob: Any, client_of: ClientOf
) -> None:
    rows = Rows("a word that is Alice's own", owner=alice)
    hidden = (
        "agents.AgentExecution", "agents.App", "agents.Effect", "agents.Event", "agents.Execution",
        "agents.Intervention", "agents.Step", "conversations.Conversation", "conversations.Message", "hitl.Decision",
        "memory.Project", "notices.Endpoint",
    )  # fmt: skip
    staff = client_of(bob)

    for label in hidden:
        model = _named(label)
        url = address(model, "change", rows.of(model).pk)
        for page in (url, address(model, "changelist")):
            words = staff.get(page, {"p": "1"}).content.decode()
            content = admin.site._registry[model].content_fields  # type: ignore[attr-defined]
            assert not any(re.search(rf"field-{name}(?![\w-])", words) for name in content), (label, page)


def _named(label: str) -> Any:
    return next(model for model in registered() if model._meta.label == label)


def _request_of(user: Any) -> Any:
    from django.test import RequestFactory  # needs the settings

    request = RequestFactory().get("/admin/")
    request.user = user
    return request
