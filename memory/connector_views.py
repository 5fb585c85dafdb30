"""The page of connectors: all of it works without JavaScript. The verbs are those of the API."""

import uuid
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.paginator import Paginator
from django.db.models import Window
from django.db.models.functions import RowNumber
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from hyperagent.accounts.models import User
from hyperagent.accounts.requests import person
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold
from memory.api.connectors import counted
from memory.connecting import actions
from memory.forms import KINDS, PAUSES, ConnectorForm
from memory.kinds import ConnectorKind
from memory.models import Connector, ConnectorItem

CONNECTORS_A_PAGE: Final = 25
PROBLEMS_SHOWN: Final = 20


@method_decorator(never_cache, name="dispatch")
class Connectors(LoginRequiredMixin, RefusableForm):
    """The reader's own, newest first, and the form for another one."""

    template_name = "memory/connectors.html"
    form_class = ConnectorForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"is_staff": person(self.request).is_staff}

    def act(self, form: ConnectorForm) -> HttpResponse:
        typed = form.cleaned_data
        kind = ConnectorKind(typed["kind"])
        actions.add(person(self.request), kind=kind, location=typed["location"], every_s=typed["every_s"])
        messages.success(self.request, _("Added. It is looked at within a minute."))
        return redirect("memory:connectors")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = person(self.request)
        found = counted(Connector.objects.of(user)).order_by("-created_at", "id")
        page = Paginator(found, CONNECTORS_A_PAGE).get_page(self.request.GET.get("page"))
        roots = settings.CONFIG.watch_roots if user.is_staff else ()
        return super().get_context_data(**kwargs) | {"page": page, "rows": _rows(list(page)), "roots": roots}


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
            "kind": KINDS[ConnectorKind(connector.kind)],
            "pause": _pause(connector.every_s),
            "problems": broken.get(connector.pk, []),
        }
        for connector in found
    ]


def _pause(seconds: int) -> str:
    """As it stands after "every"."""
    if seconds in PAUSES:
        return str(PAUSES[seconds])
    return ngettext("{count} second", "{count} seconds", seconds).format(count=grouped(seconds))


@never_cache
@login_required
@require_POST
def change(request: HttpRequest, connector_id: uuid.UUID) -> HttpResponse:
    """One of the row's buttons."""
    with RefusalsTold(request):
        messages.success(request, _changed(person(request), connector_id, request.POST.get("verb", "")))
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
    path("connectors/", Connectors.as_view(), name="connectors"),
    path("connectors/<uuid:connector_id>/", change, name="connector"),
]
