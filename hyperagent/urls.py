"""Every address, and the app that answers it."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("accounts/", include("hyperagent.accounts.urls")),
    path("api/v1/", include("hyperagent.accounts.api_urls")),
]
