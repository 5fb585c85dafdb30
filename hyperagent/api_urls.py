"""Everything below `/api/`: version 1 of the API, its description and the pages that show it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.gzip import gzip_page
from django.views.generic import RedirectView, TemplateView
from drf_spectacular.views import SpectacularAPIView
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from agents.log.event_schema import sent_schema
from hyperagent.errors import api_not_found, only_looked_at
from hyperagent.lib import languages


def looked_at(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Other methods are refused in the shape of all errors, whoever asks."""

    @csrf_exempt
    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        is_a_look = request.method in ("GET", "HEAD")
        return view(request, *args, **kwargs) if is_a_look else only_looked_at(request)

    return answered


@looked_at
def events_schema(request: HttpRequest) -> JsonResponse:
    """What each type of event carries as it is stored and sent, as JSON schema. The same for everybody, so nobody is
    asked who they are."""
    return JsonResponse(sent_schema())


class _ByFormat(DefaultContentNegotiation):
    """`?format=json`, by which the programs that read descriptions ask for it."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return super().select_renderer(request, renderers, format_suffix or request.query_params.get("format"))


class Description(SpectacularAPIView):
    """In English for everybody: help texts of models would be in the reader's language, all else would not."""

    content_negotiation_class = _ByFormat

    def _get_schema_response(self, request: Request) -> Any:
        with languages.speaking(languages.ENGLISH):
            return super()._get_schema_response(request)  # type: ignore[no-untyped-call]

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """A refusal is JSON like all others, however the description itself is written."""
        if response.exception:
            request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return super().finalize_response(request, response, *args, **kwargs)


def to_slash(name: str) -> Callable[..., HttpResponseBase]:
    """For who leaves out the slash at the end of an address."""
    return looked_at(RedirectView.as_view(pattern_name=name, query_string=True))


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
    path("docs/", looked_at(login_required(TemplateView.as_view(template_name="api_docs.html"))), name="docs"),
    path("schema/events/", events_schema, name="events-schema"),
    path("schema", to_slash("schema")),
    path("docs", to_slash("docs")),
    path("schema/events", to_slash("events-schema")),
    path("<path:rest>", api_not_found),
]
