"""What the roles of a turn are told beside the question: the day, what is attached, and the conversation's summary."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from agents.craft.earlier_turns import SUMMARY_OF
from agents.craft.exchange import Attachment, AttachmentKind, Options
from agents.craft.today import day_in
from agents.engine.events import Check
from agents.roles.clarifier import ask_clarifier
from agents.roles.composer import Brief, write_answer
from agents.roles.grounder import ask_grounder
from agents.roles.memory_extractor import extracted
from agents.roles.planner import ask_planner, opening
from agents.roles.reranker import Candidate, ranked
from agents.roles.router import ask_router
from agents.runtime.context import AgentContext
from agents.tools.providers import Providers
from tests.doubles.memory_journal import Death
from tests.loop.driving import Cases
from tests.pipeline.graphs import DIAMOND, QUESTION, SATISFIED, plan_text
from tests.pipeline.rosters import ROSTER
from tests.pipeline.turn_driving import drive_case, turn_case
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.skills.alone import Alone

Asks = Callable[[AgentContext, Options], Awaitable[Any]]

TODAY: Final = "Thursday, 2026-03-12"
FILES: Final = Options(
    today=TODAY,
    attachment_ids=("d1",),
    attached=(Attachment(id="d1", name="orders.xlsx", kind=AttachmentKind.DOCUMENT, doc_type="xlsx"),),
    attached_before=(Attachment(id="d0", name="contract.pdf", kind=AttachmentKind.DOCUMENT, doc_type="pdf"),),
)
HISTORY: Final = (
    {"role": "user", "content": f"{SUMMARY_OF.format(turns=3)}\nThe budget is 4,000 EUR."},
    *({"role": role, "content": f"Turn {turn}"} for turn in range(4) for role in ("user", "assistant")),
    {"role": "user", "content": "Two suggestions, please"},
    {"role": "assistant", "content": "1. " + "Paint it. " * 90 + "\n2. Leave it, says OKAPI."},
)
CHECK: Final = Check(start=0, end=4, sentence="It ended.", citations=(1,), supported=False)


async def _planner(context: AgentContext, options: Options) -> Any:
    told = opening(QUESTION, history=HISTORY, profile={}, done={}, revision_context="", options=options)
    return await ask_planner(context, told, roster=ROSTER, options=options)


async def _router(context: AgentContext, options: Options) -> Any:
    return await ask_router(context, "Summarize this", roster=ROSTER, history=HISTORY, options=options)


async def _clarifier(context: AgentContext, options: Options) -> Any:
    return await ask_clarifier(context, "Book it for Friday", doubt="which one", answered=(), options=options)


async def _grounder(context: AgentContext, options: Options) -> Any:
    return await ask_grounder(context, [CHECK], {1: "It ends in February 2026."}, options=options)


async def _reranker(context: AgentContext, options: Options) -> Any:
    return await ranked(context, "last quarter", [Candidate("a", "x"), Candidate("b", "y")], options=options)


async def _memory_extractor(context: AgentContext, options: Options) -> Any:
    return await extracted(context, "I moved to Graz yesterday.", (), options=options)


async def _composer(context: AgentContext, options: Options) -> Any:
    return await write_answer(context, Brief(QUESTION, ()), profile={}, history=HISTORY, options=options)


ROLES: Final[dict[str, tuple[Asks, str]]] = {
    "planner": (_planner, plan_text(DIAMOND)),
    "router": (_router, json.dumps({"agent": "rag", "confidence": 0.9})),
    "clarifier": (_clarifier, json.dumps({"needs_clarification": False})),
    "grounder": (_grounder, json.dumps({"verdicts": []})),
    "reranker": (_reranker, json.dumps({"ranked_indices": [1, 2]})),
    "memory_extractor": (_memory_extractor, json.dumps({"found": False})),
    "composer": (_composer, "It is so."),
}


async def asked_of(role: str, options: Options, alone: Alone, server: ScriptedServer) -> tuple[str, str]:
    """The system prompt of a role, and all else that it is told."""
    asks, answer = ROLES[role]
    server.say(answer)

    async def program(context: AgentContext, value: Any) -> Any:
        await asks(context, options)

    end = await alone(program).drive()
    assert end.how == "completed", end
    (call,) = server.calls
    system, *told = (str(message["content"]) for message in call.messages)
    return system, "\n".join(told)


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_knows_the_day_and_is_told_it_last(
    role: str, alone: Alone, scripted_server: ScriptedServer
) -> None:
    system, _ = await asked_of(role, FILES, alone, scripted_server)

    assert system.endswith(f"\n\nToday is {TODAY}.")
    assert system.count("Today is") == 1


@pytest.mark.parametrize("role", ["planner", "router"])
async def test_who_chooses_the_agents_knows_what_is_attached_and_what_was(
    role: str, alone: Alone, scripted_server: ScriptedServer
) -> None:
    _, told = await asked_of(role, FILES, alone, scripted_server)

    assert '- attached document "orders.xlsx" (xlsx), id d1' in told
    assert '- attached to an earlier question: document "contract.pdf" (pdf), id d0' in told


@pytest.mark.spec("S159")
@pytest.mark.parametrize("role", ["planner", "router", "composer"])
async def test_who_reads_the_conversation_reads_its_summary(
    role: str, alone: Alone, scripted_server: ScriptedServer
) -> None:
    _, told = await asked_of(role, FILES, alone, scripted_server)

    assert "The budget is 4,000 EUR." in told
    assert "OKAPI" in told


async def test_the_planner_reads_the_newest_answer_whole(alone: Alone, scripted_server: ScriptedServer) -> None:
    _, told = await asked_of("planner", FILES, alone, scripted_server)

    assert told.count("Paint it.") == 90


# ── The day of a turn ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Pacific/Auckland", "Friday, 2026-03-13"),
        ("", TODAY),
        ("America/Los_Angeles", TODAY),
        ("No/Where", TODAY),
        ("../etc", TODAY),
    ],
)
def test_the_day_is_that_of_the_persons_zone(zone: str, day: str) -> None:
    assert day_in(zone, datetime(2026, 3, 12, 20, tzinfo=UTC)) == day


TURN: Final = {"question": QUESTION, "history": [{"role": "user", "content": "Hi"}], "mode": "", "options": {}}
LINES: Final = (
    Script(model="scripted-flash", text=SATISFIED, times=0),
    Script(match="## Results\n### ", text="So it is.", times=0),
    *(Script(match=f"Work on {name} now.", text=f"Found {name}.", times=0) for name in DIAMOND),
    Script(match=QUESTION, text=plan_text(DIAMOND), times=0),
)


async def test_all_models_of_a_turn_are_told_the_same_day(scripted_server: ScriptedServer) -> None:
    """In zones that are 26 hours apart it is never the same."""
    days = []
    for zone in ("Etc/GMT-14", "Etc/GMT+12"):
        scripted_server.reset()
        scripted_server.script(*LINES)
        cases = Cases(scripted_server)
        case = turn_case(cases, {**TURN, "time_zone": zone}, Providers())

        end, _ = await drive_case(case)

        assert end.how == "completed", end
        (noted,) = case.steps_named("models")
        days.append(noted.response["today"])
        told = [str(call.messages[0]["content"]) for call in scripted_server.calls]
        assert len(told) == len(DIAMOND) + 3
        assert all(system.endswith(f"Today is {days[-1]}.") for system in told)
        assert [event["values"].get("today") for event in case.events("config")] == [None]
        await cases.stack.aclose()
    assert days[0] != days[1]


async def test_a_run_that_began_before_days_were_noted_goes_on_as_it_began(scripted_server: ScriptedServer) -> None:
    scripted_server.script(*LINES)
    cases = Cases(scripted_server)
    case = turn_case(cases, TURN, Providers())
    at = 1
    while not case.steps_named("models"):
        case = turn_case(cases, TURN, Providers())
        await drive_case(case, Death.WRITE_IS_STORED, at)
        at += 1
    (noted,) = case.steps_named("models")
    del noted.response["today"]
    await drive_case(case, Death.WRITE_IS_STORED, 12)

    end, _ = await drive_case(case)

    assert end.how == "completed", end
    assert case.events("journal_cut") == []
    assert not any("Today is" in str(call.messages[0]["content"]) for call in scripted_server.calls)
    forked = [step.request["input"]["input"]["options"] for step in case.steps_named("chat") if step.kind == "fork"]
    assert len(forked) == len(DIAMOND)
    assert all({"today", "attached_before"}.isdisjoint(options) for options in forked)
    await cases.stack.aclose()
