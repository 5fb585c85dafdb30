"""The ledger: committed before the world is touched, looked up when in doubt, never blindly repeated."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from agents.engine.context import Context
from agents.engine.effects import Effect
from agents.engine.errors import OutsideError, StepFailed
from agents.engine.states import EffectStatus, StepStatus
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case, End

# A driver's writes for a program that is one effect: the agent, the effect as started, its end, the agent's end.
AT_STARTED = 2
AT_FINISHED = 3


class Mailbox:
    """The other side. It counts what arrives by idempotency key, and may refuse, or lose its answer."""

    def __init__(self, *troubles: OutsideError | None, delivers: bool = True) -> None:
        self.arrived: list[str] = []
        self.tries = 0
        self.probes = 0
        self._troubles = list(troubles)
        self._delivers = delivers

    async def send(self, key: str) -> Any:
        self.tries += 1
        trouble = self._troubles.pop(0) if self._troubles else None
        if trouble is None or (trouble.may_have_happened and self._delivers):
            self.arrived.append(key)
        if trouble is not None:
            raise trouble
        return {"message_id": f"<{key}>"}

    async def has(self, key: str) -> bool | None:
        self.probes += 1
        return key in self.arrived

    async def cannot_tell(self, key: str) -> bool | None:
        self.probes += 1
        return None

    async def is_away(self, key: str) -> bool | None:
        self.probes += 1
        raise OutsideError("away", "the mailbox cannot be reached")


Probe = Callable[[str], Awaitable[bool | None]]
REFUSED = OutsideError("refused", "550 no such user")
SILENT = OutsideError("timeout", "no answer within 30 s", retryable=True, may_have_happened=True)


def mail(case: Case, box: Mailbox, probe: Probe | None = None) -> None:
    """The case's program sends one mail, and says what came of it."""

    async def root(ctx: Context, value: Any) -> Any:
        try:
            return await ctx.effect(Effect("send_mail", {"to": "bob@example.org"}, box.send, probe))
        except StepFailed as failure:
            return failure.as_json()

    case.programs = {"root": root}


def row(case: Case) -> EffectStatus:
    (only,) = case.store.effects(case.execution_id)
    return only.status


@pytest.mark.spec("B2")
async def test_an_effect_is_performed_only_when_its_row_is_durable() -> None:
    case = Case({})
    seen: list[Any] = []

    async def root(ctx: Context, value: Any) -> Any:
        async def send(key: str) -> str:
            (started,) = case.store.effects(case.execution_id)
            (step,) = case.store.steps(case.execution_id)
            seen.append((started.key == key, started.status, step.status, step.effect_key == key))
            return "sent"

        return await ctx.effect(Effect("send_mail", {}, send))

    case.programs = {"root": root}
    # In a store that commits in groups: the death is never reached.
    end = await case.drive(death=Death.UNCOMMITTED_IS_LOST, at=99)

    assert end.value == "sent"
    assert seen == [(True, EffectStatus.STARTED, StepStatus.STARTED, True)]


@pytest.mark.spec("B2")
@pytest.mark.parametrize("death", [Death.WRITE_IS_LOST, Death.UNCOMMITTED_IS_LOST])
async def test_a_death_before_the_row_is_durable_leaves_the_world_alone(death: Death) -> None:
    case, box = Case({}), Mailbox()
    mail(case, box)

    assert (await case.drive(death=death, at=AT_STARTED)).how == "killed"
    assert box.tries == 0
    await case.drive()
    assert len(box.arrived) == 1


@pytest.mark.spec("B2")
async def test_the_other_side_and_the_ledger_have_the_same_key_on_every_driver() -> None:
    case, box = Case({}), Mailbox()
    mail(case, box, box.has)

    await case.drive(death=Death.WRITE_IS_STORED, at=AT_STARTED)
    (started,) = case.store.effects(case.execution_id)
    await case.drive()
    (finished,) = case.store.effects(case.execution_id)

    assert box.arrived == [started.key] == [finished.key]
    assert finished.response == {"message_id": f"<{started.key}>"}


# --- in doubt after a crash


@pytest.mark.spec("B2")
async def test_a_probe_that_finds_it_settles_the_doubt_without_a_second_try() -> None:
    case, box = Case({}), Mailbox()
    mail(case, box, box.has)

    await case.drive(death=Death.WRITE_IS_LOST, at=AT_FINISHED)
    end = await case.drive()

    assert end == End("completed", {"settled": "done", "tool": "send_mail"})
    assert (box.tries, box.probes, row(case)) == (1, 1, EffectStatus.FINISHED)
    assert case.open_requests == []


