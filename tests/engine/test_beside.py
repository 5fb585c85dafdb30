"""What runs beside the main thing of a program, for which nothing waits."""

import asyncio
from typing import Any

import pytest

from agents.engine.context import LEFT, Context, Outcome
from agents.engine.errors import StepFailed
from agents.engine.states import StepKind
from tests.doubles.memory_journal import Death
from tests.engine.driving import Case


def led(main: Any, other: Any, *, patience_s: float = 0.02) -> Any:
    async def root(ctx: Context, value: Any) -> Any:
        gave, beside = await ctx.beside(main, ("other", other), patience_s=patience_s)
        return [gave, "left" if beside is LEFT else beside]

    return {"root": root}


async def at_once(ctx: Context) -> Any:
    return await ctx.note("main", lambda: "answer")


def held(begun: list[str]) -> Any:
    async def other(ctx: Context) -> Any:
        async def perform() -> Outcome:
            begun.append("other")
            await asyncio.Event().wait()
            raise AssertionError("nobody lets it go")

        return await ctx.step(StepKind.MODEL, "other", None, perform)

    return other


async def test_what_is_ready_in_time_is_given_with_the_main_thing() -> None:
    case = Case(led(at_once, lambda ctx: ctx.note("other", lambda: "title"), patience_s=5))

    assert (await case.drive()).value == ["answer", "title"]


async def test_what_is_not_ready_is_left_and_a_replay_does_not_begin_it_again() -> None:
    begun: list[str] = []
    case = Case(led(at_once, held(begun)))

    assert (await case.drive()).value == ["answer", "left"]
    assert (await case.drive()).value == ["answer", "left"]
    assert begun == ["other"]
    assert [step.status for step in case.store.steps(case.execution_id) if step.name == "other"] == ["failed"]


async def test_a_main_thing_that_fails_is_not_waited_for_either() -> None:
    async def fails(ctx: Context) -> Any:
        raise StepFailed("broken", "It broke.")

    end = await Case(led(fails, held([]))).drive()

    assert end.how == "failed"


@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.parametrize("death", Death)
async def test_whenever_it_is_killed_the_next_driver_comes_to_the_same(death: Death, at: int) -> None:
    case = Case(led(at_once, held([])))

    await case.drive(death=death, at=at)

    assert (await case.drive()).value == ["answer", "left"]


async def test_where_the_main_thing_waits_for_a_person_the_others_end_meanwhile() -> None:
    async def asks(ctx: Context) -> Any:
        return await ctx.ask("input", {"question": "sure?"})

    case = Case(led(asks, lambda ctx: ctx.note("other", lambda: "title")))

    assert (await case.drive()).how == "waiting"
    case.answer("yes")
    assert (await case.drive()).value == ["yes", "title"]
