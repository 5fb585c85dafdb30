"""Everything below `/api/`: version 1 of the API, its description and the pages that show it."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import IsAuthenticated

from agents.engine.events import body_adapter
from hyperagent.errors import api_not_found


@require_safe
def events_schema(request: HttpRequest) -> JsonResponse:
    """What each type of event carries, as JSON schema. The same for everybody, so nobody is asked who they are."""
    return JsonResponse(body_adapter.json_schema())


urlpatterns = [
    path("v1/", include("hyperagent.accounts.api_urls")),
    path("v1/", include("hyperagent.notices.api_urls")),
    path("v1/", include("conversations.api.urls")),
    path("v1/", include("agents.api.urls")),
    path("v1/", include("hitl.api.urls")),
    path("v1/", include("memory.api.urls")),
    path("schema/", SpectacularAPIView.as_view(permission_classes=(IsAuthenticated,)), name="schema"),
    # A page for people: strangers are asked to sign in, as everywhere.
    path(
        "docs/",
        login_required(
            SpectacularSwaggerSplitView.as_view(
                url_name="schema", template_name="api_docs.html", permission_classes=(IsAuthenticated,)
            )
        ),
        name="docs",
    ),
    path("schema/events/", events_schema, name="events-schema"),
    path("<path:rest>", api_not_found),
]
