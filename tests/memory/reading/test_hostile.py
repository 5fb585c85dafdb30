"""Files that are broken, locked, endless or made to do harm: a reason for people, and never a dead worker."""

import io
import os
import signal
import struct
import zipfile
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from memory.reading import caps
from memory.reading.process import frames, read
from memory.reading.values import Facts, Unreadable
from memory.values import Page
from tests.memory.reading import making
from tests.memory.reading.reading import read_all

ENTITIES = b"""<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY x SYSTEM "file:///etc/passwd">]>"""


def refused(path: Path, *, filename: str = "") -> Unreadable:
    with pytest.raises(Unreadable) as error:
        read_all(path, filename=filename)
    assert error.value.message.endswith(".")
    return error.value


def test_an_empty_file_and_one_of_spaces(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"")
    assert refused(path).code == "empty"
    with pytest.raises(Unreadable, match="empty"), read(path, doc_type="pdf", filename="a.pdf") as reading:
        next(reading)

    path.write_bytes(b" \n\t\n")
    assert refused(path).code == "no_text"


def test_a_pdf_without_pages(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([]))

    assert refused(path).code == "empty"


def test_a_pdf_that_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.locked_pdf())

    reason = refused(path)

    assert reason.code == "encrypted"
    assert "password" in reason.message


def test_a_scan_is_said_to_have_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([[], []]))

    reason = refused(path)

    assert reason.code == "no_text"
    assert "OCR" in reason.message


def test_a_scanned_page_among_others_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([["Words."], [], ["More words."]]))

    facts, pages = read_all(path)

    assert [page.text for page in pages] == ["Words.", "", "More words."]
    assert facts[-1].note == "1 page has no text, only pictures or nothing: 2."


