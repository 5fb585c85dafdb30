"""The pages at the door: to sign in, to make an account, to get a new password, to leave. Each reads a form, calls one
verb of `actions`, and shows what came of it. No JavaScript.
"""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import (
    INTERNAL_RESET_SESSION_TOKEN,
    LogoutView,
    PasswordResetConfirmView,
    RedirectURLMixin,
)
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import RedirectView, TemplateView
from django.views.generic.base import ContextMixin

from hyperagent.accounts import actions
from hyperagent.accounts.forms import LoginForm, NewPasswordForm, PasswordResetForm, RegisterForm
from hyperagent.accounts.mfa import entering
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.requests import address_of
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import actor_of, record
from hyperagent.lib.outgoing_mails import mails_leave
from hyperagent.lib.refused_forms import Refusable, RefusableForm


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SecretForm(RefusableForm):
    """A form with a secret in it."""


class Entrance(RedirectURLMixin, SecretForm):
    """A page for people who are not signed in yet; whoever is goes on to where they were going."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return redirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def get_default_redirect_url(self) -> str:
        return settings.LOGIN_REDIRECT_URL

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {
            "next": self.get_redirect_url(),
            "registration_open": settings.REGISTRATION_OPEN,
            "sign_on": settings.SIGN_ON,
        }


class Login(Entrance):
    template_name = "accounts/login.html"
    form_class = LoginForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # Whoever had shown a first factor and comes back here may be somebody else.
        entering.forget(request)
        return super().get(request, *args, **kwargs)

    def act(self, form: Form) -> HttpResponse:
        typed = form.cleaned_data
        user = actions.check_credentials(typed["email"], typed["password"], address=address_of(self.request))
        if user is None:
            form.add_error(None, _("The e-mail address or the password is wrong."))
            return self.form_invalid(form)
        if entering.by_provider_only(user):
            form.add_error(None, entering.provider_only())
            return self.form_invalid(form)
        return entering.enter(self.request, user, next_url=self.get_success_url())


class Register(Entrance):
    template_name = "accounts/register.html"
    form_class = RegisterForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.REGISTRATION_OPEN and not request.user.is_authenticated:
            context = {"administrator": settings.CONFIG.admin_email, "view": self}
            return self.response_class(request, ["accounts/register_closed.html"], context, status=403)
        return super().dispatch(request, *args, **kwargs)

    def act(self, form: Form) -> HttpResponse:
        typed = form.cleaned_data
        user = actions.register(
            typed["email"],
            typed["password"],
            display_name=typed["display_name"],
            time_zone=typed["time_zone"],
            address=address_of(self.request),
        )
        return entering.enter(self.request, user, next_url=self.get_success_url())


def forgotten(response: HttpResponse) -> HttpResponse:
    """Whoever leaves has nothing left in the browser: drafts go, and questions that were not sent yet."""
    response["Clear-Site-Data"] = '"storage"'
    return response


class Logout(LogoutView):
    """Also the admin's."""

    next_page = "accounts:login"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            record(AuditKind.SIGN_OUT, actor=actor_of(request.user), request=request)
        return forgotten(super().post(request, *args, **kwargs))


class ByMail(ContextMixin):
    """Where no mails leave, none is promised."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"mails_leave": mails_leave()}


class PasswordReset(ByMail, SecretForm):
    template_name = "accounts/password_reset.html"
    form_class = PasswordResetForm

    def act(self, form: Form) -> HttpResponse:
        actions.ask_for_password_reset(form.cleaned_data["email"], address=address_of(self.request))
        return redirect("accounts:password_reset_done")


class PasswordResetDone(ByMail, TemplateView):
    template_name = "accounts/password_reset_done.html"


class PasswordResetConfirm(Refusable, PasswordResetConfirmView):
    """Django's walk from the mailed link to a form: the token moves into the session, so that no address shows it."""

    template_name = "accounts/password_reset_confirm.html"
    form_class: Any = NewPasswordForm
    success_url = reverse_lazy("accounts:password_reset_complete")

    def get_user(self, uidb64: str) -> User | None:
        user = super().get_user(uidb64)
        return user if isinstance(user, User) and user.is_active else None

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        tokens = ApiToken.objects.usable().owned_by(self.user).count() if self.user is not None else 0
        return super().get_context_data(**kwargs) | {"tokens": tokens}

    def get_form_kwargs(self) -> dict[str, Any]:
        kwargs = super().get_form_kwargs()
        del kwargs["user"]
        return kwargs

    def act(self, form: Form) -> HttpResponse:
        assert self.user is not None  # else there was no form to send
        revoked = actions.change_password(self.user, form.cleaned_data["password"], by=self.user)
        tell_of_tokens(self.request, revoked)
        del self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        return redirect(self.get_success_url())


def tell_of_tokens(request: HttpRequest, revoked: int) -> None:
    """On the next page: what of the person's programs has to get a new token."""
    if revoked:
        told = ngettext(
            "Your API token is revoked. The program that used it needs a new one.",
            "Your {count} API tokens are revoked. The programs that used them need new ones.",
            revoked,
        )
        messages.warning(request, told.format(count=revoked))


class PasswordResetComplete(TemplateView):
    template_name = "accounts/password_reset_complete.html"


class Moved(RedirectView):
    """An address that a page had before. What is sent to it goes on to the new one, and is not lost."""

    permanent = True
    query_string = True

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        answer = super().get(request, *args, **kwargs)
        # 301 lets a browser forget what was sent.
        answer.status_code = 308 if answer.status_code == 301 else answer.status_code
        return answer
