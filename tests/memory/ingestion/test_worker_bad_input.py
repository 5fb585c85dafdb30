"""Files that nobody should give, the whole way: uploaded by the API, read by a worker as it is run."""

import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any

import psutil
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from memory.kinds import UNFINISHED
from memory.models import Chunk, Document, DocumentPage
from memory.reading import caps
from tests.house.test_queue import cluster_of, worker
from tests.memory.ingestion.looking import rows_left
from tests.memory.reading import making

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.threat("T27"),
    pytest.mark.timeout(900),
    pytest.mark.slow,
]

MEMORY_MB = 700
LOOK_EVERY_S = 0.2
# Readers give way to everybody else on the machine.
TIMEOUT_S = 600.0


@dataclass
class Jobs:
    """`worker` does what is queued; `highest_mb` is the most that any of its processes has had, readers too."""

    worker: psutil.Process
    highest_mb: dict[str, float] = field(default_factory=dict)

    def until_over(self, api: Any, doc_ids: list[str]) -> list[dict[str, Any]]:
        """The documents as the API shows them, once nobody is at work on them."""
        at_work = Document.objects.filter(pk__in=doc_ids, status__in=UNFINISHED)
        deadline = time.monotonic() + TIMEOUT_S
        while at_work.exists():
            assert time.monotonic() < deadline, list(at_work.values("filename", "status", "pages_read", "total_chunks"))
            for process in cluster_of(self.worker):
                self._look_at(process)
            time.sleep(LOOK_EVERY_S)
        return [api.get(f"/api/v1/documents/{doc_id}").json() for doc_id in doc_ids]

    def _look_at(self, process: psutil.Process) -> None:
        try:
            is_reader = any(part.endswith("reading/child.py") for part in process.cmdline())
            has_mb = process.memory_info().rss / 1e6
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            return
        name = "reader" if is_reader else "worker"
        self.highest_mb[name] = max(self.highest_mb.get(name, 0.0), has_mb)


