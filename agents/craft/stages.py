"""How an agent says what it is doing: a stage begins, and ends well or not."""

from collections.abc import Iterator
from contextlib import contextmanager

from agents.engine.events import Stage, StageStatus
from agents.runtime.context import AgentContext


@contextmanager
def stage(context: AgentContext, name: str, description: str) -> Iterator[None]:
    """Tells people that the stage runs, and how it ended. A run that is suspended or stopped in it says neither."""
    context.emit(Stage(name=name, description=description, status=StageStatus.RUNNING))
    try:
        with context.in_stage(name):
            yield
    except Exception:
        context.emit(Stage(name=name, description=description, status=StageStatus.FAILED))
        raise
    context.emit(Stage(name=name, description=description, status=StageStatus.COMPLETED))
