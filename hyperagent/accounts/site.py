"""Django admin behind the same door as everything else: it has no login and no password form of its own to guess at.
Its home is the panels that the apps put there.
"""

from functools import wraps
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.apps import AdminConfig as StockAdminConfig
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.exceptions import PermissionDenied
from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.i18n import JavaScriptCatalog

from hyperagent.lib import admin_house as _house  # noqa: F401 (its panel)
from hyperagent.lib.admin_home import panels_for
from hyperagent.lib.queue_reading import failed_jobs, waiting_jobs


class WidgetTexts(JavaScriptCatalog):
    """What the widgets of Django's forms say, with what its own catalogues of other languages do not have yet."""

    missing: ClassVar[tuple[str, ...]] = (
        gettext_noop('Choose %s by selecting them and then select the "Choose" arrow button.'),
        gettext_noop("Choose all %s"),
        gettext_noop("Choose selected %s"),
        gettext_noop('Remove %s by selecting them and then select the "Remove" arrow button.'),
        gettext_noop("Remove all %s"),
        gettext_noop("Remove selected %s"),
        gettext_noop("(click to clear)"),
    )

    def get_catalog(self) -> dict[str, Any]:
        ours = {text: _(text) for text in self.missing}
        return {**ours, **super().get_catalog()}


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
        user: Any = request.user
        return bool(user.is_active and user.works_in_admin())

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """What no column can be, such as a year of thirty digits, is answered like a filter that there is not."""

        @wraps(view)
        def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                answer: HttpResponseBase = view(request, *args, **kwargs)
            except (DataError, OverflowError):
                if request.method != "GET" or not request.GET.keys() - {ERROR_FLAG}:
                    raise
                return redirect(f"{request.path}?{ERROR_FLAG}=1")
            return answer

        return super().admin_view(answered, cacheable)

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

    def i18n_javascript(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        answer = WidgetTexts.as_view(packages=["django.contrib.admin"])(request)
        assert isinstance(answer, HttpResponse)
        return answer

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        target = request.GET.get("next") or reverse("admin:index", current_app=self.name)
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            # Back to the login page would lead here again.
            raise PermissionDenied(
                _("The admin pages are for administrators, reviewers and auditors. Ask an administrator for the role.")
            )
        return redirect(f"{reverse('accounts:login')}?{urlencode({'next': target})}")

    def logout(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        from hyperagent.accounts.views import Logout  # this file is read before there are models

        return Logout.as_view()(request)

    def password_change(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return redirect("accounts:password_change")


class AdminConfig(StockAdminConfig):
    default = False
    default_site = "hyperagent.accounts.site.AdminSite"
