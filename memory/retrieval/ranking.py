"""From what the legs found to one ranking: pure arithmetic on values. Knows no SQL, no text and no person.

The steps, each of which adds to what `README.md` measured: words of neighbours (short chunks), the two legs' scores as
shares of the best, figures where an amount is asked for, likeness among the best, the document's name. And what a
document's description says that none of its passages does.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Final
from uuid import UUID

from memory.retrieval.candidates import Candidate
from memory.retrieval.shape import Shape

NEIGHBOURS: Final = {-1: 0.5, 1: 0.4, -2: 0.3, 2: 0.2}
"""A word in the turn before counts half of what it counts in the turn itself; -1: the one before."""
EVEN: Final = 0.65
FIGURES_WEIGHT: Final = 0.2
FIGURES_FULL: Final = 0.12
"""Where so large a share of the characters are digits, a text is as full of figures as a statement in a filing."""
FEW_WORDS: Final = 0.1
MORE_THAN_PASSAGE: Final = 0.1
"""A description counts where no passage of its document has more than that share of what the question's words weigh,
and the best of them is farther from the question by more than that cosine. Without the first, titles and first
sentences, which are short and so near to any question, cost Cranfield .008."""
LIKE_AMONG: Final = 50
LIKE_OTHERS: Final = 10
LIKE_AT_LEAST: Final = 0.3


@dataclass(slots=True)
class Ranked:
    """A candidate on its way: `keyword` and `dense` as shares of the best, 0..1; `content` is what its text earns,
    `score` that and what its document's name and description add. `closeness`: the cosine of whichever is closest."""

    candidate: Candidate
    keyword: float = 0.0
    dense: float = 0.0
    bm25: float = 0.0
    figures: float = 0.0
    like: float | None = None
    name: float = 0.0
    described: float = 0.0
    closeness: float = 0.0
    content: float = 0.0
    score: float = 0.0
    is_among_best: bool = field(default=False)


def ranked(
    found: Sequence[Candidate],
    *,
    parts: Mapping[int, Mapping[str, float]],
    names: Mapping[UUID, float],
    described: Mapping[int, float],
    covered: Mapping[int, float],
    shape: Shape,
    keyword_share: float,
    wants_figures: bool,
) -> list[Ranked]:
    """Best first. `parts`: by chunk, what each word gives to its BM25. `described`: by a document's best chunk, the
    cosine of its description. `covered`: by chunk, how much it has of what the question's words weigh.
    `keyword_share`: 1 for words alone, 0 for vectors alone."""
    words = with_neighbours(found, parts, shape)
    best_words = max(words.values(), default=0.0) or 1.0
    best_cosine = max((one.cosine for one in found if one.cosine is not None), default=0.0)
    has_words = {one.document_id for one in found if covered.get(one.key, 0.0) > FEW_WORDS}
    ranking = []
    for one in found:
        keyword = words.get(one.key, 0.0) / best_words
        dense = max(one.cosine or 0.0, 0.0) / best_cosine if best_cosine > 0 else 0.0
        figures = FIGURES_WEIGHT * min(one.figures / FIGURES_FULL, 1.0) if wants_figures else 0.0
        name = shape.name_weight * names.get(one.document_id, 0.0)
        content = keyword_share * keyword + (1 - keyword_share) * dense + figures
        cosine = one.cosine or 0.0
        description = 0.0 if one.document_id in has_words else described.get(one.key, 0.0)
        more = description - cosine if description - cosine > MORE_THAN_PASSAGE else 0.0
        beyond = min(more / best_cosine, 1.0) if best_cosine > 0 else 0.0
        ranking.append(
            Ranked(
                one,
                keyword,
                dense,
                bm25=words.get(one.key, 0.0),
                figures=figures,
                name=name,
                described=beyond,
                closeness=cosine + more,
                content=content,
                score=content + name + beyond,
            )
        )
    return in_order(ranking)


def in_order(ranking: list[Ranked]) -> list[Ranked]:
    ranking.sort(key=lambda one: (not one.is_among_best, -one.score, one.candidate.key))
    return ranking


