"""Offers scripts that act where the run's mode has them, and tells the model what they can do (S198)."""

from dataclasses import dataclass, replace
from typing import Self

from agents.codeact.mode import PROGRAMMERS, SCRIPT_TOOL, is_codeact
from agents.codeact.prompting import library_told
from agents.craft.exchange import AgentInput
from agents.craft.middleware.base import Middleware
from agents.spec import AgentSpec


@dataclass(frozen=True)
class CodeAct(Middleware):
    """Adds nothing in other modes, and nothing for agents that do not program."""

    name = "codeact"
    agent: str = ""

    def init(self, task: AgentInput, spec: AgentSpec) -> Self:
        return replace(self, agent=spec.name if is_codeact(task) and spec.name in PROGRAMMERS else "")

    def system_prompt(self) -> str:
        return library_told(self.agent) if self.agent else ""

    def tools(self) -> tuple[str, ...]:
        return (SCRIPT_TOOL,) if self.agent else ()
