"""`POST /api/v1/search`: what it finds and for whom, how it is asked wrongly, and the order by a model."""

import asyncio
import json
from datetime import date
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from agents.models import Execution
from memory.models import Document
from tests.faces.conftest import token_of
from tests.memory.giving import given
from tests.runtime.driving import Runners, model_env
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

URL = "/api/v1/search"
POLICY = "# Travel\n\n## Hotels\n\nHotels cost at most 140 euro a night.\n\n## Trains\n\nShort journeys go by train."
MANUAL = "# Pump 200\n\n## Warranty\n\nThree years from the date of purchase, and not for the filter."


pytestmark = pytest.mark.usefixtures("in_threads")


async def post(user: Any, body: dict[str, Any], *, scopes: tuple[str, ...] = ("read",)) -> Any:
    token = await sync_to_async(token_of)(user, scopes=scopes)
    headers = {"authorization": f"Bearer {token}"}
    return await AsyncClient().post(URL, json.dumps(body), content_type="application/json", headers=headers)


async def found_by(user: Any, **body: Any) -> Any:
    """By words alone, where nothing else is asked: no program makes vectors here."""
    answer = await post(user, {"mode": "keyword", **body})
    assert answer.status_code == 200, answer.content
    return answer.json()


async def take_in(user: Any, text: str, **more: Any) -> Any:
    return await sync_to_async(given)(user, text, **more)


@pytest.mark.spec("S174", "S173")
async def test_passages_are_found_with_their_place_and_their_source(alice: Any) -> None:
    document = await take_in(alice, POLICY, filename="travel.md")

    found = await found_by(alice, query="price of hotels")

    first = found["chunks"][0]
    assert first["doc_id"] == str(document.id)
    assert "140 euro" in first["text"]
    assert set(first) == {"chunk_id", "doc_id", "score", "text", "start", "end", "metadata"}
    assert first["metadata"] == {
        "filename": "travel.md",
        "page": 1,
        "last_page": 1,
        "section_title": "Travel › Hotels",
        "doc_type": "md",
        "date": None,
    }
    assert found["sources"][0]["document_id"] == str(document.id)
    assert 0 <= found["confidence"] <= 1
    assert "trace" not in found


async def test_what_may_be_left_out_may_be_null(alice: Any) -> None:
    await take_in(alice, POLICY, filename="travel.md")
    nothing = {"doc_type": None, "filename": None, "section_title": None, "date_from": None, "date_to": None}
    more = {"top_k": None, "document_ids": None, "mode": None, "rerank": None, "explain": None}

    for filters in (None, nothing):
        answer = await post(alice, {"query": "price of hotels", "filters": filters, **more})

        assert answer.status_code == 200, answer.content
        assert "140 euro" in answer.json()["chunks"][0]["text"]
    assert (await post(alice, {"query": None})).status_code == 400


async def test_with_explain_it_says_why(alice: Any) -> None:
    await take_in(alice, POLICY)

    found = await found_by(alice, query="hotels", explain=True)

    assert "keyword" in found["chunks"][0]["why"]
    assert found["trace"]


@pytest.mark.slow
async def test_nobody_finds_what_is_not_theirs_not_even_by_its_id(alice: Any, charlie: Any) -> None:
    document = await take_in(alice, POLICY)

    for more in ({}, {"document_ids": [str(document.id)]}, {"mode": "hybrid"}, {"rerank": True}):
        found = await found_by(charlie, query="hotels euro night", **more)

        assert (found["chunks"], found["sources"], found["confidence"]) == ([], [], 0)


@pytest.mark.slow
@pytest.mark.spec("S170")
async def test_filters_leave_out_other_documents(alice: Any) -> None:
    await take_in(alice, POLICY, filename="travel.md")
    await take_in(alice, MANUAL, filename="pump.md")

    async def names(**filters: str) -> set[str]:
        found = await found_by(alice, query="hotels warranty", filters=filters)
        return {chunk["metadata"]["filename"] for chunk in found["chunks"]}

    assert await names() == {"travel.md", "pump.md"}
    assert await names(filename="PUMP") == {"pump.md"}
    assert await names(doc_type=".MD", filename="travel") == {"travel.md"}
    assert await names(doc_type="pdf") == set()
    assert await names(section_title="warranty") == await names(topic="warranty") == {"pump.md"}


@pytest.mark.slow
@pytest.mark.spec("S170")
async def test_a_day_is_a_filter(alice: Any) -> None:
    """Of the documents' own dates."""
    march = await take_in(alice, POLICY, filename="travel.md")
    await take_in(alice, MANUAL, filename="pump.md")
    await Document.objects.filter(pk=march.pk).aupdate(date=date(2025, 3, 31))

    on = [await found_by(alice, query="hotels warranty", filters={"date": day}) for day in ("2025-03-31", "2025-04-01")]

    assert [{chunk["metadata"]["filename"] for chunk in found["chunks"]} for found in on] == [{"travel.md"}, set()]