def with_neighbours(
    found: Sequence[Candidate], parts: Mapping[int, Mapping[str, float]], shape: Shape
) -> dict[int, float]:
    """By chunk its BM25, where a short chunk is read with what stands around it: a word that a neighbour has counts
    there too, though less. Long chunks are left alone."""
    own = {key: sum(one.values()) for key, one in parts.items()}
    if not shape.shortness:
        return own
    of_document: dict[UUID, dict[int, int]] = defaultdict(dict)
    for one in found:
        of_document[one.document_id][one.ordinal] = one.key
    by_key = {one.key: one for one in found}
    is_even = evenness(found) <= EVEN
    joined = dict[int, float]()
    for one in found:
        merged = dict(parts.get(one.key, {}))
        inside = of_document[one.document_id]
        for distance, share in NEIGHBOURS.items():
            other = _neighbour(one, distance, inside, by_key, is_even=is_even)
            for word, part in parts.get(other, {}).items() if other is not None else ():
                merged[word] = max(merged.get(word, 0.0), share * shape.shortness * part)
        joined[one.key] = sum(merged.values())
    return joined


def evenness(found: Sequence[Candidate]) -> float:
    """The deviation of the texts' lengths as a share of their mean: of turns in a conversation .4 to .5, of abstracts
    with some bare titles among them .9."""
    lengths = [one.characters for one in found]
    return pstdev(lengths) / max(fmean(lengths), 1.0) if lengths else 0.0


def _neighbour(
    one: Candidate,
    distance: int,
    inside: Mapping[int, int],
    by_key: Mapping[int, Candidate],
    *,
    is_even: bool,
) -> int | None:
    """In the same document, whose chunks `inside` has by ordinal; or in another one, added right before or after it, as
    the turns of a conversation are that come one by one: under the same title, or under none if all texts are of about
    a length."""
    next_to_it = inside.get(one.ordinal + distance)
    if next_to_it is not None:
        return next_to_it
    other = by_key.get(one.key + distance)
    if other is None or other.document_id == one.document_id or one.title != other.title:
        return None
    return other.key if one.title or is_even else None


def smoothed(ranking: list[Ranked], likeness: Mapping[tuple[int, int], float], *, share: float) -> list[Ranked]:
    """Among the best `LIKE_AMONG`, a chunk's content is in part that of the chunks most like it: what answers a
    question lies in a cluster, and a lone hit is more often chance. They stay before all others."""
    best = ranking[:LIKE_AMONG]
    near: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for (first, second), cosine in likeness.items():
        near[first].append((cosine, second))
        near[second].append((cosine, first))
    content = {one.candidate.key: one.content for one in best}
    for one in best:
        one.is_among_best = True
        others = sorted(near[one.candidate.key], reverse=True)[:LIKE_OTHERS]
        weight = sum(cosine for cosine, _ in others)
        one.like = sum(cosine * content[key] for cosine, key in others) / weight if weight else 0.0
        one.content = (1 - share) * content[one.candidate.key] + share * one.like
        one.score = one.content + one.name + one.described
    return in_order(ranking)


def unrepeated(ranking: Sequence[Ranked]) -> list[Ranked]:
    """The best of each text: the same words in two files are one answer."""
    seen = dict[str, Ranked]()
    for one in ranking:
        seen.setdefault(one.candidate.text_hash, one)
    return list(seen.values())


def page_by_page(ranking: Sequence[Ranked]) -> list[Ranked]:
    """The best chunk of each page first, in their order, then the second ones: twenty results are twenty pages. What
    has no pages is one long page, and is left as it stands."""
    turns: dict[tuple[UUID, int], int] = defaultdict(int)
    numbered = []
    for one in ranking:
        page = (one.candidate.document_id, one.candidate.page)
        numbered.append((turns[page], one))
        turns[page] += one.candidate.has_pages
    return [one for _, one in sorted(numbered, key=lambda pair: pair[0])]
