"""The pages at the door that ask for a second factor, or for a passkey in place of everything."""

from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.views import View

from hyperagent.accounts import attempts
from hyperagent.accounts.attempts import TooManyTries, Try
from hyperagent.accounts.limits import Door
from hyperagent.accounts.mfa import entering, factors, passkeys
from hyperagent.accounts.mfa.forms import CodeForm, PasskeyForm
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import address_of
from hyperagent.accounts.views import SecretForm
from hyperagent.lib.refusals import Refused


class SecondFactor(SecretForm):
    """A code, or a recovery code, of who has shown the first factor."""

    template_name = "accounts/second_factor.html"
    form_class = CodeForm
    at = {"": "code"}
    half_in: tuple[User, str]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        half_in = entering.half_in(request)
        if half_in is None:
            return redirect("accounts:login")
        self.half_in = half_in
        return super().dispatch(request, *args, **kwargs)

    def act(self, form: Form) -> HttpResponse:
        user, next_url = self.half_in
        factors.use_code(user, form.cleaned_data["code"], address=address_of(self.request))
        return entering.enter(self.request, user, next_url=next_url, with_factor=True)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        kinds = {factor.kind for factor in factors.factors_of(self.half_in[0])}
        has = {"has_app": factors.Kind.TOTP in kinds, "has_passkey": factors.Kind.WEBAUTHN in kinds}
        return super().get_context_data(**kwargs) | has


class AskForPasskey(View):
    """What `navigator.credentials.get` is given: for who is half in, or for whoever has one."""

    http_method_names = ("post", "options")

    def post(self, request: HttpRequest) -> HttpResponse:
        half_in = entering.half_in(request)
        answer = JsonResponse(passkeys.ask(request, half_in[0] if half_in else None))
        answer["Cache-Control"] = "no-store"
        return answer


class EnterByPasskey(View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest) -> HttpResponse:
        half_in = entering.half_in(request)
        next_url = half_in[1] if half_in else entering.safe_next(request, request.POST.get("next", ""))
        try:
            user = _whose(request, half_in[0] if half_in else None)
        except TooManyTries as refused:
            messages.error(request, refused.message)
        except Refused as refused:
            factors.failed(half_in[0] if half_in else None, refused.code)
            messages.error(request, refused.message)
        else:
            return entering.enter(request, user, next_url=next_url, with_factor=True)
        return redirect("accounts:second_factor" if half_in else "accounts:login")


def _whose(request: HttpRequest, expected: User | None) -> User:
    """Raises Refused, TooManyTries."""
    form = PasskeyForm(request.POST)
    if not form.is_valid():
        raise passkeys.WrongPasskey
    # Which account it is for is said by what is yet to be looked at: counted for the address alone.
    address = address_of(request)
    tried = Try(Door.SECOND, expected.email if expected else "", address)
    attempts.take(tried)
    user = passkeys.check(request, expected, form.cleaned_data["credential"])
    if not user.is_active or user.is_service:
        raise passkeys.WrongPasskey
    if expected is None and entering.by_provider_only(user):
        raise Refused("sso_required", entering.provider_only())
    attempts.succeeded(tried)
    return user