@pytest.mark.slow
def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.7\n%junk and nothing else")
    assert refused(path).code == "broken"

    for make in (making.docx_of, making.pptx_of):
        make(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        assert refused(path).code == "broken"


@pytest.mark.slow
def test_a_word_document_with_broken_xml(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    for content in (b"<w:document><w:body>", b"", b"not xml at all", b"<a/>"):
        making.docx_of(path)
        making.changed_zip(path, {"word/document.xml": content})

        assert refused(path).code == "broken"


@pytest.mark.slow
@pytest.mark.threat("T27")
@pytest.mark.parametrize(
    ("name", "member"), [("docx", "word/document.xml"), ("pptx", "ppt/presentation.xml"), ("xlsx", "xl/workbook.xml")]
)
def test_xml_that_declares_entities_is_not_read(tmp_path: Path, name: str, member: str) -> None:
    path = tmp_path / f"a.{name}"
    if name == "xlsx":
        making.xlsx_of(path, {"A": [["a"]]})
    else:
        {"docx": making.docx_of, "pptx": making.pptx_of}[name](path)
    making.changed_zip(path, {member: ENTITIES + b"<d>&c;&x;</d>"})

    reason = refused(path)

    assert reason.code == "broken"
    assert "entities" in reason.message


@pytest.mark.slow
@pytest.mark.threat("T27")
@pytest.mark.parametrize("name", ["docx", "pptx", "xlsx"])
def test_a_zip_bomb_is_seen_before_it_is_unpacked(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"a.{name}"
    if name == "xlsx":
        making.xlsx_of(path, {"A": [["a"]]})
    else:
        {"docx": making.docx_of, "pptx": making.pptx_of}[name](path)
    making.changed_zip(path, {"docProps/custom.xml": bytes(20 * caps.MIB)})

    reason = refused(path)

    assert reason.code == "too_big"
    assert "zip bomb" in reason.message


@pytest.mark.slow
@pytest.mark.threat("T27")
def test_a_bomb_whose_directory_lies(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    making.docx_of(path)
    making.changed_zip(path, {"word/document.xml": b" " * (40 * caps.MIB)})
    raw = bytearray(path.read_bytes())
    real = struct.pack("<I", 40 * caps.MIB)
    while real in raw:
        raw[raw.index(real) : raw.index(real) + 4] = struct.pack("<I", 1000)
    path.write_bytes(bytes(raw))

    assert refused(path).code in ("broken", "too_big")


@pytest.mark.slow
def test_a_zip_that_only_looks_like_a_document(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("../../evil.txt", "out of here")
        made.writestr("word/readme.txt", "no document")

    assert refused(path).code == "not_supported"


@pytest.mark.slow
def test_a_sheet_of_a_million_rows_is_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    making.xlsx_of(path, {"A": [["Number", "Square"]]})
    rows = "".join(
        f'<row r="{row}"><c r="A{row}"><v>{row}</v></c><c r="B{row}"><v>{row * row}</v></c></row>'
        for row in range(2, 1_000_001)
    )
    with zipfile.ZipFile(path) as made:
        sheet = made.read("xl/worksheets/sheet1.xml").replace(b"</sheetData>", rows.encode() + b"</sheetData>")
    making.changed_zip(path, {"xl/worksheets/sheet1.xml": sheet})

    facts, pages = read_all(path)

    assert "Partly read" in facts[-1].note
    assert sum(page.text.count("\n") for page in pages) == caps.ROWS - 1
    assert pages[1].text.startswith("| Number | Square |\n")


def test_a_sheet_whose_cells_lie_a_world_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    making.xlsx_of(path, {"A": [["a"]]})
    with zipfile.ZipFile(path) as made:
        far = b'<row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData>'
        sheet = made.read("xl/worksheets/sheet1.xml").replace(b"</sheetData>", far)
    making.changed_zip(path, {"xl/worksheets/sheet1.xml": sheet})

    assert refused(path).code in ("too_big", "broken")


def test_a_row_of_opendocument_that_says_it_is_millions(tmp_path: Path) -> None:
    path = tmp_path / "a.ods"
    row = making.ods_row("boom" * 50, repeated='table:number-columns-repeated="16384"')
    making.ods_of(path, row.replace("<table:table-row>", '<table:table-row table:number-rows-repeated="1048576">'))

    assert refused(path).code in ("too_big", "broken")


@pytest.mark.slow
def test_ten_thousand_pages_go_by_and_take_no_room(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([[f"This is page {page} of many."] for page in range(1, 10_051)]))
    this = psutil.Process()
    before, most, count, facts = this.memory_info().rss, 0, 0, list[Facts]()

    with read(path, doc_type="pdf", filename="a.pdf") as reading:
        for found in reading:
            most = max(most, this.memory_info().rss)
            if isinstance(found, Page):
                count += 1
                assert found.text == f"This is page {count} of many."
            else:
                facts.append(found)

    assert count == caps.PAGES
    assert facts[0].total_pages == 10_050
    assert facts[-1].note == "Partly read: the first 10,000 of 10,050 pages; the rest is left out."
    assert most - before < 30 * caps.MIB


@pytest.mark.threat("T27")
@pytest.mark.parametrize("name", ["../../etc/passwd", "\U0001f4a3\u202efdp.txt", "a\x00b.md", "x" * 5_000, "", "."])
def test_a_name_is_a_hint_and_nothing_more(tmp_path: Path, name: str) -> None:
    path = tmp_path / "stored"
    path.write_text("Only words.")

    _, (page,) = read_all(path, filename=name)

    assert page.text == "Only words."


@pytest.mark.slow
def test_a_page_nested_without_end(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<html><body>" + "<div>" * 50_000 + "Deep down." + "</div>" * 50_000)

    try:
        _, pages = read_all(path)
    except Unreadable as reason:
        assert reason.code in ("no_text", "too_big", "broken")  # noqa: PT017 - either way is well
    else:
        assert "Deep down" in pages[0].text


def test_random_bytes_after_any_mark_are_a_reason_and_no_other_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    noise = bytes((index * 7919 + index // 7) % 251 for index in range(20_000))
    marks = {
        "pdf": b"%PDF-1.4\n",
        "docx": b"PK\x03\x04",
        "xlsx": b"PK\x03\x04",
        "ods": b"PK\x03\x04",
        "pptx": b"PK\x03\x04",
    }
    for doc_type, mark in {**marks, "xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"}.items():
        path.write_bytes(mark + noise)
        with pytest.raises(Unreadable), read(path, doc_type=doc_type, filename="a") as reading:
            list(reading)


@pytest.mark.threat("T27")
def test_a_file_larger_than_any_may_be(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        file.truncate(caps.FILE_BYTES + 1)

    with pytest.raises(Unreadable) as error, read(path, doc_type="txt", filename="a.txt") as reading:
        next(reading)

    assert error.value.code == "too_big"


PROGRAMS = {
    "import ctypes; ctypes.string_at(0)": "broken",
    "import os; os.kill(os.getpid(), 9)": "too_big",
    "import os; os.abort()": "too_big",
    "pass": "broken",
    "raise SystemExit(3)": "broken",
    "import os; os.write(1, b'GET / HTTP/1.1')": "broken",
    "import os; os.write(1, b'\\x00\\x00\\x00\\x03{}{')": "broken",
    "import os; os.write(1, b'\\x00\\x00\\x00\\x02[]')": "broken",
    "import os; os.write(1, b'\\x00\\x00\\x00\\x11{\"unreadable\": 12}')": "broken",
    "import os; os.write(1, b'\\x00\\x00\\x00\\x02'); os.write(1, b'{')": "broken",
    "import signal; signal.pause()": "timed_out",
    "import resource, signal; resource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass": "timed_out",
}


@pytest.mark.slow
@pytest.mark.parametrize(("program", "code"), PROGRAMS.items())
def test_a_reader_that_dies_rambles_or_hangs_is_a_reason(tmp_path: Path, program: str, code: str) -> None:
    script = tmp_path / "child.py"
    script.write_text(program)
    wait_s = 0.5 if "pause" in program else 30

    with (
        pytest.raises(Unreadable) as error,
        closing(frames({}, size_bytes=1, program=script, wait_s=wait_s)) as answers,
    ):
        next(answers)

    assert error.value.code == code


@pytest.mark.slow
def test_a_reader_whose_file_is_refused_memory_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    making.docx_of(path)
    paragraphs = b"<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 4_000_000
    with zipfile.ZipFile(path) as made:
        document = made.read("word/document.xml").replace(b"<w:body>", b"<w:body>" + paragraphs)
    making.changed_zip(path, {"word/document.xml": document})

    assert refused(path).code == "too_big"


@pytest.mark.slow
def test_a_file_that_a_run_waits_for_is_read_with_more_of_a_busy_machine(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([["Words upon words."] * 40] * 2_000))

    def niceness(*, is_awaited: bool) -> int:
        with read(path, doc_type="pdf", filename="a.pdf", is_awaited=is_awaited) as reading:
            next(reading)
            (child,) = [one for one in psutil.Process().children() if str(path) in " ".join(one.cmdline())]
            return int(child.nice()) - int(psutil.Process().nice())

    assert 0 < niceness(is_awaited=True) < niceness(is_awaited=False)


@pytest.mark.slow
def test_the_reading_process_ends_with_whoever_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(making.pdf([["Words upon words."] * 40] * 2_000))
    ours, theirs = os.pipe()
    parent = os.fork()
    if parent == 0:
        reading = read(path, doc_type="pdf", filename="a.pdf")
        next(reading)
        (child,) = psutil.Process().children()
        os.write(theirs, struct.pack("=i", child.pid))
        signal.pause()
    (pid,) = struct.unpack("=i", os.read(ours, 4))
    child = psutil.Process(pid)

    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)

    psutil.wait_procs([child], timeout=30)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.threat("T27")
def test_nothing_but_the_file_can_be_read_and_nothing_written_or_reached(tmp_path: Path) -> None:
    secret, script = tmp_path / "secret", tmp_path / "child.py"
    secret.write_text("hush")
    root = Path(__file__).parents[3]
    script.write_text(f"""
import os, socket, struct, subprocess, sys
sys.path.insert(0, {str(root)!r})
from pathlib import Path
from memory.reading import confinement
import orjson
confinement.confine(Path(__file__))
def outcome(deed):
    try: deed()
    except (OSError, MemoryError) as error: return type(error).__name__
    return "done"
deeds = {{
    "own file": lambda: open(__file__).read(),
    "write": lambda: open({str(tmp_path / "new")!r}, "w").write("x"),
    "much memory": lambda: bytearray({2 * caps.MEMORY_BYTES}),
    "other file": lambda: open({str(secret)!r}).read(),
    "parent's secrets": lambda: open(f"/proc/{{os.getppid()}}/environ").read(),
    "network": lambda: socket.socket(),
    "program": lambda: subprocess.run(["/bin/true"]),
}}
raw = orjson.dumps({{"outcomes": {{name: outcome(deed) for name, deed in deeds.items()}}}})
os.write(1, struct.pack(">I", len(raw)) + raw)
""")

    with closing(frames({}, size_bytes=1, program=script)) as answers:
        outcomes = next(answers)["outcomes"]

    assert outcomes.pop("own file") == "done"
    assert outcomes.pop("write") in ("PermissionError", "OSError")
    assert outcomes.pop("much memory") == "MemoryError"
    if _has_landlock():
        assert outcomes == dict.fromkeys(outcomes, "PermissionError")


def _has_landlock() -> bool:
    import ctypes

    return bool(ctypes.CDLL(None).syscall(444, None, 0, 1) >= 1)


@pytest.mark.slow
@pytest.mark.threat("T27")
def test_what_is_packed_into_a_document_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    making.docx_of(path)
    picture = io.BytesIO()
    picture.write(os.urandom(12 * caps.MIB))
    making.changed_zip(path, {"word/media/film.bin": picture.getvalue()})

    _, pages = read_all(path)

    assert pages[0].text.startswith("Travel policy")
