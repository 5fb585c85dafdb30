"""What people are shown of a run's texts: screened while they grow, with what this run's people may see taken into
account, and what is told of it.

A value that the person typed in this conversation stays. An e-mail address, a telephone number or the address of a
machine stays as well if the run has read it for this person, or works with it. Cards, accounts, social security numbers
and secrets that were only read do not.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from agents.engine.states import StepKind
from agents.guardrails.judging import Verdict
from agents.guardrails.registry import scanners_for
from agents.guardrails.reporting import Act, FindingSummary, lines_of
from agents.guardrails.scanner import Finding, Place
from agents.guardrails.streaming import Anew, Hit, Screen, TimeLimit
from hyperagent.lib.text import GrowingText, clean_text, json_text

if TYPE_CHECKING:
    # A run's context screens what it shows.
    from agents.runtime.driven import DrivenRun

WITHHELD: Final = (
    "This answer was withheld: it looked toxic or harmful. Put the question differently, or ask an administrator: they "
    "find it under Guardrails › Verdicts and can mark it as wrong."
)
WITHHELD_LATE: Final = (
    "This answer was withheld: it could not be looked at in time, and here such answers are not shown "
    "(GUARDRAILS_STRICT). Ask again in a moment."
)
WITHHELD_THOUGHT: Final = "(withheld)"
ANSWER: Final = "answer"
KNOWN_WHERE_READ: Final = frozenset({"email", "phone", "ip"})
READ_NOTES: Final = frozenset({"recalled", "own documents"})
"""The notes that hold what was read for the person."""
_WRITTEN_BETWEEN: Final = re.compile(r"[\s()./+\-\u2010-\u2013]+")
_LAST_DIGITS: Final = 8


class Known:
    """The values that may stand in this run's texts. Both texts are put together only once a value was found."""

    def __init__(self, run: "DrivenRun") -> None:
        self._run = run

    def allows(self, finding: Finding, value: str) -> bool:
        if _stands_in(finding.kind, value, self._typed):
            return True
        return finding.kind in KNOWN_WHERE_READ and _stands_in(finding.kind, value, self._read)

    @cached_property
    def _typed(self) -> "_Text":
        return _Text("\n".join(_typed_in(self._run)))

    @cached_property
    def _read(self) -> "_Text":
        return _Text("\n".join(_read_by(self._run)))


@dataclass(frozen=True)
class _Text:
    as_it_is: str

    @cached_property
    def folded(self) -> str:
        return self.as_it_is.lower()

    @cached_property
    def together(self) -> str:
        """Without what stands between the groups of a number."""
        return _WRITTEN_BETWEEN.sub("", self.folded)


def _stands_in(kind: str, value: str, text: _Text) -> bool:
    if kind in ("email", "ip"):
        return value.lower() in text.folded
    if kind == "secret":
        return value in text.as_it_is
    compact = _WRITTEN_BETWEEN.sub("", value).lower()
    if kind == "phone":
        # Written for people at home or abroad, it ends the same.
        compact = compact[-_LAST_DIGITS:]
    return compact in text.together


def _typed_in(run: "DrivenRun") -> Iterator[str]:
    """What people wrote in this conversation, to this run and to its agents."""
    yield str(run.turn.get("question", ""))
    for said in run.turn.get("history", ()):
        if said.get("role") == "user":
            yield str(said.get("content", ""))
    for intervention in run.loaded.interventions.values():
        yield intervention.text
    for agent in run.loaded.agents.values():
        yield from (agent.user_comment, agent.user_content)
    for answer in run.loaded.answers.values():
        yield json_text(answer)


def _read_by(run: "DrivenRun") -> Iterator[str]:
    """What tools gave and were given, what is remembered of the person, and the values that the run's own code works
    with: it must be able to say to whom it did not write."""
    for steps in run.loaded.steps.values():
        for step in steps.values():
            if step.kind is StepKind.TOOL:
                yield json_text([step.request, step.response])
            elif step.kind is StepKind.MODEL and isinstance(step.response, dict) and "value" in step.response:
                yield json_text(step.response["value"])
            elif step.kind is StepKind.NOTE and step.name in READ_NOTES:
                yield json_text(step.response)


