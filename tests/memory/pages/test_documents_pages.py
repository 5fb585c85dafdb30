"""The documents' pages as the server draws them: who sees what, what is said of it, what is marked, what it costs."""

import re
import uuid
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory.ids import chunk_id
from memory.kinds import DocumentStatus, Visibility
from memory.models import Chunk, Document, DocumentPage, Project
from memory.showing import MOST_CHARS

pytestmark = pytest.mark.django_db
READY = DocumentStatus.READY


def document_of(owner: Any, filename: str = "report.pdf", *, groups: Any = (), **more: Any) -> Document:
    fields = {"doc_type": "pdf", "status": READY, "sha256": uuid.uuid4().hex, "size_bytes": 2_400_000, **more}
    made = Document.objects.create(owner=owner, filename=filename, **fields)
    made.groups.set(groups)
    return made


def fill(document: Document, *texts: str, titles: Any = ()) -> None:
    """Its pages, each of which is one passage."""
    start = 0
    for at, text in enumerate(texts):
        number = at + 1
        title = titles[at] if at < len(titles) else ""
        page = {"number": number, "text": text, "start": start, "title": title}
        DocumentPage.objects.create(document=document, blocks=[["paragraph", 0, 0, len(text)]], **page)
        Chunk.objects.create(
            document=document, chunk_id=chunk_id(document.pk, at), ordinal=at, text=text, start=start,
            end=start + len(text), page=number, last_page=number, section_title=f"Part {number}", kind="paragraph",
            tokens=9,
        )  # fmt: skip
        start += len(text) + 2
    counts = {"total_pages": len(texts), "pages_read": len(texts), "total_chunks": len(texts)}
    Document.objects.filter(pk=document.pk).update(**counts)
    document.refresh_from_db()


def read(reader: Any, path: str = "/documents/") -> str:
    client = Client()
    client.force_login(reader)
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def status_of(reader: Any, path: str) -> int:
    client = Client()
    client.force_login(reader)
    return client.get(path).status_code


@pytest.mark.spec("B20")
def test_the_list_shows_what_the_reader_may_see_and_charlie_none_of_it(alice: Any, bob: Any, charlie: Any) -> None:
    press = Group.objects.create(name="Press")
    for one in (alice, bob):
        one.groups.add(press)
    document_of(bob, "for-the-group.pdf", visibility=Visibility.GROUPS, groups=[press])
    document_of(bob, "of-bob-alone.pdf")
    document_of(bob, "of-the-project.pdf")
    project = Project.objects.create(owner=bob, name="Launch")
    project.members.set([alice, bob])
    project.documents.set(Document.objects.filter(filename="of-the-project.pdf"))
    document_of(alice, "of-alice.pdf")

    everything, mine, shared = (read(alice, f"/documents/?tab={tab}") for tab in ("all", "mine", "shared"))

    names = ("for-the-group", "of-bob-alone", "of-the-project", "of-alice")
    assert [[name in page for name in names] for page in (everything, mine, shared)] == [
        [True, False, True, True],
        [False, False, False, True],
        [True, False, True, False],
    ]
    assert "From <bdi>Bob</bdi>" in everything
    assert "Press" not in everything.split("<script")[1]  # the groups of somebody else's document are not told
    assert not any(name in read(charlie) for name in names)


@pytest.mark.spec("B20")
def test_a_document_of_somebody_else_is_not_there_on_any_page(alice: Any, charlie: Any) -> None:
    document = document_of(alice)
    fill(document, "Secret numbers")
    chunk = document.chunks.get().chunk_id
    paths = [
        f"/documents/{document.pk}/",
        f"/documents/{document.pk}/?chunk={chunk}",
        f"/documents/{document.pk}/pages/",
    ]

    assert [status_of(charlie, path) for path in paths] == [404, 404, 404]
    assert [status_of(alice, path) for path in paths] == [200, 200, 200]
    assert "report.pdf" not in read(charlie, f"/documents/search/?document={document.pk}")


def test_states_are_said_in_words_with_the_reason_of_a_failure(alice: Any) -> None:
    document_of(alice, "a.pdf", status="reading", pages_read=12, total_pages=100)
    document_of(alice, "b.pdf", status="embedding", total_chunks=80, chunks_embedded=20)
    document_of(alice, "c.pdf", status="failed", reason="It is <b>locked</b>.", doc_type="")

    page = read(alice)

    assert "Reading pages: 12 of 100" in page
    assert '<progress class="bar" value="12" max="100"' in page
    assert "Searchable · meaning 25 %" in page
    assert "It is &lt;b&gt;locked&lt;/b&gt;." in page
    assert ["c.pdf" in read(alice, f"/documents/?state={state}") for state in ("failed", "working", "ready")] == [
        True,
        False,
        False,
    ]


