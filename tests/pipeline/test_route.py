"""Who works on a question: the mode that was chosen, the patterns, the router's model, and what is done if it fails."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from agents.craft.exchange import Attachment, AttachmentKind, Options
from agents.modes import MODES, is_available
from agents.pipeline.chosen import has_only_tables
from agents.pipeline.route import decide
from agents.runtime.context import AgentContext
from tests.pipeline.rosters import ROSTER, spec_of
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone

UNSURE = "Proofread the spreadsheet"
PICTURE = AttachmentKind.PICTURE


async def routed(
    alone: Alone,
    question: str,
    *,
    mode: str | None = None,
    routing_mode: str = "auto",
    history: tuple[dict[str, str], ...] = (),
    roster: Any = ROSTER,
    files: tuple[str, ...] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The route, and the event that told of it. `files`: the types of what is attached."""

    async def program(context: AgentContext, value: Any) -> Any:
        route = await decide(
            context,
            question,
            mode=mode,
            roster=roster,
            routing_mode=routing_mode,
            history=history,
            options=with_files(*files),
        )
        return asdict(route)

    case = alone(program)
    end = await case.drive()
    assert end.how == "completed", end
    (event,) = case.events("routing")
    return end.value, event


def with_files(*types: str) -> Options:
    files = [
        Attachment(id=one, name=f"a.{one}", kind=PICTURE if one == "png" else AttachmentKind.DOCUMENT, doc_type=one)
        for one in types
    ]
    pictures = tuple(one.id for one in files if one.kind is PICTURE)
    return Options(attachment_ids=types, attached=tuple(files), image_attachments=pictures)


def answer(agent: str, confidence: Any = 0.9, reason: str = "It fits.") -> str:
    return json.dumps({"agent": agent, "confidence": confidence, "reason": reason})


@pytest.mark.spec("S3")
@pytest.mark.parametrize("mode", ["code", "CODE", " Code "])
async def test_an_explicit_mode_wins_over_the_words_and_asks_nobody(alone: Alone, mode: str) -> None:
    route, event = await routed(alone, "Search the web and then email it to Bob", mode=mode)

    assert (route["kind"], route["agent"], route["method"]) == ("direct", "code", "explicit")
    assert (event["confidence"], event["is_low_confidence"]) == (1.0, False)


@pytest.mark.spec("S9", "S20")
@pytest.mark.parametrize(
    ("mode", "agent"),
    [("research", "research"), ("DATA", "data"), ("WRITING", "writing"), ("chat", "chat"), ("mail", "mail")],
)
async def test_every_mode_has_its_agent(alone: Alone, mode: str, agent: str) -> None:
    route, _ = await routed(alone, "Hello", mode=mode)

    assert route["agent"] == agent


@pytest.mark.parametrize("mode", [mode for mode in MODES.values() if mode.skill], ids=lambda mode: mode.name)
async def test_a_dedicated_mode_carries_its_skill_where_the_skill_is_there(alone: Alone, mode: Any) -> None:
    route, _ = await routed(alone, "Hello!", mode=mode.name.upper())

    if is_available(mode):
        assert (route["agent"], route["skill"], route["method"]) == ("chat", mode.skill, "explicit")
    else:
        assert (route["skill"], route["method"]) == (None, "heuristic")


@pytest.mark.parametrize("mode", ["task", "", None, "nonsense"])
async def test_without_a_mode_of_its_own_the_words_decide(alone: Alone, mode: str | None) -> None:
    route, event = await routed(alone, "What does our handbook say about holidays?", mode=mode)

    assert (route["agent"], route["method"]) == ("rag", "heuristic")
    assert event["reason"] == "It asks about documents of your own."


@pytest.mark.spec("S7")
async def test_a_question_of_several_parts_is_planned(alone: Alone) -> None:
    route, event = await routed(alone, "First search my docs for A, then email it to Bob")

    assert (route["kind"], route["agent"]) == ("plan", "planner")
    assert event["agent"] == "planner"


