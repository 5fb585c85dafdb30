"""Runs what is wanted, prints it as tables, and keeps the figures. Measures nothing itself."""

import json
import os
import platform
from collections.abc import Collection as Names
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.report import say
from benchmarks.retrieval.measuring import WAYS, Measured, Score, measure
from benchmarks.retrieval.scoring import hit, ndcg, recall, reciprocal_rank
from benchmarks.retrieval.sets import ABSTRACTS, FILINGS, TURNS, read
from benchmarks.retrieval.speed import timed
from benchmarks.retrieval.vectors import Kept

SCORES: dict[str, Score] = {"nDCG@10": ndcg, "Recall@20": partial(recall, at=20), "MRR@10": reciprocal_rank}


def run(root: Path, vectors: Path, *, wanted: Names[str], chunks: int, out: Path) -> None:
    kept = Kept(vectors)
    figures: dict[str, Any] = {}
    say(f"{'':<28}" + "".join(f"{way:>14}" for way in WAYS))
    for name in (name for name in ABSTRACTS if name in wanted):
        one = measure(read(root, name), kept)
        for label, score in SCORES.items():
            figures[f"{label} {name}"] = _row(f"{label} {name}", {way: one.mean(way, score) for way in WAYS})
    if set(ABSTRACTS) <= set(wanted):
        means = {way: fmean(figures[f"nDCG@10 {name}"][way] for name in ABSTRACTS) for way in WAYS}
        figures["nDCG@10 mean"] = _row("nDCG@10 mean", means)
    if TURNS in wanted:
        figures |= _turns(measure(read(root, TURNS), kept))
    if FILINGS in wanted:
        figures |= _filings(measure(read(root, FILINGS, qrels="qrels_docs.tsv"), kept, filings=True))
    if "speed" in wanted:
        figures["speed"] = [one.as_json() for one in timed(root, kept, chunks=chunks)]
    machine = {"cores": os.cpu_count(), "system": platform.platform(), "load": os.getloadavg()}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1))
    say(f"figures: {out}")


def _turns(one: Measured) -> dict[str, Any]:
    scores: dict[str, Score] = {"nDCG@10": ndcg, "Recall@10": partial(recall, at=10)}
    return {
        f"{label} {TURNS}": _row(f"{label} {TURNS}", {way: one.mean(way, score) for way in WAYS})
        for label, score in scores.items()
    }


def _filings(one: Measured) -> dict[str, Any]:
    """Whether a page of the right filing is among the best: the pages are not judged, the filings are."""
    filing = {text.id: text.title for text in one.collection.texts}
    figures = {}
    for at in (1, 5, 20):
        label = f"right filing in {at} {FILINGS}"
        values = {
            way: fmean(
                hit([filing[page] for page in one.rankings[way][question.id]], question.relevant, at=at)
                for question in one.collection.questions
            )
            for way in WAYS
        }
        figures[label] = _row(label, values)
    return figures


def _row(label: str, values: dict[str, float]) -> dict[str, float]:
    say(f"{label:<28}" + "".join(f"{values[way]:>14.4f}" for way in WAYS))
    return {way: round(value, 4) for way, value in values.items()}
