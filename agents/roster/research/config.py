"""How a piece of research is to be done: depth, kind and subquestions, chosen by whoever asked or by a model. Pure."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from agents.craft.exchange import Options
from agents.roster.research.scenarios import DEPTHS, SCENARIOS, Depth, Scenario


class Subquestion(BaseModel):
    question: str = Field(min_length=1, description="complete in itself: who answers it knows nothing else")
    agent: Literal["web", "rag"] = Field(default="web", description="rag: in the person's own documents")


class Proposal(BaseModel):
    """How to go about it."""

    depth: Literal["quick", "standard", "deep"] = "standard"
    scenario: Literal["academic", "market", "technical", "news"] = "technical"
    focus: str = Field(default="", description="what exactly is to be found out, in one or two sentences")
    subquestions: list[Subquestion] = Field(default=[], description="0 to 4 that do not need each other's answers")
    handoff_to: Literal["none", "code", "data", "rag", "web"] = Field(
        default="none", description="none, as a rule: another only if the task needs no research at all"
    )


@dataclass(frozen=True, slots=True)
class Config:
    depth_name: str
    scenario_name: str
    focus: str = ""
    subquestions: tuple[Subquestion, ...] = ()

    @property
    def depth(self) -> Depth:
        return DEPTHS[self.depth_name]

    @property
    def scenario(self) -> Scenario:
        return SCENARIOS[self.scenario_name]


def config_of(options: Options, proposal: Proposal, *, lacking: dict[str, str]) -> Config:
    """What whoever asked chose goes before the proposal. `lacking`: why web or documents cannot be searched, by name;
    a subquestion goes to the agent that can work."""
    depth = options.depth if options.depth in DEPTHS else proposal.depth
    scenario = options.scenario if options.scenario in SCENARIOS else proposal.scenario
    able = [name for name, provider in (("web", "web"), ("rag", "documents")) if not lacking.get(provider)]
    asked = {one.question.strip(): one for one in proposal.subquestions} if able else {}
    sent = [one if one.agent in able else one.model_copy(update={"agent": able[0]}) for one in asked.values()]
    return Config(depth, scenario, proposal.focus, tuple(sent[: DEPTHS[depth].subquestions]))
