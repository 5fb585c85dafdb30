"""Files over the API: as bytes in and out, with versions, and so that no browser runs what it is given."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hyperagent.accounts.scopes import Scope as TokenScope
from memory.workspaces import files
from memory.workspaces.files import mark_of
from memory.workspaces.places import file_url
from tests.memory.ingestion.making import pdf_of
from tests.memory.workspaces.conftest import Places, on_disk
from tests.memory.workspaces.test_paths import ODD

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume"),
]
ApiOf = Callable[..., Any]


def put(api: Any, url: str, content: bytes, **headers: str) -> Any:
    return api.generic("PUT", url, content, content_type="application/octet-stream", headers=headers)


def body(answer: Any) -> bytes:
    return b"".join(answer)


@pytest.mark.spec("S81")
def test_a_file_is_put_listed_read_changed_renamed_deleted_and_taken_back(
    alice: Any, places: Places, api_of: ApiOf
) -> None:
    api, here = api_of(alice), places["conversation"]
    url, root = file_url(here, "data/a.csv"), file_url(here, "")

    first = put(api, url, b"x,y\n")
    second = put(api, url, b"x,y\n1,2\n", **{"If-Match": first["ETag"]})
    late = put(api, url, b"late", **{"If-Match": first["ETag"]})
    assert (first.status_code, second.status_code, late.status_code) == (201, 200, 412)
    assert late.json()["error"] == {
        "code": "changed",
        "message": "The file has changed meanwhile: version 2 of it is there. Read it again.",
        "version": 2,
    }
    assert put(api, url, b"new", **{"If-None-Match": "*"}).status_code == 412
    assert put(api, url, b"new", **{"If-Match": "two"}).status_code == 400

    listed = api.get(root).json()
    assert api.get(root.removesuffix("/")).json() == listed
    assert [(file["path"], file["version"], file["url"]) for file in listed["results"]] == [("data/a.csv", 2, url)]
    assert listed["results"][0]["etag"] == second["ETag"]
    assert api.get(f"{root}?prefix=other/").json()["results"] == []
    read = api.get(url)
    assert (body(read), read["ETag"], read["Content-Length"]) == (b"x,y\n1,2\n", second["ETag"], "8")
    assert api.get(url, headers={"If-None-Match": second["ETag"]}).status_code == 304
    assert body(api.get(f"{url}?version=1")) == b"x,y\n"
    versions_url = url.replace("/files/", "/file-versions/")
    assert [row["number"] for row in api.get(versions_url).json()["results"]] == [2, 1]
    assert api.post(versions_url, {"version": 1}).json()["version"] == 3

    moved = api.post(url.replace("/files/", "/file-moves/"), {"to": "b.csv"})
    assert (moved.json()["path"], api.get(url).status_code) == ("b.csv", 404)
    url = moved.json()["url"]
    assert api.delete(url, headers={"If-Match": first["ETag"]}).status_code == 412
    assert api.delete(url).status_code == 204
    assert (api.get(url).status_code, api.delete(url).status_code) == (404, 404)
    assert api.post(url.replace("/files/", "/file-versions/"), {"version": 3}).status_code == 200
    assert body(api.get(url)) == b"x,y\n"


def test_only_a_file_that_was_not_there_is_new(alice: Any, places: Places, api_of: ApiOf) -> None:
    api, url = api_of(alice), file_url(places["user"], "a.csv")

    answers = [put(api, url, b"x,y\n") for _ in range(2)]
    api.delete(url)
    answers.append(put(api, url, b"x,y,z\n"))

    assert [(answer.status_code, answer.json()["version"]) for answer in answers] == [(201, 1), (200, 1), (201, 2)]


def test_a_form_is_not_taken_for_the_file_that_is_in_it(alice: Any, places: Places, api_of: ApiOf) -> None:
    api, url = api_of(alice), file_url(places["user"], "a.csv")

    refused = api.put(url, {"file": BytesIO(b"x,y")}, format="multipart")

    assert (refused.status_code, refused.json()["error"]["code"]) == (415, "unsupported_media_type")
    assert "bytes" in refused.json()["error"]["message"]
    assert api.get(url).status_code == 404


def test_the_list_comes_in_pages_by_path_and_at_a_fixed_cost(alice: Any, places: Places, api_of: ApiOf) -> None:
    api, here = api_of(alice), places["user"]
    for number in range(5):
        files.write(alice.pk, here, f"{number}.txt", b"x")

    first = api.get(f"{file_url(here, '')}?page_size=3").json()
    with CaptureQueriesContext(connection) as queries:
        second = api.get(first["next"]).json()
    rest = api.get(second["previous"]).json()

    assert [file["path"] for file in first["results"] + second["results"]] == [f"{n}.txt" for n in range(5)]
    assert rest["results"] == first["results"]
    # One to know the token, one for the rights, one for the page.
    assert len(queries) <= 4


def test_the_places_are_told_with_what_is_taken(alice: Any, bob: Any, places: Places, api_of: ApiOf) -> None:
    for place in places.values():
        files.write(alice.pk, place, "a.txt", str(place).encode())
    files.write(alice.pk, places["user"], "a.txt", b"12345")

    api = api_of(alice)
    with CaptureQueriesContext(connection) as queries:
        found = api.get("/api/v1/files").json()["results"]

    assert [(one["scope"], one["name"], one["files"]) for one in found] == [
        ("user", "My files", 1),
        ("project", "Plans", 1),
        ("conversation", "Figures", 1),
    ]
    assert (found[0]["size_bytes"], found[0]["used_bytes"]) == (
        5,
        5 + sum(len(str(places[n])) for n in ("user", "conversation")),
    )
    assert found[1]["used_bytes"] == len(str(places["project"]))
    assert len(queries) <= 9
    assert [(one["scope"], one["files"]) for one in api_of(bob).get("/api/v1/files").json()["results"]] == [
        ("user", 0),
        ("project", 1),
    ]


def test_whatever_a_file_claims_to_be_no_browser_runs_it(alice: Any, places: Places, api_of: ApiOf) -> None:
    api, here = api_of(alice), places["user"]
    given = {
        "a.html": b"<script>alert(1)</script>",
        "a.svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        "a.png": b"<script>alert(1)</script>",
        "b.png": b"\x89PNG\r\n\x1a\n rest",
        "a.txt": b"words",
        "a.pdf": b"%PDF-1.7 rest",
        "a.zip": b"PK\x03\x04\0\0",
    }
    for path, content in given.items():
        files.write(alice.pk, here, path, content)

    def seen(path: str, query: str = "") -> tuple[str, str]:
        answer = api.get(file_url(here, path) + query)
        assert body(answer) == given[path]
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Content-Security-Policy"].startswith("default-src 'none'; ")
        assert ("sandbox" in answer["Content-Security-Policy"]) is (answer["Content-Type"] != "application/pdf")
        assert "private" in answer["Cache-Control"]
        return answer["Content-Disposition"].split(";")[0], answer["Content-Type"]

    assert {seen(path) for path in given} == {("attachment", "application/octet-stream")}
    shown = {path: seen(path, "?inline=1") for path in given}
    assert shown == {
        **dict.fromkeys(("a.html", "a.svg", "a.png", "a.zip"), ("attachment", "application/octet-stream")),
        "b.png": ("inline", "image/png"),
        "a.txt": ("inline", "text/plain; charset=utf-8"),
        "a.pdf": ("inline", "application/pdf"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("path", ODD)
def test_odd_names_come_back_as_they_went_and_break_no_header(
    alice: Any, places: Places, api_of: ApiOf, path: str
) -> None:
    api, url = api_of(alice), file_url(places["user"], path)

    assert put(api, url, b"x").json()["path"] == path
    answer = api.get(url)
    said = answer["Content-Disposition"]

    assert body(answer) == b"x"
    assert said.startswith("attachment; filename")
    assert said.isascii()
    assert "\n" not in said
    assert [file["path"] for file in api.get(file_url(places["user"], "")).json()["results"]] == [path]


@pytest.mark.parametrize("path", ["../a", "%2e%2e/a", "a//b", "a/", "a%00b", "a%0D%0AX-Evil:%201", "a%5Cb"])
def test_a_name_that_could_do_harm_is_refused(
    alice: Any, places: Places, api_of: ApiOf, media: Path, path: str
) -> None:
    api = api_of(alice)
    url = file_url(places["user"], "") + path

    answers = [
        put(api, url, b"x"),
        api.get(url),
        api.delete(url),
        api.post(url.replace("/files/", "/file-moves/"), {"to": "b"}),
    ]

    assert {answer.status_code for answer in answers} <= {400, 404}
    assert not on_disk(media)


def test_a_new_name_is_checked_like_any(alice: Any, places: Places, api_of: ApiOf) -> None:
    api, url = api_of(alice), file_url(places["user"], "a.txt")
    put(api, url, b"x")

    for to in ("../a", "/etc/passwd", "", "a\u202eb", "x" * 501):
        assert api.post(url.replace("/files/", "/file-moves/"), {"to": to}, format="json").status_code == 400
    assert body(api.get(url)) == b"x"


def test_what_is_too_large_or_too_much_is_refused_and_leaves_nothing(
    alice: Any, places: Places, api_of: ApiOf, media: Path, limited: Any
) -> None:
    limited(workspace_file_max_bytes=1000, workspace_quota_bytes=1500)
    api, here = api_of(alice), places["user"]

    told = put(api, file_url(here, "a.bin"), b"x" * 1001)
    put(api, file_url(here, "a.bin"), b"x" * 900)
    full = put(api, file_url(here, "b.bin"), b"y" * 900)

    assert [answer.status_code for answer in (told, full)] == [413, 507]
    assert full.json()["error"]["code"] == "quota_used_up"
    assert len(on_disk(media)) == 1


@pytest.mark.spec("B29")
def test_what_is_refused_is_said_in_the_readers_language(
    alice: Any, places: Places, api_of: ApiOf, limited: Callable[..., None]
) -> None:
    limited(workspace_file_max_bytes=10_000, workspace_quota_bytes=3_000)
    api, here = api_of(alice), places["user"]
    german = {"accept-language": "de"}

    said = [
        put(api, file_url(here, path), content, **german).json()["error"]["message"]
        for path, content in (
            ("a.bin", b"x" * 10_001),
            ("a.bin", b"x" * 4_000),
            ("a//b", b"x"),
            ("a /b", b"x"),
            ("a\\b", b"x"),
            ("a\u202eb", b"x"),
            ("a" * 501, b"x"),
            ("a/" * 21 + "b", b"x"),
            ("ü" * 200, b"x"),
        )
    ]

    assert said[0].startswith("Die Datei ist größer als 10.000 Bytes.")
    assert said[1].startswith("Es ist kein Platz: 0 von 3.000 Bytes sind belegt.")
    assert [one for one in said[2:] if not one.startswith("Der Pfad „")] == []


def test_tokens_need_the_scope_of_documents_to_change_and_one_to_read(
    alice: Any, places: Places, api_of: ApiOf
) -> None:
    url = file_url(places["user"], "a.txt")
    files.write(alice.pk, places["user"], "a.txt", b"x")

    codes = {
        scope: (
            api_of(alice, scopes=[scope]).get(url).status_code,
            put(api_of(alice, scopes=[scope]), url, b"y").status_code,
        )
        for scope in (TokenScope.DOCUMENTS, TokenScope.READ, TokenScope.RUN)
    }

    assert codes == {TokenScope.DOCUMENTS: (200, 200), TokenScope.READ: (200, 403), TokenScope.RUN: (403, 403)}


def test_another_file_that_took_the_name_of_the_one_that_was_read_is_not_taken_for_it(
    alice: Any, places: Places, api_of: ApiOf
) -> None:
    """The first version of each is 1."""
    api, here = api_of(alice), places["user"]
    url = file_url(here, "plan.txt")
    read = put(api, url, b"mine")
    files.move(alice.pk, here, "plan.txt", "old.txt")
    files.write(alice.pk, here, "plan.txt", b"another's")

    again = api.get(url, headers={"If-None-Match": read["ETag"]})
    written = put(api, url, b"mine, changed", **{"If-Match": read["ETag"]})
    deleted = api.delete(url, headers={"If-Match": read["ETag"]})

    assert (again.status_code, written.status_code, deleted.status_code) == (200, 412, 412)
    assert body(api.get(url)) == b"another's"


def test_who_knows_only_the_number_of_the_version_gives_that(alice: Any, places: Places, api_of: ApiOf) -> None:
    api, url = api_of(alice), file_url(places["user"], "plan.txt")
    put(api, url, b"mine")

    written = put(api, url, b"mine, changed", **{"If-Match": '"1"'})
    late = put(api, url, b"late", **{"If-Match": '"1"'})

    assert (written.status_code, late.status_code) == (200, 412)
    assert body(api.get(url)) == b"mine, changed"


def test_a_page_of_a_pdf_is_a_picture(alice: Any, places: Places, api_of: ApiOf) -> None:
    api = api_of(alice)
    files.write(alice.pk, places["user"], "a.pdf", pdf_of(["One page."]))
    files.write(alice.pk, places["user"], "a.txt", b"x")

    picture = api.get(file_url(places["user"], "a.pdf") + "?page=1&width=400")

    assert (picture.status_code, picture["Content-Type"]) == (200, "image/png")
    assert picture.content.startswith(b"\x89PNG")
    assert "workspaces" not in picture["ETag"]
    assert api.get(file_url(places["user"], "a.pdf") + "?page=9").status_code in (404, 422)
    assert api.get(file_url(places["user"], "a.txt") + "?page=1").status_code == 404


@pytest.mark.spec("S81")
def test_charlie_is_told_of_every_scope_what_he_is_told_of_nothing(
    alice: Any, charlie: Any, places: Places, api_of: ApiOf
) -> None:
    """By each route, method and guess, the same answer as for a place that there is not."""
    api = api_of(charlie)
    for place in places.values():
        files.write(alice.pk, place, "a.txt", b"Alice's")
        mark = mark_of(files.write(alice.pk, place, "a.txt", b"Alice's words"))

    def answers(scope: str, scope_id: Any) -> list[Any]:
        roots = [f"/api/v1/{kind}/{scope}/{scope_id}/" for kind in ("files", "file-versions", "file-moves")]
        found = [api.get(roots[0]), api.get(f"{roots[0]}?prefix=a"), api.get(f"{roots[0]}a.txt?version=1")]
        for path in ("a.txt", "no.txt", "../a"):
            found += [api.get(roots[0] + path), put(api, roots[0] + path, b"Alice's"), api.delete(roots[0] + path)]
            found += [put(api, roots[0] + path, b"x", **{"If-Match": f'"{mark}"'})]
            found += [api.get(roots[1] + path), api.post(roots[1] + path, {"version": 1})]
            found += [api.post(roots[1] + path, {"version": "x"}), api.post(roots[2] + path, {"to": "b.txt"})]
        return found

    for scope, place in places.items():
        foreign, missing = answers(scope, place.scope_id), answers(scope, uuid4())
        assert {answer.status_code for answer in foreign} == {404}
        assert [answer.content for answer in foreign] == [answer.content for answer in missing]
    assert [one["scope"] for one in api.get("/api/v1/files").json()["results"]] == ["user"]
    assert [row.number for row in files.versions(alice.pk, places["user"], "a.txt")] == [2, 1]


def test_a_file_is_read_by_its_session_and_changed_only_with_the_token_of_the_page(alice: Any, places: Places) -> None:
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    url = file_url(places["user"], "a.txt")

    refused = browser.put(url, b"x", content_type="text/plain")

    assert refused.status_code == 403
    assert files.listed(alice.pk, places["user"]) == []


def test_a_stream_is_stored_as_it_comes(alice: Any, places: Places) -> None:
    facts, _ = files.put(alice.pk, places["user"], "a.bin", BytesIO(b"\0" * 600_000), media_type="image/png")

    assert (facts.size_bytes, facts.media_type) == (600_000, "application/octet-stream")
    assert reverse("file", args=["user", alice.pk, "a.bin"]) == file_url(places["user"], "a.bin")
