"""Everything below `/api/`: version 1 of the API, its description and the pages that show it."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.permissions import IsAuthenticated

from hyperagent.errors import api_not_found

urlpatterns = [
    path("v1/", include("hyperagent.accounts.api_urls")),
    path("v1/", include("conversations.api.urls")),
    path("v1/", include("agents.api.urls")),
    path("schema/", SpectacularAPIView.as_view(permission_classes=(IsAuthenticated,)), name="schema"),
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(url_name="schema", permission_classes=(IsAuthenticated,)),
        name="docs",
    ),
    path("<path:rest>", api_not_found),
]
