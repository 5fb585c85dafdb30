"""From what a grammar found to findings: what stands close together is summed up, what is only told of counts less."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agents.guardrails.scanner import Certainty, Finding
from agents.guardrails.wording.grammar import Hit
from agents.guardrails.wording.reading import Reading, readings

ENOUGH: Final = 1.0
"""From here on it is suspected."""
_LONGEST_SENTENCE: Final = 300
_ENDS: Final = frozenset(".!?\n。！？")
ABOUT: Final = "about"
"""The family of rules that find talk about such texts: examples, attacks, defences."""
MENTION: Final = "mention"
"""The family of rules that find where a quotation is announced."""
_TOLD_SHARE: Final = 0.4
_QUOTED_WORDS: Final = 20
_HIDDEN: Final = 0.5
_ROUNDING: Final = 1e-9
# So many words around it a rule that speaks against weighs.
_BESIDE: Final = 12
_MOST_AGAINST: Final = 8


@dataclass(frozen=True, slots=True)
class Weigher:
    """`near`: how many words apart findings may stand to be summed up. `certain`: from how much on, with at least two
    families of rules whose core was found. `kinds`: for people, what each family says of a text."""

    scanner: str
    near: int
    certain: float
    kinds: Mapping[str, str]
    most: int = 20
    ordinary: str = ""
    """A family that names a finding only where nothing beside it says more."""
    beside: frozenset[str] = frozenset()
    """Families that say no more than the ordinary one does, unless their core was found."""

    def findings(self, text: str) -> list[Finding]:
        return [one for reading in readings(text) for one in self._of(text, reading)][: self.most]

    def _of(self, text: str, reading: Reading) -> list[Finding]:
        found = []
        view = reading.view
        hits = [hit for hit in reading.hits if hit.rule.scanner == self.scanner]
        for group in self._groups(hits, is_hidden=bool(view.coding)):
            start, end = view.span(group.start, group.end)
            if not view.coding:
                start, end = _sentences(text, start, end)
            certainty = Certainty.CERTAIN if group.is_certain(self.certain) else Certainty.SUSPECTED
            kind = group.kind_but(self.ordinary, self.beside)
            found.append(Finding(self.scanner, kind, start, end, certainty, self.kinds[kind]))
            if len(found) >= self.most:
                break
        return found

    def _groups(self, hits: Sequence[Hit], *, is_hidden: bool) -> Iterator["Group"]:
        """Those that weigh enough; where two of them touch, they are one."""
        recent: dict[str, tuple[Hit, float]] = {}
        open_group: Group | None = None
        for hit, weight, is_about in _weighed(hits, self.near):
            held = recent.get(hit.rule.family)
            if held is None or hit.at - held[0].at > self.near or weight >= held[1]:
                recent[hit.rule.family] = hit, weight
            near = [one for one in recent.values() if hit.at - one[0].at <= self.near]
            total = sum(one[1] for one in near) + (_HIDDEN if is_hidden else 0.0)
            if total < ENOUGH - _ROUNDING:
                continue
            new = Group.of(near, total, is_about=is_about)
            if open_group and open_group.end >= new.start:
                open_group.take(new)
            else:
                if open_group:
                    yield open_group
                open_group = new
        if open_group:
            yield open_group


def _weighed(hits: Sequence[Hit], near: int) -> Iterator[tuple[Hit, float, bool]]:
    """Each that speaks for it with its weight here, and whether the text around is about such texts."""
    about = [hit.at for hit in hits if hit.rule.family == ABOUT]
    mentions = [hit.at for hit in hits if hit.rule.family == MENTION]
    against = [hit for hit in hits if hit.rule.weight < 0]
    against_at = [hit.at for hit in against]
    for hit in hits:
        if (weight := hit.rule.weight) <= 0:
            continue
        is_about = bisect_right(about, hit.at + near) > bisect_left(about, hit.at - near)
        is_mentioned = hit.quoted and bisect_right(mentions, hit.at) > bisect_left(mentions, hit.at - _QUOTED_WORDS)
        if is_mentioned or (is_about and (hit.quoted or hit.reported)):
            weight *= _TOLD_SHARE
        first = bisect_left(against_at, hit.at - _BESIDE)
        last = bisect_right(against_at, hit.at + _BESIDE)
        if first < last:
            weight += min(one.rule.weight for one in against[first : min(last, first + _MOST_AGAINST)])
        if weight > 0:
            yield hit, weight, is_about


@dataclass(slots=True)
class Group:
    start: int
    end: int
    at: int
    total: float
    cores: frozenset[str]
    weights: dict[str, float]
    is_about: bool

    @classmethod
    def of(cls, near: list[tuple[Hit, float]], total: float, *, is_about: bool) -> "Group":
        return cls(
            start=min(one[0].start for one in near),
            end=max(one[0].end for one in near),
            at=max(one[0].at for one in near),
            total=total,
            cores=frozenset(hit.rule.family for hit, _ in near if hit.rule.core and not (hit.quoted or hit.reported)),
            weights={hit.rule.family: weight for hit, weight in near},
            is_about=is_about,
        )

    def take(self, other: "Group") -> None:
        self.start, self.end = min(self.start, other.start), max(self.end, other.end)
        self.at = max(self.at, other.at)
        self.total = max(self.total, other.total)
        self.cores = max(self.cores, other.cores, key=len)
        for family, weight in other.weights.items():
            self.weights[family] = max(weight, self.weights.get(family, 0.0))
        self.is_about |= other.is_about

    def kind_but(self, ordinary: str, beside: frozenset[str]) -> str:
        """The family that weighs most, of equals the first; rather one that says more than the ordinary one."""
        others = [family for family in self.weights if family != ordinary]
        more = [family for family in others if family not in beside or family in self.cores]
        if not more and ordinary in self.weights:
            return ordinary
        return max(more or others, key=lambda family: self.weights[family])

    def is_certain(self, enough: float) -> bool:
        return self.total >= enough and len(self.cores) > 1 and not self.is_about


def _sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole sentences that it stands in; of very long ones a part."""
    first = max(0, start - _LONGEST_SENTENCE)
    while start > first and text[start - 1] not in _ENDS:
        start -= 1
    last = min(len(text), end + _LONGEST_SENTENCE)
    while end < last and text[end - 1] not in _ENDS:
        end += 1
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
