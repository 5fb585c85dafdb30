"""What may be shown of a text while it is written: no value is let through in two halves, however the text is cut.

A text is taken apart by what it is, never by how it came: into runs of letters, digits and signs, and what stands
between them. A run is shown once it is over, since only then it is known to be no value; numbers and keys that are
written in groups are one run. So a text that comes in pieces ends the same as one that comes whole. Pure: no run, and
no clock but that of its limit. It learns nothing of a text's value but what the scanners say.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from agents.guardrails.grouping import (
    LONGEST,
    PARTS,
    PIECES,
    end_of_value,
    goes_on,
    longest_of,
    may_be_a_value,
    may_go_on,
)
from agents.guardrails.scanner import Certainty, Finding, Scanner, Subject

Allowed = Callable[[Finding, str], bool]
"""Whether a value may stay: the finding, and what was found."""

_ASKED: Final = Subject()
PIECES_KEPT: Final = 64
EARLY_CHARS: Final = 24
_EARLY: Final = re.compile(r"[#*>_`\"'(\[-]{0,4}[^\W\d_]{0,24}")
LIMIT_CHARS: Final = 10_000
AROUND_VALUES: Final = 96
AROUND_PHRASES: Final = 960
_EDGES: Final = "*_`\"'()[]{}<>.,:;!?|#~-–/\\“”„‘’«»…"
_END_OF_PHRASE: Final = re.compile(r"[.!?;:\n]")


@dataclass(frozen=True, slots=True)
class Anew:
    """What was shown of the text is no longer true: in its place this is."""

    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """The first finding of its kind, with the text around it that it counts in; and how many there were."""

    finding: Finding
    text: str
    count: int = 1


@dataclass(slots=True)
class TimeLimit:
    """How long the scanners may take for one text, all their looks at it together: `ms` for each LIMIT_CHARS characters
    of it that were begun. So an answer may be long, and one that costs too much does not do so for ever.

    `withheld`: what stands in the place of a text that there was no time to look at; empty where it is let through.
    """

    ms: float
    withheld: str = ""
    clock: Callable[[], float] = time.perf_counter
    spent_s: float = 0.0

    def is_over(self, chars: int) -> bool:
        """`chars`: how many came until now."""
        return self.spent_s * 1000 > self.ms * (1 + chars // LIMIT_CHARS)

    def scan(self, scanner: Scanner, text: str) -> Sequence[Finding]:
        """A scanner is never interrupted: each is linear in its text, and gets little of it at a time."""
        began = self.clock()
        found = scanner.scan(text, _ASKED)
        self.spent_s += self.clock() - began
        return found


class Screen:
    """One text, as it grows. `feed` and `finish` give what may be shown on top of what was."""

    __slots__ = (
        "_allowed",
        "_around",
        "_begins",
        "_came",
        "_early",
        "_gap",
        "_has_begun",
        "_held",
        "_in_value",
        "_is_plain",
        "_limit",
        "_out",
        "_passages",
        "_redacted",
        "_run",
        "_shown",
        "_takes_away",
        "_values",
        "_waiting",
        "_withheld",
        "hits",
        "is_withheld",
        "late",
    )

    def __init__(
        self,
        scanners: Sequence[Scanner],
        *,
        redacted: Collection[str],
        takes_away: bool,
        withheld: str,
        allowed: Allowed = lambda finding, value: False,
        limit: TimeLimit | None = None,
    ) -> None:
        """`redacted`: kinds of values. `takes_away`: whether anything is, or is only counted. `withheld`: what stands
        in the place of a text that may not be shown at all. `limit`: this text's own; None for as long as it takes."""
        self._values = [one for one in scanners if not one.begins]
        self._begins = _by_word(tuple(scanners))
        self._redacted = redacted
        self._takes_away = takes_away
        self._withheld = withheld
        self._allowed = allowed
        self._limit = limit
        self._came = 0
        self._around = ""
        """The end of what was looked at, as it came."""
        self._run = ""
        self._gap = ""
        self._has_begun = False
        self._early = 0
        """How much of the run was shown before it was over: of the first word only."""
        self._in_value = False
        """The run is too long a value: it was replaced, and what still comes of it is dropped."""
        self._waiting: list[Scanner] = []
        self._held: list[tuple[str, str]] = []
        """What is not shown yet: as it came, and as it may be shown."""
        self._passages: list[Scanner] = []
        """Those that weigh the words of a whole passage, and have found one: asked again at the end."""
        self._is_plain = True
        self._out: list[str] = []
        self._shown: list[str] = []
        self.hits: dict[tuple[str, str, Certainty], Hit] = {}
        self.is_withheld = False
        self.late: dict[str, None] = {}
        """The scanners that were not asked about a part of it, since the time was up."""

    @property
    def text(self) -> str:
        """All that may be shown until now."""
        return "".join(self._shown)

    def feed(self, delta: str) -> str | Anew:
        """`delta`: what came, and nothing of it is lost: what is held back comes with a later one."""
        self._came += len(delta)
        if self._is_plain and delta.isascii():
            text = self._run + delta
            if len(text) <= LONGEST and text.replace(" ", "").isalpha():
                *over, run = text.split(" ")
                if not over:
                    self._run = run
                    return "" if self._has_begun else self._beginning()
                if all(over) and self._begins.keys().isdisjoint(map(str.lower, over)):
                    shown = text[self._early : len(text) - len(run)]
                    self._around = (self._around + text[: len(text) - len(run)])[-AROUND_PHRASES:]
                    self._run, self._early, self._has_begun = run, 0, True
                    self._show(shown)
                    return shown
        return self._take(delta)

    def finish(self) -> str | Anew:
        """The text is over: what was held back comes now."""
        if self.is_withheld:
            return ""
        self._close()
        if self._gap:
            self._emit(self._gap, self._gap)
            self._gap = ""
        self._settle(over=True)
        if self._passages:
            self._waiting = [*self._passages]
            self._settle(over=True)
        return self._given()

    # --- taking apart

    def _take(self, delta: str) -> str | Anew:
        if self.is_withheld:
            return ""
        for piece in PIECES.findall(delta):
            if PARTS.match(piece):
                self._part(piece)
            else:
                self._extend(piece)
        given = self._given()
        is_open = self._gap or self._waiting or self._in_value or self.is_withheld
        self._is_plain = not is_open and (not self._run or self._run.isalpha())
        if not self._has_begun and type(given) is str:
            self._has_begun = not given.isspace() and given != ""
            return given if self._has_begun else given + self._beginning()
        return given

    def _given(self) -> str | Anew:
        """What is new; all of it anew, if what was shown early turned out to be wrong."""
        if self.is_withheld:
            self._shown = [self._withheld]
            return Anew(self._withheld)
        text = "".join(self._out)
        self._out.clear()
        if text:
            self._show(text)
        if self._early < 0:
            self._early = 0
            return Anew(self.text)
        return text

    def _show(self, text: str) -> None:
        """Each small piece has fifty bytes of string around it, and many answers grow at once."""
        if len(self._shown) >= PIECES_KEPT:
            self._shown[:] = ["".join(self._shown)]
        self._shown.append(text)

    def _beginning(self) -> str:
        """Of the very first word what has come is shown at once: nobody waits for its end."""
        run = self._run
        if self._held or len(run) > EARLY_CHARS or not run[-1:].isalpha() or not _EARLY.fullmatch(run):
            return ""
        self._early = len(run)
        self._has_begun = True
        self._shown.append(run)
        return run

    def _part(self, piece: str) -> None:
        """Something that stands between runs."""
        if self._in_value:
            self._in_value = False
        if self._run and may_go_on(self._run, self._gap + piece):
            self._gap += piece
            return
        self._close()
        piece, self._gap = self._gap + piece, ""
        self._emit(piece, piece)
        self._settle(over="\n" in piece)

    def _extend(self, piece: str) -> None:
        if self._in_value:
            piece = piece[end_of_value(piece) :]
            self._in_value = not piece
        if self._gap:
            if goes_on(self._run, piece):
                self._run += self._gap
            else:
                self._close()
                self._emit(self._gap, self._gap)
            self._gap = ""
        while piece:
            longest = longest_of(self._run + piece[0])
            room = max(0, longest - len(self._run))
            self._run, piece = self._run + piece[:room], piece[room:]
            if piece and not (room and longest_of(self._run) > longest):
                piece = self._cut() + piece
                if self._in_value:
                    self._extend(piece)
                    return

    # --- looking

    def _close(self) -> None:
        """The run is over: what it is can be known now."""
        run, self._run = self._run, ""
        if not run:
            return
        screened = self._screened(run) if may_be_a_value(run) else run
        word = run.lower()
        scanners = self._begins.get(word) or self._begins.get(word.strip(_EDGES))
        if scanners:
            self._waiting += [one for one in scanners if one not in self._waiting]
            self._passages += [one for one in scanners if one.pending is None and one not in self._passages]
        self._emit(run, screened)
        if self._waiting:
            self._settle(over=bool(_END_OF_PHRASE.search(run)))

    def _screened(self, run: str, *, upto: int | None = None) -> str:
        """The run, or its first `upto` characters, without its values."""
        around = self._before()[-AROUND_VALUES:]
        kept, at = "", 0
        for finding in self._found(around, run):
            start, end = max(0, finding.start - len(around)), finding.end - len(around)
            if start < at or (upto is not None and end > upto):
                continue
            self._count(finding, around + run)
            if self._takes_away:
                kept += run[at:start] + finding.replacement
                at = end
        return kept + run[at:upto]

    def _found(self, around: str, run: str) -> list[Finding]:
        """The values in the run that are not to be shown, in order, none within another."""
        text = around + run
        found = [
            finding
            for scanner in self._values
            for finding in self._scan(scanner, text)
            if finding.end > len(around) and finding.kind in self._redacted and finding.replacement
        ]
        chosen: list[Finding] = []
        for one in sorted(found, key=lambda one: (one.start, -one.end)):
            apart = not chosen or one.start >= chosen[-1].end
            if apart and one.start >= len(around) and not self._allowed(one, text[one.start : one.end]):
                chosen.append(one)
        return chosen

    def _scan(self, scanner: Scanner, text: str) -> Sequence[Finding]:
        """What it finds; nothing where the time is up, which is kept, and withholds the text where that is wanted."""
        limit = self._limit
        if limit is None:
            return scanner.scan(text, _ASKED)
        if not limit.is_over(self._came):
            return limit.scan(scanner, text)
        self.late[scanner.name] = None
        if limit.withheld and not self.is_withheld:
            self.is_withheld, self._withheld = True, limit.withheld
        return ()

    def _cut(self) -> str:
        """Settles the first half of a run that is too long to wait for. Gives back what is looked at again."""
        run, self._run = self._run, ""
        at = len(run) // 2
        around = self._before()[-AROUND_VALUES:]
        for finding in self._found(around, run):
            start, end = finding.start - len(around), finding.end - len(around)
            if start < at < end:
                if end == len(run) and start > 0:
                    at = start
                else:
                    at = end
                    self._in_value = end == len(run) and self._takes_away
        self._emit(run[:at], self._screened(run, upto=at))
        return run[at:]

    # --- phrases

    def _settle(self, *, over: bool) -> None:
        """Where a phrase may have begun, nothing more is shown until it is known whether it goes on."""
        if not self._waiting:
            return
        raw = "".join(piece for piece, _ in self._held)
        settled = len(self._held) if over else self._settled_of(raw)
        if self._held and settled == 0:
            return
        kept = self._held[settled:]
        ends = len(self._around) + sum(len(piece) for piece, _ in self._held[:settled])
        text = self._around + raw
        for scanner in self._waiting:
            # A phrase is short; what counts words of a whole passage is told by having nothing to wait for.
            left = max(0, len(self._around) - AROUND_VALUES) if scanner.pending else 0
            for finding in self._scan(scanner, text[left:]):
                is_new = _key(finding) not in self.hits
                if len(self._around) < finding.end + left <= ends if scanner.pending else is_new:
                    self._count(finding, text[left:])
                    if finding.certainty is Certainty.CERTAIN and self._takes_away:
                        self.is_withheld = True
        self._out += [shown for _, shown in self._held[:settled]]
        self._around = text[:ends][-AROUND_PHRASES:]
        self._held = kept
        if not kept:
            self._waiting.clear()

    def _settled_of(self, raw: str) -> int:
        """How many of the held pieces stand before every phrase that may still go on."""
        found = (one.pending.search(raw) for one in self._waiting if one.pending)
        begun = min((hit.start() for hit in found if hit), default=len(raw))
        count, end = 0, 0
        for piece, _ in self._held:
            end += len(piece)
            if end > begun:
                break
            count += 1
        return count

    def _emit(self, raw: str, shown: str) -> None:
        if self._early > 0:
            # Of what was shown of the first word the rest is added, or it is taken back.
            if shown.startswith(raw[: self._early]):
                shown = shown[self._early :]
                self._early = 0
            else:
                self._shown.pop()
                self._early = -1
        if self._waiting:
            self._held.append((raw, shown))
        else:
            self._out.append(shown)
            self._around = (self._around + raw)[-AROUND_PHRASES:]

    def _before(self) -> str:
        return self._around + "".join(raw for raw, _ in self._held)

    def _count(self, finding: Finding, text: str) -> None:
        known = self.hits.get(_key(finding))
        self.hits[_key(finding)] = (
            Hit(finding, text) if known is None else Hit(known.finding, known.text, known.count + 1)
        )


def _key(finding: Finding) -> tuple[str, str, Certainty]:
    return finding.scanner, finding.kind, finding.certainty


@cache
def _by_word(scanners: tuple[Scanner, ...]) -> Mapping[str, Sequence[Scanner]]:
    """Of each word those that are asked after it."""
    found: dict[str, list[Scanner]] = {}
    for scanner in scanners:
        for word in scanner.begins:
            found.setdefault(word, []).append(scanner)
    return found