@pytest.mark.spec("S4", "S5")
async def test_an_unsure_question_goes_to_the_router(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.script(Script(model="scripted-flash", text=answer("data", 0.8, "It has figures in it.")))

    route, event = await routed(alone, UNSURE)

    assert (route["agent"], route["method"], route["confidence"]) == ("data", "model", 0.8)
    assert event["reason"] == "It has figures in it."
    system = scripted_server.calls[0].messages[0]["content"]
    assert "- rag: Does all that belongs to rag" in system
    assert '"Do some mail work"' in system
    assert "- planner:" in system


async def test_the_router_may_want_several_agents(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(answer("planner"))

    route, _ = await routed(alone, UNSURE)

    assert (route["kind"], route["agent"]) == ("plan", "planner")


@pytest.mark.spec("S5")
async def test_low_confidence_takes_the_chat_agent_and_offers_the_others(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(answer("writing", 0.3))

    route, event = await routed(alone, UNSURE)

    assert (route["agent"], route["is_low_confidence"]) == ("chat", True)
    assert event["alternatives"][:2] == ["writing", "data"]
    assert len(event["alternatives"]) == 3
    assert set(event["alternatives"]) <= set(MODES)


@pytest.mark.parametrize(
    ("said", "confidence"), [(95, 0.95), ("80%", 0.8), (1, 1.0), (-3, 0.0), (0.5, 0.5), ("0.7", 0.7)]
)
async def test_a_confidence_is_read_however_it_is_written(
    alone: Alone, scripted_server: ScriptedServer, said: Any, confidence: float
) -> None:
    scripted_server.say(answer("rag_agent", said))

    route, _ = await routed(alone, UNSURE)

    assert route["confidence"] == confidence
    assert route["agent"] == ("chat" if confidence < 0.5 else "rag")


@pytest.mark.parametrize(
    "lines",
    [
        [Script(text=answer("astrologer"))],
        [Script(text="I think that is for the data agent.", times=3)],
        [Script(status=500)],
    ],
    ids=["an unknown agent", "no JSON", "no answer"],
)
async def test_an_answer_of_no_use_counts_as_unsure(
    alone: Alone, scripted_server: ScriptedServer, lines: list[Script]
) -> None:
    scripted_server.script(*lines)

    route, event = await routed(alone, UNSURE)

    assert (route["agent"], route["method"], route["is_low_confidence"]) == ("chat", "fallback", True)
    assert event["alternatives"]
    assert event["reason"]


async def test_no_model_is_asked_where_none_shall_be(alone: Alone) -> None:
    route, _ = await routed(alone, UNSURE, routing_mode="deterministic")

    assert (route["agent"], route["method"], route["is_low_confidence"]) == ("chat", "heuristic", True)


async def test_the_router_can_be_asked_always(alone: Alone, scripted_server: ScriptedServer) -> None:
    scripted_server.say(answer("web"))

    route, _ = await routed(alone, "Hello!", routing_mode="llm")

    assert (route["agent"], route["method"]) == ("web", "model")


async def test_a_reply_that_goes_on_with_the_conversation_is_not_taken_for_small_talk(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(answer("rag"))
    history = ({"role": "user", "content": "What was our revenue in 2023?"}, {"role": "assistant", "content": "12 M"})

    route, _ = await routed(alone, "And what about 2024?", history=history)

    assert route["agent"] == "rag"
    assert "What was our revenue in 2023?" in scripted_server.calls[0].last_user


@pytest.mark.parametrize(
    "reply",
    [
        "no, I meant the other one",
        "Nein, ich meinte den anderen",
        "no, the 2023 one",
        "no, for Q4 please",
        "yes, the second one",
        "yes, for all three regions",
        "danke, und für 2024?",
        "ok, and in the south?",
        "bob@example.org",
    ],
)
async def test_in_a_conversation_a_reply_that_says_more_than_yes_or_thanks_goes_to_the_router(
    alone: Alone, scripted_server: ScriptedServer, reply: str
) -> None:
    scripted_server.say(answer("rag"))
    history = ({"role": "user", "content": "Who signed the contract?"}, {"role": "assistant", "content": "Bob."})

    route, _ = await routed(alone, reply, history=history)

    assert (route["agent"], route["method"]) == ("rag", "model")


@pytest.mark.parametrize("reply", ["thanks a lot!", "ok, great", "Yes", "Nein danke", "Thanks, that was very helpful"])
async def test_small_talk_asks_no_model_in_a_conversation_either(alone: Alone, reply: str) -> None:
    history = ({"role": "user", "content": "Who signed the contract?"}, {"role": "assistant", "content": "Bob."})

    route, event = await routed(alone, reply, history=history)

    assert (route["agent"], route["method"]) == ("chat", "heuristic")
    assert event["reason"] == "It is a greeting or a short reply."


async def test_an_agent_that_is_not_there_is_not_chosen(alone: Alone) -> None:
    only_chat = {"chat": ROSTER["chat"]}

    route, _ = await routed(alone, "What does our handbook say about holidays?", roster=only_chat)

    assert route["agent"] == "chat"
    assert "no rag agent" in route["reason"]


@pytest.mark.spec("S186")
async def test_an_agent_that_was_added_can_be_chosen_by_the_router(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(answer("calendar"))
    roster = {**ROSTER, "calendar": spec_of("calendar", ())}

    route, _ = await routed(alone, "What is next Tuesday?", roster=roster)

    assert (route["agent"], route["method"]) == ("calendar", "model")
    assert "- calendar: Does all that belongs to calendar" in scripted_server.calls[0].messages[0]["content"]


@pytest.mark.spec("S52")
@pytest.mark.parametrize(
    "question",
    [
        "What is in this picture?",
        "Write a poem about this photo",
        "What does the document in this picture say?",
        UNSURE,
    ],
)
async def test_where_only_pictures_are_attached_whoever_can_look_at_them_works_on_it(
    alone: Alone, question: str
) -> None:
    route, _ = await routed(alone, question, files=("png",))

    assert (route["agent"], route["method"]) == ("chat", "heuristic")


@pytest.mark.spec("S52")
async def test_a_picture_is_for_an_agent_that_takes_files_too_and_a_mode_wins(alone: Alone) -> None:
    takes_files = {**ROSTER, "code": spec_of("code", ("use_document",))}
    question = "Write a Python script that crops this image"

    by_words, _ = await routed(alone, question, files=("png",), roster=takes_files)
    by_mode, _ = await routed(alone, "What is in this picture?", files=("png",), mode="rag")

    assert (by_words["agent"], by_mode["agent"]) == ("code", "rag")


@pytest.mark.spec("S52")
@pytest.mark.parametrize("files", [("pdf", "png"), ("pdf",)])
async def test_a_document_that_can_be_searched_is_searched_whatever_is_attached_beside_it(
    alone: Alone, files: tuple[str, ...]
) -> None:
    route, _ = await routed(alone, "What does it show?", files=files)

    assert (route["agent"], route["reason"]) == ("rag", "Documents were chosen for it.")


@pytest.mark.parametrize("question", ["Summarize this", "What does it say about termination?", "Yes, the second one"])
async def test_what_comes_with_a_question_is_what_it_is_about_whatever_was_said_before(
    alone: Alone, question: str
) -> None:
    history = ({"role": "user", "content": "Who won the cup?"}, {"role": "assistant", "content": "Oslo."})

    route, _ = await routed(alone, question, history=history, files=("pdf",))

    assert (route["agent"], route["method"]) == ("rag", "heuristic")


@pytest.mark.parametrize(
    "question",
    [
        "What is the total revenue?",
        "Which region sold most?",
        "Was ist der Gesamtumsatz pro Region?",
        "Who are the top five customers?",
        "What is the total in the attached file?",
        "Fasse die angehängte Datei zusammen",
    ],
)
async def test_where_only_tables_are_attached_whoever_reckons_with_them_works_on_it(
    alone: Alone, question: str
) -> None:
    history = ({"role": "user", "content": "Who won the cup?"}, {"role": "assistant", "content": "Oslo."})

    first, event = await routed(alone, question, files=("csv",))
    later, _ = await routed(alone, question, history=history, files=("csv",))
    beside_others, _ = await routed(alone, question, files=("csv", "pdf"))

    assert (first["agent"], first["method"], event["reason"]) == ("data", "heuristic", "A table is attached to it.")
    assert later["agent"] == "data"
    assert beside_others["agent"] == "rag"


@pytest.mark.parametrize(
    ("question", "agent"),
    [
        ("thanks!", "chat"),
        ("Mail it to bob@example.org", "mail"),
        ("Search the web for prices and make a chart of it", "planner"),
    ],
)
async def test_a_table_takes_nothing_from_whom_the_words_name(alone: Alone, question: str, agent: str) -> None:
    route, _ = await routed(alone, question, files=("csv",))

    assert route["agent"] == agent


def test_only_tables_are_tables_and_what_nobody_looked_up_is_none() -> None:
    assert all(has_only_tables(with_files(*types)) for types in [("xlsx",), ("csv", "ods"), ("xls",)])
    assert not any(has_only_tables(with_files(*types)) for types in [(), ("pdf",), ("csv", "pdf"), ("csv", "png")])
    assert not has_only_tables(Options(attachment_ids=("a",)))


async def test_a_long_question_reaches_the_router_with_its_beginning_and_its_end(
    alone: Alone, scripted_server: ScriptedServer
) -> None:
    scripted_server.say(answer("writing"))

    await routed(alone, f"Begin here. {'word ' * 40_000} Proofread the spreadsheet at the end.", routing_mode="llm")

    asked = scripted_server.calls[0].last_user
    assert len(asked) < 13_000
    assert "Begin here." in asked
    assert asked.rstrip().endswith("at the end.")
