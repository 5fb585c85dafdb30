"""The pages of documents. All can be read without JavaScript; what is changed there goes by the API."""

import uuid
from typing import Any, Final

from django.conf import settings
from django.conf.locale import LANG_INFO
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.alphabet import by_name
from memory import showing
from memory.kinds import AT_WORK, SEARCHABLE, DocumentStatus
from memory.models import Chunk, Document
from memory.rows import KINDS, loaded, part_of, part_within, row_of

ROWS_A_PAGE: Final = 25
TABS: Final = ("all", "mine", "shared")
FILTERS: Final = ("q", "state", "kind", "sort")
STATES: Final = {
    "ready": (gettext_noop("Searchable"), SEARCHABLE),
    "working": (gettext_noop("Being read"), AT_WORK),
    "failed": (gettext_noop("Not read"), (DocumentStatus.FAILED, DocumentStatus.CANCELLED)),
}
SORTS: Final = {
    "": (gettext_noop("Newest first"), ("-created_at", "filename", "id")),
    "name": (gettext_noop("By name"), ("filename", "-created_at", "id")),
    "size": (gettext_noop("Largest first"), ("-size_bytes", "filename", "id")),
}
# Of one kind for whoever looks for a file, by the name of the first.
ALIKE: Final = {"xlsx": ("xlsx", "xls")}
VIEWS: Final = ("text", "pages")
SIDES: Final = ("sections", "passages")
MOST_DIGITS: Final = 9


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def documents(request: HttpRequest) -> HttpResponse:
    """What the reader may see, newest first."""
    user = person(request)
    tab = request.GET.get("tab", TABS[0])
    tab = tab if tab in TABS else TABS[0]
    chosen = _filters(request)
    seen = Document.objects.seen_by(user)
    of_tab = {"all": seen, "mine": seen.filter(owner=user), "shared": seen.exclude(owner=user)}[tab]
    order = SORTS[chosen.get("sort", "")][1]
    found = loaded(_filtered(of_tab, chosen)).order_by(*order)
    page = Paginator(found, ROWS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "tab": tab,
        "page": page,
        "rows": [row_of(row, reader=user) for row in page],
        "working": seen.filter(status__in=AT_WORK).count(),
        "kinds": {kind: _(KINDS.get(kind, kind.upper())) for kind in _offered(_kinds(seen))},
        "states": {name: _(words) for name, (words, _statuses) in STATES.items()},
        "sorts": {name: _(words) for name, (words, _order) in SORTS.items()},
        "chosen": chosen,
        "is_filtered": bool({"q", "state", "kind"} & set(chosen)),
        "query": _query(request),
        "page_data": {**_places(user), "limit_bytes": settings.CONFIG.document_max_bytes},
    }
    return render(request, "memory/documents.html", context)


def _filtered(found: QuerySet[Document], chosen: dict[str, str]) -> QuerySet[Document]:
    for word in chosen.get("q", "").split():
        found = found.filter(Q(filename__icontains=word) | Q(title__icontains=word))
    if "state" in chosen:
        found = found.filter(status__in=STATES[chosen["state"]][1])
    kind = chosen.get("kind")
    return found.filter(doc_type__in=ALIKE.get(kind, (kind,))) if kind else found


def _filters(request: HttpRequest) -> dict[str, str]:
    """What is filtered and sorted by; a word that is none of those offered does nothing."""
    given = {name: request.GET.get(name, "").replace("\x00", "").strip()[:200] for name in FILTERS}
    known = {"state": STATES, "kind": KINDS, "sort": SORTS}
    return {name: value for name, value in given.items() if value and value in known.get(name, (value,))}


def _kinds(seen: QuerySet[Document]) -> list[str]:
    return list(seen.exclude(doc_type="").order_by("doc_type").values_list("doc_type", flat=True).distinct())


def _offered(kinds: list[str]) -> list[str]:
    first = {kind: name for name, alike in ALIKE.items() for kind in alike}
    return list(dict.fromkeys(first.get(kind, kind) for kind in kinds))


def _places(user: User) -> dict[str, Any]:
    """The groups that the reader may share with, and the projects that they may add to."""
    return {
        "groups": list(user.groups.order_by(*by_name("name")).values_list("name", flat=True)),
        "projects": [
            {"id": str(id_), "name": name}
            for id_, name in user.projects.order_by(*by_name("name")).values_list("id", "name")
        ],
    }


