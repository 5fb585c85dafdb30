"""Django admin behind the same door as everything else: it has no login and no password form of its own to guess at.
Its home is the panels that the apps put there.
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.apps import AdminConfig as StockAdminConfig
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from hyperagent.accounts.scopes import GROUP_ROLES
from hyperagent.lib import admin_house as _house  # noqa: F401 (its panel)
from hyperagent.lib.admin_home import panels_for
from hyperagent.lib.queue_reading import failed_jobs, waiting_jobs


class AdminSite(admin.AdminSite):
    site_header = site_title = "HyperAgent"
    index_title = gettext_lazy("Administration")
    index_template = "admin/home.html"

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Whatever is written on a page goes into the audit log; no page has to think of it."""
        # This file also registers the app, before there are models.
        from hyperagent.audit.admin_changes import audited

        super().register(model_or_iterable, audited(admin_class or admin.ModelAdmin), **options)

    def has_permission(self, request: HttpRequest) -> bool:
        """Administrators, and those who review or audit: what each of them sees, the pages themselves say."""
        user = request.user
        return user.is_active and (user.is_staff or user.groups.filter(name__in=GROUP_ROLES).exists())

    def index(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().index(request, {"panels": panels_for(request), **(extra_context or {})})

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [path("jobs/", self.admin_view(self.jobs), name="jobs"), *super().get_urls()]

    def jobs(self, request: HttpRequest) -> HttpResponse:
        """The queue, by its columns. Django-q2's own pages would load what its rows hold."""
        if not request.user.is_staff:
            raise PermissionDenied(_("The queue is shown to administrators."))
        context = {
            **self.each_context(request),
            "title": _("Background jobs"),
            "waiting": waiting_jobs(),
            "failed": failed_jobs(),
        }
        return TemplateResponse(request, "admin/jobs.html", context)

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
