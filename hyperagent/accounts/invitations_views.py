"""The pages at the door for whoever was invited. What is over, used, revoked or made up is answered by one page;
whether there is an account already, by none.
"""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache

from hyperagent.accounts import invitations
from hyperagent.accounts.forms import InvitedForm
from hyperagent.accounts.mfa import entering
from hyperagent.accounts.models import User, email_key
from hyperagent.accounts.requests import person
from hyperagent.accounts.scopes import Role
from hyperagent.accounts.views import SecretForm
from hyperagent.lib.refused_forms import RefusalsTold


@method_decorator(never_cache, name="dispatch")
class Invited(View):
    """The link of the mail. It is remembered and left: the address of the next page holds nothing."""

    http_method_names = ("get", "head", "options")

    def get(self, request: HttpRequest, word: str) -> HttpResponse:
        found = invitations.of_link(word)
        if found is None:
            return _over(request)
        invitations.remember(request.session, found)
        return redirect("accounts:invited_here")


class Accept(SecretForm):
    """Somebody new says a name and a password; whoever is signed in with the address that was invited says yes."""

    template_name = "people/accept.html"
    form_class = InvitedForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        found = invitations.remembered(request.session)
        if found is None:
            is_theirs = isinstance(request.user, User) and invitations.was_accepted(request.session, request.user)
            return _accepted(request) if is_theirs else _over(request)
        self.invitation = found
        if request.method == "POST" and request.user.is_authenticated:
            return self._accept_signed_in(request)
        return super().dispatch(request, *args, **kwargs)

    def act(self, form: Form) -> HttpResponse:
        if self._by_provider_only():
            form.add_error(None, entering.provider_only())
            return self.form_invalid(form)
        typed = form.cleaned_data
        user = invitations.accept_as_new(
            self.invitation, typed["password"], display_name=typed["display_name"], time_zone=typed["time_zone"]
        )
        invitations.forget(self.request.session)
        return entering.enter(self.request, user, next_url="/")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {
            "invitation": self.invitation,
            "is_theirs": self._is_theirs(),
            "sign_on": settings.SIGN_ON,
            "by_provider_only": self._by_provider_only(),
        }

    def _by_provider_only(self) -> bool:
        """As `entering` has it for whoever is there already."""
        sign_on = settings.SIGN_ON
        return sign_on is not None and sign_on.is_required and Role.ADMINISTRATOR not in self.invitation.roles

    def _is_theirs(self) -> bool:
        user = self.request.user
        return isinstance(user, User) and email_key(user.email) == email_key(self.invitation.email)

    def _accept_signed_in(self, request: HttpRequest) -> HttpResponse:
        with RefusalsTold(request):
            invitations.accept(self.invitation, person(request))
            return _accepted(request)
        return redirect("accounts:invited_here")


def _accepted(request: HttpRequest) -> HttpResponse:
    invitations.forget(request.session)
    messages.success(request, _("You have accepted the invitation."))
    return redirect("settings:overview")


def _over(request: HttpRequest) -> HttpResponse:
    return render(request, "people/invitation_over.html", status=410)
