"""The rag agent where a task is about a document as a whole: it is read from its first page on, and not searched."""

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import pytest

from agents.craft.exchange import Attachment, AttachmentKind, Options
from agents.documents import READ_CHARS
from agents.roster.rag.whole import MOST_CHARS, asks_for_whole
from agents.tools.tool import ToolError
from agents.tools.values import PAGE_MARK, Chunk, ChunkMetadata, DocumentText, ListedDocument
from tests.doubles.memory_journal import Death
from tests.roster.driving import Cases, prompt, says, task_for, without_usage
from tests.scripted.server import ScriptedServer
from tests.tools.doubles import FakeDocuments, fake_providers

pytestmark = pytest.mark.spec("S174")
WHOLE = {"query": "contract summary", "whole": True}


@dataclass
class Papers(FakeDocuments):
    """Documents by their ids, each a list of pages, told as they are by `agents.documents`."""

    pages: dict[str, list[str]] = field(default_factory=dict)
    read_from: list[tuple[str, int]] = field(default_factory=list)

    async def read(self, about: Any, document_id: str, *, first_page: int, last_page: int) -> DocumentText:
        self.read_from.append((document_id, first_page))
        if document_id not in self.pages:
            raise ToolError(f"The document {document_id} is still being read. Try it again in a moment.")
        total = len(self.pages[document_id])
        last = min(last_page, total)
        marked = [
            f"{PAGE_MARK.format(number=number)}{self.pages[document_id][number - 1]}"
            for number in range(first_page, last + 1)
        ]
        texts = marked if total > 1 else self.pages[document_id]
        text = "\n\n".join(texts)
        ends = accumulate(map(len, texts), lambda end, chars: end + len("\n\n") + chars)
        return DocumentText(
            doc_id=document_id,
            filename=f"{document_id}.pdf",
            text=text if len(text) <= READ_CHARS else f"{text[:READ_CHARS]}\n[… cut here …]",
            first_page=first_page,
            last_page=last,
            total_pages=total,
            page_ends=tuple(end for end in ends if end <= READ_CHARS),
        )


def facts(count: int, *, chars: int = 0) -> list[str]:
    return [f"Fact {number}: it is number {number * 7}. {'x' * chars}".strip() for number in range(1, count + 1)]


def attached(*ids: str, kind: AttachmentKind = AttachmentKind.DOCUMENT) -> Options:
    files = tuple(Attachment(id=one, name=f"{one}.pdf", kind=kind, doc_type="pdf") for one in ids)
    return Options(attachment_ids=ids, attached=files, interactive=False)


def passage(number: int, doc_id: str) -> Chunk:
    at = ChunkMetadata(filename=f"{doc_id}.pdf", page=number)
    return Chunk(
        chunk_id=f"c{number}", score=0.9, text=f"Our travel policy, part {number}.", metadata=at, doc_id=doc_id
    )


