"""Django admin behind the same door as everything else: it has no login and no password form of its own to guess at."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.apps import AdminConfig as StockAdminConfig
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from hyperagent.accounts.scopes import GROUP_ROLES


class AdminSite(admin.AdminSite):
    site_header = site_title = "HyperAgent"
    index_title = "Administration"

    def has_permission(self, request: HttpRequest) -> bool:
        """Administrators, and those who review or audit: what each of them sees, the pages themselves say."""
        user = request.user
        return user.is_active and (user.is_staff or user.groups.filter(name__in=GROUP_ROLES).exists())

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        target = request.GET.get("next") or reverse("admin:index", current_app=self.name)
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            # Back to the login page would lead here again.
            raise PermissionDenied(
                "The admin pages are for administrators, reviewers and auditors. Ask an administrator for the role."
            )
        return redirect(f"{reverse('accounts:login')}?{urlencode({'next': target})}")

    def password_change(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return redirect("accounts:password_change")


class AdminConfig(StockAdminConfig):
    default = False
    default_site = "hyperagent.accounts.site.AdminSite"
