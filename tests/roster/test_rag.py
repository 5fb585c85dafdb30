"""The rag agent: entities to filters, one search, and an answer with file and page."""

import pytest

from agents.craft.exchange import Options
from agents.roster.rag.filters import filters_of
from agents.roster.rag.listing import asks_for_list
from agents.tools.values import Chunk, ChunkMetadata, DocumentFilters, FoundChunks, ListedDocument
from memory.reading.kinds import DOC_TYPES
from tests.doubles.memory_journal import Death
from tests.roster.driving import Cases, prompt, says, task_for, without_usage
from tests.scripted.server import ScriptedServer
from tests.shown import shown
from tests.tools.doubles import FakeDocuments, fake_providers


def _chunk(number: int, *, score: float = 0.5, page: int = 3, text: str = "", **more: str) -> Chunk:
    about = ChunkMetadata(filename="report.pdf", page=page, section_title="Revenue", doc_type="pdf")
    said = text or f"Acme: revenue in Q3 was 42 million after 40 ({number})."
    return Chunk(chunk_id=f"c{number}", score=score, text=said, metadata=about, doc_id="d1", **more)


@pytest.mark.spec("S170", "S173", "S174")
async def test_a_question_is_searched_under_its_filters_and_answered_with_pages(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    documents = FakeDocuments(
        chunks=(_chunk(1, score=0.9, page=3), _chunk(2, score=0.7, page=3), _chunk(3, score=0.5, page=4))
    )
    scripted_server.script(
        says({"query": "Q3 revenue", "doc_type": "pdf", "names": ["Acme"], "metric": "revenue"}),
        says("It was 42 million [1], after 40 [2][9]."),
    )
    task = task_for("rag", "What was Acme's Q3 revenue?", entities={"date_range": "2026-Q3"})
    case = cases(task, fake_providers(documents=documents))

    output = await case.output()

    (query, top_k, document_ids, filters) = documents.asked[0]
    assert (query, top_k, document_ids) == ("Q3 revenue Acme", 20, ())
    assert filters == DocumentFilters(doc_type="pdf", date_from="2026-07-01", date_to="2026-09-30")
    assert output.result == "It was 42 million [1], after 40 [2]." == shown(case.all_events)
    assert [chunk["chunk_id"] for chunk in output.data["chunks"]] == ["c1", "c2", "c3"]
    assert set(output.data["chunks"][0]) >= {"chunk_id", "score", "text", "metadata"}
    assert output.data["sources"] == [
        {"type": "document", "source": "report.pdf", "page": page, "section": "Revenue"} for page in (3, 4)
    ]
    assert [(source.document_id, source.chunk_id) for source in output.metadata.sources] == [("d1", "c1"), ("d1", "c3")]
    assert output.data["query"] == "Q3 revenue Acme"
    assert output.confidence_score == pytest.approx(0.7)
    assert output.metadata.citations == (1, 2)
    told = prompt(scripted_server, -1)
    assert told.count('[1]\n<untrusted source="source">\nreport.pdf, page 3, Revenue\n') == 2


async def test_what_is_not_found_under_the_filters_is_looked_for_without_them(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    class OnlyWithoutFilters(FakeDocuments):
        def found(self, query: str, top_k: int) -> FoundChunks:
            return FoundChunks(query=query) if self.asked[-1][3].doc_type else super().found(query, top_k)

    documents = OnlyWithoutFilters()
    scripted_server.script(says({"query": "revenue", "doc_type": "xlsx"}), says("42 million [1]."))
    task = task_for("rag", "Revenue in the sheet?", options=Options(document_ids=("d1",), interactive=False))

    output = await cases(task, fake_providers(documents=documents)).output()

    assert [asked[3].doc_type for asked in documents.asked] == ["xlsx", None]
    assert documents.asked[1][2] == ("d1",)
    assert "these are from elsewhere" in prompt(scripted_server, -1)
    assert output.task_done


@pytest.mark.spec("S170")
@pytest.mark.parametrize(("elsewhere", "kept"), [("c2", "c2"), ("c3", "c1")], ids=["it fits", "nothing fits"])
async def test_filters_under_which_nothing_fits_are_given_up_where_it_does_elsewhere(
    scripted_server: ScriptedServer, cases: Cases, elsewhere: str, kept: str
) -> None:
    chunks = {
        "c1": _chunk(1, score=0.2, text="Employees get a parking space."),
        "c2": _chunk(2, score=0.9, text="The yearly holiday is 28 days."),
        "c3": _chunk(3, score=0.2, text="The canteen opens at noon."),
    }

    class Undated(FakeDocuments):
        def found(self, query: str, top_k: int) -> FoundChunks:
            return FoundChunks(query=query, chunks=(chunks["c1" if self.asked[-1][3].date_from else elsewhere],))

    documents = Undated()
    scripted_server.script(says({"query": "yearly holiday", "date_from": "2026-01-01"}), says("28 days [1]."))

    output = await cases(task_for("rag", "How much holiday?"), fake_providers(documents=documents)).output()

    assert [asked[3].date_from for asked in documents.asked] == ["2026-01-01", None]
    assert [chunk["chunk_id"] for chunk in output.data["chunks"]] == [kept]
    assert ("these are from elsewhere" in prompt(scripted_server, -1)) is (kept == "c2")


@pytest.mark.spec("S170")
@pytest.mark.parametrize("has_heading", [True, False])
async def test_a_topic_is_looked_for_under_its_heading_and_elsewhere_if_nothing_there_fits(
    scripted_server: ScriptedServer, cases: Cases, has_heading: bool
) -> None:
    class UnderHeadings(FakeDocuments):
        def found(self, query: str, top_k: int) -> FoundChunks:
            is_empty = self.asked[-1][3].section_title and not has_heading
            return FoundChunks(query=query) if is_empty else super().found(query, top_k)

    documents = UnderHeadings(chunks=(_chunk(1),))
    scripted_server.script(says({"query": "Q3 revenue", "topic": " Results ", "doc_type": "pdf"}), says("42 [1]."))
    task = task_for("rag", "What was the Q3 revenue, by the chapter on results?", entities={"topic": ["no text"]})

    output = await cases(task, fake_providers(documents=documents)).output()

    asked = [(filters.section_title, filters.doc_type) for *_, filters in documents.asked]
    assert asked == [("Results", "pdf")] + ([] if has_heading else [(None, "pdf")])
    assert "these are from elsewhere" not in prompt(scripted_server, -1)
    assert output.task_done


async def test_what_fits_badly_is_searched_for_once_more_in_other_words(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    class InOtherWords(FakeDocuments):
        def found(self, query: str, top_k: int) -> FoundChunks:
            near = _chunk(1, score=0.3, text="Employees get a parking space.")
            right = _chunk(2, score=0.8, page=5, text="The yearly holiday is 28 days.")
            return FoundChunks(query=query, chunks=(right,) if "holiday" in query else (near,), confidence=0.3)

    documents = InOtherWords()
    scripted_server.script(
        says({"query": "vacation entitlement", "otherwise": "yearly holiday days"}), says("28 days [1].")
    )

    output = await cases(task_for("rag", "How much vacation do I get?"), fake_providers(documents=documents)).output()

    assert [asked[0] for asked in documents.asked] == ["vacation entitlement", "yearly holiday days"]
    assert [chunk["chunk_id"] for chunk in output.data["chunks"]] == ["c2", "c1"], "the better one first"
    assert output.result == "28 days [1]."


@pytest.mark.spec("S172")
async def test_twenty_passages_are_ranked_by_a_model_and_eight_are_kept(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    found = tuple(_chunk(number, page=number) for number in range(1, 21))
    scripted_server.script(
        says({"query": "Acme revenue Q3"}),
        says({"ranked_indices": [20, 3, 3, 99, 0, 7]}, match="And for Q3?"),
        says("42 million [1]."),
    )
    task = task_for("rag", "And for Q3?")

    output = await cases(task, fake_providers(documents=FakeDocuments(chunks=found))).output()

    kept = [chunk["chunk_id"] for chunk in output.data["chunks"]]
    assert kept == ["c20", "c3", "c7", "c1", "c2", "c4", "c5", "c6"]
    asked = scripted_server.calls[1]
    assert asked.body["model"] == "scripted-flash"
    assert "(Looked for: Acme revenue Q3)" in asked.last_user, "which says what the question goes on from"
    for word in ("relevance", "quality", "completeness", "ranked_indices"):
        assert word in prompt(scripted_server, 1)


@pytest.mark.spec("S173")
async def test_the_confidence_is_that_of_the_passages_that_were_kept(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    found = tuple(_chunk(number, score=0.9 if number > 12 else 0.1, page=number) for number in range(1, 21))
    scripted_server.script(
        says({"query": "Acme revenue Q3"}),
        says({"ranked_indices": [13, 14, 15, 16, 17, 18, 1, 2]}),
        says("42 million [1]."),
    )

    output = await cases(
        task_for("rag", "What was Acme's Q3 revenue?"), fake_providers(documents=FakeDocuments(chunks=found))
    ).output()

    assert output.confidence_score == pytest.approx((6 * 0.9 + 2 * 0.1) / 8), "and not that of all twenty, .42"


@pytest.mark.spec("S172")
async def test_a_ranking_that_fails_keeps_the_order_of_the_search(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    found = tuple(_chunk(number, page=number) for number in range(1, 11))
    scripted_server.script(
        says({"query": "Acme revenue Q3"}),
        says("", match="## Passages", status=400, error_message="no", times=0),
        says("42 million [1]."),
    )

    output = await cases(
        task_for("rag", "What was Acme's Q3 revenue?"), fake_providers(documents=FakeDocuments(chunks=found))
    ).output()

    assert [chunk["chunk_id"] for chunk in output.data["chunks"]] == [f"c{number}" for number in range(1, 9)]


@pytest.mark.slow
@pytest.mark.spec("B1")
async def test_a_rag_run_that_is_killed_at_any_record_asks_no_model_twice(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    documents = FakeDocuments(chunks=tuple(_chunk(number, page=number) for number in range(1, 21)))
    scripted_server.script(
        says({"ranked_indices": [2, 1]}, match="## Passages", times=0),
        says("42 million [1].", match="## Sources", times=0),
        says({"query": "Acme revenue Q3"}, times=0),
    )
    task = task_for("rag", "What was Acme's Q3 revenue?")
    whole = cases(task, fake_providers(documents=documents))
    expected = without_usage(await whole.output())
    assert whole.journal is not None
    asked = len(scripted_server.calls)

    for at in range(1, whole.journal.writes - 1):
        case = cases(task, fake_providers(documents=documents))
        await case.drive(death=Death.WRITE_IS_LOST, at=at)
        recorded, before = case.replies_recorded(), len(scripted_server.calls)

        assert without_usage(await case.output()) == expected, at
        assert len(scripted_server.calls) - before == asked - recorded, at


async def test_nothing_found_is_said_so_without_asking_a_model_to_say_it(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(says({"query": "unicorns"}))

    output = await cases(task_for("rag", "Unicorns?"), fake_providers(documents=FakeDocuments(chunks=()))).output()

    assert output.task_done
    assert output.result == "Your documents do not answer that."
    assert output.confidence_score == 0
    assert output.data == {"chunks": [], "sources": [], "query": "unicorns"}


async def test_what_hardly_fits_is_told_to_the_model_as_such_and_gives_little_confidence(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        says({"query": "dividend shareholders"}),
        says("Your documents do not say that; they give the revenue [1].", match="most likely the documents do not"),
    )
    task = task_for("rag", "Which dividend do the shareholders get?")

    output = await cases(task, fake_providers(documents=FakeDocuments(chunks=(_chunk(1, score=0.3),)))).output()

    assert output.result.startswith("Your documents do not say that")
    assert output.confidence_score == pytest.approx(0.2)


async def test_the_small_model_is_not_asked_where_the_documents_do_not_answer(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    documents = FakeDocuments(chunks=(_chunk(1, score=0.3),))
    english = task_for("rag", "Which dividend do the shareholders get?", capable=False)
    german = task_for("rag", "Welche Dividende bekommen die Aktionäre?", capable=False)

    said = await cases(english, fake_providers(documents=documents)).output()
    gesagt = await cases(german, fake_providers(documents=documents)).output()

    assert said.result.splitlines() == [
        "I found no sure answer to that in your documents. What comes nearest:",
        "",
        "- report.pdf, Revenue [1]",
    ]
    assert gesagt.result.splitlines()[::2] == [
        "In Ihren Dokumenten habe ich darauf keine sichere Antwort gefunden. Am nächsten kommt:",
        "- report.pdf, Revenue [1]",
    ]
    assert scripted_server.calls == []


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What is the travel policy on train tickets?", "“Journeys under four hours go by train, second class.” [1]"),
        (
            "Which first-class tickets does the travel policy pay?",
            "“\\*First class\\* needs the approval of the lead.” [1]",
        ),
        ("What does the travel policy say about bicycles?", "travel-policy.md, Travel policy [1]"),
    ],
    ids=["item", "markup", "nothing"],
)
async def test_where_the_small_model_is_not_asked_the_nearest_sentence_is_quoted(
    question: str, quoted: str, cases: Cases
) -> None:
    items = "- Journeys under four hours go by train, second class.\n- *First class* needs the approval of the lead."
    at = {"filename": "travel-policy.md", "section_title": "Travel policy"}
    chunk = _chunk(1, score=0.3, text=f"# Travel policy\n\n{items}")
    chunk = chunk.model_copy(update={"metadata": chunk.metadata.model_copy(update=at)})

    output = await cases(
        task_for("rag", question, capable=False), fake_providers(documents=FakeDocuments(chunks=(chunk,)))
    ).output()

    assert output.result.splitlines()[-1].endswith(quoted)


async def test_the_small_model_gets_what_is_near_the_best_and_its_answer_the_source_that_says_it(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    found = (
        _chunk(1, score=0.9, page=1, text="Acme: the outlook for Q3 revenue is good."),
        _chunk(2, score=0.8, page=2, text="Acme: Q3 revenue was 42 million euro."),
        *(_chunk(number, page=number) for number in range(3, 9)),
    )
    scripted_server.script(says("Acme's Q3 revenue was 42 million euro."))
    task = task_for("rag", "What was Acme's Q3 revenue?", capable=False)
    case = cases(task, fake_providers(documents=FakeDocuments(chunks=found)))

    output = await case.output()

    assert output.result == "Acme's Q3 revenue was 42 million euro. [2]" == shown(case.all_events)
    assert [chunk["chunk_id"] for chunk in output.data["chunks"]] == ["c1", "c2"], "the third is far behind"
    assert len(prompt(scripted_server, -1)) < 2_200


@pytest.mark.parametrize(
    ("invented", "question", "told"),
    [
        (
            "The answer is: 2 euro a day abroad [1].",
            "How much is the daily allowance abroad?",
            "This is what your documents say on that:\n\n"
            "- policy.md, Expenses: “The daily allowance is 30 euro here and 45 euro abroad.” [1]",
        ),
        (
            "[1]",
            "Daily allowance?",
            "- policy.md, Expenses: “The daily allowance is 30 euro here and 45 euro abroad.” [1]",
        ),
        (
            "They are some money.",
            "What do the documents say about expenses?",
            "- policy.md, Expenses: “Tips are paid back. The daily allowance is 30 euro here and 45 euro abroad.” [1]",
        ),
        ("Bananas are yellow.", "And the moon?", "Bananas are yellow."),
    ],
    ids=["invented", "nothing but a number", "all in the heading", "nothing near"],
)
async def test_what_the_small_model_invents_gives_way_to_what_the_passages_say(
    invented: str, question: str, told: str, scripted_server: ScriptedServer, cases: Cases
) -> None:
    chunk = _chunk(1, score=0.9, text="Tips are paid back. The daily allowance is 30 euro here and 45 euro abroad.")
    at = {"filename": "policy.md", "section_title": "Expenses"}
    chunk = chunk.model_copy(update={"metadata": chunk.metadata.model_copy(update=at)})
    scripted_server.script(says(invented))
    case = cases(task_for("rag", question, capable=False), fake_providers(documents=FakeDocuments(chunks=(chunk,))))

    output = await case.output()

    assert output.result.endswith(told)
    assert output.result == shown(case.all_events)


@pytest.mark.parametrize(
    ("question", "head", "facts"),
    [
        ("Which documents do I have?", "There is 1 document:", "pdf, 3 pages, reading"),
        ("List all my files", "There is 1 document:", "pdf, 3 pages, reading"),
        ("Welche Dokumente habe ich?", "Es ist 1 Dokument:", "pdf, 3 Seiten, wird gelesen"),
    ],
)
async def test_which_documents_there_are_is_answered_from_the_list(
    question: str, head: str, facts: str, scripted_server: ScriptedServer, cases: Cases
) -> None:
    listed = ListedDocument(
        doc_id="d1", filename="[x](javascript:1) *a*.pdf", doc_type="pdf", total_pages=3, state="reading"
    )

    output = await cases(
        task_for("rag", question), fake_providers(documents=FakeDocuments(documents=(listed,)))
    ).output()

    assert output.result == f"{head}\n\n- **\\[x\\](javascript:1) \\*a\\*.pdf** ({facts})"
    assert scripted_server.calls == []


@pytest.mark.parametrize(
    "question", ["Which documents mention Acme?", "Which documents do I have to sign?", "Show me the report"]
)
def test_a_question_about_what_documents_say_is_no_wish_for_a_list(question: str) -> None:
    assert not asks_for_list(question)


async def test_without_documents_it_says_how_to_get_them_and_asks_no_model(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    output = await cases(task_for("rag", "Revenue?")).output()

    assert output.error == "not_configured"
    assert "Document search is not configured" in output.result
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
    assert filters_of({"doc_type": "Excel", "topic": "Travel"}, {}) == {"doc_type": "xlsx", "section_title": "Travel"}


@pytest.mark.spec("S170")
@pytest.mark.parametrize("kind", DOC_TYPES)
def test_every_kind_of_document_that_is_read_can_be_asked_for(kind: str) -> None:
    assert filters_of({}, {"doc_type": f".{kind.upper()}"}) == {"doc_type": kind}


@pytest.mark.spec("S170")
@pytest.mark.parametrize(("name", "kind"), [("PowerPoint", "pptx"), ("htm", "html"), ("tsv", "csv")])
def test_a_kind_of_document_has_other_names(name: str, kind: str) -> None:
    assert filters_of({"doc_type": name}, {}) == {"doc_type": kind}
