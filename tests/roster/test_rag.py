"""The rag agent: entities to filters, one search, and an answer with file and page."""

import pytest

from agents.exchange import Options
from agents.roster.rag.filters import filters_of
from agents.tools.values import Chunk, ChunkMetadata, DocumentFilters
from tests.roster.driving import Cases, prompt, says, task_for
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakeDocuments, fake_providers


def _chunk(number: int, *, score: float, page: int) -> Chunk:
    about = ChunkMetadata(filename="report.pdf", page=page, section_title="Revenue", doc_type="pdf")
    return Chunk(chunk_id=f"c{number}", score=score, text=f"passage {number}", metadata=about)


@pytest.mark.spec("S170", "S173", "S174")
async def test_a_question_is_searched_under_its_filters_and_answered_with_pages(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    documents = FakeDocuments(
        chunks=(_chunk(1, score=0.9, page=3), _chunk(2, score=0.7, page=3), _chunk(3, score=0.5, page=4))
    )
    scripted_server.script(
        says({"query": "Q3 revenue", "doc_type": "pdf", "names": ["Acme"], "metric": "revenue"}),
        says("It was 42 million [1], after 40 [2]."),
    )
    task = task_for("rag", "What was Acme's Q3 revenue?", entities={"date_range": "2026-Q3"})
    case = cases(task, fake_providers(documents=documents))

    output = await case.output()

    (query, top_k, document_ids, filters) = documents.asked[0]
    assert (query, top_k, document_ids) == ("Q3 revenue Acme", 8, ())
    assert filters == DocumentFilters(doc_type="pdf", date_from="2026-07-01", date_to="2026-09-30")
    assert output.result == "It was 42 million [1], after 40 [2]." == shown(case.all_events)
    assert [chunk["chunk_id"] for chunk in output.data["chunks"]] == ["c1", "c2", "c3"]
    assert output.data["sources"] == [
        {"type": "document", "source": "report.pdf", "page": page, "section": "Revenue"} for page in (3, 4)
    ]
    assert output.data["query"] == "Q3 revenue Acme"
    assert output.confidence_score == pytest.approx(0.7)
    assert output.metadata.citations == (1, 2)
    told = prompt(scripted_server, -1)
    assert told.count("[1] report.pdf, page 3, Revenue") == 2


async def test_what_is_not_found_under_the_filters_is_looked_for_without_them(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    class OnlyWithoutFilters(FakeDocuments):
        async def search(self, about, query, *, top_k, document_ids, filters):  # type: ignore[no-untyped-def]
            found = await super().search(about, query, top_k=top_k, document_ids=document_ids, filters=filters)
            return () if filters.doc_type else found

    documents = OnlyWithoutFilters()
    scripted_server.script(says({"query": "revenue", "doc_type": "xlsx"}), says("42 million [1]."))
    task = task_for("rag", "Revenue in the sheet?", options=Options(document_ids=("d1",), interactive=False))

    output = await cases(task, fake_providers(documents=documents)).output()

    assert [asked[3].doc_type for asked in documents.asked] == ["xlsx", None]
    assert documents.asked[1][2] == ("d1",)
    assert "these are from elsewhere" in prompt(scripted_server, -1)
    assert output.task_done


async def test_nothing_found_is_an_answer_with_no_confidence(scripted_server: ScriptedServer, cases: Cases) -> None:
    scripted_server.script(says({"query": "unicorns"}), says("Your documents say nothing about unicorns."))

    output = await cases(task_for("rag", "Unicorns?"), fake_providers(documents=FakeDocuments(chunks=()))).output()

    assert output.task_done
    assert output.confidence_score == 0
    assert output.data == {"chunks": [], "sources": [], "query": "unicorns"}


async def test_without_documents_it_says_how_to_get_them_and_asks_no_model(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    output = await cases(task_for("rag", "Revenue?")).output()

    assert output.error == "not_configured"
    assert "EMBEDDING_MODEL" in output.result
    assert scripted_server.calls == []


@pytest.mark.spec("S170")
@pytest.mark.parametrize(
    ("date_range", "first", "last"),
    [
        ("2025", "2025-01-01", "2025-12-31"),
        ("Q3 2026", "2026-07-01", "2026-09-30"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026-01-15 to 2026-02-01", "2026-01-15", "2026-02-01"),
        ({"from": "2026-01-15", "to": "2026-02-01"}, "2026-01-15", "2026-02-01"),
    ],
)
def test_a_date_range_becomes_two_days(date_range: object, first: str, last: str) -> None:
    assert filters_of({"date_range": date_range}, {}) == {"date_from": first, "date_to": last}


@pytest.mark.parametrize("date_range", ["last week", "2026-13", "", None, 7, "from 2026-02-30 to 2026-03-01"])
def test_a_date_range_that_cannot_be_read_filters_nothing(date_range: object) -> None:
    assert filters_of({"date_range": date_range}, {}) == {}


def test_a_filter_that_would_hide_everything_is_left_out() -> None:
    found = {"doc_type": "report", "filename": " annual ", "date_from": "2026-05-01", "date_to": "2026-01-01"}

    assert filters_of({}, found) == {"filename": "annual"}
    assert filters_of({"doc_type": "Excel"}, {}) == {"doc_type": "xlsx"}