async def test_of_an_attached_document_every_page_is_told_in_order_and_cited_by_its_page(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    papers = Papers(pages={"lease": facts(30)})
    scripted_server.script(says(WHOLE), says("It begins so [1], and goes on so [27][31]."))
    task = task_for("rag", "Summarise the attached contract", options=attached("lease"))

    output = await cases(task, fake_providers(documents=papers)).output()

    told = prompt(scripted_server, -1)
    places = [told.index(f"[{number}]\n<untrusted source=\"source\">\nlease.pdf, page {number}\nFact {number}:")
              for number in range(1, 31)]  # fmt: skip
    assert places == sorted(places)
    assert "[1] to [30]: all pages of one document, in their order." in told
    assert "Say so" not in told
    assert papers.asked == [], "nothing was searched"
    assert [page for _, page in papers.read_from] == [1, 21]
    assert output.result == "It begins so [1], and goes on so [27]."
    assert output.metadata.citations == (1, 27)
    cited = output.metadata.sources[27 - 1]
    assert (cited.source, cited.page, cited.document_id, cited.chunk_id) == ("lease.pdf", 27, "lease", None)
    assert len(output.metadata.sources) == 27, "those behind the last that is named are left out"
    assert output.confidence_score == 1


async def test_of_a_long_document_it_is_told_how_far_it_was_read(scripted_server: ScriptedServer, cases: Cases) -> None:
    papers = Papers(pages={"novel": facts(400, chars=3_000)})
    scripted_server.script(says(WHOLE), says("The beginning is told [1]."))

    await cases(
        task_for("rag", "Translate the attached novel", options=attached("novel")), fake_providers(documents=papers)
    ).output()

    told = prompt(scripted_server, -1)
    assert "[1] to [34]: of one document only pages 1 to 34 of 400 were read, and of these not all of the text." in told
    assert MOST_CHARS < len(told) < MOST_CHARS + 10_000
    assert "Fact 33:" in told
    assert "Fact 35:" not in told


async def test_of_many_short_pages_a_hundred_are_read(scripted_server: ScriptedServer, cases: Cases) -> None:
    papers = Papers(pages={"slides": facts(400)})
    scripted_server.script(says(WHOLE), says("So it begins [1]."))

    await cases(
        task_for("rag", "Summarise the slides", options=attached("slides")), fake_providers(documents=papers)
    ).output()

    assert "[1] to [100]: of one document only pages 1 to 100 of 400 were read. Say so." in prompt(scripted_server, -1)
    assert len(papers.read_from) == 5


async def test_a_page_that_is_longer_than_one_reading_is_told_as_cut(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    papers = Papers(pages={"log": ["x" * (READ_CHARS + 5), "The end."]})
    scripted_server.script(says(WHOLE), says("Letters [1]."))

    await cases(
        task_for("rag", "Review the attached log", options=attached("log")), fake_providers(documents=papers)
    ).output()

    told = prompt(scripted_server, -1)
    assert "[1] to [2]: of one document only pages 1 to 2 of 2 were read, and of these not all of the text." in told
    assert "log.pdf, page 2\nThe end." in told


async def test_two_documents_are_read_one_after_the_other_and_one_that_cannot_be_is_told(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    papers = Papers(pages={"ours": facts(2), "theirs": ["Theirs is dearer."]})
    scripted_server.script(says(WHOLE), says("Theirs is dearer [3]."))
    task = task_for("rag", "Compare the attached offers", options=attached("ours", "theirs", "late"))

    output = await cases(task, fake_providers(documents=papers)).output()

    told = prompt(scripted_server, -1)
    assert "[1] to [2]: all pages of one document, in their order.\n[3]: all pages of one document" in told
    assert "cannot be read: 1. Say so." in told
    assert (output.metadata.sources[2].source, output.metadata.sources[2].page) == ("theirs.pdf", 1)


@pytest.mark.parametrize("filename", ["Lease 2024", "lease 2024.pdf"])
async def test_a_document_that_is_named_is_found_by_its_name_ones_own_first(
    scripted_server: ScriptedServer, cases: Cases, filename: str
) -> None:
    listed = tuple(
        ListedDocument(doc_id=one, filename="Lease 2024.pdf", is_own=one == "mine") for one in ("theirs", "mine")
    )

    class Named(Papers):
        async def listed(self, about: Any, *, name_contains: str, limit: int) -> Any:
            assert name_contains == filename
            return await super().listed(about, name_contains="", limit=limit)

    papers = Named(pages={"mine": ["Mine."], "theirs": ["Theirs."]}, documents=listed)
    scripted_server.script(says({**WHOLE, "filename": filename}), says("Mine [1]."))

    await cases(task_for("rag", "Summarise Lease 2024"), fake_providers(documents=papers)).output()

    assert papers.read_from == [("mine", 1)]


@pytest.mark.parametrize(("found_in", "read"), [("aaa", [("a", 1)]), ("aab", [])], ids=["one", "several"])
async def test_where_no_name_tells_it_is_the_document_that_all_of_the_best_passages_are_from(
    scripted_server: ScriptedServer, cases: Cases, found_in: str, read: list[Any]
) -> None:
    chunks = tuple(passage(number, doc_id) for number, doc_id in enumerate(found_in, start=1))
    papers = Papers(pages={"a": ["All of it."]}, chunks=chunks)
    scripted_server.script(says({"query": "travel policy", "whole": True}), says("So it is [1]."))

    await cases(task_for("rag", "Summarise our travel policy"), fake_providers(documents=papers)).output()

    assert papers.read_from == read
    told = prompt(scripted_server, -1)
    assert ("All of it." in told, "these are only passages" in told) == (bool(read), not read)


@pytest.mark.parametrize(
    "options",
    [attached("late"), attached("a", "b", "c", "d"), attached("a", kind=AttachmentKind.FILE)],
    ids=["it is still being read", "too many", "no document"],
)
async def test_what_cannot_be_read_as_a_whole_is_searched_and_that_is_told(
    scripted_server: ScriptedServer, cases: Cases, options: Options
) -> None:
    papers = Papers(chunks=tuple(passage(number, f"d{number}") for number in range(1, 4)))
    scripted_server.script(says({"query": "travel policy", "whole": True}), says("Parts of it [1]."))

    output = await cases(
        task_for("rag", "Summarise our travel policy", options=options), fake_providers(documents=papers)
    ).output()

    assert len(papers.asked) == 1
    assert "these are only passages that a search found. Say so." in prompt(scripted_server, -1)
    assert output.result == "Parts of it [1]."


@pytest.mark.parametrize(
    ("task", "note"),
    [
        ("Summarise the attached letter", "Only its beginning was read, up to page 1 of 12."),
        ("Fasse den angehängten Brief zusammen", "Gelesen ist davon nur der Anfang, bis Seite 1 von 12."),
    ],
)
async def test_the_small_model_reads_as_much_of_it_as_it_can_and_it_is_said(
    scripted_server: ScriptedServer, cases: Cases, task: str, note: str
) -> None:
    papers = Papers(pages={"letter": [f"The rent goes up by ten euro. {'y' * 2_000}", *facts(11)]})
    scripted_server.script(says("The rent goes up by ten euro."))

    output = await cases(
        task_for("rag", task, capable=False, options=attached("letter")), fake_providers(documents=papers)
    ).output()

    assert output.result == f"The rent goes up by ten euro. [1]\n\n{note}"
    assert len(prompt(scripted_server, -1)) < 2_200


async def test_a_short_letter_is_read_by_the_small_model_to_its_end(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    papers = Papers(pages={"letter": ["The rent goes up by ten euro."]})
    scripted_server.script(says("The rent goes up by ten euro."))
    task = task_for("rag", "Summarise the attached letter", capable=False, options=attached("letter"))

    output = await cases(task, fake_providers(documents=papers)).output()

    assert output.result == "The rent goes up by ten euro. [1]"


@pytest.mark.slow
@pytest.mark.spec("B1")
async def test_a_reading_that_is_killed_at_any_record_comes_to_the_same(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    papers = Papers(pages={"lease": facts(30)})
    scripted_server.script(says("All of it [30].", match="## Sources", times=0), says(WHOLE, times=0))
    task = task_for("rag", "Summarise the attached contract", options=attached("lease"))
    whole = cases(task, fake_providers(documents=papers))
    expected = without_usage(await whole.output())
    assert whole.journal is not None

    for at in range(1, whole.journal.writes - 1):
        case = cases(task, fake_providers(documents=papers))
        await case.drive(death=Death.WRITE_IS_LOST, at=at)

        assert without_usage(await case.output()) == expected, at


@pytest.mark.parametrize(
    ("task", "asks"),
    [
        ("Summarize this contract", True),
        ("Give me a summary of it", True),
        ("Übersetze den Brief ins Englische", True),
        ("Fass mir das Protokoll zusammen", True),
        ("What does the summer schedule say?", False),
        ("Wie fasst man das an?", False),
    ],
)
def test_words_ask_for_the_whole(task: str, asks: bool) -> None:
    assert asks_for_whole(task) is asks


def test_pages_are_told_apart_by_their_marks_though_a_guard_changed_the_text() -> None:
    text = "[page 4]\nOne.\n\n⟦quoted: [page 9]⟧\n\n[page 5]\n\n\n[page 6]\nThr"
    part = DocumentText(
        doc_id="d", filename="a.pdf", text=text, first_page=4, last_page=6, total_pages=9, page_ends=(14, 20)
    )

    assert part.pages() == ((4, "One.\n\n⟦quoted: [page 9]⟧"), (5, ""))
    assert part.model_copy(update={"page_ends": ()}).pages() == ((4, "One.\n\n⟦quoted: [page 9]⟧"),)