@pytest.fixture
def jobs(media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    with worker(tmp_path / "log") as running:
        yield Jobs(running)


def post(api: Any, content: bytes, name: str) -> Any:
    return api.post("/api/v1/documents", {"file": SimpleUploadedFile(name, content)}, format="multipart")


def changed(path: Path, make: Callable[[Path], None], changes: dict[str, bytes]) -> bytes:
    make(path)
    making.changed_zip(path, changes)
    return path.read_bytes()


def workbook(path: Path) -> None:
    making.xlsx_of(path, {"A": [["Number", "Square"]]})


def sheet_of(rows: int, path: Path) -> bytes:
    workbook(path)
    with zipfile.ZipFile(path) as made:
        sheet = made.read("xl/worksheets/sheet1.xml")
    more = b"".join(b'<row r="%d"><c r="A%d"><v>%d</v></c></row>' % (row, row, row % 7) for row in range(2, rows + 1))
    return changed(path, workbook, {"xl/worksheets/sheet1.xml": sheet.replace(b"</sheetData>", more + b"</sheetData>")})


def refused_files(path: Path) -> dict[str, tuple[bytes, str]]:
    """By name: its bytes, and a word of the reason."""
    bomb = {"docProps/custom.xml": bytes(20 * caps.MIB)}
    greedy = b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 4_000_000
    making.docx_of(path)
    with zipfile.ZipFile(path) as made:
        document = made.read("word/document.xml").replace(b"<w:body>", b"<w:body>" + greedy)
    return {
        "empty.pdf": (b"", "empty"),
        "no pages.pdf": (making.pdf([]), "no pages"),
        "locked.pdf": (making.locked_pdf(), "password"),
        "scan.pdf": (making.pdf([[], [], []]), "OCR"),
        "junk.pdf": (b"%PDF-1.7\n" + b"nothing of a PDF " * 40, "damaged"),
        "invoice.pdf": (b"MZ\x90\x00" + bytes(range(256)) * 40, "program"),
        "bomb.docx": (changed(path, making.docx_of, bomb), "zip bomb"),
        "bomb.xlsx": (changed(path, workbook, bomb), "zip bomb"),
        "greedy.docx": (changed(path, making.docx_of, {"word/document.xml": document}), "Split it"),
        "broken.docx": (changed(path, making.docx_of, {"word/document.xml": b"<w:document><w:body><w:p>"}), "damaged"),
        "cut.docx": (changed(path, making.docx_of, {})[:2_000], "damaged"),
        "zeros.txt": (b"\x00" * 5_000, "text"),
        "spaces.md": (b" \n\t\n ", "no text"),
    }


def odd_files() -> dict[str, tuple[bytes, str]]:
    """By name: its bytes, and words that are found in it all the same."""
    german = "Grüße aus Köln, schöne Straßen und große Bäume überall."
    return {
        "latin.txt": (german.encode("latin-1"), "Grüße aus Köln"),
        "utf16.txt": (german.encode("utf-16"), "Grüße aus Köln"),
        "nul.txt": (b"Words before \x00 and words after it, and more of them. " * 3, "words after it"),
        "half a sign.md": ("Bäume und Straßen. ".encode() * 9 + b"\xc3", "Bäume und Straßen"),
        "../../etc/passwd": (b"Only words of the first.", "Only words"),
        "..\\..\\boot.md": (b"Only words of the second.", "Only words"),
        "\U0001f4a3 \u202efdp.md": (b"Only words of the third.", "Only words"),
        "no scan.pdf": (making.pdf([["Words."], [], ["More words."]]), "More words"),
        "words.pdf": (b"Only words of the last, whatever its name says.", "whatever its name"),
    }


def test_what_cannot_be_read_fails_with_a_reason_and_the_worker_lives_on(
    api_of: Any, alice: Any, jobs: Jobs, tmp_path: Path
) -> None:
    before = [process.pid for process in cluster_of(jobs.worker)]
    api, files = api_of(alice), refused_files(tmp_path / "made")
    doc_ids = [post(api, content, name).json()["doc_id"] for name, (content, _) in files.items()]

    shown = jobs.until_over(api, [*doc_ids, post(api, b"Good words.", "good.md").json()["doc_id"]])

    good = shown.pop()
    assert good["searchable"], good
    for one, (name, (_, said)) in zip(shown, files.items(), strict=True):
        assert (one["filename"], one["status"], one["searchable"]) == (name, "failed", False)
        assert said in one["reason"], one
        assert one["reason"].endswith(".")
        assert "something went wrong" not in one["reason"].lower()
        assert rows_left(Document.objects.get(pk=one["doc_id"]).pk) == {}
    assert [process.pid for process in cluster_of(jobs.worker)] == before
    assert max(jobs.highest_mb.values()) < MEMORY_MB, jobs.highest_mb


def test_odd_files_are_read_all_the_same(api_of: Any, alice: Any, jobs: Jobs, media: Path) -> None:
    api, files = api_of(alice), odd_files()
    doc_ids = [post(api, content, name).json()["doc_id"] for name, (content, _) in files.items()]

    shown = jobs.until_over(api, doc_ids)

    for one, (content, said) in zip(shown, files.values(), strict=True):
        assert (one["searchable"], one["reason"]) == (True, ""), (one, content[:20])
        pages = api.get(f"/api/v1/documents/{one['doc_id']}/pages").json()["results"]
        text = "\n".join(page["text"] for page in pages)
        assert said in text
        assert "\x00" not in text
        assert "/" not in one["filename"]
        assert "\\" not in one["filename"]
        assert "\u202e" not in one["filename"]
    assert "1 page has no text" in shown[list(files).index("no scan.pdf")]["note"]
    assert {path.relative_to(media).parts[0] for path in media.rglob("*") if path.is_file()} == {"documents"}


def test_a_million_rows_and_ten_thousand_pages_are_read_in_part_within_the_memory_of_a_worker(
    api_of: Any, alice: Any, jobs: Jobs, tmp_path: Path
) -> None:
    api = api_of(alice)
    sheet = post(api, sheet_of(1_000_000, tmp_path / "made"), "rows.xlsx").json()["doc_id"]
    pages = making.pdf([[f"This is page {page} of many."] for page in range(1, caps.PAGES + 51)])
    book = post(api, pages, "book.pdf").json()["doc_id"]

    shown_sheet, shown_book = jobs.until_over(api, [sheet, book])

    assert shown_sheet["searchable"], shown_sheet
    assert shown_book["searchable"], shown_book
    assert shown_sheet["note"].startswith("Partly read")
    assert shown_book["note"] == "Partly read: the first 10,000 of 10,050 pages; the rest is left out."
    assert DocumentPage.objects.filter(document=book).count() == caps.PAGES
    for one in (shown_sheet, shown_book):
        assert Chunk.objects.filter(document=one["doc_id"]).count() == one["total_chunks"] > 0
    assert jobs.highest_mb["reader"] > 0
    assert max(jobs.highest_mb.values()) < MEMORY_MB, jobs.highest_mb


def test_the_same_file_from_two_tabs_at_once_is_one_document_that_is_read_once(
    api_of: Any, alice: Any, jobs: Jobs, media: Path
) -> None:
    content, together = making.pdf([["Only words."]] * 20), Barrier(2)
    apis = [api_of(alice), api_of(alice)]

    def give(api: Any) -> Any:
        try:
            together.wait(10)
            return post(api, content, "twice.pdf")
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as tabs:
        answers = list(tabs.map(give, apis))
    (shown,) = jobs.until_over(apis[0], [answers[0].json()["doc_id"]])

    assert sorted(answer.status_code for answer in answers) == [200, 201]
    assert len({answer.json()["doc_id"] for answer in answers}) == 1
    assert (shown["searchable"], shown["reason"]) == (True, "")
    assert DocumentPage.objects.filter(document=shown["doc_id"]).count() == 20
    assert Chunk.objects.filter(document=shown["doc_id"]).count() == shown["total_chunks"]
    assert len([path for path in media.rglob("*") if path.is_file()]) == 1
