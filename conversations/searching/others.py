"""Documents, files, memories and projects that a person may see, by their names and what they say. Each keeps the rule
of who sees it where it has it; passages are found by the retrieval's own words.
"""

from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q
from django.urls import reverse

from conversations.models import Conversation
from conversations.searching.folded import having
from conversations.searching.values import Kind, Result, Within
from conversations.searching.words import excerpt, plain
from hyperagent.lib.alphabet import by_name
from memory.kinds import WorkspaceScope
from memory.memory_views import LONGEST_QUERY
from memory.models import Document, Memory, Project, WorkspaceFile
from memory.retrieval.search import search
from memory.values import Mode, Passage, Wanted
from memory.workspaces.places import Place, page_url

MOST: Final = 200
MOST_PASSAGES: Final = 20
_AS_GOOD: Final = 0.5
"""Of the best passage's score: what is worse has one word of many by chance."""
_NAMED: Final = 1.1
_PASSAGE: Final = 0.7
_FILE: Final = 0.95
_MEMORY: Final = 0.9
_PROJECT: Final = 1.15


def documents(within: Within) -> list[Result]:
    """Each once: by its name, with its best passage, or by that passage alone."""
    seen = Document.objects.seen_by(within.user).filter(created_at__gte=within.since, created_at__lt=within.until)
    named = list(having(seen, ["filename", "title", "description"], within.sought.said).order_by("-created_at")[:MOST])
    passages = _passages(within)
    others = {
        document.pk: document for document in seen.filter(pk__in=set(passages) - {document.pk for document in named})
    }
    found = [_document(within, document, passages.get(document.pk), by_name=True) for document in named]
    return found + [_document(within, document, passages[pk], by_name=False) for pk, document in others.items()]


def _passages(within: Within) -> dict[UUID, Passage]:
    """The best of each document."""
    wanted = Wanted(within.query, top_k=MOST_PASSAGES, mode=Mode.KEYWORD)
    best: dict[UUID, Passage] = {}
    for passage in search(within.user.pk, wanted).passages:
        best.setdefault(passage.document_id, passage)
    most = max((passage.score for passage in best.values()), default=0.0)
    return {id_: passage for id_, passage in best.items() if passage.score >= _AS_GOOD * most}


def _document(within: Within, document: Document, passage: Passage | None, *, by_name: bool) -> Result:
    url = reverse("memory:document", args=[document.pk])
    text = plain(passage.text) if passage else document.description
    score = _NAMED if by_name else _PASSAGE * (0.5 + 0.5 * min(1.0, passage.score if passage else 0.0))
    return Result(
        kind=Kind.DOCUMENT,
        id=document.pk,
        title=document.title or document.filename,
        excerpt=tuple(excerpt(text, within.sought)),
        url=f"{url}?chunk={passage.chunk_id}" if passage else url,
        at=document.created_at,
        score=score * within.fresh(document.created_at),
    )


def files(within: Within) -> list[Result]:
    """By their paths: a person's own, those of their projects, and those of their conversations that lists have."""
    user = within.user
    projects = Project.objects.seen_by(user).values("pk")
    talks = Conversation.objects.of(user).filter(is_temporary=False).values("pk")
    seen = WorkspaceFile.objects.standing().filter(
        Q(scope=WorkspaceScope.USER, scope_id=user.pk)
        | Q(scope=WorkspaceScope.PROJECT, scope_id__in=projects)
        | Q(scope=WorkspaceScope.CONVERSATION, user=user, scope_id__in=talks),
        changed_at__gte=within.since,
        changed_at__lt=within.until,
    )
    found = having(seen, ["path"], within.sought.said).order_by("-changed_at", "pk")[:MOST]
    return [
        Result(
            kind=Kind.FILE,
            id=file.pk,
            title=file.path.rpartition("/")[2],
            excerpt=tuple(excerpt(file.path, within.sought)) if "/" in file.path else (),
            url=page_url(Place(WorkspaceScope(file.scope), file.scope_id), file.path),
            at=file.changed_at,
            score=_FILE * within.fresh(file.changed_at),
        )
        for file in found
    ]


def memories(within: Within) -> list[Result]:
    seen = Memory.objects.of(within.user).active().filter(said_at__gte=within.since, said_at__lt=within.until)
    found = having(seen, ["text"], within.sought.said).order_by("-said_at", "pk").defer("embedding", "terms")[:MOST]
    return [
        Result(
            kind=Kind.MEMORY,
            id=memory.pk,
            title="",
            excerpt=tuple(excerpt(memory.text, within.sought)),
            url=_on_its_page(memory),
            at=memory.said_at,
            score=_MEMORY * within.fresh(memory.said_at),
        )
        for memory in found
    ]


def _on_its_page(memory: Memory) -> str:
    """The page shows the profile in any case, and of the others those with these words."""
    words = "" if memory.field else f"?{urlencode({'q': memory.text[:LONGEST_QUERY].strip()})}"
    return reverse("memory:memories") + words


def projects(within: Within) -> list[Result]:
    """Of which this person is a member, by name and instructions."""
    seen = Project.objects.seen_by(within.user).filter(created_at__gte=within.since, created_at__lt=within.until)
    found = having(seen, ["name", "instructions"], within.sought.said).order_by(*by_name("name"), "pk")[:MOST]
    return [
        Result(
            kind=Kind.PROJECT,
            id=project.pk,
            title=project.name,
            excerpt=tuple(excerpt(project.instructions, within.sought)),
            url=reverse("memory:project", args=[project.pk]),
            at=project.created_at,
            score=_PROJECT * within.fresh(project.created_at),
        )
        for project in found
    ]
