"""The pages of files. All can be read without JavaScript; what is changed there goes by the API."""

import uuid
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.refusals import Refused
from memory.api.files import pages_of
from memory.file_preview import Preview, preview_of
from memory.file_rows import crumbs_of, row_of
from memory.models import Project, WorkspaceFile
from memory.rows import size_words
from memory.workspaces import files, folders, overview
from memory.workspaces.overview import Overview, held_bytes
from memory.workspaces.paths import clean_path
from memory.workspaces.places import Place, Rights, Scope, file_url, page_url, rights, talks

ROWS_A_PAGE: Final = 100
TABS: Final = {"mine": Scope.USER, "projects": Scope.PROJECT, "conversations": Scope.CONVERSATION}
_TAB_OF: Final = {scope: tab for tab, scope in TABS.items()}
SORTS: Final = {
    "": gettext_noop("By name"),
    "new": gettext_noop("Latest first"),
    "size": gettext_noop("Largest first"),
}
PLACE_SORTS: Final = {"": SORTS["new"], "size": SORTS["size"]}
MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A place in the list of them."""

    name: str
    page: str
    files: int
    size: str


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def all_files(request: HttpRequest) -> HttpResponse:
    """The reader's own files; or the projects, or the conversations, that have some."""
    user = person(request)
    tab = request.GET.get("tab", "mine")
    if tab not in TABS or TABS[tab] == Scope.USER:
        return _folder(request, user, Place(Scope.USER, user.pk), "")
    sort = request.GET.get("sort", "")
    sort = sort if sort in overview.SORTS else ""
    if tab == "projects":
        found = [one for one in overview.own_and_projects(user) if one.place.scope == Scope.PROJECT]
    else:
        found = overview.conversations_with_files(user, sort)
    page = Paginator(found, ROWS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "tab": tab,
        "page": page,
        "rows": [_place_row(one) for one in page],
        "sort": sort,
        "sorts": {value: _(PLACE_SORTS[value]) for value in overview.SORTS},
        "query": urlencode({"tab": tab, "sort": sort} if sort else {"tab": tab}),
    }
    return render(request, "memory/file_places.html", context)


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def at(request: HttpRequest, scope: str, scope_id: uuid.UUID, path: str = "") -> HttpResponse:
    """A folder if the path ends with a slash, else a file."""
    user, place = person(request), Place(Scope(scope), scope_id)
    try:
        if not path and "deleted" in request.GET:
            return _deleted(request, user, place)
        if not path or path.endswith("/"):
            return _folder(request, user, place, path)
        return _file(request, user, place, path)
    except Refused:
        raise Http404 from None


def _folder(request: HttpRequest, user: User, place: Place, folder: str) -> HttpResponse:
    may = rights(user.pk, place)
    words = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    sort = request.GET.get("sort", "")
    sort = sort if sort in SORTS else ""
    found = folders.files_named(place, words, sort) if words else folders.files_in(place, folder, sort)
    page = Paginator(found, ROWS_A_PAGE).get_page(request.GET.get("page"))
    inner = folders.folders_in(place, folder) if not words and page.number == 1 else []
    context = {
        **_frame(user, place, may),
        "folder": folder,
        "folder_name": folder.rstrip("/").rpartition("/")[2],
        "crumbs": crumbs_of(place, folder),
        "folders": [(one, page_url(place, one.path), size_words(one.size_bytes)) for one in inner],
        "most_folders": folders.MOST_FOLDERS,
        "page": page,
        "rows": [row_of(place, file, may_delete=_may_delete(may, file, user)) for file in page],
        "words": words,
        "sort": sort,
        "sorts": {value: _(words) for value, words in SORTS.items()},
        "query": urlencode({name: value for name, value in (("q", words), ("sort", sort)) if value}),
        "page_data": {
            "root": file_url(place, ""),
            "folder": folder,
            "limit_bytes": settings.CONFIG.workspace_file_max_bytes,
        },
    }
    return render(request, "memory/files.html", context)


