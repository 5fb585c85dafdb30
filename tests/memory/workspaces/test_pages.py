"""The pages of files without a browser: what they show, whom they refuse, what they cost; and what an administrator
sees."""

import re
from collections.abc import Callable
from html import escape, unescape
from typing import Any
from urllib.parse import parse_qs, urlencode
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory.file_preview import TABLE_COLUMNS, TABLE_ROWS
from memory.models import WorkspaceFile
from memory.workspaces import files, folders
from memory.workspaces.places import page_url
from tests.memory.ingestion.making import pdf_of
from tests.memory.workspaces.conftest import Places
from tests.memory.workspaces.test_paths import ODD

pytestmark = [pytest.mark.django_db, pytest.mark.spec("S81")]
Browse = Callable[[Any], Client]


def text_of(browser: Client, address: str) -> str:
    answer = browser.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return answer.content.decode()


@pytest.mark.slow
def test_a_folder_shows_its_folders_and_files_at_a_fixed_cost(alice: Any, places: Places, client_of: Browse) -> None:
    browser, here = client_of(alice), places["project"]
    files.write(alice.pk, here, "a/b/c.txt", b"x")
    files.write(alice.pk, here, "top.txt", b"x")
    with CaptureQueriesContext(connection) as few:
        shown = text_of(browser, page_url(here))
    for number in range(30):
        files.write(alice.pk, here, f"a/{number}.txt", b"%d" % number)
        files.write(alice.pk, here, f"folder {number}/x.txt", b"x")
    with CaptureQueriesContext(connection) as many:
        text_of(browser, page_url(here))

    assert ("top.txt" in shown, "c.txt" in shown, page_url(here, "a/") in shown) == (True, False, True)
    assert len(many) <= len(few) + 1 <= 13
    inner = text_of(browser, page_url(here, "a/"))
    assert (page_url(here, "a/b/") in inner, inner.count("data-file=")) == (True, 30)
    found = text_of(browser, page_url(here) + "?q=c.t+B&sort=new")
    assert (found.count("data-file="), "in a/b/" in found) == (1, True)
    assert browser.get(page_url(here, "a")).headers["Location"] == page_url(here, "a/")
    assert "Nothing is in this folder" in text_of(browser, page_url(here, "none/"))


@pytest.mark.slow
def test_names_are_found_whatever_letters_they_have_and_on_every_page(
    alice: Any, places: Places, client_of: Browse
) -> None:
    browser, here = client_of(alice), places["user"]
    for name in ("Übersicht über R&D.md", "übersicht.md", "План.md"):
        files.write(alice.pk, here, name, b"x")
    for number in range(101):
        files.write(alice.pk, here, f"R&D {number}.txt", b"x")

    found = {
        words: text_of(browser, f"{page_url(here)}?{urlencode({'q': words})}").count("data-file=")
        for words in ("übersicht", "ÜBERSICHT", "über r&d", "план", "nichts")
    }
    first = text_of(browser, f"{page_url(here)}?{urlencode({'q': 'R&D'})}")
    [following] = re.findall(r'href="(\?[^"]*page=2)"', first)

    assert found == {"übersicht": 2, "ÜBERSICHT": 2, "über r&d": 1, "план": 1, "nichts": 0}
    assert parse_qs(unescape(following)[1:]) == {"q": ["R&D"], "page": ["2"]}


@pytest.mark.slow
def test_odd_names_stand_on_pages_as_text(alice: Any, places: Places, client_of: Browse) -> None:
    browser, here = client_of(alice), places["user"]
    for path in ODD:
        files.write(alice.pk, here, path, b"{{7*7}} <script>alert(1)</script>")

    listed = text_of(browser, "/files/")

    for path in ODD:
        if "/" not in path:
            assert escape(path) in listed
        shown = text_of(browser, page_url(here, path))
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown
        assert "49" not in shown.partition("<code>")[2].partition("</code>")[0]
    assert "<img src=x" not in listed


@pytest.mark.slow
def test_a_long_table_and_a_broken_one_are_shown_as_far_as_they_can_be(
    alice: Any, places: Places, client_of: Browse
) -> None:
    browser, here = client_of(alice), places["user"]
    wide = ",".join(f"c{number}" for number in range(TABLE_COLUMNS + 5))
    files.write(alice.pk, here, "long.csv", (wide + "\n" + "1,2\n" * (TABLE_ROWS + 50)).encode())
    files.write(alice.pk, here, "broken.csv", b'"' + b"x" * 200_000)
    files.write(alice.pk, here, "wide.csv", ("Ort;Preis\n" + "Köln und Straßburg;1,5\n" * 9).encode("latin-1"))
    files.write(alice.pk, here, "empty.csv", b"")

    long = text_of(browser, page_url(here, "long.csv"))

    assert (long.count("<tr>"), long.count("<th ")) == (TABLE_ROWS + 1, TABLE_COLUMNS)
    assert f"Only the first {TABLE_ROWS} rows" in long
    assert 'data-text="text"' in text_of(browser, page_url(here, "broken.csv"))
    assert '<td dir="auto">Köln und Straßburg</td>' in text_of(browser, page_url(here, "wide.csv"))
    assert "It is empty" in text_of(browser, page_url(here, "empty.csv"))


def test_charlie_finds_no_page_of_alices_files(alice: Any, charlie: Any, places: Places, client_of: Browse) -> None:
    browser = client_of(charlie)
    for place in places.values():
        files.write(alice.pk, place, "in/a.txt", b"Alice's words")

    for scope, place in places.items():
        for path in ("", "in/", "in", "in/a.txt", "in/a.txt?version=1", "?q=a"):
            refused = browser.get(page_url(place) + path)
            missing = browser.get(f"/files/{scope}/{uuid4()}/{path}")
            assert (refused.status_code, missing.status_code) == (404, 404)
            assert b"Alice" not in refused.content
    for tab in ("mine", "projects", "conversations", "x"):
        assert "a.txt" not in text_of(browser, f"/files/?tab={tab}")
    assert Client().get("/files/").status_code == 302
    assert browser.post(page_url(places["user"])).status_code == 405