def test_names_titles_kinds_and_order_are_filtered_by(alice: Any) -> None:
    document_of(alice, "a.pdf", title="Annual report", size_bytes=1)
    document_of(alice, "report.md", doc_type="md", size_bytes=2)

    assert "a.pdf" in read(alice, "/documents/?q=REPORT+annual")
    assert "report.md" not in read(alice, "/documents/?q=REPORT+annual")
    assert "a.pdf" not in read(alice, "/documents/?kind=md")
    assert "a.pdf" in read(alice, "/documents/?kind=no-such&state=none&sort=x&page=x&tab=y&q=%00")
    largest = read(alice, "/documents/?sort=size")
    assert largest.index("report.md") < largest.index("a.pdf")
    assert "No document fits" in read(alice, "/documents/?q=zebra")
    with CaptureQueriesContext(connection) as asked:
        read(alice, "/documents/?q=" + "a+" * 1_000)
    assert max(one["sql"].upper().count(" LIKE UPPER(") for one in asked.captured_queries) < 500


@pytest.mark.slow
def test_whom_a_document_is_shared_with_is_said_by_groups_and_projects_to_its_owner_only(
    alice: Any, charlie: Any
) -> None:
    press = Group.objects.create(name="Press")
    document = document_of(alice, groups=[press])
    assert "Only you" in read(alice)
    zoo = Project.objects.create(owner=alice, name="Zoo")
    zoo.members.set([alice, charlie])
    zoo.documents.add(document)

    assert "Zoo</bdi>" in read(alice)
    Document.objects.update(visibility=Visibility.GROUPS)
    for page in (read(alice), read(alice, f"/documents/{document.pk}/")):
        assert "Press, Zoo</bdi>" in page
        assert "Only you" not in page
    theirs = read(charlie)
    assert "report.pdf" in theirs
    assert "Press" not in theirs
    Document.objects.update(visibility=Visibility.EVERYONE)
    assert "<span>Everyone</span>" in read(alice)


def test_a_long_list_costs_as_many_queries_as_a_short_one(alice: Any) -> None:
    press = Group.objects.create(name="Press")
    zoo = Project.objects.create(owner=alice, name="Zoo")
    zoo.documents.add(document_of(alice, "first.pdf", visibility=Visibility.GROUPS, groups=[press]))
    with CaptureQueriesContext(
        connection,
    ) as few:
        read(alice)
    for at in range(40):
        zoo.documents.add(document_of(alice, f"{at}.pdf", visibility=Visibility.GROUPS, groups=[press]))

    with CaptureQueriesContext(connection) as many:
        page = read(alice)

    assert len(many) == len(few)
    assert page.count('class="doc-name"') == 25
    assert "Page 1 of 2" in page


@pytest.mark.spec("B19")
def test_the_cited_passage_is_marked_and_an_unknown_one_is_said(alice: Any) -> None:
    document = document_of(alice)
    fill(document, *(f"Page {number} says number {number}." for number in range(1, 41)))
    chunk = document.chunks.get(ordinal=29)
    other = document_of(alice, "other.pdf")
    fill(other, "Elsewhere")

    page = read(alice, f"/documents/{document.pk}/?chunk={chunk.chunk_id}")

    assert '<mark class="cited">Page 30 says number 30.</mark>' in page
    assert page.count("<mark") == 1
    assert "30 of 40" in page
    assert "Page 29 says" not in page.partition('id="leaves"')[2]
    for wrong in (uuid.uuid4(), other.chunks.get().chunk_id, "no-id"):
        page = read(alice, f"/documents/{document.pk}/?chunk={wrong}")
        assert "is not in the document any more" in page
        assert "<mark" not in page


def test_a_passage_over_two_pages_is_marked_on_both(alice: Any) -> None:
    document = document_of(alice)
    fill(document, "One begins here", "and ends here, not there")
    Chunk.objects.filter(document=document, ordinal=0).update(start=4, end=17 + 13, last_page=2)

    page = read(alice, f"/documents/{document.pk}/?chunk={chunk_id(document.pk, 0)}")

    assert 'One <mark class="cited">begins here</mark>' in page
    assert '<mark class="cited">and ends here</mark>, not there' in page


@pytest.mark.spec("B24")
def test_what_a_document_says_stays_text(alice: Any) -> None:
    hostile = "<script>alert(1)</script>{{ 7 }} \u202egnp.exe <img src=x onerror=alert(1)>"
    document = document_of(alice, f"{hostile}.md", title=hostile, description=hostile, doc_type="md", note=hostile)
    fill(document, hostile, f"| {hostile} |", titles=[hostile])

    pages = [read(alice, path) for path in ("/documents/", f"/documents/{document.pk}/?find=%3Cscript%3E")]

    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert hostile in unescape(page)
    assert '<mark class="found">&lt;script&gt;</mark>' in pages[1]


