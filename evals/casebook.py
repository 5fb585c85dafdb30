"""The cases of the evaluations, a JSON object a line in `cases/<suite>.jsonl`, and their closed shapes. Asks nobody."""

from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

CASES: Final = Path(__file__).parent / "cases"


class Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Turn(Shape):
    role: Literal["user", "assistant"]
    content: str


class Case(Shape):
    """`deterministic`: the answer is right without any model, and CI holds the code to it."""

    id: str
    question: str
    history: tuple[Turn, ...] = ()
    deterministic: bool = False

    @property
    def turns(self) -> tuple[dict[str, str], ...]:
        return tuple(turn.model_dump() for turn in self.history)


class RoutingExpected(Shape):
    """One of `agents`, which is "planner" where `kind` is plan."""

    kind: Literal["direct", "plan"]
    agents: tuple[str, ...] = Field(min_length=1)


class RoutingCase(Case):
    expect: RoutingExpected


class PlanningExpected(Shape):
    """A name may be several: `data|code`. `edges`: the second works on what the first found, be it by way of others;
    `parallel`: neither does. `single`: no plan, one of these agents alone."""

    agents: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()
    parallel: tuple[tuple[str, str], ...] = ()
    max_tasks: int = 16
    single: tuple[str, ...] = ()


class PlanningCase(Case):
    expect: PlanningExpected


class ToolExpected(Shape):
    """The first call is of one of `tools`, none if there are none; `arguments`: what each has to match, as a regex."""

    tools: tuple[str, ...]
    arguments: dict[str, str] = {}


class ToolCase(Case):
    agent: str
    expect: ToolExpected


class HandoffExpected(Shape):
    """The agent, or one of `a|b`, that the task goes to; None: to nobody."""

    handoff: str | None


class HandoffCase(Case):
    agent: str
    expect: HandoffExpected


class Brought(Shape):
    """What one agent brought. `override`: what a person put in the place of its task."""

    agent: str
    task: str
    result: str
    sources: tuple[dict[str, Any], ...] = ()
    done: bool = True
    error: str | None = None
    partial_data: dict[str, Any] = {}
    override: str = ""


class ComposingExpected(Shape):
    """Regexes of what the answer says and does not say; `cites`: the numbers of exactly these sources."""

    mentions: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    cites: tuple[int, ...] | None = None


class ComposingCase(Case):
    outputs: tuple[Brought, ...] = Field(min_length=1)
    expect: ComposingExpected


SUITES: Final[dict[str, type[Case]]] = {
    "routing": RoutingCase,
    "planning": PlanningCase,
    "tool_choice": ToolCase,
    "handoff": HandoffCase,
    "composing": ComposingCase,
}


def read_cases(suite: str, *, limit: int | None = None) -> list[Case]:
    """The suite's cases in their order. Raises ValidationError for a line that is not of its shape."""
    lines = (CASES / f"{suite}.jsonl").read_text(encoding="utf-8").splitlines()
    return [SUITES[suite].model_validate_json(line) for line in lines[:limit] if line.strip()]
