"""Searching: what is found, how it is shown, and what strange queries come to."""

import json
from datetime import date
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.retrieval.search import NO_VECTORS, NO_WORDS, NOTHING_ASKED, search
from memory.retrieval.sources import confidence_of, sources_of
from memory.sight import Scope
from memory.values import Filters, Mode, Wanted
from tests.memory.search.put import describe, found_by, give_vectors, put

pytestmark = pytest.mark.django_db
LONG = (
    "Pages of a report say many things about the weather, the harvest, the roads and the bridges of the country. " * 4
)


def texts(found: Any) -> list[str]:
    return [passage.text for passage in found.passages]


@pytest.mark.spec("S171")
@pytest.mark.threat("T03")
def test_a_chunk_is_found_by_its_words_and_by_its_owner_alone(alice: Any, charlie: Any) -> None:
    put(alice, "The whale is a mammal.", "Postgres keeps rows in pages.")

    found = search(alice.pk, Wanted("in which pages are rows kept?", mode=Mode.KEYWORD))

    assert texts(found)[0] == "Postgres keeps rows in pages."
    assert not search(charlie.pk, Wanted("in which pages are rows kept?", mode=Mode.KEYWORD)).passages


def test_without_vectors_it_searches_by_words_and_says_so(alice: Any) -> None:
    put(alice, "The whale is a mammal.")

    found = search(alice.pk, Wanted("whale"))

    assert texts(found) == ["The whale is a mammal."]
    assert found.note == NO_VECTORS


@pytest.mark.parametrize("mode", list(Mode))
def test_each_mode_finds_by_its_own_legs(alice: Any, mode: Mode) -> None:
    give_vectors(put(alice, "The whale is a mammal.", "Postgres keeps rows in pages."))

    found = found_by(alice, "whale mammal", mode=mode)

    assert found.passages[0].text == "The whale is a mammal."
    assert bool(found.trace["keyword"]) == (mode is not Mode.DENSE)
    assert bool(found.trace["dense"]) == (mode is not Mode.KEYWORD)


@pytest.mark.spec("S169", "S170")
def test_filters_narrow_the_search(alice: Any) -> None:
    put(alice, "whale one", doc_type="pdf", date=date(2023, 5, 1), filename="Annual_2023.pdf")
    put(alice, "whale two", doc_type="txt", date=date(2021, 5, 1), filename="notes.txt")

    def found(**filters: Any) -> list[str]:
        return texts(search(alice.pk, Wanted("whale", mode=Mode.KEYWORD, filters=Filters(**filters))))

    assert found(doc_type="pdf") == found(filename="annual") == found(date_from=date(2022, 1, 1)) == ["whale one"]
    assert found(date_to=date(2022, 1, 1)) == ["whale two"]


@pytest.mark.spec("S169")
def test_a_passage_is_found_by_the_words_of_the_headings_above_it(alice: Any) -> None:
    parts = [f"Part {number} of eleven tells of the weather and of the roads. {LONG}" for number in range(11)]
    put(alice, "Nothing of it.", "Zanzibarium", *parts, sections=["Preface", *["Report › Zanzibarium"] * 12])
    put(alice, "Another report about something else.", sections=["Report"])

    found = found_by(alice, "zanzibarium", mode=Mode.KEYWORD, top_k=20)

    assert {passage.section_title for passage in found.passages} == {"Report › Zanzibarium"}
    assert len(found.passages) == 12
    assert texts(found)[0] == "Zanzibarium", "what says it itself comes first"


@pytest.mark.spec("S169")
@pytest.mark.parametrize("mode", list(Mode))
def test_only_passages_of_a_section_are_found_if_it_is_asked_for(alice: Any, charlie: Any, mode: Mode) -> None:
    sections = ["Travel › Trains", "Travel › Hotels", "Trains of thought", ""]
    documents = [
        put(person, *(f"The whale {number} came." for number in range(4)), sections=sections, pages=[1, 2, 3, 4])
        for person in (alice, charlie)
    ]
    give_vectors(*documents)

    def found(words: str) -> list[str]:
        passages = found_by(alice, "whale", mode=mode, filters=Filters(section_title=words)).passages
        assert all(passage.document_id == documents[0].pk for passage in passages)
        return sorted(passage.section_title for passage in passages)

    assert found("TRAINS") == ["Trains of thought", "Travel › Trains"]
    assert found("trains travel") == ["Travel › Trains"]
    assert found("train ' & | !") == []