def test_what_was_deleted_is_found_again_and_can_be_put_back(
    alice: Any, bob: Any, charlie: Any, places: Places, client_of: Browse, api_of: Any
) -> None:
    here = places["project"]
    for path in ("in/plan.md", "notes.md", "kept.md"):
        files.write(alice.pk, here, path, b"x")
    browser = client_of(bob)
    before = text_of(browser, page_url(here))
    for path in ("in/plan.md", "notes.md"):
        files.delete(alice.pk, here, path)

    folder = text_of(browser, page_url(here))
    listed = text_of(browser, f"{page_url(here)}?deleted=1")
    told = api_of(bob).get(f"/api/v1/files/project/{here.scope_id}/?deleted=true").json()["results"]

    assert ("?deleted=1" in before, "Show the 2 deleted files" in folder) == (False, True)
    assert re.findall(r'data-file="([^"]*)"', listed) == ["notes.md", "in/plan.md"]
    assert listed.count("data-put-back") == 2
    assert [one["path"] for one in told] == ["in/plan.md", "notes.md"]
    files.restore(bob.pk, here, told[0]["path"], told[0]["version"])
    assert re.findall(r'data-file="([^"]*)"', text_of(browser, f"{page_url(here)}?deleted=1")) == ["notes.md"]
    assert client_of(charlie).get(f"{page_url(here)}?deleted=1").status_code == 404
    assert "Nothing was deleted here lately" in text_of(client_of(alice), f"{page_url(places['user'])}?deleted=1")


@pytest.mark.slow
def test_every_conversation_with_files_is_on_some_page_also_by_size(
    alice: Any, places: Places, client_of: Browse
) -> None:
    from conversations import actions as conversations
    from memory.workspaces.places import Place, Scope

    for number in range(101):
        one = Place(Scope.CONVERSATION, conversations.create(alice, title=f"Talk {number}.").pk)
        files.write(alice.pk, one, "a.txt", b"x" * (number + 1))
    browser = client_of(alice)

    def names(query: str) -> list[str]:
        return re.findall(r"title=\"(Talk \d+\.)", text_of(browser, f"/files/?tab=conversations{query}"))

    assert (len(names("")), names("&page=2")) == (100, ["Talk 0."])
    assert names("&sort=size")[:2] == ["Talk 100.", "Talk 99."]
    assert 'href="?tab=conversations&amp;sort=size&amp;page=2"' in text_of(
        browser, "/files/?tab=conversations&sort=size"
    )


def test_that_there_are_more_folders_is_said(
    alice: Any, places: Places, client_of: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST_FOLDERS", 2)
    for name in "abc":
        files.write(alice.pk, places["user"], f"{name}/x.txt", b"x")

    shown = text_of(client_of(alice), page_url(places["user"]))

    assert "Only the first 2 folders stand here." in shown
    assert page_url(places["user"], "c/") not in shown


def test_the_places_are_listed_and_temporary_conversations_are_not(
    alice: Any, places: Places, client_of: Browse
) -> None:
    from conversations.models import Conversation

    files.write(alice.pk, places["conversation"], "a.txt", b"x")
    browser = client_of(alice)

    assert "Plans" in text_of(browser, "/files/?tab=projects")
    Conversation.objects.update(title="")
    german = browser.get("/files/?tab=conversations", headers={"accept-language": "de"}).content.decode()
    assert "Conversation without" not in german
    Conversation.objects.update(title="Figures")
    assert "Figures" in text_of(browser, "/files/?tab=conversations")
    Conversation.objects.update(is_temporary=True)
    assert "Figures" not in text_of(browser, "/files/?tab=conversations")


@pytest.mark.slow
def test_administrators_see_that_there_are_files_and_not_what_they_are_called(
    alice: Any, bob: Any, places: Places, client_of: Browse
) -> None:
    files.write(alice.pk, places["user"], "<b>secret</b>.txt", b"x")
    files.write(alice.pk, places["project"], "secret.txt", b"x")
    pages = [f"/admin/memory/workspacefile/{id_}/change/" for id_ in WorkspaceFile.objects.values_list("pk", flat=True)]
    browser = client_of(bob)

    for page in ("/admin/memory/workspacefile/", *pages):
        assert "secret" not in text_of(browser, page)
    bob.user_permissions.add(Permission.objects.get(codename="view_content"))
    shown = "".join(text_of(browser, page) for page in pages)

    assert "&lt;b&gt;secret" in shown
    assert "<b>secret" not in shown
    assert shown.count("alice@example.org") >= 2


@pytest.mark.slow
def test_behind_the_last_page_of_a_pdf_no_other_one_is_offered(alice: Any, places: Places, client_of: Browse) -> None:
    browser, here = client_of(alice), places["user"]
    files.write(alice.pk, here, "a.pdf", pdf_of(["One.", "Two."]))
    files.write(alice.pk, here, "broken.pdf", b"%PDF-1.7 and no more")

    first, last = (text_of(browser, page_url(here, "a.pdf") + f"?page={number}") for number in (1, 2))
    broken = text_of(browser, page_url(here, "broken.pdf"))

    assert ("Page 1 of 2" in first, "Page 2 of 2" in last) == (True, True)
    assert ("page=2" in first, "page=3" in last, "page=1" in last) == (True, False, True)
    assert ">Page 1<" in broken