@pytest.mark.spec("B2")
async def test_a_probe_that_finds_nothing_lets_it_be_done() -> None:
    case, box = Case({}), Mailbox()
    mail(case, box, box.has)

    await case.drive(death=Death.WRITE_IS_STORED, at=AT_STARTED)
    end = await case.drive()

    assert end.value["message_id"]
    assert (len(box.arrived), box.probes, row(case)) == (1, 1, EffectStatus.FINISHED)


@pytest.mark.spec("B2")
@pytest.mark.parametrize("probe", ["none", "cannot_tell", "is_away"])
@pytest.mark.parametrize(
    ("answer", "response", "times", "status"),
    [
        ({"choice": "done"}, {"settled": "done", "tool": "send_mail"}, 1, EffectStatus.FINISHED),
        ({"choice": "again"}, None, 2, EffectStatus.FINISHED),
        ({"choice": "skip"}, {"settled": "skip", "tool": "send_mail"}, 1, EffectStatus.SKIPPED),
        ({"status": "timed_out"}, {"settled": "unknown", "tool": "send_mail"}, 1, EffectStatus.IN_DOUBT),
        ({"status": "denied"}, {"settled": "unknown", "tool": "send_mail"}, 1, EffectStatus.IN_DOUBT),
        ("again", {"settled": "unknown", "tool": "send_mail"}, 1, EffectStatus.IN_DOUBT),
    ],
)
async def test_without_a_probe_that_knows_a_person_decides(
    probe: str, answer: Any, response: Any, times: int, status: EffectStatus
) -> None:
    case, box = Case({}), Mailbox()
    mail(case, box, None if probe == "none" else getattr(box, probe))

    await case.drive(death=Death.WRITE_IS_LOST, at=AT_FINISHED)
    assert (await case.drive()).how == "waiting"
    (asked,) = case.open_requests
    assert (row(case), len(box.arrived)) == (EffectStatus.IN_DOUBT, 1)
    case.answer(answer)
    end = await case.drive()

    assert asked.question["question"].startswith("send_mail may have been carried out.")
    assert asked.question["options"] == ["done", "again", "skip"]
    assert set(asked.question["labels"]) == {"done", "again", "skip"}
    assert (asked.question["tool"], asked.question["arguments"]) == ("send_mail", {"to": "bob@example.org"})
    assert datetime.fromisoformat(asked.question["started_at"]).tzinfo is not None
    assert (end.value.get("settled") and end.value) == response
    assert (len(box.arrived), row(case)) == (times, status)


@pytest.mark.spec("B2")
async def test_a_person_who_was_asked_decides_and_the_probe_is_not_asked_again() -> None:
    case, box = Case({}), Mailbox()
    mail(case, box, box.cannot_tell)

    await case.drive(death=Death.WRITE_IS_LOST, at=AT_FINISHED)
    for _ in range(3):
        assert (await case.drive()).how == "waiting"

    assert (box.probes, len(case.open_requests)) == (1, 1)


@pytest.mark.spec("B2")
async def test_an_answer_again_holds_for_one_attempt_and_a_second_doubt_is_asked_about_anew() -> None:
    case, box = Case({}), Mailbox()
    mail(case, box)

    await case.drive(death=Death.WRITE_IS_LOST, at=AT_FINISHED)
    await case.drive()
    case.answer({"choice": "again"})
    # In doubt, the answer, started, and finished, which is lost.
    assert (await case.drive(death=Death.WRITE_IS_LOST, at=4)).how == "killed"
    assert len(box.arrived) == 2

    assert (await case.drive()).how == "waiting"
    assert len(box.arrived) == 2
    case.answer({"choice": "done"})
    assert (await case.drive()).value == {"settled": "done", "tool": "send_mail"}
    assert len(box.arrived) == 2


@pytest.mark.spec("B2")
@pytest.mark.parametrize("death", [Death.WRITE_IS_LOST, Death.WRITE_IS_STORED])
@pytest.mark.parametrize("at", [1, 2])
async def test_an_answer_again_is_not_forgotten_by_a_death_before_it_is_acted_on(death: Death, at: int) -> None:
    case, box = Case({}), Mailbox()
    mail(case, box)

    await case.drive(death=Death.WRITE_IS_LOST, at=AT_FINISHED)
    await case.drive()
    case.answer({"choice": "again"})
    assert (await case.drive(death=death, at=at)).how == "killed"
    end = await case.drive()

    assert end.value["message_id"]
    assert len(box.arrived) == 2
    assert case.open_requests == []


# --- failures


