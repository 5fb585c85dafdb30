"""What a search and its subquestions found, as one text with one numbering of sources. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from agents.craft.briefing import quoted
from agents.craft.exchange import AgentOutput, HandoffInfo
from agents.craft.loop_state import Called, Looped
from agents.craft.passages import Passage, sources_of, told
from agents.engine.events import Source
from agents.pipeline.citations import number, renumber
from agents.roster.research.config import Subquestion
from agents.tools.catalogue.web_tools import source_of
from agents.tools.values import FetchedPage, SearchPage

PASSAGE_CHARS: Final = 3_000
ALL_PASSAGES_CHARS: Final = 40_000
EXCERPT_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of a subquestion; without `output` it came to nothing, and `trouble` says why."""

    question: Subquestion
    output: AgentOutput | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """`notes`: what the search loop says of what it read. `trouble`: why there was no search. `failed`: its tools did
    nothing but fail. `handoff`: it found that another agent is needed."""

    notes: str = ""
    passages: tuple[Passage, ...] = ()
    answered: tuple[Answered, ...] = ()
    trouble: str = ""
    failed: bool = False
    handoff: HandoffInfo | None = None

    @property
    def all_passages(self) -> list[Passage]:
        return [*self.passages, *[passage for one in self.answered for passage in _passages_of(one)]]

    @property
    def sources(self) -> tuple[Source, ...]:
        return sources_of(self.all_passages)

    def told(self) -> str:
        """For a prompt."""
        groups = [[passage.source for passage in self.passages]]
        groups += [[passage.source for passage in _passages_of(one)] for one in self.answered]
        _, *mappings = number(groups).mappings
        parts = [f"## There was no search\n{self.trouble}"] if self.trouble else []
        parts += [f"## Notes of the search\n{self.notes}"] if self.notes else []
        parts += [_section(one, mapping) for one, mapping in zip(self.answered, mappings, strict=True)]
        shown = told(self.all_passages, limit=PASSAGE_CHARS, total=ALL_PASSAGES_CHARS)
        return "\n\n".join([*parts, f"## Sources\n{shown or 'There are none: nothing can be cited.'}"])


def passages_in(looped: Looped) -> tuple[Passage, ...]:
    """What the loop's tools read, page by page, in the order in which it came."""
    return tuple(passage for called in looped.calls for passage in _passages_in(called))


def _passages_in(called: Called) -> list[Passage]:
    if called.reply.is_error:
        return []
    page = _read(SearchPage, called.reply.data)
    if page is not None:
        return [Passage(source_of(result), result.raw_content or result.snippet) for result in page.results]
    fetched = _read(FetchedPage, called.reply.data)
    if fetched is not None:
        title, excerpt = fetched.title or fetched.url, fetched.text[:EXCERPT_CHARS]
        return [Passage(Source(type="web", source=title, url=fetched.url, excerpt=excerpt), fetched.text)]
    return [Passage(source, source.excerpt or "") for source in called.reply.sources]


def _read(kind: type[Any], value: Any) -> Any:
    try:
        found: BaseModel = kind.model_validate(value)
    except ValidationError:
        return None
    return found


def _passages_of(answered: Answered) -> list[Passage]:
    sources: Sequence[Source] = answered.output.metadata.sources if answered.output else ()
    return [Passage(source, source.excerpt or "") for source in sources]


def _section(answered: Answered, mapping: dict[int, int]) -> str:
    head = f"## Subquestion: {answered.question.question}"
    by = f"{answered.question.agent} agent"
    if answered.output is None:
        return f"{head}\nIt was not answered.\n{quoted(by, answered.trouble)}"
    return f"{head}\n{quoted(by, renumber(answered.output.result, mapping))}"