@pytest.mark.spec("S169")
def test_types_dates_and_sections_have_an_index_each(alice: Any) -> None:
    scope = Scope(alice.pk, filters=Filters(section_title="trains"))
    looked_up = f"WITH {scope.visible} SELECT FROM sectioned"
    with connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_nestloop = off; SET LOCAL enable_indexscan = off"
        )
        cursor.execute(f"EXPLAIN {looked_up}", scope.parameters)
        plan = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'memory_document'")
        indexes = "\n".join(line for (line,) in cursor.fetchall())

    assert "memory_chunk_section" in plan
    assert "(doc_type)" in indexes
    assert "(date)" in indexes


@pytest.mark.spec("S170")
def test_company_and_year_lead_to_the_right_filing(alice: Any) -> None:
    for name in ("3M_2018_10K.pdf", "3M_2019_10K.pdf", "ACME_2018_10K.pdf", "ACME_2019_10K.pdf"):
        pages = [f"{LONG} Capital expenditures were {n} million dollars." for n in range(12)]
        put(alice, *pages, filename=name, doc_type="pdf")

    found = search(alice.pk, Wanted("What was the FY2018 capital expenditure of 3M?", mode=Mode.KEYWORD))

    assert {passage.filename for passage in found.passages} == {"3M_2018_10K.pdf"}


@pytest.mark.parametrize("company", ["Apple", "Microsoft"])
def test_a_name_on_the_first_page_leads_to_a_file_that_is_named_otherwise(alice: Any, company: str) -> None:
    texts = [f"Page {number}. Net sales of the segment rose." for number in range(2, 13)]
    for ticker, name in (("msft", "Microsoft Corporation"), ("aapl", "Apple Inc.")):
        cover = ["Quarterly report", f"{name} (exact name)"]
        put(alice, *cover, *texts, pages=[1, 1, *range(2, 13)], filename=f"{ticker}.pdf", doc_type="pdf")

    found = found_by(alice, f"How did net sales of {company} develop?", mode=Mode.KEYWORD, top_k=8)

    assert {passage.filename for passage in found.passages} == {{"Apple": "aapl.pdf", "Microsoft": "msft.pdf"}[company]}


