"""How large an agent tree may grow. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`agents`: forked in one run. `depth`: the root stands at 0. `subagents`: of one agent that decides by itself."""

    agents: int = 20
    depth: int = 3
    subagents: int = 4

    def refusal(self, *, agents: int, depth: int, subagents: int) -> str:
        """Why there may not be one more agent at this depth beside so many others; empty if there may."""
        if agents >= self.agents:
            return f"This run has {agents} agents already, the most that it may have. Do the rest without another one."
        if depth > self.depth:
            return f"Agents may be nested {self.depth} deep, and this would be {depth}. Do the task here instead."
        if subagents >= self.subagents:
            return f"This agent has {subagents} subagents already, the most that it may have. Do the rest by itself."
        return ""
