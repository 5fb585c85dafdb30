"""Every address, and the app that answers it."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from agents.usage.urls import patterns as usage_patterns
from conversations.titles import titles_of
from hyperagent import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("metrics", health.metrics),
    path("admin/", admin.site.urls),
    path("accounts/", include("hyperagent.accounts.urls")),
    path("settings/", include("hyperagent.accounts.settings_urls")),
    path("settings/", include("hyperagent.notices.urls")),
    path("people/", include("hyperagent.accounts.people_urls")),
    path("mail/", include("agents.mail.urls")),
    path("previews/", include("agents.apps.urls")),
    path("usage/", include(usage_patterns(titles_of))),
    path("browser/", include("agents.browser.urls")),
    path("settings/mcp/", include("agents.mcp.urls")),
    path("api/", include("hyperagent.api_urls")),
    path("v1/", include("conversations.completions.urls")),
    path("", include("conversations.mcp.urls")),
    path("", include("conversations.a2a.urls")),
    path("", include("hitl.urls")),
    path("", include("memory.urls")),
    path("", include("conversations.urls")),
]

handler400 = "hyperagent.errors.bad_request"
handler403 = "hyperagent.errors.not_allowed"
handler404 = "hyperagent.errors.not_found"
handler500 = "hyperagent.errors.server_error"
