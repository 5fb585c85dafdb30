"""Where others look at a call before it is carried out: kill switch, scanner, approval, budget.

A check sees the final arguments and gives None, or why not; an approval may also give other arguments. It is part of a
program that is replayed: whatever it decides by that is not in the call (a table, a setting, a scanner, a person) it
takes as a step of the context.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from agents.runtime.context import AgentContext
from agents.tools.arguments import Refusal
from agents.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class Request:
    """A call that is in order. `arguments`: what it will be carried out with, defaults filled in, as JSON."""

    tool: Tool
    arguments: dict[str, Any]
    call_id: str


@dataclass(frozen=True, slots=True)
class Changed:
    """The call is to be carried out with these arguments in the place of its own. `told`: what the model learns.
    `instructions`: what the person who changed them said besides; "" for nothing."""

    values: BaseModel
    told: str
    instructions: str = ""


class Instructed(Exception):
    """A person approved a call with instructions that the code which made it cannot follow by itself."""

    def __init__(self, tool: str, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.tool = tool
        self.refusal = refusal


Check = Callable[[AgentContext, Request], Awaitable[Refusal | None]]
Approval = Callable[[AgentContext, Request], Awaitable[Refusal | Changed | None]]


@dataclass(frozen=True, slots=True)
class Checks:
    """In the order in which they are asked; the first that refuses ends the call."""

    switches: tuple[Check, ...] = ()
    scanners: tuple[Check, ...] = ()
    approvals: tuple[Approval, ...] = ()
    budgets: tuple[Check, ...] = ()


async def first_refusal(checks: tuple[Check, ...], context: AgentContext, request: Request) -> Refusal | None:
    for check in checks:
        refusal = await check(context, request)
        if refusal is not None:
            return refusal
    return None


def unapproved(tool: Tool) -> Refusal:
    """A tool that needs a person's yes is not carried out where nobody is there to ask for it."""
    return Refusal(
        "approval_unavailable",
        f"{tool.name} needs a person's approval, and approvals are not set up here. Go on without it.",
    )
