"""The page of connectors: all of it works without JavaScript. The verbs are those of the API."""

import uuid
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Window
from django.db.models.functions import RowNumber
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import NotThere, Refused
from memory.api.connectors import counted
from memory.connecting import actions
from memory.kinds import ConnectorKind
from memory.models import Connector, ConnectorItem

CONNECTORS_A_PAGE: Final = 25
PROBLEMS_SHOWN: Final = 20
KINDS: Final = {
    ConnectorKind.PAGE: gettext_noop("Web page"),
    ConnectorKind.SITEMAP: gettext_noop("Sitemap of a web site"),
    ConnectorKind.FOLDER: gettext_noop("Folder on the server"),
}
# As they stand after "every".
PAUSES: Final = {
    900: gettext_noop("15 minutes"),
    3_600: gettext_noop("hour"),
    21_600: gettext_noop("6 hours"),
    86_400: gettext_noop("day"),
    604_800: gettext_noop("week"),
}
USUAL_S: Final = 86_400


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def connectors(request: HttpRequest) -> HttpResponse:
    """The reader's own, newest first, and the form for another one."""
    user = person(request)
    typed, error, status = {"kind": "page", "location": "", "every_s": str(USUAL_S)}, "", 200
    if request.method == "POST":
        typed = {name: request.POST.get(name, "") for name in typed}
        try:
            _add(user, typed)
        except Refused as refused:
            error, status = refused.message, refused.status
        else:
            messages.success(request, _("Added. It is looked at within a minute."))
            return redirect("memory:connectors")
    found = counted(Connector.objects.of(user)).order_by("-created_at", "id")
    page = Paginator(found, CONNECTORS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "rows": _rows(list(page)),
        "kinds": {k: _(v) for k, v in KINDS.items() if k is not ConnectorKind.FOLDER or user.is_staff},
        "pauses": {str(seconds): _(words) for seconds, words in PAUSES.items()},
        "roots": settings.CONFIG.watch_roots if user.is_staff else (),
        "typed": typed,
        "error": error,
    }
    return render(request, "memory/connectors.html", context, status=status)


def _add(user: User, typed: dict[str, str]) -> None:
    if typed["kind"] not in set(ConnectorKind) or not typed["every_s"].isdecimal():
        raise Refused("unknown_kind", _("Choose what it is, and how often it is looked at."))
    actions.add(user, kind=ConnectorKind(typed["kind"]), location=typed["location"], every_s=int(typed["every_s"][:10]))


def _rows(found: list[Connector]) -> list[dict[str, Any]]:
    """Each with what could not be read. One query for all of them."""
    broken: dict[uuid.UUID, list[ConnectorItem]] = {}
    items = ConnectorItem.objects.filter(connector__in=found).exclude(problem="")
    number = Window(RowNumber(), partition_by="connector", order_by="place")
    for item in items.annotate(number=number).filter(number__lte=PROBLEMS_SHOWN).order_by("connector", "place"):
        broken.setdefault(item.connector_id, []).append(item)
    return [
        {
            "connector": connector,
            "kind": _(KINDS[ConnectorKind(connector.kind)]),
            "pause": _pause(connector.every_s),
            "problems": broken.get(connector.pk, []),
        }
        for connector in found
    ]


def _pause(seconds: int) -> str:
    """As it stands after "every"."""
    if seconds in PAUSES:
        return _(PAUSES[seconds])
    return ngettext("{count} second", "{count} seconds", seconds).format(count=grouped(seconds))


@never_cache
@login_required
@require_POST
def change(request: HttpRequest, connector_id: uuid.UUID) -> HttpResponse:
    """One of the row's buttons."""
    user = person(request)
    try:
        messages.success(request, _changed(user, connector_id, request.POST.get("verb", "")))
    except NotThere:
        raise Http404 from None
    except Refused as refused:
        messages.error(request, refused.message)
    return redirect("memory:connectors")


def _changed(user: User, connector_id: uuid.UUID, verb: str) -> str:
    match verb:
        case "look":
            actions.look_now(user, connector_id)
            return _("It is looked at within moments.")
        case "on" | "off":
            actions.change(user, connector_id, is_on=verb == "on")
            return _("Switched on.") if verb == "on" else _("Switched off.")
        case "delete":
            actions.delete(user, connector_id, with_documents=False)
            return _("Deleted. Its documents stayed.")
        case "delete-all":
            count = actions.delete(user, connector_id, with_documents=True)
            return ngettext("Deleted, with {count} document.", "Deleted, with {count} documents.", count).format(
                count=count
            )
        case _:
            raise NotThere


urlpatterns = [
    path("connectors/", connectors, name="connectors"),
    path("connectors/<uuid:connector_id>/", change, name="connector"),
]