def test_twenty_results_are_twenty_pages(alice: Any) -> None:
    whales = [f"{LONG} whale {number}" for number in range(30)]
    put(alice, *whales, pages=[number // 3 + 1 for number in range(30)], doc_type="pdf")

    found = search(alice.pk, Wanted("whale", mode=Mode.KEYWORD, top_k=10))

    assert len({passage.page for passage in found.passages}) == 10


@pytest.mark.spec("S171")
def test_the_same_text_is_found_once(alice: Any) -> None:
    put(alice, "The whale is a mammal.")
    put(alice, "The whale is a mammal.", "Something else.")

    assert texts(search(alice.pk, Wanted("whale", mode=Mode.KEYWORD))) == ["The whale is a mammal."]


@pytest.mark.spec("S173")
def test_a_short_chunk_comes_with_its_neighbours(alice: Any) -> None:
    document = put(alice, "Chapter one.", "The whale came.", "It sank the ship.", pages=[1, 1, 1])

    passage = search(alice.pk, Wanted("whale", mode=Mode.KEYWORD)).passages[0]

    assert passage.text == "Chapter one.\n\nThe whale came.\n\nIt sank the ship."
    assert (passage.start, passage.end) == (0, len(passage.text))
    assert passage.chunk_id == document.chunks.get(ordinal=1).chunk_id


def test_a_long_chunk_stays_alone(alice: Any) -> None:
    put(alice, "Chapter one.", f"{'whale ' * 300}", "It sank the ship.", pages=[1, 1, 1])

    assert "Chapter" not in search(alice.pk, Wanted("whale", mode=Mode.KEYWORD)).passages[0].text


def test_a_turn_counts_the_words_of_the_turn_before(alice: Any) -> None:
    turns = ["Bob: Which dog did Alice adopt?", "Alice: A greyhound named Comet!", "Bob: The weather is nice."]
    document = put(alice, *turns, *(f"Bob: filler talk number {n}." for n in range(9)), pages=[1] * 12)
    give_vectors(document)

    found = found_by(alice, "dog adopt", top_k=20)
    words = {passage.chunk_id: passage.why["bm25"] for passage in found.passages}
    before, answer, after, far = (words[document.chunks.get(ordinal=at).chunk_id] for at in (0, 1, 2, 9))

    assert before > answer > after > far == 0


@pytest.mark.parametrize("title", ["8 May 2023", ""])
def test_turns_that_came_one_by_one_are_neighbours(alice: Any, title: str) -> None:
    texts_of_turns = ("Which dog did you adopt?", "A greyhound named Comet!")
    same = [put(alice, text, title=title) for text in texts_of_turns]
    apart = [put(alice, f"{text} Really.", title=f"note {text}") for text in texts_of_turns]
    give_vectors(*same, *apart)

    words = {one.document_id: one.why["bm25"] for one in found_by(alice, "dog adopt", top_k=20).passages}

    assert words[same[1].pk] > 0
    assert words[apart[1].pk] == 0


@pytest.mark.spec("S173")
def test_scores_fall_and_lie_between_nothing_and_one(alice: Any) -> None:
    documents = [put(alice, f"whale {'ship ' * number}") for number in range(6)]
    give_vectors(*documents)

    for mode in Mode:
        scores = [passage.score for passage in found_by(alice, "whale", mode=mode).passages]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("mode", list(Mode))
def test_nonsense_is_found_with_little_confidence(alice: Any, mode: Mode) -> None:
    give_vectors(put(alice, "The whale is a mammal.", "Postgres keeps rows in pages.", LONG))

    right = confidence_of(found_by(alice, "is the whale a mammal", mode=mode, top_k=1).passages)
    wrong = confidence_of(found_by(alice, "zebra quantum of xylophones mammal", mode=mode, top_k=1).passages)

    assert right > 0.6
    assert wrong < 0.5 < right


@pytest.mark.parametrize("mode", [Mode.KEYWORD, Mode.HYBRID])
def test_a_question_in_another_language_is_answered_as_surely_beside_documents_in_english(
    alice: Any, mode: Mode
) -> None:
    german = put(alice, "Die Garantie der Maschine beträgt zwei Jahre.", language="de")
    give_vectors(german)
    alone = confidence_of(found_by(alice, "Wie ist das mit der Garantie?", mode=mode, top_k=1).passages)

    give_vectors(put(alice, "The whale is a mammal.", language="en"))
    beside = confidence_of(found_by(alice, "Wie ist das mit der Garantie?", mode=mode, top_k=1).passages)

    assert beside > 0.9 * alone


@pytest.mark.spec("S173")
def test_sources_are_named_once_by_file_page_and_section(alice: Any) -> None:
    put(alice, f"{LONG} whale", f"{LONG} whale whale", f"{LONG} whale ship", pages=[1, 1, 2], filename="moby.pdf")

    found = search(alice.pk, Wanted("whale", mode=Mode.KEYWORD))
    sources = sources_of(found.passages)

    assert [(one["source"], one["page"]) for one in sources] in (
        [("moby.pdf", 1), ("moby.pdf", 2)],
        [("moby.pdf", 2), ("moby.pdf", 1)],
    )
    assert len(found.passages) == 3
    assert confidence_of(()) == 0.0


HOSTILE = [
    "the of and",
    "a" * 10_000,
    "word " * 2_000,
    "😀😀😀",
    "%_%",
    "'; DROP TABLE memory_chunk; --",
    "\x00whale\x00",
    "\ud800",
    "%s %(user)s {}",
    "(((",
    "NaN",
    "\\",
]


@pytest.mark.parametrize("query", HOSTILE)
@pytest.mark.parametrize("mode", list(Mode))
def test_a_strange_query_gives_a_clear_result(alice: Any, query: str, mode: Mode) -> None:
    give_vectors(put(alice, "The whale is a mammal.", "100% of rows_ are kept."))

    found = found_by(alice, query.replace("\ud800", "?").replace("\x00", " "), mode=mode)
    as_asked = search(alice.pk, Wanted(query, mode=Mode.KEYWORD))

    assert all(passage.text for passage in found.passages)
    assert as_asked.note in ("", NO_WORDS)
    json.dumps(found.trace)


def test_a_wildcard_is_no_wildcard(alice: Any) -> None:
    put(alice, "The whale is a mammal.")

    assert search(alice.pk, Wanted("wh%", mode=Mode.KEYWORD)).passages == ()


@pytest.mark.parametrize(("query", "note"), [("", NOTHING_ASKED), (" \n", NOTHING_ASKED), ("what is it", NO_WORDS)])
def test_a_query_without_words_says_what_is_missing(alice: Any, query: str, note: str) -> None:
    put(alice, "The whale is a mammal.")

    found = search(alice.pk, Wanted(query, mode=Mode.KEYWORD))

    assert (found.passages, found.note) == ((), note)


@pytest.mark.parametrize("top_k", [-1, 0, 1, 10_000])
def test_no_more_is_returned_than_was_wanted(alice: Any, top_k: int) -> None:
    put(alice, *(f"whale {number}" for number in range(3)), pages=[1, 1, 1])

    assert len(search(alice.pk, Wanted("whale", mode=Mode.KEYWORD, top_k=top_k)).passages) == min(max(top_k, 0), 3)


@pytest.mark.spec("S164", "S171")
@pytest.mark.threat("T03")
def test_a_document_is_found_by_its_description_where_no_passage_says_it(alice: Any, charlie: Any) -> None:
    for number in range(30):
        give_vectors(
            put(alice, f"Agreements of year {number} about the harvest.", f"Roads and bridges, part {number}.")
        )
    document = put(alice, "The parties agree.", "Clause two.", "Clause three.", pages=[1, 2, 3], doc_type="pdf")
    give_vectors(document)
    question = "Which agreements with suppliers of steel pipes run out?"

    before = found_by(alice, question)
    describe(document, "Agreements with suppliers of steel pipes; it covers when they run out.")
    after = found_by(alice, question)

    assert document.pk not in {passage.document_id for passage in before.passages}
    assert after.passages[0].document_id == document.pk
    assert after.passages[0].score > before.passages[0].score
    assert document.pk in {passage.document_id for passage in found_by(alice, question, mode=Mode.DENSE).passages}
    assert found_by(charlie, question).passages == ()
    of_others = found_by(alice, question, filters=Filters(doc_type="txt"), top_k=20).passages
    assert document.pk not in {passage.document_id for passage in of_others}


def test_a_description_that_says_what_a_passage_says_changes_nothing(alice: Any) -> None:
    documents = [put(alice, f"The whale {number} is a mammal of the sea.", "Ships sail.") for number in range(5)]
    give_vectors(*documents)

    before = found_by(alice, "whale mammal sea")
    for document in documents:
        describe(document, "It tells of whales.")
    after = found_by(alice, "whale mammal sea")

    assert [(one.chunk_id, one.score) for one in after.passages] == [
        (one.chunk_id, one.score) for one in before.passages
    ]


@pytest.mark.parametrize(("mode", "count"), [(Mode.HYBRID, 7), (Mode.DENSE, 5), (Mode.KEYWORD, 4)])
def test_descriptions_cost_one_statement_more(alice: Any, mode: Mode, count: int) -> None:
    for number in range(5):
        document = put(alice, f"whale {number}", "ship")
        give_vectors(document)
        describe(document, "Of the sea.")

    with CaptureQueriesContext(connection) as captured:
        found_by(alice, "whale ship", mode=mode)

    assert len(captured) == count


@pytest.mark.parametrize(("mode", "count"), [(Mode.HYBRID, 6), (Mode.DENSE, 4), (Mode.KEYWORD, 4)])
def test_a_search_has_a_fixed_number_of_statements(alice: Any, mode: Mode, count: int) -> None:
    for number in range(5):
        give_vectors(put(alice, f"whale {number}", "ship"))

    with CaptureQueriesContext(connection) as captured:
        found_by(alice, "whale ship", mode=mode)

    assert len(captured) == count


def test_the_trace_says_what_each_stage_returned(alice: Any) -> None:
    document = put(alice, "The whale is a mammal.", "Ships sail.", filename="whales.txt")
    give_vectors(document)

    trace = found_by(alice, "whale mammal").trace
    chunk = str(document.chunks.get(ordinal=0).chunk_id)

    assert trace["query"]["terms"] == ["mammal", "whale"]
    assert trace["keyword"][0]["chunk_id"] == trace["dense"][0]["chunk_id"] == trace["fused"][0]["chunk_id"] == chunk
    assert set(trace["took_ms"]) == {"keyword", "dense", "candidates", "likeness", "passages", "all"}
    assert trace["scope"]["chunks"] == 2
    json.dumps(trace)