def test_a_page_of_a_million_characters_is_shown_in_pieces(alice: Any) -> None:
    document = document_of(alice, "sheet.csv", doc_type="csv")
    fill(document, "x" * 300_000 + " the needle " + "y" * 700_000)
    Chunk.objects.filter(document=document).update(start=300_001, end=300_011)

    first = read(alice, f"/documents/{document.pk}/")
    cited = read(alice, f"/documents/{document.pk}/?chunk={chunk_id(document.pk, 0)}")

    assert f"at={MOST_CHARS}" in first
    assert len(first) < 2 * MOST_CHARS
    assert '<mark class="cited">the needle</mark>' in cited
    assert "From the beginning of this page" in cited


def test_words_are_found_with_their_pages(alice: Any) -> None:
    document = document_of(alice)
    fill(document, "Net\nrevenue rose.", "Nothing.", "net REVENUE (EUR) fell; net revenue rose.")

    page = read(alice, f"/documents/{document.pk}/?find=net+revenue")
    side = page.partition('id="leaves"')[0]

    assert "3 places with" in side
    assert [f'data-go="{number}"' in side for number in (1, 2, 3)] == [True, False, True]
    assert "0 places with" in read(alice, f"/documents/{document.pk}/?find=a.b(")


def test_the_sections_are_those_of_the_pages_or_of_the_passages(alice: Any) -> None:
    slides, report = document_of(alice, "deck.pptx", doc_type="pptx"), document_of(alice)
    fill(slides, "a", "b", "c", titles=["Start", "Start", "End"])
    fill(report, "a", "b")

    deck, text = (read(alice, f"/documents/{one.pk}/") for one in (slides, report))

    assert 'data-section="Start"' in deck
    assert deck.count("data-section") == 2
    assert "Slide 3 · End" in deck
    assert 'data-section="Part 2"' in text


@pytest.mark.slow
def test_further_pages_come_alone_and_odd_numbers_lead_somewhere(alice: Any) -> None:
    document = document_of(alice)
    fill(document, *(f"text {number}" for number in range(1, 13)))

    part = read(alice, f"/documents/{document.pk}/pages/?page=6")

    assert [f"text {number}<" in part for number in (5, 6, 10, 11)] == [False, True, True, False]
    assert "<html" not in part
    for odd in ("0", "-1", "99999999999999999999", "x", "²", "99"):
        assert 'class="leaf' in read(alice, f"/documents/{document.pk}/?page={odd}&at={odd}&from={odd}&view={odd}")


def test_only_a_pdf_has_pictures_of_its_pages(alice: Any) -> None:
    pdf, text = document_of(alice), document_of(alice, "a.md", doc_type="md")
    for one in (pdf, text):
        fill(one, "Hello")

    assert f'src="/api/v1/documents/{pdf.pk}/pages/1/image"' in read(alice, f"/documents/{pdf.pk}/?view=pages")
    assert "<img" not in read(alice, f"/documents/{text.pk}/?view=pages").partition("<main")[2]


def test_who_is_not_signed_in_is_asked_to(db: None) -> None:
    for path in ("/documents/", "/documents/search/", f"/documents/{uuid.uuid4()}/"):
        assert Client().get(path).url.startswith("/accounts/login/?next=")  # type: ignore[attr-defined]


def test_a_picture_stands_among_the_documents_as_what_it_is_and_not_as_a_failure(alice: Any) -> None:
    reason = "This is a picture (PNG): it has no text that could be searched."
    picture = document_of(alice, "red.png", doc_type="png", status=DocumentStatus.FAILED, reason=reason)

    listed, alone = read(alice), read(alice, f"/documents/{picture.pk}/")

    for page in (listed, alone):
        assert "Picture, not searched" in page
        assert "Not read</span>" not in page
        assert reason in page
        assert 'data-again=""' in page
    assert "is-failed" not in listed
    assert "message error" not in alone


def test_older_tables_of_excel_are_found_with_the_newer_ones(alice: Any) -> None:
    document_of(alice, "new.xlsx", doc_type="xlsx")
    document_of(alice, "old.xls", doc_type="xls")
    document_of(alice, "plan.pdf")

    page = read(alice, "/documents/?kind=xlsx")

    assert [name in page for name in ("new.xlsx", "old.xls", "plan.pdf")] == [True, True, False]
    assert re.findall(r'<option value="(xlsx?)"', page) == ["xlsx"]
    assert "new.xlsx" not in read(alice, "/documents/?kind=xls")


def test_where_there_is_no_document_yet_the_search_inside_leads_to_adding_one(alice: Any) -> None:
    page = read(alice, "/documents/search/")

    assert "0 documents" not in page
    assert '<a href="/documents/">Add one</a>' in page
    document_of(alice, "a.pdf")
    assert "in your one document" in read(alice, "/documents/search/")
