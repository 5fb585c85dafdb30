"""From findings to a verdict. Pure, apart from the clock that it is given."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agents.guardrails.registry import scanners_for
from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject
from agents.guardrails.settings import Action, GuardSettings

REFUSED_LATE: Final = frozenset({Place.TOOL})
"""Where a text that could not be scanned in time is not let through (SPEC: the ruling on time)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`action`: the strongest that any finding asks for; None where there is nothing to tell. `late`: the scanners that
    were not asked, since the time was up. `of`: for each finding, which of the texts it is in."""

    place: Place
    findings: tuple[Finding, ...] = ()
    action: Action | None = None
    late: tuple[str, ...] = ()
    of: tuple[int, ...] = ()

    @property
    def refuses(self) -> bool:
        return self.action == "block"


def judge(
    texts: Iterable[tuple[Subject, str]],
    place: Place,
    settings: GuardSettings,
    scanners: Sequence[Scanner] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Verdict:
    """What is to become of these texts of one place. A scanner is never interrupted: each is linear in its text, and
    between two of them the clock is looked at."""
    if not settings.looks_at(place):
        return Verdict(place)
    chosen = scanners_for(place) if scanners is None else scanners
    until = clock() + settings.timeout_ms / 1000
    found: list[Finding] = []
    of: list[int] = []
    late: dict[str, None] = {}
    given = list(texts)
    for scanner in chosen:
        for number, (subject, text) in enumerate(given):
            if clock() > until:
                late[scanner.name] = None
            else:
                findings = scanner.scan(text, subject)
                found += findings
                of += [number] * len(findings)
    action = _action(found, late=bool(late), place=place, settings=settings)
    return Verdict(place, tuple(found), action, tuple(late), tuple(of))


def _action(found: Sequence[Finding], *, late: bool, place: Place, settings: GuardSettings) -> Action | None:
    if late and (settings.strict or place in REFUSED_LATE):
        return "block"
    if any(one.certainty is Certainty.CERTAIN for one in found):
        return settings.action
    if found:
        return "log" if settings.action == "log" else "warn"
    return "log" if late else None