@pytest.mark.spec("S165", "S170")
async def test_the_first_section_below_a_short_introduction_is_found_by_its_title(alice: Any) -> None:
    sections = "## Holidays\n\nThirty days of leave.\n\n## Sickness\n\nA note from the third day of leave."
    await take_in(alice, f"# Handbook\n\nThis book tells the rules.\n\n{sections}")

    found = await found_by(alice, query="days of leave", filters={"section_title": "Holidays"})

    assert [chunk["text"] for chunk in found["chunks"]] == ["Holidays\n\nThirty days of leave."]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": "  "}, "query"),
        ({"query": "x" * 2_001}, "query"),
        ({"query": "x", "top_k": 0}, "top_k"),
        ({"query": "x", "top_k": 51}, "top_k"),
        ({"query": "x", "mode": "magic"}, "mode"),
        ({"query": "x", "document_ids": ["../etc"]}, "document_ids"),
        ({"query": "x", "document_ids": "all"}, "document_ids"),
        ({"query": "x", "filters": "yesterday"}, "filters"),
        ({"query": "x", "filters": {"date_from": "yesterday"}}, "filters.date_from"),
        ({"query": "x", "filters": {"date_from": "2026-02-01", "date_to": "2026-01-01"}}, "filters.date_from"),
        ({"query": "x", "filters": {"date": "2026-02-01", "date_to": "2026-02-01"}}, "filters.date"),
        ({"query": "x", "filters": {"topic": "Hotels", "section_title": "Trains"}}, "filters.topic"),
        ({"query": "x", "filters": []}, "filters"),
        ({"query": "x", "filters": {"section": "Hotels"}}, "filters.section"),
    ],
)
async def test_a_request_that_cannot_be_used_says_which_field(body: dict[str, Any], field: str, alice: Any) -> None:
    answer = await post(alice, body)

    assert answer.status_code == 400
    assert any(name.startswith(field) for name in answer.json()["error"]["fields"]), answer.json()


async def test_a_token_needs_one_of_two_scopes(alice: Any) -> None:
    body = {"query": "x", "mode": "keyword"}

    assert (await post(alice, body, scopes=("documents",))).status_code == 200
    assert (await post(alice, body, scopes=("read",))).status_code == 200
    refused = await post(alice, body, scopes=("run",))
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope_missing")
    assert "'read' or 'documents'" in refused.json()["error"]["message"]


async def test_without_a_capable_model_the_order_is_the_searchs_and_the_note_says_so(alice: Any) -> None:
    await take_in(alice, POLICY + "\n\n" + MANUAL)
    body = {"query": "hotels warranty train", "mode": "keyword"}

    plain = (await post(alice, body)).json()
    ranked = (await post(alice, {**body, "rerank": True})).json()

    assert [chunk["chunk_id"] for chunk in ranked["chunks"]] == [chunk["chunk_id"] for chunk in plain["chunks"]]
    assert "none is configured" in ranked["note"]


@pytest.fixture
def many() -> list[str]:
    """Texts of which each is a chunk of a document of its own."""
    return [f"The warranty of pump {number} is {number} years." for number in range(1, 6)]


@pytest.mark.slow
@pytest.mark.spec("S172")
async def test_a_model_puts_the_passages_in_order_by_a_run_that_no_list_shows(
    alice: Any,
    many: list[str],
    scripted_server: ScriptedServer,
    make_runner: Runners,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in model_env(scripted_server.url).items():
        monkeypatch.setenv(name, value)
    for number, text in enumerate(many):
        await take_in(alice, text, filename=f"pump{number}.md")
    scripted_server.script(Script(text=json.dumps({"ranked_indices": [4, 2]}), match="## Passages"))
    await make_runner(scripted_server.url)
    body = {"query": "warranty of the pump", "mode": "keyword", "top_k": 3}

    plain = (await post(alice, {**body, "top_k": 5})).json()
    ranked = (await post(alice, {**body, "rerank": True})).json()

    before = [chunk["chunk_id"] for chunk in plain["chunks"]]
    assert [chunk["chunk_id"] for chunk in ranked["chunks"]] == [before[3], before[1], before[0]]
    assert "ranked" not in ranked["note"]
    told = scripted_server.calls[-1].messages[-1]["content"]
    assert '1.\n<untrusted source="passage">\npump' in told, "what a document is called, others have written"
    run = await Execution.objects.aget(pipeline="rerank")
    assert (run.status, run.user_id) == ("completed", alice.pk)
    assert not await Execution.objects.asked().aexists()


@pytest.mark.slow
@pytest.mark.spec("S172")
async def test_a_ranking_that_fails_leaves_the_order_and_the_note_says_so(
    alice: Any,
    many: list[str],
    scripted_server: ScriptedServer,
    make_runner: Runners,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in model_env(scripted_server.url).items():
        monkeypatch.setenv(name, value)
    for number, text in enumerate(many):
        await take_in(alice, text, filename=f"pump{number}.md")
    scripted_server.script(Script(match="## Passages", status=400, error_message="no", times=0))
    await make_runner(scripted_server.url)
    body = {"query": "warranty of the pump", "mode": "keyword"}

    plain = (await post(alice, body)).json()
    ranked = (await asyncio.wait_for(post(alice, {**body, "rerank": True}), 30)).json()

    assert [chunk["chunk_id"] for chunk in ranked["chunks"]] == [chunk["chunk_id"] for chunk in plain["chunks"]]
    assert "Not ranked by a model: it failed" in ranked["note"]
