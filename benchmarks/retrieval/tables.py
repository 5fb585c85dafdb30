"""Runs what is wanted, prints it as tables, and keeps the figures. Measures nothing itself."""

import json
import os
import platform
from collections.abc import Collection as Names
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.report import say
from benchmarks.retrieval import pages
from benchmarks.retrieval.measuring import WAYS, Measured, Score, measure
from benchmarks.retrieval.scoring import hit, ndcg, recall, reciprocal_rank
from benchmarks.retrieval.sets import ABSTRACTS, Question, names, read
from benchmarks.retrieval.speed import timed
from benchmarks.retrieval.vectors import Kept

SPEED = "speed"
SCORES: dict[str, Score] = {"nDCG@10": ndcg, "Recall@20": partial(recall, at=20), "MRR@10": reciprocal_rank}
SCORES_OF_TURNS: dict[str, Score] = {"nDCG@10": ndcg, "Recall@10": partial(recall, at=10)}


def run(root: Path, vectors: Path, *, wanted: Names[str], chunks: int, out: Path) -> None:
    kept = Kept(vectors)
    figures: dict[str, Any] = {}
    say(f"{'':<38}" + "".join(f"{way:>14}" for way in WAYS))
    chosen = [name for name in names(root) if name in wanted] if wanted else names(root)
    for name in chosen:
        figures |= _of(measure(read(root, name), kept))
        if name == ABSTRACTS[-1] and set(ABSTRACTS) <= set(chosen):
            means = {way: fmean(figures[f"nDCG@10 {one}"][way] for one in ABSTRACTS) for way in WAYS}
            figures["nDCG@10 mean"] = _row("nDCG@10 mean", means)
    if not wanted or SPEED in wanted:
        figures[SPEED] = [one.as_json() for one in timed(root, kept, chunks=chunks)]
    machine = {"cores": os.cpu_count(), "system": platform.platform(), "load": os.getloadavg()}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1))
    say(f"figures: {out}")


def _of(one: Measured) -> dict[str, Any]:
    """The figures of one collection, by what is judged in it: texts, or whole documents."""
    name = one.collection.name
    scores = SCORES_OF_TURNS if one.collection.has_users else SCORES
    figures = {}
    if not one.collection.judges_documents:
        for label, score in scores.items():
            values = {way: one.mean(way, score) for way in WAYS}
            figures[f"{label} {name}"] = _row(f"{label} {name}", values)
    if one.collection.has_pages:
        figures |= _documents(one)
        if one.collection.judges_documents:
            figures |= pages.figures(one, _row)
    return figures


def _documents(one: Measured) -> dict[str, Any]:
    """Whether a page of a right document is among the best."""
    title = {text.id: text.title for text in one.collection.texts}
    figures = {}
    for at in (1, 5, 20):
        label = f"right document in {at} {one.collection.name}"
        values = {
            way: fmean(
                hit([title[page] for page in one.rankings[way][question.id]], _right(one, question, title), at=at)
                for question in one.collection.questions
            )
            for way in WAYS
        }
        figures[label] = _row(label, values)
    return figures


def _right(one: Measured, question: Question, title: Mapping[str, str]) -> Mapping[str, int]:
    """The documents that are right, where they are judged, and where their pages are."""
    if one.collection.judges_documents:
        return question.relevant
    return {title[page]: relevance for page, relevance in question.relevant.items() if page in title}


def _row(label: str, values: dict[str, float]) -> dict[str, float]:
    say(f"{label:<38}" + "".join(f"{values[way]:>14.4f}" for way in WAYS))
    return {way: round(value, 4) for way, value in values.items()}
