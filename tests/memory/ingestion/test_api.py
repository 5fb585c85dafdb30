"""The documents' endpoints: what they take and give, and that nobody sees what is not theirs to see."""

import uuid
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hyperagent.accounts.scopes import Scope
from hyperagent.audit.models import AuditEvent
from memory.ingestion import driver, sweeping
from memory.kinds import DocumentStatus, Visibility
from memory.models import Document, Project
from memory.retrieval.search import search
from memory.values import Mode, Wanted
from tests.memory.giving import given, uploaded
from tests.memory.ingestion.making import pdf_of

pytestmark = pytest.mark.django_db

RED = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64)
RULES = "Whoever travels by train takes the second class, and says so before. " * 40
TEXT = "# Travel policy\n\nTrains before planes, whenever a train takes less than six hours.\n"


def post(api: Any, text: str | bytes = TEXT, name: str = "policy.md", *, to: str = "documents", **more: Any) -> Any:
    content = text.encode() if isinstance(text, str) else text
    return api.post(f"/api/v1/{to}", {"file": SimpleUploadedFile(name, content), **more}, format="multipart")


@pytest.mark.slow
@pytest.mark.spec("S162", "S168")
def test_a_document_that_is_ready_tells_what_it_is_and_how_many_passages_it_has(api_of: Any, alice: Any) -> None:
    text = "# Travel policy\n\n" + "\n\n".join(f"## Part {n}\n\n{RULES}" for n in range(3))
    document = given(alice, text, filename="policy 2026-05-03.md", title="Policy", vectors=True)

    shown = api_of(alice).get(f"/api/v1/documents/{document.pk}").json()

    chunks = document.chunks.count()
    assert chunks == 3
    assert (shown["status"], shown["total_chunks"], shown["searchable"]) == ("ready", chunks, True)
    assert (shown["filename"], shown["title"], shown["doc_type"], shown["date"]) == (
        "policy 2026-05-03.md", "Policy", "md", "2026-05-03",
    )  # fmt: skip
    assert "Sections: Travel policy, Part 0" in shown["description"]
    assert (shown["is_owner"], shown["visibility"]) == (True, "private")
    assert shown["created_at"] < shown["ready_at"]


@pytest.mark.slow
def test_words_to_look_for_are_so_many_as_can_be_looked_for(api_of: Any, alice: Any) -> None:
    given(alice, TEXT, filename="policy of travels.md")
    api = api_of(alice)

    found = api.get("/api/v1/documents", {"q": "travels POLICY"}).json()["results"]
    refused = api.get("/api/v1/documents", {"q": "a " * 1_000})

    assert [one["filename"] for one in found] == ["policy of travels.md"]
    assert (refused.status_code, list(refused.json()["error"]["fields"])) == (400, ["q"])


@pytest.mark.spec("S151", "S162")
@pytest.mark.parametrize("to", ["documents", "upload"])
def test_a_file_becomes_a_document(api_of: Any, alice: Any, to: str) -> None:
    answer = post(api_of(alice), to=to, title="Policy")

    assert answer.status_code == 201, answer.json()
    shown = answer.json()
    assert (shown["filename"], shown["title"], shown["doc_type"], shown["status"]) == (
        "policy.md",
        "Policy",
        "md",
        "queued",
    )
    assert (shown["total_chunks"], shown["searchable"], shown["is_owner"], shown["visibility"]) == (
        0,
        False,
        True,
        "private",
    )
    assert shown["size_bytes"] == len(TEXT.encode())


@pytest.mark.parametrize("second", ["file", "another"])
@pytest.mark.parametrize("to", ["documents", "upload"])
def test_of_two_files_at_once_none_is_lost_without_a_word(api_of: Any, alice: Any, to: str, second: str) -> None:
    parts = "".join(
        f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="{at}.md"\r\n\r\n{TEXT}\r\n'
        for at, name in enumerate(("file", second))
    )

    answer = api_of(alice).generic("POST", f"/api/v1/{to}", f"{parts}--b--\r\n", "multipart/form-data; boundary=b")

    assert answer.status_code == 400
    assert answer.json()["error"]["fields"] == {"file": ["These are 2 files. Send each in a request of its own."]}
    assert not Document.objects.exists()


