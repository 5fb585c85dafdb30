"""Everything below `/api/`: version 1 of the API, its description and the pages that show it."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe
from django.views.generic import TemplateView
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from agents.event_schema import sent_schema
from hyperagent.errors import api_not_found
from hyperagent.lib import languages


@require_safe
def events_schema(request: HttpRequest) -> JsonResponse:
    """What each type of event carries as it is stored and sent, as JSON schema. The same for everybody, so nobody is
    asked who they are."""
    return JsonResponse(sent_schema())


class Description(SpectacularAPIView):
    """In English for everybody: help texts of models would be in the reader's language, all else would not."""

    def _get_schema_response(self, request: Request) -> Any:
        with languages.speaking(languages.ENGLISH):
            return super()._get_schema_response(request)  # type: ignore[no-untyped-call]


urlpatterns = [
    path("v1/", include("hyperagent.accounts.api_urls")),
    path("v1/", include("hyperagent.notices.api_urls")),
    path("v1/", include("conversations.api.urls")),
    path("v1/", include("agents.api.urls")),
    path("v1/", include("hitl.api.urls")),
    path("v1/", include("memory.api.urls")),
    # It holds no secret that its length could tell, and is a twentieth of its size when compressed.
    path("schema/", gzip_page(Description.as_view(permission_classes=(IsAuthenticated,))), name="schema"),
    # A page for people: strangers are asked to sign in, as everywhere.
    path("docs/", login_required(TemplateView.as_view(template_name="api_docs.html")), name="docs"),
    path("schema/events/", events_schema, name="events-schema"),
    path("<path:rest>", api_not_found),
]
