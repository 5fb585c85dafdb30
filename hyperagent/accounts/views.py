"""The account's pages. Each reads a form, calls one verb of `actions`, and shows what came of it. No JavaScript."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import (
    INTERNAL_RESET_SESSION_TOKEN,
    LogoutView,
    PasswordResetConfirmView,
    RedirectURLMixin,
)
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView, TemplateView, UpdateView

from hyperagent.accounts import actions
from hyperagent.accounts.attempts import TooManyTries
from hyperagent.accounts.forms import (
    LoginForm,
    NewPasswordForm,
    PasswordChangeForm,
    PasswordResetForm,
    ProfileForm,
    RegisterForm,
    TokenForm,
)
from hyperagent.accounts.limits import too_many_tries
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.requests import address_of

TOKENS_A_PAGE = 25
WRONG_CREDENTIALS = "The e-mail address or the password is wrong."


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SecretForm(FormView):  # type: ignore[type-arg]
    """A form with a secret in it, whose verb may be refused for being tried too often."""

    def form_valid(self, form: Form) -> HttpResponse:
        try:
            return self.act(form)
        except TooManyTries as refused:
            return self._later(form, refused)
        except ValidationError as error:
            form.add_error(None, error)
            return self.form_invalid(form)

    def act(self, form: Form) -> HttpResponse:
        raise NotImplementedError

    def _later(self, form: Form, refused: TooManyTries) -> HttpResponse:
        form.add_error(None, too_many_tries(refused.retry_after_s))
        response = self.render_to_response(self.get_context_data(form=form), status=429)
        response["Retry-After"] = str(refused.retry_after_s)
        return response


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
        }


class Login(Entrance):
    template_name = "accounts/login.html"
    form_class = LoginForm

    def act(self, form: Form) -> HttpResponse:
        typed = form.cleaned_data
        user = actions.check_credentials(typed["email"], typed["password"], address=address_of(self.request))
        if user is None:
            form.add_error(None, WRONG_CREDENTIALS)
            return self.form_invalid(form)
        login(self.request, user)
        return redirect(self.get_success_url())


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
            address=address_of(self.request),
        )
        login(self.request, user)
        return redirect(self.get_success_url())


class Logout(LogoutView):
    next_page = "accounts:login"


class PasswordChange(LoginRequiredMixin, SecretForm):
    template_name = "accounts/password_change.html"
    form_class = PasswordChangeForm

    def act(self, form: Form) -> HttpResponse:
        user = _person(self.request)
        old, new = form.cleaned_data["old_password"], form.cleaned_data["password"]
        if actions.check_credentials(user.email, old, address=address_of(self.request)) is None:
            form.add_error("old_password", "This is not your password.")
            return self.form_invalid(form)
        actions.change_password(user, new)
        update_session_auth_hash(self.request, user)
        messages.success(self.request, "Your password is changed, and you are signed out everywhere else.")
        return redirect("accounts:profile")


class PasswordReset(SecretForm):
    template_name = "accounts/password_reset.html"
    form_class = PasswordResetForm

    def act(self, form: Form) -> HttpResponse:
        actions.ask_for_password_reset(form.cleaned_data["email"], address=address_of(self.request))
        return redirect("accounts:password_reset_done")


class PasswordResetDone(TemplateView):
    template_name = "accounts/password_reset_done.html"


class PasswordResetConfirm(PasswordResetConfirmView):
    """Django's walk from the mailed link to a form: the token moves into the session, so that no address shows it."""

    template_name = "accounts/password_reset_confirm.html"
    form_class: Any = NewPasswordForm
    success_url = reverse_lazy("accounts:password_reset_complete")

    def get_user(self, uidb64: str) -> User | None:
        user = super().get_user(uidb64)
        return user if isinstance(user, User) and user.is_active else None

    def get_form_kwargs(self) -> dict[str, Any]:
        kwargs = super().get_form_kwargs()
        del kwargs["user"]
        return kwargs

    def form_valid(self, form: Any) -> HttpResponse:
        assert self.user is not None  # else there was no form to send
        try:
            actions.change_password(self.user, form.cleaned_data["password"])
        except ValidationError as error:
            form.add_error(None, error)
            return self.form_invalid(form)
        del self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        return redirect(self.get_success_url())


class PasswordResetComplete(TemplateView):
    template_name = "accounts/password_reset_complete.html"


@method_decorator(never_cache, name="dispatch")
class Profile(LoginRequiredMixin, UpdateView):  # type: ignore[type-arg]
    template_name = "accounts/profile.html"
    form_class = ProfileForm
    success_url = reverse_lazy("accounts:profile")

    def get_object(self, queryset: Any = None) -> User:
        return _person(self.request)

    def form_valid(self, form: ProfileForm) -> HttpResponse:  # type: ignore[override]
        messages.success(self.request, "Saved.")
        return super().form_valid(form)


class Tokens(LoginRequiredMixin, SecretForm):
    template_name = "accounts/tokens.html"
    form_class = TokenForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"is_staff": _person(self.request).is_staff}

    def act(self, form: Form) -> HttpResponse:
        assert isinstance(form, TokenForm)
        typed = form.cleaned_data
        try:
            token, raw = actions.make_token(
                _person(self.request), name=typed["name"], scopes=typed["scopes"], expires_at=form.expires_at()
            )
        except ValidationError as error:
            for field, faults in error.message_dict.items():
                form.add_error({"expires_at": "ends_on"}.get(field, field), faults)
            return self.form_invalid(form)
        # Shown in this answer and nowhere else: a redirect would have to keep the token somewhere in between.
        again = TokenForm(is_staff=_person(self.request).is_staff)
        return self.render_to_response(self.get_context_data(form=again, made=token, raw=raw), status=201)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        own = ApiToken.objects.owned_by(_person(self.request))
        page = Paginator(own, TOKENS_A_PAGE).get_page(self.request.GET.get("page"))
        return super().get_context_data(**kwargs) | {"page": page, "now": timezone.now()}


class TokenRevoke(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
        if not actions.revoke_token(_person(request), token_id):
            raise Http404
        messages.success(request, "The token is revoked. Nothing can use it any more.")
        return redirect("accounts:tokens")


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