def test_a_picture_says_what_it_is_and_is_kept_for_whoever_attaches_it(api_of: Any, alice: Any) -> None:
    api = api_of(alice)
    added = post(api, RED, name="red.png").json()

    driver.ingest(uuid.UUID(added["doc_id"]))

    shown = api.get(f"/api/v1/documents/{added['doc_id']}").json()
    assert (added["doc_type"], added["is_picture"]) == (shown["doc_type"], shown["is_picture"]) == ("png", True)
    assert (shown["status"], shown["searchable"]) == ("failed", False)
    assert shown["reason"] == (
        "This is a picture (PNG): it has no text that could be searched. Attach it to a question to have it looked at."
    )
    assert api.get(f"/api/v1/documents/{added['doc_id']}/file").status_code == 200


def test_a_picture_of_which_no_type_was_told_is_known_once_it_is_read(alice: Any) -> None:
    document = uploaded(alice, RED, filename="a photo")
    Document.objects.update(doc_type="")

    driver.ingest(document.pk)

    document.refresh_from_db()
    assert (document.doc_type, document.is_picture, document.status) == ("png", True, DocumentStatus.FAILED)


def test_the_same_bytes_again_are_the_same_document(api_of: Any, alice: Any, charlie: Any, media: Any) -> None:
    api = api_of(alice)
    first = post(api)

    again = post(api, name="other.md")
    of_another = post(api_of(charlie))

    assert (again.status_code, again.json()["doc_id"]) == (200, first.json()["doc_id"])
    assert again.json()["filename"] == "policy.md"
    assert of_another.status_code == 201
    assert Document.objects.count() == 2
    assert len([path for path in media.rglob("*") if path.is_file()]) == 2


def test_who_sees_it_and_a_title_that_come_with_the_same_bytes_hold(api_of: Any, alice: Any) -> None:
    api = api_of(alice)
    first = post(api, title="Policy", shared_with="everyone").json()

    silent, same = post(api, title="").json(), post(api, shared_with="everyone").json()
    heeded = post(api, title="Travel", shared_with="private")

    assert (first["visibility"], first["title"]) == ("everyone", "Policy")
    assert [(one["visibility"], one["title"]) for one in (silent, same)] == [("everyone", "Policy")] * 2
    assert (heeded.status_code, heeded.json()["doc_id"]) == (200, first["doc_id"])
    assert (heeded.json()["visibility"], heeded.json()["title"]) == ("private", "Travel")
    said = AuditEvent.objects.filter(target_id=first["doc_id"]).order_by("id").values_list("kind", flat=True)
    assert list(said) == ["document.shared", "document.unshared"], "the same again is no change"


def test_the_same_bytes_of_a_failed_document_are_read_again(api_of: Any, alice: Any) -> None:
    api = api_of(alice)
    first = post(api).json()["doc_id"]
    Document.objects.filter(pk=first).update(status=DocumentStatus.FAILED, reason="It was broken.")

    again = post(api)

    assert (again.status_code, again.json()["doc_id"]) == (200, first)
    assert (again.json()["status"], again.json()["reason"]) == ("queued", "")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.md", "a.md"),
        ("🦊 report.md", "🦊 report.md"),
        ("a\x00b\nc.md", None),
        ("x" * 300 + ".md", "x" * 252 + ".md"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
    ],
)
def test_a_name_is_a_name_and_never_a_path(alice: Any, media: Any, name: str, kept: str | None) -> None:
    document = uploaded(alice, TEXT, filename=name)

    assert document.filename == kept or kept is None
    assert document.filename.isprintable() or "🦊" in document.filename
    assert [path.relative_to(media).parts[:1] for path in media.rglob("*") if path.is_file()] == [("documents",)]
    assert document.stored_as == f"documents/{alice.pk}/{document.pk}"


def test_a_file_that_is_too_large_leaves_nothing(api_of: Any, alice: Any, media: Any, settings: Any) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"document_max_bytes": 1000})

    answer = post(api_of(alice), "x" * 2000)
    announced = post(api_of(alice), "x" * 200_000)

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_big")
    assert announced.status_code == 413
    assert Document.objects.count() == 0
    assert not [path for path in media.rglob("*") if path.is_file()]


def test_a_post_without_a_file_says_so(api_of: Any, alice: Any) -> None:
    answer = api_of(alice).post("/api/v1/documents", {"title": "x"}, format="multipart")
    as_json = api_of(alice).post("/api/v1/documents", {"title": "x"}, format="json")
    no_form = api_of(alice).post("/api/v1/documents", b"x", content_type="multipart/form-data")

    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, ["file"])
    assert as_json.status_code == 415
    assert (no_form.status_code, no_form.json()["error"]["code"]) == (400, "not_a_form")


