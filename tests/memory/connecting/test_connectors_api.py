"""Connectors over the API: made, changed, looked at and deleted by whoever made them, and by nobody else."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django_q.models import OrmQ

from hyperagent.lib.queue import known
from memory.connecting import actions, tasks
from memory.connecting.items import key_of
from memory.connector_views import PROBLEMS_SHOWN, _rows
from memory.kinds import ConnectorKind
from memory.models import Connector, ConnectorItem, Document
from tests.jobs import do_jobs
from tests.lib.web import Web
from tests.memory.connecting.conftest import look_again, names_of
from tests.memory.connecting.test_web_pages import article, urlset

pytestmark = pytest.mark.django_db
BASE = "/api/v1/connectors"
Api = Callable[..., Any]


def test_alice_adds_a_page_looks_at_it_and_sees_what_became_of_it(alice: Any, web: Web, api_of: Api) -> None:
    web.pages["/a"] = "<p>One</p>"
    api = api_of(alice)

    made = api.post(BASE, {"kind": "page", "location": f"{web.url}/a#x", "every_s": 900})

    assert made.status_code == 201
    shown = made.json()
    assert (shown["location"], shown["every_s"], shown["is_on"], shown["looked_at"]) == (
        f"{web.url}/a",
        900,
        True,
        None,
    )
    look_again(Connector.objects.get())
    [listed] = api.get(BASE).json()["results"]
    assert (listed["documents"], listed["problems"], listed["result"]) == (1, 0, "1 page: 1 new.")
    assert listed["next_look_at"] > listed["looked_at"]
    [item] = api.get(f"{BASE}/{shown['id']}/items").json()["results"]
    assert (item["place"], item["doc_id"]) == (f"{web.url}/a", str(Document.objects.get().pk))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "mail", "location": "https://example.org"}, "kind"),
        ({"kind": "page", "location": "example.org"}, "location"),
        ({"kind": "page", "location": "https://me:secret@example.org/"}, "location"),
        ({"kind": "page", "location": "https://example.org/", "every_s": 60}, "every_s"),
        ({"kind": "sitemap", "location": "https://example.org/", "every_s": 10**9}, "every_s"),
        ({"kind": "sitemap"}, "location"),
    ],
)
def test_what_is_no_connector_is_refused_with_the_field(
    alice: Any, api_of: Api, body: dict[str, Any], field: str
) -> None:
    answer = api_of(alice).post(BASE, body)

    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, [field])


def test_folders_are_for_administrators(alice: Any, bob: Any, folder: Path, api_of: Api) -> None:
    body = {"kind": "folder", "location": str(folder), "every_s": 60}

    assert api_of(alice).post(BASE, body).json()["error"]["code"] == "administrators_only"
    unable = api_of(bob).post(BASE, body)
    assert (unable.status_code, unable.json()["error"]["code"]) == (403, "scope_missing")
    assert not Connector.objects.exists()
    able = api_of(bob, scopes=["documents", "admin"])
    assert able.post(BASE, body).status_code == 201
    assert able.post(BASE, body).status_code == 409


def test_a_connector_is_switched_off_and_on_and_looked_at_when_asked(alice: Any, web: Web, api_of: Api) -> None:
    api, url = api_of(alice), f"{BASE}/{actions.add(alice, kind=ConnectorKind.PAGE, location=web.url).pk}"
    look_again(Connector.objects.get())

    assert api.patch(url, {"is_on": False}).json()["next_look_at"] is None
    assert api.post(f"{url}/look").status_code == 409
    assert api.patch(url, {"is_on": True, "every_s": 7_200}).json()["every_s"] == 7_200
    assert api.post(f"{url}/look").status_code == 202
    assert Connector.objects.get().pause_s == 0
    assert known(actions.LOOK) is tasks.look


def test_what_becomes_of_the_documents_is_no_guess(alice: Any, web: Web, api_of: Api) -> None:
    api, made = api_of(alice), actions.add(alice, kind=ConnectorKind.PAGE, location=web.url)

    answer = api.delete(f"{BASE}/{made.pk}?documents=Delete")

    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, ["documents"])
    assert Connector.objects.filter(pk=made.pk).exists()
    assert api.delete(f"{BASE}/{made.pk}?documents=keep").status_code == 204


@pytest.mark.parametrize(("query", "left"), [("", ["a.html", "mine.md"]), ("?documents=delete", ["mine.md"])])
def test_a_connector_is_deleted_with_or_without_its_documents(
    alice: Any, web: Web, api_of: Api, query: str, left: list[str]
) -> None:
    import io

    from memory.actions import documents

    web.pages["/a"] = "<p>One</p>"
    documents.add(alice, io.BytesIO(b"mine"), filename="mine.md")
    connector = look_again(actions.add(alice, kind=ConnectorKind.PAGE, location=f"{web.url}/a"))

    assert api_of(alice).delete(f"{BASE}/{connector.pk}{query}").status_code == 204

    assert names_of(alice) == left
    assert not Connector.objects.exists()


def test_a_connector_of_many_documents_is_gone_at_once_and_its_documents_lot_by_lot(
    alice: Any, web: Web, api_of: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "AT_ONCE", 2)
    paths = [f"/{number}" for number in range(5)]
    web.pages |= {path: article(f"The story of {path}.") for path in paths}
    web.pages["/sitemap.xml"] = urlset(*(f"{web.url}{path}" for path in paths))
    connector = look_again(actions.add(alice, kind=ConnectorKind.SITEMAP, location=f"{web.url}/sitemap.xml"))
    other = look_again(actions.add(alice, kind=ConnectorKind.PAGE, location=f"{web.url}/3"))
    api = api_of(alice)
    assert len(names_of(alice)) == 5

    answer = api.delete(f"{BASE}/{connector.pk}?documents=delete")
    before, seen = names_of(alice), [one["id"] for one in api.get(BASE).json()["results"]]
    again = api.post(BASE, {"kind": "sitemap", "location": f"{web.url}/sitemap.xml"})
    actions.leave(connector.pk, work_s=0)
    between, left = names_of(alice), actions.leaving()
    tasks.leave(str(connector.pk))

    assert (answer.status_code, len(before), seen) == (204, 5, [str(other.pk)])
    assert (again.status_code, again.json()["error"]["code"]) == (409, "still_leaving")
    assert 0 < len(between) < 5
    assert (left, actions.leaving(), known(actions.LEAVE)) == ([connector.pk], [], tasks.leave)
    assert names_of(alice) == ["3.html"]
    assert list(Connector.objects.all()) == [other]
    assert Document.objects.get().connector == other


def test_while_somebody_deletes_what_a_connector_brought_no_other_job_does(alice: Any) -> None:
    connector = actions.add(alice, kind=ConnectorKind.PAGE, location="https://example.org/a")
    Connector.objects.update(is_leaving=True, is_on=False, looking_until=Now() + actions.LEASE)
    OrmQ.objects.all().delete()

    for _ in range(2):
        tasks.look_around()
    actions.leave(connector.pk)
    held = (OrmQ.objects.count(), Connector.objects.count())
    # Whoever held it died.
    Connector.objects.update(looking_until=Now())
    tasks.look_around()
    do_jobs()

    assert held == (0, 1)
    assert not Connector.objects.exists()


def test_one_connector_with_very_many_problems_leaves_room_for_those_of_the_others(alice: Any) -> None:
    crowded, other = (
        actions.add(alice, kind=ConnectorKind.PAGE, location=f"https://example.org/{name}") for name in ("a", "b")
    )
    for connector, count in ((crowded, 600), (other, 1)):
        ConnectorItem.objects.bulk_create(
            ConnectorItem(connector=connector, place=f"{n:03}", place_key=key_of(f"{n:03}"), problem="It is broken.")
            for n in range(count)
        )

    rows = {row["connector"]: [item.place for item in row["problems"]] for row in _rows([other, crowded])}

    assert rows == {crowded: [f"{n:03}" for n in range(PROBLEMS_SHOWN)], other: ["000"]}


def test_for_charlie_there_is_no_connector_whatever_he_tries(alice: Any, charlie: Any, web: Web, api_of: Api) -> None:
    connector = actions.add(alice, kind=ConnectorKind.PAGE, location=web.url)
    api = api_of(charlie)

    def tries(id_: Any) -> list[Any]:
        url = f"{BASE}/{id_}"
        return [
            api.get(url), api.patch(url, {"is_on": False}), api.patch(url, {"every_s": "x"}), api.delete(url),
            api.post(f"{url}/look"), api.get(f"{url}/items"),
        ]  # fmt: skip

    answers, missing = tries(connector.pk), tries(uuid.uuid4())

    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert [answer.content for answer in answers] == [answer.content for answer in missing]
    assert api.get(BASE).json()["results"] == []
    connector.refresh_from_db()
    assert connector.is_on


def test_the_list_takes_the_same_number_of_queries_however_long_it_is(alice: Any, web: Web, api_of: Api) -> None:
    api = api_of(alice)

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert api.get(BASE).status_code == 200
        return len(seen)

    def more(start: int) -> None:
        for number in range(start, start + 3):
            actions.add(alice, kind=ConnectorKind.PAGE, location=f"{web.url}/{number}")

    more(0)
    queries()
    few = queries()
    more(3)

    assert queries() == few
