"""The working memory that agents of a run share: its fields, what is kept of it, and how it is read. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, Final, TypedDict

from agents.engine.events import Source
from agents.pipeline.citations import number, renumber
from hyperagent.lib.clipping import at_a_boundary

TOTAL_CHARS: Final = 8_000
MINIMUM_CHARS: Final = 200
# A list's item that has no room as it is keeps its short values only.
SHORT_CHARS: Final = 80

_BACKTICKS = re.compile(r"`{3,}")


class SharedAgentMemory(TypedDict, total=False):
    """What a board has, and whether it is a text or a list. It is handed around as a plain mapping, since it is stored
    as JSON."""

    research_findings: str
    research_sources: list[dict[str, Any]]
    generated_code: str
    code_language: str
    execution_results: str
    writing_outline: str
    writing_draft: str
    data_analysis_plan: str
    data_visualizations: list[dict[str, Any]]
    additional_context: str


@dataclass(frozen=True, slots=True)
class Field:
    """`grows`: what comes later is added to what is there; else it takes its place. `cites`: numbers in its text name
    sources."""

    name: str
    priority: int
    title: str
    grows: bool = False
    cites: bool = False

    @property
    def is_list(self) -> bool:
        return SharedAgentMemory.__annotations__[self.name] is not str


FIELDS: Final = (
    Field("research_findings", 3, "Research findings", grows=True, cites=True),
    Field("research_sources", 2, "Research sources", grows=True),
    Field("generated_code", 3, "Code"),
    Field("code_language", 1, "Language of the code"),
    Field("execution_results", 2, "What running the code gave"),
    Field("writing_outline", 2, "Outline", cites=True),
    Field("writing_draft", 3, "Draft", cites=True),
    Field("data_analysis_plan", 2, "Plan of the analysis"),
    Field("data_visualizations", 1, "Charts", grows=True),
    Field("additional_context", 2, "More context", grows=True),
)
PRIORITIES: Final[Mapping[str, int]] = {field.name: field.priority for field in FIELDS}
_GROWING: Final = frozenset(field.name for field in FIELDS if field.grows)
_CITING: Final = frozenset(field.name for field in FIELDS if field.cites)
_REST = "additional_context"
_PARAGRAPH: Final = "\n\n"


def merge(board: Mapping[str, Any], additions: Mapping[str, Any]) -> dict[str, Any]:
    """The board with what an agent adds. What the board has no field for is kept in words, as more context."""
    merged = {field.name: board[field.name] for field in FIELDS if board.get(field.name)}
    rest = [f"{name}: {_as_text(value)}" for name, value in sorted(additions.items()) if name not in PRIORITIES]
    context = [_as_text(additions[_REST])] if additions.get(_REST) else []
    known = {**additions, _REST: "\n".join([*context, *rest])}
    for field in FIELDS:
        if known.get(field.name):
            merged[field.name] = _joined(field, merged.get(field.name), known[field.name])
    return merged


@dataclass(frozen=True, slots=True)
class Board:
    """A board as it goes from agent to agent. `writes`: how often each field that does not grow was written, one agent
    after the other; so that of two boards it can be told which one has the newer text. `results`: what agents said
    whose words stand in no field, by who it is, the newest first. `sources`: those that numbers in its texts name.
    """

    fields: Mapping[str, Any]
    writes: Mapping[str, int]
    results: tuple[tuple[str, str], ...] = ()
    sources: tuple[Source, ...] = ()

    def added(
        self, additions: Mapping[str, Any], *, results: tuple[tuple[str, str], ...] = (), sources: Sequence[Source] = ()
    ) -> "Board":
        """With what an agent adds that was handed it; numbers in its texts name `sources`, if there are any."""
        new = Board(additions, {}, results, tuple(sources))._by_numbers_of(self)
        written = [field.name for field in FIELDS if not field.grows and additions.get(field.name)]
        writes = {**self.writes, **{name: self.writes.get(name, 0) + 1 for name in written}}
        fields = merge(self.fields, new.fields)
        return Board(fields, writes, (*new.results, *self.results), new.sources).within_budget()

    def beside(self, other: "Board") -> "Board":
        """With another agent's of the same run, who may have been handed a part of the same. Where both were written as
        often, the other's text counts."""
        other = other._by_numbers_of(self)
        merged = merge(self.fields, {name: other.fields[name] for name in other.fields if self._gains(other, name)})
        names = self.writes.keys() | other.writes.keys()
        writes = {name: max(self.writes.get(name, 0), other.writes.get(name, 0)) for name in sorted(names)}
        return Board(merged, writes, _newest_first(self.results, other.results), other.sources)

    def within_budget(self) -> "Board":
        return replace(self, fields=within_budget(self.fields), results=_first_texts(self.results, TOTAL_CHARS))

    def told(self) -> dict[str, Any]:
        """What an agent reads of it, within the budget: its fields, with the results as more context."""
        said = [f"{who}: {text}" for who, text in self.results]
        context = _PARAGRAPH.join(filter(None, [*said, self.fields.get(_REST)]))
        return within_budget({**self.fields, _REST: context})

    def by_its_numbers(self, text: str, sources: Sequence[Source]) -> str:
        """A text whose numbers name these `sources`, by the numbers that they have here."""
        return renumber(text, number([self.sources, sources]).mappings[1]) if sources else text

    def unnumbered(self) -> "Board":
        """Without any numbers of sources."""
        return self._renumbered({})

    def _by_numbers_of(self, board: "Board") -> "Board":
        """By the numbers of another board. Its sources come first, for they have theirs already."""
        numbered = number([board.sources, self.sources])
        texts = self._renumbered(numbered.mappings[1]) if self.sources else self
        return replace(texts, sources=numbered.sources)

    def _renumbered(self, numbers: Mapping[int, int]) -> "Board":
        texts = {name: text for name, text in self.fields.items() if name in _CITING and isinstance(text, str)}
        renamed = {name: renumber(text, numbers) for name, text in texts.items()}
        results = tuple((who, renumber(text, numbers)) for who, text in self.results)
        return replace(self, fields={**self.fields, **renamed}, results=results)

    def _gains(self, other: "Board", name: str) -> bool:
        if name in _GROWING or name not in self.fields:
            return True
        return other.writes.get(name, 0) >= self.writes.get(name, 0)