def test_people_share_with_groups_that_they_are_in(api_of: Any, alice: Any, bob: Any) -> None:
    mine, other = Group.objects.create(name="Research"), Group.objects.create(name="Board")
    alice.groups.add(mine)

    shared = post(api_of(alice), shared_with="Research")
    strange = post(api_of(alice), "another", shared_with="Board")
    unknown = post(api_of(alice), "another", shared_with="Nobody")
    by_an_administrator = post(api_of(bob, scopes=[Scope.DOCUMENTS, Scope.ADMIN]), shared_with="Board,Research")
    unable = api_of(bob, scopes=[Scope.DOCUMENTS])
    by_a_token_for_documents = post(unable, "another", shared_with="Board")
    own = f"/api/v1/documents/{by_an_administrator.json()['doc_id']}"
    kept, widened = unable.patch(own, {"shared_with": "Board"}), unable.patch(own, {"shared_with": "Board,Research"})

    assert (shared.status_code, shared.json()["visibility"], shared.json()["groups"]) == (201, "groups", ["Research"])
    assert {strange.status_code, unknown.status_code} == {400}
    assert strange.json()["error"]["code"] == unknown.json()["error"]["code"] == "no_such_group"
    assert by_an_administrator.json()["groups"] == ["Board", "Research"]
    assert by_a_token_for_documents.json() == strange.json()
    assert (kept.json()["groups"], widened.json()["error"]["code"]) == (["Board"], "no_such_group")
    assert other.documents.count() == 1


def test_each_group_that_a_form_names_sees_the_document(api_of: Any, alice: Any) -> None:
    alice.groups.add(*(Group.objects.create(name=name) for name in ("Research", "Board")))

    several = post(api_of(alice), shared_with=["Research", "Board"])
    contrary = post(api_of(alice), "another", shared_with=["Research", "private"])

    assert (several.status_code, several.json()["groups"]) == (201, ["Board", "Research"])
    assert (contrary.status_code, contrary.json()["error"]["code"]) == (400, "no_such_group")


@pytest.mark.slow
def test_its_owner_changes_title_and_sharing(api_of: Any, alice: Any, charlie: Any) -> None:
    document = given(alice, TEXT)
    api, path = api_of(alice), f"/api/v1/documents/{document.pk}"

    renamed = api.patch(path, {"title": "Zeppelins"})
    assert api_of(charlie).get(path).status_code == 404
    shared = api.patch(path, {"shared_with": "everyone"})

    assert renamed.json()["title"] == "Zeppelins"
    assert shared.json()["visibility"] == "everyone"
    seen = api_of(charlie).get(path)
    assert (seen.status_code, seen.json()["is_owner"], seen.json()["groups"]) == (200, False, [])
    assert _is_found_by(document, "zeppelin")
    assert api.patch(path, {"shared_with": ["private"]}).json()["visibility"] == "private"
    assert api_of(charlie).get(path).status_code == 404