@pytest.mark.spec("B2")
async def test_a_refused_effect_has_failed_and_is_not_tried_again_on_replay() -> None:
    case, box = Case({}), Mailbox(REFUSED)
    mail(case, box)

    await case.drive(death=Death.WRITE_IS_LOST, at=AT_FINISHED + 1)
    end = await case.drive()

    assert end.value == {"code": "refused", "message": "550 no such user", "retryable": False}
    assert (box.tries, box.arrived, row(case)) == (1, [], EffectStatus.FAILED)


@pytest.mark.spec("B2")
async def test_no_answer_from_the_other_side_is_a_doubt_and_looked_up_at_once() -> None:
    case, box = Case({}), Mailbox(SILENT)
    mail(case, box, box.has)

    end = await case.drive()

    assert end.value == {"settled": "done", "tool": "send_mail"}
    assert (box.tries, box.probes, row(case)) == (1, 1, EffectStatus.FINISHED)


@pytest.mark.spec("B2")
async def test_no_answer_and_found_not_to_have_happened_is_an_ordinary_failure() -> None:
    case, box = Case({}), Mailbox(SILENT, delivers=False)
    mail(case, box, box.has)

    end = await case.drive()

    assert end.value == {"code": "timeout", "message": "no answer within 30 s", "retryable": True}
    assert (box.tries, row(case)) == (1, EffectStatus.FAILED)


@pytest.mark.spec("B2")
async def test_every_silent_attempt_is_a_question_of_its_own() -> None:
    case, box = Case({}), Mailbox(SILENT, SILENT)
    mail(case, box)

    for number in (1, 2):
        assert (await case.drive()).how == "waiting"
        assert box.tries == number
        case.answer({"choice": "again"})
    end = await case.drive()

    assert end.value["message_id"]
    assert box.tries == 3
    assert case.open_requests == []


async def test_an_error_that_nobody_foresaw_leaves_the_effect_in_doubt_for_the_next_driver() -> None:
    case, box = Case({}), Mailbox()

    async def breaks(key: str) -> Any:
        await box.send(key)
        raise ConnectionResetError

    async def root(ctx: Context, value: Any) -> Any:
        return await ctx.effect(Effect("send_mail", {}, breaks, box.has))

    case.programs = {"root": root}
    with pytest.raises(ConnectionResetError):
        await case.drive()
    end = await case.drive()

    assert end.value == {"settled": "done", "tool": "send_mail"}
    assert box.tries == 1


# --- after a cut


@pytest.mark.spec("B2")
async def test_an_effect_in_doubt_whose_journal_was_cut_is_still_looked_up() -> None:
    case, box = Case({}), Mailbox()

    def root_with(*names: str) -> Any:
        async def root(ctx: Context, value: Any) -> Any:
            for name in names:
                await case.model(ctx, name)
            return await ctx.effect(Effect("send_mail", {}, box.send, box.has))

        return root

    case.programs = {"root": root_with("old")}
    # The agent, the step, the effect as started, and its end, which is lost.
    assert (await case.drive(death=Death.WRITE_IS_LOST, at=4)).how == "killed"
    case.programs = {"root": root_with("new", "newer")}
    end = await case.drive()

    assert end.value == {"settled": "done", "tool": "send_mail"}
    assert box.tries == 1


@pytest.mark.spec("B2")
async def test_a_doubt_that_a_person_skipped_stays_skipped_after_a_cut() -> None:
    case, box = Case({}), Mailbox(SILENT)

    def root_with(name: str) -> Any:
        async def root(ctx: Context, value: Any) -> Any:
            await case.model(ctx, name)
            settled = await ctx.effect(Effect("send_mail", {}, box.send))
            return [settled, await ctx.ask("input", {"question": "?"})]

        return root

    case.programs = {"root": root_with("old")}
    await case.drive()
    case.answer({"choice": "skip"})
    await case.drive()
    case.programs = {"root": root_with("new")}
    await case.drive()
    case.answer("bye", to=-1)
    end = await case.drive()

    assert end.value == [{"settled": "skip", "tool": "send_mail"}, "bye"]
    assert (box.tries, row(case)) == (1, EffectStatus.SKIPPED)


@pytest.mark.spec("B2")
async def test_equal_effects_are_as_many_as_the_program_wants() -> None:
    case, box = Case({}), Mailbox()

    async def send(ctx: Context) -> Any:
        return await ctx.effect(Effect("send_mail", {"to": "bob"}, box.send))

    async def child(ctx: Context, value: Any) -> Any:
        await send(ctx)

    async def root(ctx: Context, value: Any) -> Any:
        await send(ctx)
        await send(ctx)
        await ctx.all(send, send)
        await ctx.all(send, send)
        for handle in [await ctx.fork("child", None) for _ in range(2)]:
            await ctx.wait(handle)

    case.programs = {"root": root, "child": child}
    await case.drive()

    assert len(box.arrived) == len(set(box.arrived)) == 8