def _deleted(request: HttpRequest, user: User, place: Place) -> HttpResponse:
    """What was deleted in the whole place and can still be put back."""
    may = rights(user.pk, place)
    page = Paginator(folders.deleted_in(place), ROWS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        **_frame(user, place, may),
        "page": page,
        "rows": [row_of(place, file, may_delete=False) for file in page],
        "query": "deleted=1",
    }
    return render(request, "memory/deleted_files.html", context)


def _file(request: HttpRequest, user: User, place: Place, file_path: str) -> HttpResponse:
    may = rights(user.pk, place)
    file = files.standing(place).filter(path=clean_path(file_path)).first()
    if file is None:
        if files.standing(place, f"{file_path}/").exists():
            return redirect(page_url(place, f"{file_path}/"))
        raise Http404
    kept = files.versions(user.pk, place, file.path)
    asked = _number(request, "version")
    facts, content = files.opened(user.pk, place, file_path, version=asked or None)
    with content:
        preview = preview_of(facts, content)
    number = _number(request, "page") or 1
    context = {
        **_frame(user, place, may),
        "row": row_of(place, file, may_delete=_may_delete(may, file, user)),
        "crumbs": crumbs_of(place, file.path),
        "versions": [(one, size_words(one.size_bytes)) for one in kept],
        "shown": facts,
        "shown_size": size_words(facts.size_bytes),
        "is_older": facts.version != file.version,
        "preview": preview,
        "picture": _picture(place, facts, preview, number),
        "pdf_page": number,
        "pdf_pages": _pages(user, place, facts, preview),
        "page_data": {"root": file_url(place, ""), "path": file.path, "version": file.version},
    }
    return render(request, "memory/file.html", context)


def _pages(user: User, place: Place, facts: files.FileFacts, preview: Preview) -> int | None:
    if preview.kind != "pdf":
        return None
    _, stored_as = files.found(user.pk, place, facts.path, version=facts.version)
    return pages_of(stored_as)


def _picture(place: Place, facts: files.FileFacts, preview: Preview, number: int) -> str:
    query = f"page={number}&width=1200" if preview.kind == "pdf" else "inline=1"
    return f"{file_url(place, facts.path)}?version={facts.version}&{query}"


def _frame(user: User, place: Place, may: Rights) -> dict[str, Any]:
    """What every page of a place has."""
    used, quota = held_bytes(may.holder), settings.CONFIG.workspace_quota_bytes
    return {
        "tab": _TAB_OF[place.scope],
        "place": place,
        "place_name": _name_of(user, place),
        "place_page": page_url(place),
        "may_write": may.may_write,
        "used": size_words(used),
        "used_bytes": used,
        "quota": size_words(quota),
        "quota_bytes": quota,
        "is_nearly_full": used > 0.9 * quota,
        "deleted": folders.deleted_in(place).count(),
    }


def _name_of(user: User, place: Place) -> str:
    match place.scope:
        case Scope.USER:
            return _("My files")
        case Scope.PROJECT:
            return str(Project.objects.values_list("name", flat=True).get(pk=place.scope_id))
        case Scope.CONVERSATION:
            return talks(user.pk, [place.scope_id])[place.scope_id].title or _("Conversation without a title")


def _place_row(found: Overview) -> PlaceRow:
    return PlaceRow(found.name, page_url(found.place), found.files, size_words(found.size_bytes))


def _may_delete(may: Rights, file: WorkspaceFile, user: User) -> bool:
    return may.may_write and (may.owns or file.made_by_id == user.pk)


def _number(request: HttpRequest, name: str) -> int:
    given = request.GET.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) <= MOST_DIGITS else 0


urlpatterns = [
    path("files/", all_files, name="files"),
    path("files/<workspace_scope:scope>/<uuid:scope_id>/", at, name="folder"),
    path("files/<workspace_scope:scope>/<uuid:scope_id>/<path:path>", at, name="file"),
]