@dataclass(frozen=True, slots=True)
class Screened:
    """A text as it may be shown, and what is to be told of it. As JSON it is a part of a recorded step."""

    text: str
    lines: tuple[FindingSummary, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "lines": [line.as_json() for line in self.lines]}

    @classmethod
    def from_json(cls, noted: Mapping[str, Any]) -> Self:
        return cls(noted["text"], tuple(FindingSummary.from_json(line) for line in noted["lines"]))


class Watch:
    """The texts of one reply while they grow, each with a screen of its own; none where output is not looked at."""

    def __init__(self, run: "DrivenRun") -> None:
        self._run = run
        self._looks = run.settings.guards.looks_at(Place.OUTPUT)
        self.begin_again()

    def begin_again(self) -> None:
        """What came until now is worth nothing: the stream starts anew."""
        self._known = Known(self._run)
        self._screens: dict[str, Screen] = {}
        self._came: dict[str, GrowingText] = {}

    def feed(self, channel: str, delta: str) -> str | Anew:
        """What may be shown now. Nothing is lost: what is held back comes with what follows, or at the end."""
        if not self._looks:
            return delta
        screen = self._screens.get(channel)
        if screen is None:
            screen = self._screens[channel] = screen_of(self._run, self._known, channel)
            self._came[channel] = GrowingText()
        delta = clean_text(delta)
        self._came[channel].append(delta)
        return screen.feed(delta)

    def finish(self, channel: str, whole: str | None) -> tuple[str | None, str | Anew]:
        """`whole`: the text as the provider gave it at the end. Gives it as it may be kept, and what of it is still to
        be shown."""
        if not self._looks or not whole:
            return whole, ""
        streamed = self._screens.get(channel)
        rest = "" if streamed is None else streamed.finish()
        if streamed is not None and str(self._came[channel]) == whole:
            return streamed.text, rest
        # What was streamed is not what came in the end, or nothing was streamed.
        screen = screen_of(self._run, self._known, channel)
        screen.feed(whole)
        screen.finish()
        if streamed is None or not (_has_found(screen) or _has_found(streamed)):
            self._screens[channel] = streamed or screen
            return screen.text, rest
        self._screens[channel] = screen
        return screen.text, Anew(screen.text)

    @property
    def lines(self) -> tuple[FindingSummary, ...]:
        return tuple(line for screen in self._screens.values() for line in lines_of_screen(screen, self._run))


def _has_found(screen: Screen) -> bool:
    return bool(screen.hits or screen.late)


def screen_of(run: "DrivenRun", known: Known, channel: str = ANSWER) -> Screen:
    guards = run.settings.guards
    too_late = WITHHELD_LATE if channel == ANSWER else WITHHELD_THOUGHT
    return Screen(
        scanners_for(Place.OUTPUT),
        redacted=frozenset(guards.redacted),
        takes_away=guards.action == "block",
        withheld=WITHHELD if channel == ANSWER else WITHHELD_THOUGHT,
        allowed=known.allows,
        limit=TimeLimit(guards.timeout_ms, too_late if guards.strict else ""),
    )


def screened(run: "DrivenRun", text: str) -> Screened:
    """A text that comes whole."""
    if not run.settings.guards.looks_at(Place.OUTPUT):
        return Screened(text)
    screen = screen_of(run, Known(run))
    screen.feed(text)
    screen.finish()
    return Screened(screen.text, lines_of_screen(screen, run))


def lines_of_screen(screen: Screen, run: "DrivenRun") -> tuple[FindingSummary, ...]:
    """One for each scanner and kind, and for each scanner that had no time for a part of the text."""
    action = run.settings.guards.action
    values = [hit for hit in screen.hits.values() if hit.finding.replacement]
    others = [hit for hit in screen.hits.values() if not hit.finding.replacement]
    redacting = Act.REDACT if action == "block" else Act(action)
    late = Verdict(Place.OUTPUT, action="block" if run.settings.guards.strict else "log", late=tuple(screen.late))
    return (*_lines(values, action, act=redacting), *_lines(others, action, act=None), *lines_of(late))


def _lines(hits: Sequence[Hit], action: Any, *, act: Act | None) -> Iterator[FindingSummary]:
    for hit in hits:
        verdict = Verdict(Place.OUTPUT, (hit.finding,), action, of=(0,))
        for line in lines_of(verdict, (hit.text,), action=act):
            yield replace(line, count=hit.count)
