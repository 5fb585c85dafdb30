"""Whether the page with the evidence is found: in one filing that is known, and among all filings at once.

Nobody judged the pages of these filings, only which filings an answer is from. So the pages are guessed from the
answer, which a person has reviewed: those of a cited filing that hold its figures, where these stand on three pages of
it at most; without such figures, those that share stretches of six words with it. It is weak gold:

- a figure stands on several pages, and the one that explains it may be another than those that hold it;
- an answer about several filings has figures of one that stand in the next for comparison;
- questions whose answer has neither, or points to more than three pages, are left out, and those may be the hard ones.

So a figure here says which of the ways in the same run is better, and not how good any of them is.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmarks.retrieval.measuring import TOP, WAYS, Measured, by_product, by_textbook, library_of
from benchmarks.retrieval.sets import Question, Text
from memory.values import Mode
from memory.words.query import asked

PAGES_OF_A_FIGURE, PAGES_OF_A_STRETCH = 3, 2
"""What stands on more pages of a filing says nothing of where the answer is."""
MOST_PAGES = 3
STRETCH, STRETCHES = 6, 5
_FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d{3,}")
_SCALE = re.compile(r"\s*(billion|trillion)")
_YEAR = re.compile(r"(19|20)\d\d")
_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?|\d[\d,.]*")
_SOURCE = re.compile(r"\(SOURCE[^)]*\)|^SOURCE.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """A question, one of the filings that its answer is from, and where in it the evidence may stand."""

    number: int
    question: Question
    filing: str
    pages: frozenset[str]


def cases(questions: Sequence[Question], texts: Sequence[Text]) -> list[Case]:
    pages: dict[str, list[Text]] = defaultdict(list)
    for text in texts:
        pages[text.title].append(text)
    figures = {text.id: figures_of(text.body) for text in texts}
    stretches = {text.id: stretches_of(text.body) for text in texts}
    found = []
    for number, question in enumerate(questions):
        answer = _SOURCE.sub("", question.answer)
        by_figures = figures_of(answer) - figures_of(question.text)
        by_stretches = stretches_of(answer) - stretches_of(question.text)
        for filing in question.relevant:
            ids = [page.id for page in pages[filing]]
            held = _held(by_figures, figures, ids, most=PAGES_OF_A_FIGURE)
            if not held:
                held = _held(by_stretches, stretches, ids, most=PAGES_OF_A_STRETCH)
                held = held if max(held.values(), default=0) >= STRETCHES else Counter()
            best = [page for page, count in held.items() if count * 2 >= max(held.values())]
            if 0 < len(best) <= MOST_PAGES:
                found.append(Case(number, question, filing, frozenset(best)))
    return found


def figures_of(text: str) -> set[str]:
    """As digits, with `billion` where it stands behind; years and what is too short to be one thing are none."""
    found = set()
    for match in _FIGURE.finditer(text):
        if not _YEAR.fullmatch(match.group()):
            scale = _SCALE.match(text, match.end())
            found.add(match.group().replace(",", "") + (f" {scale[1]}" if scale else ""))
    return found


def stretches_of(text: str) -> set[str]:
    """Of so many words; dates and figures are in none."""
    words = _WORD.findall(text.lower())
    runs = (words[at : at + STRETCH] for at in range(len(words) - STRETCH + 1))
    return {" ".join(run) for run in runs if not any(word[0].isdigit() for word in run)}


def _held(said: Iterable[str], by_page: Mapping[str, set[str]], ids: Sequence[str], *, most: int) -> Counter[str]:
    """How many of what is said each page holds, of those that few pages hold."""
    counted: Counter[str] = Counter()
    for one in said:
        holding = [page for page in ids if one in by_page[page]]
        if len(holding) <= most:
            counted.update(holding)
    return counted


def figures(one: Measured, label: Callable[[str, dict[str, float]], dict[str, float]]) -> dict[str, Any]:
    """`label`: prints a row of values, by way, and returns it."""
    judged = cases(one.collection.questions, one.collection.texts)
    name = one.collection.name
    known = _in_known(one, judged)
    among: dict[str, list[float]] = {way: [] for way in WAYS}
    for case in judged:
        for way in WAYS:
            among[way].append(float(bool(case.pages & set(one.rankings[way][case.question.id]))))
    rows = {
        f"page in {TOP}, filing known {name}": {way: fmean(known[way]) for way in WAYS},
        f"page in {TOP}, all filings {name}": {way: fmean(among[way]) for way in WAYS},
    }
    shown: dict[str, Any] = {f"pages judged {name}": len(judged)}
    return shown | {text: label(text, values) for text, values in rows.items()}


def _in_known(one: Measured, judged: Sequence[Case]) -> dict[str, list[float]]:
    """Whether the page is among the best, by way and case, where only the filing is searched."""
    texts = one.collection.texts
    places: dict[str, list[int]] = defaultdict(list)
    for at, text in enumerate(texts):
        places[text.title].append(at)
    libraries = {filing: library_of(one.collection, own, one.vectors) for filing, own in places.items()}
    hits: dict[str, list[float]] = {way: [] for way in WAYS}
    for case in judged:
        own = places[case.filing]
        found = {
            way: [texts[own[at]].id for at in best]
            for way, best in by_textbook(libraries[case.filing], case.question, one.vectors.plain[case.number]).items()
        } | _by_product(one, case)
        for way in WAYS:
            hits[way].append(float(bool(case.pages & set(found[way][:TOP]))))
    return hits


def _by_product(one: Measured, case: Case) -> dict[str, list[str]]:
    words, vector = asked(case.question.text), one.vectors.named[case.number]
    user_id = one.loaded.users[case.question.user]
    document = (one.loaded.documents[f"{case.filing}.pdf"],)
    modes = (("ours, words", Mode.KEYWORD, None), ("ours", Mode.HYBRID, vector))
    return {
        way: [
            one.loaded.texts[passage.chunk_id]
            for passage in by_product(user_id, case.question, mode, words, by, document).passages
        ]
        for way, mode, by in modes
    }
