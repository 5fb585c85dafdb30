"""What the kinds and depths of research ask for. Values only; the prompts are filled with them."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scenario:
    """`search`, `judge`, `report`: what counts while searching, while weighing sources, and in the report."""

    title: str
    search: str
    judge: str
    report: str


@dataclass(frozen=True, slots=True)
class Depth:
    """`rounds` of the search loop, `subquestions` at most, whether findings are weighed, `words` of the report."""

    title: str
    rounds: int
    subquestions: int
    weighs: bool
    words: int


SCENARIOS: Final = {
    "academic": Scenario(
        title="Academic: what is known, and how surely",
        search="Look for reviews, primary studies, theses and standard works; use the technical terms of the field.",
        judge="Peer-reviewed before preprint before press. Sample, method, year, and whether others found the same.",
        report="Background, state of knowledge, methods and evidence, disagreements, open questions.",
    ),
    "market": Scenario(
        title="Market: size, players, trends",
        search="Look for figures with year and region, company reports, official statistics, prices, competitors.",
        judge="Statistics and filings before market reports before vendors' own claims. Who paid for the figure?",
        report="Market and size, players and shares, customers and prices, trends, opportunities and risks; a table.",
    ),
    "technical": Scenario(
        title="Technical: how it works, and what to choose",
        search="Look for official documentation, standards, source repositories, release notes, measured comparisons.",
        judge="Documentation of the current version before blog posts. Version and date of every statement.",
        report="Requirement, options, comparison in a table, limits and known faults, recommendation with reasons.",
    ),
    "news": Scenario(
        title="News: what happened, and what it means",
        search="Look for recent reports of several houses, the original statement or document, and the date of each.",
        judge="First-hand before second-hand. What is confirmed, what is claimed and by whom, what was corrected.",
        report="What happened and when, who says what, background, consequences, what is still unclear.",
    ),
}

DEPTHS: Final = {
    "quick": Depth(title="a quick look", rounds=3, subquestions=0, weighs=False, words=300),
    "standard": Depth(title="a normal investigation", rounds=5, subquestions=3, weighs=True, words=800),
    "deep": Depth(title="a thorough investigation", rounds=8, subquestions=4, weighs=True, words=1_800),
}
