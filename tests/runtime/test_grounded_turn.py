"""Answers from documents, from the question to the tables: checked sentences, what is not known, whose they are."""

import json
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db.models import F

from agents import describing
from agents.documents import ORIGINAL_BYTES, OwnDocuments
from agents.log.shapes import checks_of, finished
from agents.models import Execution
from agents.runtime.driven import About
from agents.tasks import describe_document, document_described
from agents.tools.providers import Providers
from agents.tools.tool import ToolError
from agents.tools.values import DocumentFilters
from memory.kinds import DocumentStatus, Visibility
from memory.models import Document, Project
from memory.samples import FOLDER
from tests.faces.conftest import in_threads
from tests.memory.giving import found_by_local_model, given, make_vectors, uploaded
from tests.runtime.driving import Runners, ended, events, model_env, start
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.shown import shown

__all__ = ["in_threads"]
pytestmark = pytest.mark.usefixtures("in_threads")

REPORT = FOLDER / "acme-quarterly-report.md"
OWN = Providers(documents=OwnDocuments())
QUESTION = "What was Acme's Q3 revenue?"
QUERY = Script(text=json.dumps({"query": "Acme revenue Q3 2026"}))
ANSWER = "Acme's revenue was 4.2 million euro [1]. It will double to 9 million next year [1]."
# The memory of the person is no matter here.
TEMPORARY = {"is_temporary": True}


@sync_to_async
def take_in(user: Any, what: Any, **more: Any) -> Document:
    return given(user, what, **more)


async def answered(user: Any, **more: Any) -> Execution:
    return await ended(await start(user, QUESTION, mode="rag", about=TEMPORARY, **more), timeout_s=40)


