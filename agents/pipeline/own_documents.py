"""Whether the person's own documents speak of a question that says nothing of documents: "How long is the warranty?".

By words alone, so that nobody waits for a model of vectors; what was found is noted, so that a replay agrees.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import psycopg
import structlog
from django.db import DatabaseError

from agents.engine.context import Outcome
from agents.engine.states import StepKind
from agents.pipeline.languages import language_of
from agents.runtime.context import AgentContext
from agents.runtime.lacking import Lack
from agents.runtime.lookups import Lookups
from hyperagent.lib.text import clean_text
from hyperagent.lib.threads import in_thread
from memory.retrieval.occurring import occurring
from memory.retrieval.search import search
from memory.values import Mode, Passage, Wanted
from memory.words.query import asked
from memory.words.terms import stemmed_as, terms_of

log = structlog.get_logger(__name__)

NOTED: Final = "own documents"
LOOKED_AT: Final = 3
QUESTION_CHARS: Final = 400
SURE: Final = 0.7
FEW_WORDS: Final = 3
MOST: Final = 0.75
# Of every question; none of them is what it is about.
_ASKING: Final = frozenset(
    terms_of(
        "may might much many often long old big large far get tell show give find explain summarize describe know say "
        "list please need want viel viele oft lange alt gib zeig sag finde erkläre beschreibe brauche bitte gibt",
        "en",
    )
)


async def speaking_of(context: AgentContext, question: str) -> str:
    """The name of a document that speaks of it; empty if none does, or where no database is at hand."""
    lookups, user_id = context.run.lookups, context.run.about.user_id
    if lookups is None or user_id is None or len(question) > QUESTION_CHARS:
        return ""

    async def perform() -> Outcome:
        return Outcome(await _named(lookups, user_id, question))

    named: str = await context.step(StepKind.NOTE, NOTED, None, perform)
    return named


async def _named(lookups: Lookups, user_id: UUID, question: str) -> str:
    """A search that fails is no reason to fail: the question goes its usual way. Most questions are about something
    else: where their words stand nowhere, nothing is searched."""
    if Lack.DOCUMENTS in lookups.lacks:
        return ""
    written = _written(question)
    try:
        standing = await lookups.read(lambda connection: occurring(connection, user_id, set().union(*written.values())))
        if standing is not None:
            shared = sum(not standing.isdisjoint(variants) for variants in written.values())
            if not (_is_enough(shared, of=len(written)) or shared == len(written) == 1):
                return ""
        wanted = Wanted(clean_text(question), top_k=LOOKED_AT, mode=Mode.KEYWORD)
        found = await in_thread(search)(user_id, wanted)
    except (DatabaseError, psycopg.Error) as error:
        log.warning("documents.not_looked_at", why=str(error).split("\n")[0])
        return ""
    return about(question, found.passages)


def about(question: str, passages: Sequence[Passage]) -> str:
    """The file of the first passage that has nearly all words that the question is about, at least two; or asks the
    same itself, as lists of questions and answers do. Pure."""
    language = language_of(question)
    terms = set(terms_of(question, language)) - _ASKING
    for passage in passages:
        said = set(terms_of(f"{passage.filename}\n{passage.section_title}\n{passage.text}", language))
        is_enough = _is_enough(len(terms & said), of=len(terms)) or _asks_so(passage.text, terms, language)
        if passage.score >= SURE and is_enough:
            return passage.filename
    return ""


def _asks_so(text: str, terms: set[str], language: str) -> bool:
    asking = (line for line in text.splitlines() if line.rstrip("*_ ").endswith("?"))
    return bool(terms) and any(set(terms_of(line, language)) - _ASKING == terms for line in asking)


def _written(question: str) -> dict[str, set[str]]:
    """What it is about: each of its terms, and how documents of any language have it in the keyword index."""
    language = language_of(question)
    sought = asked(question).words
    variants: dict[str, set[str]] = {}
    for one in sought:
        variants.setdefault(one.word, set()).add(one.term)
    words = {one.term: one.word for one in sought if one.language == stemmed_as(language)}
    terms = (term for term in terms_of(question, language) if term not in _ASKING)
    return {term: variants.get(words.get(term, ""), {term}) for term in terms}


def _is_enough(shared: int, *, of: int) -> bool:
    return shared >= 2 and (shared == of if of <= FEW_WORDS else shared / of >= MOST)