def _is_found_by(document: Document, term: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM memory_posting WHERE document_id = %s AND term = %s", [document.pk, term])
        return cursor.fetchone() is not None


def test_who_may_see_may_not_change(api_of: Any, alice: Any, charlie: Any) -> None:
    document = given(alice, TEXT, visibility=Visibility.EVERYONE)
    api, path = api_of(charlie), f"/api/v1/documents/{document.pk}"

    answers = [
        api.patch(path, {"title": "mine"}),
        api.delete(path),
        api.post(f"{path}/cancel"),
        api.post(f"{path}/again"),
    ]

    assert [answer.status_code for answer in answers] == [403] * 4
    assert {answer.json()["error"]["code"] for answer in answers} == {"not_yours"}
    assert Document.objects.get(pk=document.pk).title != "mine"


@pytest.mark.spec("B20")
def test_charlie_sees_nothing_on_any_route(api_of: Any, alice: Any, charlie: Any) -> None:
    document = given(alice, TEXT)
    group = Group.objects.create(name="Research")
    alice.groups.add(group)
    of_group = given(alice, "For the group only.", groups=[group])
    project = Project.objects.create(owner=alice, name="P")
    project.members.add(alice)
    of_project = given(alice, "For the project only.")
    project.documents.add(of_project)
    api = api_of(charlie)

    for one in (document, of_group, of_project):
        path = f"/api/v1/documents/{one.pk}"
        answers = [api.get(f"{path}{rest}") for rest in ("", "/chunks", "/pages", "/file", "/pages/1/image")]
        answers += [api.patch(path, {"title": "x"}), api.delete(path)]
        answers += [api.post(f"{path}/cancel"), api.post(f"{path}/again")]
        assert [answer.status_code for answer in answers] == [404] * 9

    assert api.get("/api/v1/documents").json()["results"] == []
    assert Document.objects.count() == 3


def test_members_of_a_group_and_of_a_project_see_its_documents(api_of: Any, alice: Any, charlie: Any) -> None:
    group = Group.objects.create(name="Research")
    alice.groups.add(group)
    project = Project.objects.create(owner=alice, name="P")
    given(alice, "For the group.", groups=[group])
    project.documents.add(given(alice, "For the project."))

    charlie.groups.add(group)
    project.members.add(charlie)

    assert len(api_of(charlie).get("/api/v1/documents?owner=shared").json()["results"]) == 2
    assert api_of(charlie).get("/api/v1/documents?owner=me").json()["results"] == []


def test_the_list_is_filtered_and_cut_into_pages(api_of: Any, alice: Any) -> None:
    for number in range(5):
        uploaded(alice, f"text {number}", filename=f"note-{number}.md", title="Zebra" if number == 3 else "")
    uploaded(alice, "plain", filename="plain.txt")
    Document.objects.filter(filename="note-1.md").update(status=DocumentStatus.READY)
    api = api_of(alice)

    def names(query: str) -> list[str]:
        answer = api.get(f"/api/v1/documents?{query}")
        assert answer.status_code == 200, answer.json()
        return sorted(row["filename"] for row in answer.json()["results"])

    assert names("doc_type=txt") == ["plain.txt"]
    assert names("status=ready") == ["note-1.md"]
    assert len(names("status=ready&status=queued")) == 6
    assert names("q=zebra") == names("q=note+3") == ["note-3.md"]
    assert api.get("/api/v1/documents?status=lost").status_code == 400
    page = api.get("/api/v1/documents?page_size=4").json()
    rest = api.get(page["next"]).json()
    assert (len(page["results"]), len(rest["results"]), rest["next"]) == (4, 2, None)


@pytest.mark.slow
def test_lists_cost_the_same_number_of_queries_however_long(api_of: Any, alice: Any) -> None:
    group = Group.objects.create(name="Research")
    alice.groups.add(group)
    api = api_of(alice)
    # The first call notes when the token was used.
    api.get("/api/v1/me")

    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as counted:
            assert api.get(path).status_code == 200
        return len(counted)

    document = given(alice, "\n\n".join(f"## Part {n}\n\nWords about {n}." for n in range(3)), groups=[group])
    of_one = [queries(f"/api/v1/documents{rest}") for rest in ("", f"/{document.pk}/chunks", f"/{document.pk}/pages")]
    for number in range(6):
        uploaded(alice, f"text {number}", groups=[group])
    longer = given(alice, "\n\n".join(f"## Part {n}\n\nMore words about {n}." for n in range(60)), groups=[group])
    of_many = [queries(f"/api/v1/documents{rest}") for rest in ("", f"/{longer.pk}/chunks", f"/{longer.pk}/pages")]

    assert of_many == of_one
    assert max(of_one) <= 6


@pytest.mark.spec("S168")
def test_chunks_and_pages_say_where_they_stand(api_of: Any, alice: Any) -> None:
    document = given(alice, TEXT)
    api = api_of(alice)

    chunks = api.get(f"/api/v1/documents/{document.pk}/chunks").json()["results"]
    pages = api.get(f"/api/v1/documents/{document.pk}/pages?from=1").json()

    whole = "\n\n".join(page["text"] for page in pages["results"])
    assert (pages["total_pages"], pages["next_from"]) == (document.total_pages, None)
    assert [chunk["ordinal"] for chunk in chunks] == list(range(document.total_chunks))
    for chunk in chunks:
        assert whole[chunk["start"] : chunk["end"]] == chunk["text"]
        assert chunk["page"] == 1
        assert uuid.UUID(chunk["chunk_id"])


@pytest.mark.spec("S166", "S168")
def test_a_passage_has_its_text_and_what_is_known_of_it(api_of: Any, alice: Any) -> None:
    document = given(alice, f"# Travel\n\n## Trains\n\n{RULES * 2}", filename="policy 2026-05-03.md")

    chunks = api_of(alice).get(f"/api/v1/documents/{document.pk}/chunks").json()["results"]
    found = search(alice.pk, Wanted("second class", mode=Mode.KEYWORD)).passages

    of_trains = [chunk for chunk in chunks if chunk["section_title"] == "Travel › Trains"]
    first, *others = of_trains
    assert first["parent_id"] is None
    assert {chunk["parent_id"] for chunk in others} == {first["chunk_id"]}
    assert {chunk["kind"] for chunk in chunks} == {"paragraph"}
    assert all("second class" in chunk["text"] for chunk in of_trains)
    [one] = [one for one in found if str(one.chunk_id) == first["chunk_id"]]
    assert (one.filename, one.page, one.last_page, one.section_title, one.doc_type, one.date) == (
        "policy 2026-05-03.md", 1, 1, "Travel › Trains", "md", date(2026, 5, 3),
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
def test_the_file_comes_back_to_be_saved_and_not_to_be_shown(api_of: Any, alice: Any) -> None:
    hostile = b"<html><body><script>alert(document.cookie)</script>Words to read.</body></html>"
    document = uploaded(alice, hostile, filename='"><img src=x>.html')

    answer = api_of(alice).get(f"/api/v1/documents/{document.pk}/file")

    assert b"".join(answer) == hostile
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"].startswith("attachment;")
    assert "sandbox" in answer["Content-Security-Policy"]


def test_a_token_needs_the_scope(api_of: Any, alice: Any) -> None:
    document = uploaded(alice, TEXT)
    path = f"/api/v1/documents/{document.pk}"
    running, reading, documents = (api_of(alice, scopes=[scope]) for scope in ("run", "read", "documents"))

    assert (running.get(path).status_code, post(running).status_code) == (403, 403)
    assert (reading.get(path).status_code, post(reading).status_code) == (200, 403)
    assert reading.delete(path).status_code == 403
    assert (documents.get(path).status_code, post(documents, "more").status_code) == (200, 201)


def test_cancel_again_and_delete_go_by_its_state(api_of: Any, alice: Any) -> None:
    document = uploaded(alice, TEXT)
    api, path = api_of(alice), f"/api/v1/documents/{document.pk}"

    early = api.post(f"{path}/again")
    cancelled = [api.post(f"{path}/cancel") for _ in range(2)]
    again = api.post(f"{path}/again")
    deleted = api.delete(path)

    assert (early.status_code, early.json()["error"]["code"]) == (409, "at_work")
    assert [(answer.status_code, answer.json()["status"]) for answer in cancelled] == [(200, "cancelled")] * 2
    assert (again.status_code, again.json()["status"]) == (202, "queued")
    assert deleted.status_code == 204
    assert api.get(path).status_code == 404


@pytest.mark.slow
def test_a_page_of_a_pdf_is_a_picture_that_is_asked_for_once(api_of: Any, alice: Any) -> None:
    document = given(alice, pdf_of(["The first page of this report.", "The second page of it."]), filename="a.pdf")
    text = given(alice, TEXT)
    api, path = api_of(alice), f"/api/v1/documents/{document.pk}/pages"

    picture = api.get(f"{path}/2/image?width=300")
    again = api.get(f"{path}/2/image?width=390", headers={"If-None-Match": picture["ETag"]})

    assert (picture.status_code, picture["Content-Type"], picture.content[:4]) == (200, "image/png", b"\x89PNG")
    assert picture["X-Content-Type-Options"] == "nosniff"
    assert (again.status_code, again.content) == (304, b"")
    assert api.get(f"{path}/1/image")["ETag"] != picture["ETag"]
    assert [api.get(f"{path}/{number}/image").status_code for number in (0, 3)] == [404, 404]
    assert api.get(f"/api/v1/documents/{text.pk}/pages/1/image").status_code == 404


@pytest.mark.slow
def test_the_pictures_of_its_pages_go_with_a_document(
    api_of: Any, alice: Any, bob: Any, settings: Any, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"data_dir": tmp_path})
    document = given(alice, pdf_of(["The first page of this report."]), filename="a.pdf")
    other = given(bob, pdf_of(["The first page of that report."]), filename="b.pdf")
    for user, one in ((alice, document), (bob, other)):
        assert api_of(user).get(f"/api/v1/documents/{one.pk}/pages/1/image").status_code == 200
    assert len(_pictures(tmp_path)) == 2

    with django_capture_on_commit_callbacks(execute=True):
        assert api_of(alice).delete(f"/api/v1/documents/{document.pk}").status_code == 204
    assert len(_pictures(tmp_path)) == 1

    bob.delete()
    sweeping.remove_leftovers()
    assert _pictures(tmp_path) == []


def _pictures(folder: Path) -> list[Path]:
    return [path for path in (folder / "cache").rglob("*") if path.is_file()]