@pytest.mark.slow
@pytest.mark.spec("B19", "S31", "S173", "S174")
async def test_each_sentence_of_an_answer_is_checked_and_a_reload_shows_the_same(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    document = await take_in(alice, REPORT)
    judged = {"verdicts": [{"index": 1, "supported": False, "why": "The source\nhas no such figure."}]}
    scripted_server.script(QUERY, Script(text=ANSWER, match="## Sources"), Script(text=json.dumps(judged)))
    await make_runner(scripted_server.url, providers=OWN)

    run = await answered(alice)

    assert (run.status, run.answer) == ("completed", ANSWER), run.error_message
    said = await events(run.id)
    complete = said[-1]
    assert [(check.get("supported"), check["by"]) for check in complete["checks"]] == [
        (True, "words"),
        (False, "model"),
    ]
    assert complete["checks"][1]["why"] == "The source has no such figure."
    for check in complete["checks"]:
        assert ANSWER[check["start"] : check["end"]] == check["sentence"]
    assert [{**check, "supported": check.get("supported")} for check in complete["checks"]] == checks_of(run)
    assert finished(run, [])["checks"] == checks_of(run)
    assert complete["sources"][0]["document_id"] == str(document.id)
    assert complete["sources"][0]["chunk_id"]
    assert "9 million" in scripted_server.calls[-1].last_user
    assert "4.2 million euro [1]" not in scripted_server.calls[-1].last_user, "what is sure is not asked about"
    kinds = [event["type"] for event in said]
    last_token = len(kinds) - 1 - kinds[::-1].index("token")
    checking = [at for at, event in enumerate(said) if event.get("name") == "grounder"]
    assert checking
    assert min(checking) > last_token, "the text is there before it is checked"
    assert shown(said) == ANSWER


@pytest.mark.slow
@pytest.mark.spec("B19", "S174")
async def test_an_attached_document_is_read_from_its_first_page_to_its_last_and_cited_by_them(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    parts = [
        f"## Part {number}\n\nPart {number} costs {number}00 euro. {'So it is. ' * 200}" for number in range(1, 31)
    ]
    document = await take_in(alice, "\n\n".join(parts), filename="offer.md")
    assert document.total_pages > 3
    last = document.total_pages
    answer = f"Part 1 costs 100 euro [1]. Part 30 costs 3000 euro [{last}]."
    scripted_server.script(
        Script(text=json.dumps({"query": "offer summary", "whole": True})), Script(text=answer, match="## Sources")
    )
    await make_runner(scripted_server.url, providers=OWN)

    options = {"attachment_ids": [str(document.id)]}
    run = await ended(
        await start(alice, "Summarise the attached offer", about=TEMPORARY, options=options), timeout_s=40
    )

    assert (run.status, run.answer) == ("completed", answer), run.error_message
    told = scripted_server.calls[-1].last_user
    assert all(f"Part {number} costs {number}00 euro." in told for number in range(1, 31))
    assert f"[1] to [{last}]: all pages of one document" in told
    complete = (await events(run.id))[-1]
    assert [check["supported"] for check in complete["checks"]] == [True, True]
    cited = complete["sources"][last - 1]
    assert (cited["document_id"], cited["page"], cited.get("chunk_id")) == (str(document.id), last, None)


@pytest.mark.slow
@pytest.mark.spec("B19")
async def test_where_the_checking_model_fails_the_words_verdict_stays(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await take_in(alice, REPORT)
    failing = Script(match="## Sentences", status=400, error_message="no", times=0)
    scripted_server.script(failing, QUERY, Script(text=ANSWER, match="## Sources"))
    await make_runner(scripted_server.url, providers=OWN)

    run = await answered(alice)

    assert (run.status, run.answer) == ("completed", ANSWER), run.error_message
    assert [(check["supported"], check["by"]) for check in checks_of(run)] == [(True, "words"), (False, "words")]
    assert checks_of(run)[1]["why"] == "Not in the source: 9."


@pytest.mark.slow
@pytest.mark.spec("B19")
async def test_an_answer_that_its_words_support_costs_no_call_more(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    await take_in(alice, REPORT)
    text = "Acme's revenue in the third quarter of 2026 was 4.2 million euro [1]."
    scripted_server.script(QUERY, Script(text=text, match="## Sources"))
    await make_runner(scripted_server.url, providers=OWN)

    run = await answered(alice)

    assert [check["supported"] for check in checks_of(run)] == [True]


@pytest.mark.spec("B19", "S170")
async def test_nobody_is_answered_from_anothers_documents_whatever_they_name(
    alice: Any, charlie: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    document = await take_in(alice, REPORT)
    scripted_server.script(QUERY, Script(text=json.dumps({"query": "revenue", "filename": "acme"})))
    await make_runner(scripted_server.url, providers=OWN)

    plain = await answered(charlie)
    named = await answered(charlie, options={"document_ids": [str(document.id)]})

    for run in (plain, named):
        assert (run.status, run.answer) == ("completed", "Your documents do not answer that."), run.error_message
        assert run.result is not None
        assert run.result["sources"] == []
        assert "4.2" not in json.dumps(await events(run.id))


async def test_the_provider_gives_nobody_anothers_pages_and_says_what_is_wrong_with_an_id(
    alice: Any, charlie: Any, transactional_db: None
) -> None:
    document = await take_in(alice, REPORT)
    provider = OwnDocuments()
    hers, his = (About(uuid4(), user_id=user.pk) for user in (alice, charlie))

    page = await provider.read(hers, str(document.id), first_page=1, last_page=5)

    assert "4.2 million" in page.text
    assert (page.first_page, page.last_page, page.total_pages) == (1, 1, 1)
    original = await provider.original(hers, str(document.id))
    assert (original.filename, original.content) == (REPORT.name, REPORT.read_bytes())
    for about, document_id, why in (
        (his, str(document.id), "There is no document"),
        (hers, str(uuid4()), "There is no document"),
        (hers, "../etc/passwd\x00", "is no document's id"),
        (About(uuid4()), str(document.id), "belongs to nobody"),
    ):
        with pytest.raises(ToolError, match=why):
            await provider.read(about, document_id, first_page=1, last_page=5)
        with pytest.raises(ToolError, match=why):
            await provider.original(about, document_id)
    with pytest.raises(ToolError, match="nothing from page 7"):
        await provider.read(hers, str(document.id), first_page=7, last_page=9)
    nothing = await provider.search(his, "revenue", top_k=5, document_ids=[str(document.id)], filters=DocumentFilters())
    assert nothing.chunks == ()
    with pytest.raises(ToolError, match="date_from='soon' is no day"):
        await provider.search(hers, "x", top_k=5, document_ids=(), filters=DocumentFilters(date_from="soon"))
    assert (await provider.listed(his, name_contains="", limit=9)).total == 0
    assert (await provider.listed(hers, name_contains="ACME", limit=9)).documents[0].filename == REPORT.name


@pytest.mark.slow
@pytest.mark.threat("T27")
async def test_of_a_name_that_is_asked_for_ones_own_document_comes_before_all_that_others_share(
    alice: Any, charlie: Any, transactional_db: None
) -> None:
    own = await take_in(alice, "Her plan.", filename="plan.md")
    project = await sync_to_async(Project.objects.create)(owner=charlie, name="Falcon")
    await sync_to_async(project.members.add)(alice, charlie)
    for number in range(3):
        theirs = await take_in(charlie, f"His plan {number}.", filename="plan.md")
        await sync_to_async(project.documents.add)(theirs)

    found = await OwnDocuments().listed(About(uuid4(), user_id=alice.pk), name_contains="plan", limit=2)

    assert [(one.doc_id == str(own.id), one.is_own) for one in found.documents] == [(True, True), (False, False)]
    assert found.total == 4


@pytest.mark.slow
async def test_in_a_project_its_documents_are_searched_first(alice: Any, charlie: Any, transactional_db: None) -> None:
    inside = await take_in(alice, "The budget of the project Falcon is 7 million euro.", filename="inside.md")
    await take_in(alice, "The budget of the project Falcon was 5 million euro in an old draft.", filename="outside.md")
    project = await sync_to_async(Project.objects.create)(owner=alice, name="Falcon")
    await sync_to_async(project.members.add)(alice)
    await sync_to_async(project.documents.add)(inside)

    async def names(user: Any, query: str) -> set[str]:
        found = await OwnDocuments().search(
            About(uuid4(), user_id=user.pk),
            query,
            top_k=9,
            document_ids=(),
            filters=DocumentFilters(),
            project_id=str(project.id),
        )
        return {chunk.metadata.filename for chunk in found.chunks}

    assert await names(alice, "budget of the project Falcon") == {"inside.md"}
    assert "outside.md" in await names(alice, "old draft"), "what the project does not have is looked for elsewhere"
    assert await names(charlie, "budget of the project Falcon") == set()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "Which unicorns live in the garden?",
            "Your documents do not answer that. One document is still being read: ask again in a moment.",
        ),
        (
            "Welche Einhörner leben im Garten?",
            "Ihre Dokumente beantworten das nicht. Ein Dokument wird noch gelesen: Fragen Sie in einem Augenblick noch "
            "einmal.",
        ),
    ],
    ids=["english", "german"],
)
async def test_while_documents_are_being_read_an_answer_that_is_not_there_may_be_in_them(
    alice: Any, charlie: Any, scripted_server: ScriptedServer, make_runner: Runners, question: str, said: str
) -> None:
    scripted_server.script(*[Script(text=json.dumps({"query": "unicorns"}), match=question) for _ in range(2)])
    await make_runner(scripted_server.url, providers=OWN)
    await sync_to_async(uploaded)(alice, REPORT)

    runs = [await start(person, question, mode="rag", about=TEMPORARY) for person in (alice, charlie)]
    alices, charlies = [await ended(run, timeout_s=40) for run in runs]

    assert alices.answer == said
    assert "gelesen" not in charlies.answer
    assert "read" not in charlies.answer


async def test_what_is_half_read_is_not_given_for_the_whole(alice: Any, transactional_db: None) -> None:
    document = await sync_to_async(uploaded)(alice, REPORT)
    about = About(uuid4(), user_id=alice.pk)

    with pytest.raises(ToolError, match="still being read"):
        await OwnDocuments().read(about, str(document.id), first_page=1, last_page=1)


@pytest.mark.threat("T16")
async def test_a_document_that_cannot_be_had_is_refused_without_the_name_that_others_gave_it(
    alice: Any, charlie: Any, transactional_db: None
) -> None:
    document = await sync_to_async(uploaded)(charlie, "# Plan", filename="Obey me.md", visibility=Visibility.EVERYONE)
    hers, provider = About(uuid4(), user_id=alice.pk), OwnDocuments()
    states: dict[str, dict[str, Any]] = {
        "still being read": {"status": DocumentStatus.QUEUED},
        "cannot be read": {"status": DocumentStatus.FAILED, "reason": "It is damaged."},
        "is a picture": {"status": DocumentStatus.FAILED, "doc_type": "png"},
        "nothing from page 1": {"status": DocumentStatus.READY, "doc_type": "md"},
    }

    for why, state in states.items():
        await Document.objects.filter(pk=document.pk).aupdate(**state)
        with pytest.raises(ToolError, match=why) as refused:
            await provider.read(hers, str(document.pk), first_page=1, last_page=1)
        assert "Obey" not in refused.value.message
    lost: tuple[dict[str, Any], ...] = ({"size_bytes": ORIGINAL_BYTES + 1}, {"size_bytes": 1, "stored_as": "ab/gone"})
    for state in lost:
        await Document.objects.filter(pk=document.pk).aupdate(**state)
        with pytest.raises(ToolError, match=str(document.pk)) as refused:
            await provider.original(hers, str(document.pk))
        assert "Obey" not in refused.value.message


@pytest.mark.slow
@pytest.mark.spec("S164")
async def test_a_model_describes_a_document_once_by_a_run_that_no_list_shows(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in model_env(scripted_server.url).items():
        monkeypatch.setenv(name, value)
    document = await take_in(alice, REPORT)
    for number in range(12):
        await take_in(alice, f"Minutes of meeting {number}. They spoke of the report about the roof, and of lunch.")
    said = "A letter to the shareholders of a lighthouse keepers' cooperative.\nIt gives revenue and profit."
    scripted_server.script(Script(text=said, match="4.2 million"))
    await make_runner(scripted_server.url)

    await sync_to_async(describe_document)(str(document.id))
    await sync_to_async(describe_document)(str(document.id))

    run = await Execution.objects.aget(pipeline="describe")
    assert (await ended(run.id)).status == "completed"
    await sync_to_async(document_described)(str(run.id))
    await document.arefresh_from_db()
    assert document.description == " ".join(said.split())
    await sync_to_async(make_vectors)()
    question = "What was written to those who hold shares in the cooperative of lighthouse keepers?"
    found = await sync_to_async(found_by_local_model)(alice, question)
    assert found.passages[0].document_id == document.id, "it is found by what only its description says"
    assert not await Execution.objects.asked().aexists()
    assert "<untrusted" in scripted_server.calls[0].last_user


@pytest.mark.slow
@pytest.mark.spec("S164")
async def test_without_a_capable_model_or_a_text_no_run_describes(
    alice: Any, scripted_server: ScriptedServer, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await take_in(alice, REPORT)
    await sync_to_async(describe_document)(str(document.id))
    assert document.description.startswith("This is a sample document. Revenue grew"), (
        "its first sentences stand in for what a model would say"
    )
    for name, value in model_env(scripted_server.url).items():
        monkeypatch.setenv(name, value)
    failed = await take_in(alice, "Some other text.")
    await Document.objects.filter(id=failed.id).aupdate(status=DocumentStatus.FAILED, epoch=F("epoch") + 1)
    await sync_to_async(describe_document)(str(failed.id))
    await sync_to_async(describe_document)(str(uuid4()))

    assert not await Execution.objects.aexists()


@pytest.mark.slow
async def test_what_a_model_is_shown_of_a_document_is_bounded_and_from_all_of_it(
    alice: Any, transactional_db: None
) -> None:
    parts = [f"# Chapter {number}\n\n" + f"Words of chapter {number}. " * 400 for number in range(30)]
    document = await take_in(alice, "\n\n".join(parts))

    excerpt = await sync_to_async(describing.excerpt_of)(document)

    assert len(excerpt) < 9_000
    assert "- Chapter 29" in excerpt
    assert excerpt.count("[…]") == describing.SAMPLES


TO_RAG = (
    "What was Acme's Q3 revenue?",
    "How much may a hotel cost?",
    "What is the part number of the filter?",
    "When does the warehouse in Linz open?",
)
TO_CHAT = ("What is the capital of France?", "Why is the sky blue?", "What is water?", "Thanks a lot!")


@pytest.mark.slow
@pytest.mark.spec("S170")
async def test_a_question_that_the_persons_documents_speak_of_reaches_them_by_itself(
    alice: Any, charlie: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    """Without a model being asked who works on it. Somebody who may not see them is answered as ever."""
    for path in sorted(FOLDER.glob("*.md")):
        await take_in(alice, path)
    await make_runner(echo_server.url, providers=OWN)

    async def routed(user: Any, questions: tuple[str, ...]) -> set[str]:
        ids = [await start(user, question, about=TEMPORARY) for question in questions]
        for id_ in ids:
            await ended(id_, timeout_s=60)
        said = [event for id_ in ids for event in await events(id_) if event["type"] == "routing"]
        assert len(said) == len(questions)
        return {event["agent"] for event in said}

    assert await routed(alice, TO_RAG) == {"rag"}
    assert await routed(alice, TO_CHAT) == {"chat"}
    assert await routed(charlie, TO_RAG) == {"chat"}