def _query(request: HttpRequest, *dropped: str) -> str:
    """The address's own query without the page, for links to other pages."""
    query = request.GET.copy()
    for name in ("page", *dropped):
        query.pop(name, None)
    return query.urlencode()


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def document(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """One document with its text about the page or the passage that is asked for."""
    user = person(request)
    found = _seen(user, document_id)
    wanted = request.GET.get("chunk", "")
    chunk = _chunk(found, wanted)
    first, at = showing.place_of(chunk) if chunk else (_number(request, "page", 1), _number(request, "at", 0))
    row = row_of(found, reader=user)
    find = _words(request)
    before, after = showing.neighbours(chunk) if chunk else (None, None)
    side = request.GET.get("side", SIDES[0])
    context = {
        **_pages_context(request, found, first=first, at=at, chunk=chunk),
        "row": row,
        "language": _(LANG_INFO.get(found.language, {}).get("name", found.language)),
        "chunk": chunk,
        "chunk_number": chunk.ordinal + 1 if chunk else 0,
        "before": before,
        "after": after,
        "is_unknown_chunk": bool(wanted) and chunk is None,
        "find": find,
        "hits": showing.hits(found, find) if find else None,
        "most_hits": showing.MOST_HITS,
        "sections": showing.sections(found),
        "passages": showing.passages(found, chunk.ordinal if chunk else _number(request, "from", 0)),
        "side": side if side in SIDES else SIDES[0],
        "query": _query(request, "at", "chunk"),
        "page_data": {
            "document": {"id": str(found.pk), "name": found.filename, "is_own": not row.owner, "status": found.status},
            **_places(user),
            "pages_read": found.pages_read,
        },
    }
    return render(request, "memory/document.html", context)


@never_cache
@login_required
@require_safe
def document_pages(request: HttpRequest, document_id: uuid.UUID) -> HttpResponse:
    """Only the pages from `page` on, for whoever scrolls there."""
    found = _seen(person(request), document_id)
    chunk = _chunk(found, request.GET.get("chunk", ""))
    first, at = _number(request, "page", 1), _number(request, "at", 0)
    context = _pages_context(request, found, first=first, at=at, chunk=chunk)
    return render(request, "memory/_leaves.html", context)


def _pages_context(
    request: HttpRequest, found: Document, *, first: int, at: int, chunk: Chunk | None
) -> dict[str, Any]:
    last = max(1, found.pages_read)
    first = max(1, min(first, last))
    has_images = found.doc_type == "pdf"
    view = request.GET.get("view", VIEWS[0])
    return {
        "document": found,
        "leaves": showing.leaves(found, first, at=at, chunk=chunk, find=_words(request)),
        "first": first,
        "last": last,
        "previous_page": max(1, first - showing.PAGES_AT_ONCE) if first > 1 else 0,
        "next_page": first + showing.PAGES_AT_ONCE if first + showing.PAGES_AT_ONCE <= last else 0,
        "part": part_of(found.doc_type),
        "part_word": part_within(found.doc_type),
        "has_images": has_images,
        "view": view if has_images and view in VIEWS else VIEWS[0],
    }


def _seen(user: User, document_id: uuid.UUID) -> Document:
    """Somebody else's is as one that does not exist."""
    found = loaded(Document.objects.seen_by(user)).filter(pk=document_id).first()
    if found is None:
        raise Http404
    return found


def _chunk(found: Document, wanted: str) -> Chunk | None:
    """None for what is no id, and for an id of another document."""
    try:
        return found.chunks.defer("text").filter(chunk_id=uuid.UUID(wanted)).first() if wanted else None
    except ValueError:
        return None


def _number(request: HttpRequest, name: str, default: int) -> int:
    given = request.GET.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) <= MOST_DIGITS else default


def _words(request: HttpRequest) -> str:
    return request.GET.get("find", "").replace("\x00", "").strip()[:200]


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Where a search can be tried, and each of its stages looked at."""
    seen = Document.objects.seen_by(person(request)).filter(status__in=SEARCHABLE)
    given = request.GET.get("document", "")
    context = {
        "count": seen.count(),
        "kinds": {kind: _(KINDS.get(kind, kind.upper())) for kind in _kinds(seen)},
        "page_data": {"document": _named(seen, given), "kinds": {kind: _(words) for kind, words in KINDS.items()}},
    }
    return render(request, "memory/search.html", context)


def _named(seen: QuerySet[Document], given: str) -> dict[str, str] | None:
    """The document that the search is limited to, if the reader may see it."""
    try:
        found = seen.filter(pk=uuid.UUID(given)).first() if given else None
    except ValueError:
        return None
    return {"id": str(found.pk), "name": found.filename} if found else None
