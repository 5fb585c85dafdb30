"""What the screen of answers finds and what it costs: `make bench-redaction`, with BENCH_DATA for the collection.

Each text is cut at random and fed as a stream, and what people would see is held against the spans of the collection.
Prints recall and precision by kind, and microseconds a token: of an ordinary answer, and of one that is full of values.
"""

import argparse
import json
import os
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.guardrails.registry import scanners_for
from agents.guardrails.scanner import Finding, Place
from agents.guardrails.settings import GuardSettings
from agents.guardrails.streaming import Anew, Screen
from benchmarks.figure import Figure, at_least, at_most

KINDS = {
    "credit_card_number": "card",
    "phone_number": "phone",
    "email": "email",
    "iban": "iban",
    "ip_address": "ip",
    "ssn": "ssn",
}
"""The types of the collection that can be known without context, as the screen calls them."""
REPORT = Path("var/bench/redaction.json")
_TOKEN = re.compile(r" ?[^\W\d_]{1,9}|\s+|[0-9]{1,3}|[^\w\s]{1,3}|_")
"""About what the tokens of a model are: words with the blank before them, long ones in parts, digits by three."""

ORDINARY = (
    "The company's revenue rose by 12% to 4.2 billion dollars in 2023, mainly because its cloud business grew faster "
    "than expected [1]. Margins, however, fell from 31.5% to 29.8%, since wages and energy cost more.\n\n"
    "- **Cloud**: 1,840 million, up 23%\n- **Devices**: 960 million, down 4%\n\nIn `Q3` the board approved a buyback "
    "of up to 500 million; see https://investors.acme.io/q3-2023 and section 4.2 of the report.\n\n"
) * 5
FULL = (
    "Contact john.smith@acme.io or +49 30 90182017, card 4916 3385 0608 2832, IBAN DE89 3704 0044 0532 0130 00, server "
    "146.195.170.188, SSN 536-22-8145, or call (07) 5337 1486 between 2019 and 2020. "
) * 6


@dataclass
class Count:
    right: int = 0
    wrong: int = 0
    missed: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)


def screen(taken: list[tuple[str, str]] | None = None) -> Screen:
    """`taken` is told what is taken out."""

    def allowed(finding: Finding, value: str) -> bool:
        if taken is not None:
            taken.append((finding.kind, value))
        return False

    kinds = GuardSettings().redacted
    return Screen(scanners_for(Place.OUTPUT), redacted=kinds, takes_away=True, withheld="", allowed=allowed)


def cut(text: str, chance: random.Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = chance.randint(1, 12)
        yield text[at : at + size]
        at += size


def found_in(text: str, chance: random.Random) -> Counter[tuple[str, str]]:
    """The values that people do not see. That they do not is checked against what they see."""
    taken: list[tuple[str, str]] = []
    one = screen(taken)
    shown = ""
    for piece in cut(text, chance):
        given = one.feed(piece)
        shown = given.text if isinstance(given, Anew) else shown + given
    rest = one.finish()
    shown = rest.text if isinstance(rest, Anew) else shown + rest
    removed = sum(shown.count(f"[{kind} removed]") for kind in GuardSettings().redacted)
    if removed != len(taken):
        raise SystemExit(f"{len(taken)} values were found in {text!r}, and {removed} were taken out.")
    return Counter(taken)


def measured(rows: Sequence[dict[str, object]], seed: int) -> dict[str, Count]:
    chance = random.Random(seed)
    counts = {kind: Count() for kind in KINDS.values()}
    for row in rows:
        text = str(row["text"])
        spans: list[dict[str, str]] = row["spans"]  # type: ignore[assignment]
        wanted = Counter((KINDS[span["type"]], span["value"]) for span in spans if span["type"] in KINDS)
        found = found_in(text, chance)
        for kind, value in wanted | found:
            if kind not in counts:
                continue
            right = min(wanted[kind, value], found[kind, value])
            count = counts[kind]
            count.right += right
            count.missed += wanted[kind, value] - right
            count.wrong += found[kind, value] - right
            if wanted[kind, value] != found[kind, value]:
                count.examples.append(f"{'missed' if wanted[kind, value] else 'wrong'} {value!r}")
    return counts


def costs_us(text: str, rounds: int) -> list[float]:
    """Of each token of the text, the least over the rounds: others use the machine as well."""
    tokens = _TOKEN.findall(text)
    best = [float("inf")] * len(tokens)
    for _ in range(rounds):
        one = screen()
        for number, token in enumerate(tokens):
            began = time.perf_counter()
            one.feed(token)
            best[number] = min(best[number], (time.perf_counter() - began) * 1e6)
    return best


def cost_figures(name: str, text: str, rounds: int) -> list[Figure]:
    costs = costs_us(text, rounds)
    ordered = sorted(costs)
    told = {
        "p50": statistics.median(ordered),
        "mean": statistics.fmean(ordered),
        "p95": ordered[len(ordered) * 95 // 100],
    }
    return [
        Figure(f"{name}, {len(costs)} tokens, {label}", value, "µs/token", at_most(60) if label == "mean" else None)
        for label, value in told.items()
    ]


def quality_figures(counts: dict[str, Count]) -> list[Figure]:
    whole = Count(*(sum(getattr(one, part) for one in counts.values()) for part in ("right", "wrong", "missed")))
    figures = []
    for kind, count in {**counts, "all kinds": whole}.items():
        target = at_least(0.9) if kind == "all kinds" else None
        detail = {"values": count.right + count.missed, "examples": count.examples}
        figures.append(Figure(f"recall, {kind}", count.recall, "", target, detail=detail))
        figures.append(Figure(f"precision, {kind}", count.precision, "", target, detail=detail))
    return figures


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    figures = cost_figures("an ordinary answer", ORDINARY, asked.rounds)
    figures += cost_figures("an answer full of values", FULL, asked.rounds)
    collection = Path(os.environ.get("BENCH_DATA", "/nowhere")) / "security" / "presidio_synthetic_pii" / "data.jsonl"
    if collection.is_file():
        rows = [json.loads(line) for line in collection.read_text().splitlines()]
        figures += quality_figures(measured(rows, asked.seed))
    else:
        print("Set BENCH_DATA to a folder with security/presidio_synthetic_pii to have recall and precision.")
    for figure in figures:
        met = {None: "", True: "reached", False: "MISSED"}[figure.is_met]
        print(f"{figure.name:44} {figure.value:8.2f} {figure.unit:9} {figure.target or ''!s:7} {met}")
        for example in figure.detail.get("examples", ()) if figure.name.startswith("recall") else ():
            print(f"    {example}")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps([figure.as_json() for figure in figures], indent=1))
    return 0 if all(figure.is_met is not False for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