def within_budget(board: Mapping[str, Any], total: int = TOTAL_CHARS, minimum: int = MINIMUM_CHARS) -> dict[str, Any]:
    """The board cut to `total` characters, lists counted as JSON. Where all of it fits nothing is touched."""
    filled = [field for field in FIELDS if board.get(field.name)]
    needs = {field.name: _size(board[field.name]) for field in filled}
    room = allot(needs, total=total, minimum=minimum)
    cut = {
        field.name: _first_items(board[field.name], room[field.name])
        if field.is_list
        else at_a_boundary(board[field.name], room[field.name])
        for field in filled
    }
    return {name: value for name, value in cut.items() if value}


def allot(needs: Mapping[str, int], *, total: int, minimum: int) -> dict[str, int]:
    """How many characters each field gets, never more than it needs.

    First each gets its minimum, the most important first. The rest is shared in proportion to the priorities, and
    what one does not need goes to the others.
    """
    order = sorted(needs, key=lambda name: -PRIORITIES[name])
    given = dict.fromkeys(needs, 0)
    left = total
    for name in order:
        given[name] = min(needs[name], minimum, left)
        left -= given[name]
    while left > 0:
        wanting = [name for name in order if given[name] < needs[name]]
        weight = sum(PRIORITIES[name] for name in wanting)
        shares = {name: min(needs[name] - given[name], left * PRIORITIES[name] // weight) for name in wanting}
        if not any(shares.values()):
            shares = {name: min(needs[name] - given[name], left) for name in wanting[:1]}
        if not shares:
            break
        for name, share in shares.items():
            given[name] += share
            left -= share
    return given


def render(board: Mapping[str, Any]) -> str:
    """The board for a prompt, its fields always in the same order; empty if nothing is on it."""
    sections = []
    for field in FIELDS:
        value = board.get(field.name)
        if not value or field.name == "code_language":
            continue
        if field.is_list:
            text = "\n".join(f"- {_as_text(item)}" for item in value)
        elif field.name == "generated_code":
            text = _fenced(value, board.get("code_language", ""))
        else:
            text = value
        sections.append(f"### {field.title}\n{text}")
    if board.get("code_language") and not board.get("generated_code"):
        sections.append(f"### Language of the code\n{board['code_language']}")
    return "\n\n".join(sections)


def _joined(field: Field, old: Any, new: Any) -> Any:
    if field.is_list:
        before = list(old or ())
        found = list(new) if isinstance(new, list | tuple) else [new]
        seen = {_as_text(item) for item in before}
        fresh = {_as_text(item): item for item in found if _as_text(item) not in seen}
        return [*before, *fresh.values()]
    text = _as_text(new)
    if not field.grows or not old or old in text:
        return text
    if text in old:
        return old
    # Both may have grown from the same beginning.
    known = old.split(_PARAGRAPH)
    return _PARAGRAPH.join([old, *(one for one in text.split(_PARAGRAPH) if one not in known)])


def _newest_first(*boards: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """All of their results, each once: what is the newest in one of them before what is older in another."""
    found: dict[str, str] = {}
    for who, text in filter(None, chain.from_iterable(zip_longest(*boards))):
        found.setdefault(who, text)
    return tuple(found.items())


def _first_texts(results: Sequence[tuple[str, str]], limit: int) -> tuple[tuple[str, str], ...]:
    """As many results as have room, the last of them cut."""
    kept = []
    for who, text in results:
        if limit > 0:
            kept.append((who, at_a_boundary(text, limit)))
            limit -= len(text)
    return tuple(kept)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str) else len(_as_text(value))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _first_items(items: Sequence[Any], limit: int) -> list[Any]:
    """As many items as fit, whole if that is possible, else without their long values."""
    kept: list[Any] = []
    for item in items:
        for form in (item, _shortened(item)):
            if _size([*kept, form]) <= limit:
                kept.append(form)
                break
    return kept


def _shortened(item: Any) -> Any:
    if isinstance(item, str):
        return at_a_boundary(item, SHORT_CHARS)
    if not isinstance(item, Mapping):
        return item
    short = {
        name: at_a_boundary(value, SHORT_CHARS) if isinstance(value, str) else value for name, value in item.items()
    }
    return {name: value for name, value in short.items() if not isinstance(value, Mapping | list | tuple)}


def _fenced(code: str, language: str) -> str:
    """In a fence that nothing within the code can close."""
    longest = max((len(found) for found in _BACKTICKS.findall(code)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"
