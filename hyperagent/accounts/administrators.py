"""The pages that are administrators' alone."""

from typing import Any

from django.contrib.auth.mixins import LoginRequiredMixin, UserPassesTestMixin
from django.http import Http404, HttpRequest
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache

from hyperagent.accounts.requests import person
from hyperagent.lib.refusals import NotThere


@method_decorator(never_cache, name="dispatch")
class ForAdministrators(LoginRequiredMixin, UserPassesTestMixin, View):
    """Strangers are asked to sign in; whoever is signed in and none is told that it is not allowed."""

    def test_func(self) -> bool:
        return person(self.request).is_staff

    def handle_no_permission(self) -> Any:
        self.raise_exception = self.request.user.is_authenticated
        return super().handle_no_permission()

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not request.user.is_authenticated:
            return self.handle_no_permission()
        try:
            return super().dispatch(request, *args, **kwargs)
        except NotThere:
            raise Http404 from None
