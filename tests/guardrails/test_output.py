"""What people see of a run, what its journal has, what is stored and what a replay says: the same text, screened."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.engine.context import Context
from agents.engine.states import StepKind
from agents.guardrails.models import Verdict
from agents.guardrails.output import WITHHELD, WITHHELD_LATE
from agents.guardrails.settings import GuardSettings
from agents.models import Event, Step
from agents.pipeline.guards import guard_output
from agents.runtime.context import AgentContext
from agents.runtime.driven import PipelineSettings
from tests.doubles.memory_journal import Death
from tests.engine.driving import drive
from tests.loop.driving import Cases, LoopCase, calls, looped
from tests.runtime.driving import Runners, ended, events, start
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer
from tests.shown import shown

MAIL, CARD, PHONE = "maria.lopez@firma.es", "4916 3385 0608 2832", "+49 30 9018 2017"
KEY = "ghp_" + "9kQ2w8Zr4TbY7uX1cV5nM3aS6dF0gH2jK4lP"
TEXT = f"Maria has {MAIL} and {CARD}, says the file; {PHONE} and {KEY} are there, too."
SCREENED = (
    "Maria has [email removed] and [card removed], says the file; [phone removed] and [secret removed] are there, too."
)
VALUES = (MAIL, CARD, PHONE, KEY)


@pytest.fixture
async def cases(scripted_server: ScriptedServer) -> AsyncIterator[Cases]:
    made = Cases(scripted_server)
    async with made.stack:
        yield made


def guarded(case: LoopCase) -> list[tuple[str, str, str, int]]:
    told = [event for event in case.all_events if event["type"] == "guardrail"]
    return sorted((event["scanner"], event["kind"], event["action"], event["count"]) for event in told)


def with_guards(**given: Any) -> PipelineSettings:
    return PipelineSettings(guards=GuardSettings(**given))


@pytest.mark.spec("S206", "S76")
@pytest.mark.threat("T23")
async def test_what_is_streamed_recorded_and_answered_is_the_same_text_without_the_values(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text=TEXT, thinking=f"I could write to {MAIL}.", thinking_signature="sealed"))
    case = cases()

    said = await looped(case)

    assert (said.text, shown(case.all_events)) == (SCREENED, SCREENED)
    (reply,) = [step.response for step in case.store.steps(case.execution_id) if step.kind is StepKind.MODEL]
    assert reply["text"] == SCREENED
    assert (reply["thinking"], reply["thinking_signature"]) == ("I could write to [email removed].", None)
    everything = json.dumps([case.all_events, reply])
    assert not any(value in everything for value in VALUES)
    assert guarded(case) == [
        ("pii", "card", "redact", 1),
        ("pii", "email", "redact", 1),
        ("pii", "email", "redact", 1),
        ("pii", "phone", "redact", 1),
        ("secrets", "secret", "redact", 1),
    ]


@pytest.mark.spec("S206", "B1")
@pytest.mark.parametrize("death", Death)
async def test_an_answer_that_is_killed_at_any_of_its_records_ends_in_the_same_text_and_is_told_of_once(
    death: Death, scripted_server: ScriptedServer, cases: Cases
) -> None:
    text = f"maria.lopez@firma.es, that is {MAIL}: call {PHONE} now."
    wanted = "[email removed], that is [email removed]: call [phone removed] now."
    case, writes = cases({"search": lambda given: "found"}), 200
    at = 1
    while at < writes:
        case = cases({"search": lambda given: "found"})
        lines = (calls(("search", {}), text=f"I ask {MAIL}."), Script(text=text))
        for attempt in range(2):
            scripted_server.reset()
            scripted_server.script(*lines[case.replies_recorded() :])
            run, journal = case.take_over(death=death if attempt == 0 else None, at=at)
            end = await drive(run, journal)
            if end.how != "killed":
                break

        assert end.value == {"answer": wanted}, at
        assert shown(case.all_events) == wanted, at
        assert guarded(case) == [
            ("pii", "email", "redact", 1),
            ("pii", "email", "redact", 2),
            ("pii", "phone", "redact", 1),
        ], at
        writes = min(writes, journal.writes) if at == 1 else writes
        at += 3


@pytest.mark.spec("S206")
async def test_addresses_that_the_run_read_stay_and_cards_and_keys_that_it_read_do_not(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(
        calls(("search", {})), Script(text=f"{TEXT} Also from abroad: 030 9018 2017. Or eve@firma.es.")
    )
    case = cases({"search": lambda given: f"Maria.Lopez@firma.es, {CARD}, 0049 30 90182017, {KEY}"})

    said = await looped(case)

    assert said.text == (
        f"Maria has {MAIL} and [card removed], says the file; {PHONE} and [secret removed] are there, too. "
        "Also from abroad: 030 9018 2017. Or [email removed]."
    )
    assert shown(case.all_events) == said.text


@pytest.mark.spec("S208")
@pytest.mark.parametrize(
    ("settings", "answer", "acts"),
    [
        (with_guards(enabled=False), TEXT, set()),
        (with_guards(output=False), TEXT, set()),
        (with_guards(action="warn"), TEXT, {"warn"}),
        (with_guards(action="log"), TEXT, {"log"}),
        (with_guards(redacted=("card",)), TEXT.replace(CARD, "[card removed]"), {"redact"}),
    ],
)
async def test_it_can_be_switched_off_made_to_tell_only_and_given_the_kinds(
    settings: PipelineSettings, answer: str, acts: set[str], scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text=TEXT))
    case = cases(settings=settings)

    said = await looped(case)

    assert (said.text, shown(case.all_events)) == (answer, answer)
    assert {act for _, _, act, _ in guarded(case)} == acts


@pytest.mark.spec("S206")
async def test_a_toxic_answer_is_taken_back_while_it_is_written_and_says_so(
    scripted_server: ScriptedServer, cases: Cases
) -> None:
    scripted_server.script(Script(text="That was stupid. You should just kill yourself. Good night."))
    case = cases()

    said = await looped(case)

    assert (said.text, shown(case.all_events)) == (WITHHELD, WITHHELD)
    assert guarded(case) == [("toxicity", "suicide", "block", 1)]
    assert not any("yourself" in event["content"] for event in case.all_events if event["type"] == "token")


@pytest.mark.spec("S208", "B1")
@pytest.mark.parametrize(
    ("strict", "answer", "act"), [(False, TEXT.replace(MAIL, "[email removed]"), "log"), (True, WITHHELD_LATE, "block")]
)
async def test_an_answer_that_there_was_no_time_to_look_at_is_told_of_and_withheld_where_that_is_wanted(
    strict: bool, answer: str, act: str, scripted_server: ScriptedServer, cases: Cases
) -> None:
    """One look, and the time is up."""
    scripted_server.script(Script(text=TEXT))
    case = cases(settings=with_guards(timeout_ms=0, strict=strict))

    said = await looped(case)

    assert (said.text, shown(case.all_events)) == (answer, answer)
    late = [one for one in guarded(case) if one[1] == "late"]
    assert {(scanner, how) for scanner, _, how, _ in late} >= {("secrets", act)}
    (reply,) = [step.response for step in case.store.steps(case.execution_id) if step.kind is StepKind.MODEL]
    assert reply["text"] == answer
    # Whoever drives it again says the same, however much time there is then.
    again = await looped(case)
    assert (again.text, shown(case.all_events)) == (answer, answer)
    assert [one for one in guarded(case) if one[1] == "late"] == late


@pytest.mark.spec("S208", "B1")
async def test_a_text_that_no_model_streamed_is_withheld_for_the_same_reason_and_a_replay_says_so(cases: Cases) -> None:
    async def program(context: Context, value: Any) -> Any:
        inside = AgentContext(context.run, context.agent)  # type: ignore[arg-type]
        return [await inside.say(TEXT), await guard_output(inside, f"Another: {MAIL}, {CARD}.")]

    case = cases(settings=with_guards(timeout_ms=0, strict=True))
    case.programs = {"root": program}
    for at in (4, 5, 6, 7, 8, 1_000):
        end = await case.drive(death=Death.WRITE_IS_LOST, at=at)

    assert end.value == [WITHHELD_LATE, WITHHELD_LATE]
    assert shown(case.all_events) == WITHHELD_LATE


@pytest.mark.spec("S206")
async def test_a_text_that_no_model_streamed_is_screened_once_and_a_replay_says_the_same(cases: Cases) -> None:
    async def program(context: Context, value: Any) -> Any:
        inside = AgentContext(context.run, context.agent)  # type: ignore[arg-type]
        said = await inside.say(TEXT)
        again = await inside.say(said)
        other = await guard_output(inside, f"Another: {MAIL}.")
        return {"answer": said, "again": again, "other": other, "same": await guard_output(inside, said)}

    case = cases()
    case.programs = {"root": program}
    for at in (4, 5, 6, 7, 8, 1_000):
        end = await case.drive(death=Death.WRITE_IS_LOST, at=at)

    assert end.value == {
        "answer": SCREENED, "again": SCREENED, "other": "Another: [email removed].", "same": SCREENED,
    }  # fmt: skip
    assert shown(case.all_events) == SCREENED
    assert [event["kind"] for event in case.all_events if event["type"] == "guardrail"].count("email") == 2


@pytest.mark.spec("S206")
@pytest.mark.threat("T23")
async def test_a_run_stores_no_value_that_the_person_did_not_type_and_every_finding_has_a_row(
    alice: Any, scripted_server: ScriptedServer, make_runner: Runners
) -> None:
    scripted_server.script(Script(text=TEXT, cut_after=5), Script(text=TEXT))
    await make_runner(scripted_server.url)
    history = [{"role": "user", "content": f"I have {CARD.replace(' ', '')}."}, {"role": "assistant", "content": KEY}]

    run = await ended(await start(alice, f"Who is {MAIL.upper()}?", history=history))

    wanted = TEXT.replace(PHONE, "[phone removed]").replace(KEY, "[secret removed]")
    said = await events(run.id)
    assert (run.status, run.answer, shown(said), said[-1]["answer"]) == ("completed", wanted, wanted, wanted)
    assert [event["keep"] for event in said if event["type"] == "token_reset"] == [0]
    stored, rows = await sync_to_async(_stored)(run.id)
    assert not any(value in stored for value in (PHONE, KEY))
    assert {(row.scanner, row.kind, row.action, row.count) for row in rows} == {
        ("pii", "phone", "redact", 1),
        ("secrets", "secret", "redact", 1),
    }
    assert not any(value in row.excerpt for row in rows for value in VALUES)


def _stored(execution_id: Any) -> tuple[str, list[Verdict]]:
    """All that the run's own work left in the tables, without what it was asked and told; and the rows."""
    bodies = Event.objects.filter(execution_id=execution_id).values_list("body", flat=True)
    steps = Step.objects.filter(agent__execution_id=execution_id).values_list("response", flat=True)
    return "".join(bodies) + json.dumps([*steps]), list(Verdict.objects.filter(execution_id=execution_id))
