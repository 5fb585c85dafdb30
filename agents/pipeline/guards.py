"""Where guardrails look at what comes in and what goes out. Scanners plug in here."""

from collections.abc import Awaitable, Callable

from agents.runtime.context import AgentContext

Guard = Callable[[AgentContext, str], Awaitable[str]]

INPUT_GUARDS: tuple[Guard, ...] = ()
OUTPUT_GUARDS: tuple[Guard, ...] = ()


async def guard_input(context: AgentContext, text: str) -> str:
    """The question as it may go on. A guard raises StepFailed to refuse it."""
    return await _through(INPUT_GUARDS, context, text)


async def guard_output(context: AgentContext, text: str) -> str:
    """The answer as it may be shown."""
    return await _through(OUTPUT_GUARDS, context, text)


async def _through(guards: tuple[Guard, ...], context: AgentContext, text: str) -> str:
    for guard in guards:
        text = await guard(context, text)
    return text
