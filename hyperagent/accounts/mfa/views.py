"""The pages of the settings at which second factors are set up and removed. What guards the account is changed only by
who has shown within the last minutes that it is them.
"""

from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.generic import TemplateView

from hyperagent.accounts import actions, sign_ins
from hyperagent.accounts.mfa import entering, factors, passkeys, session_marks
from hyperagent.accounts.mfa.forms import CodeForm, ConfirmForm, NewPasskeyForm, PasskeyForm
from hyperagent.accounts.models import User
from hyperagent.accounts.requests import address_of, person
from hyperagent.accounts.sso.arriving import identities_of
from hyperagent.accounts.views import SecretForm
from hyperagent.lib.refusals import Refused
from hyperagent.lib.refused_forms import RefusalsTold
from hyperagent.lib.secrets import Unreadable

SETTING_UP: Final = "second_factor_setting_up"
GOING_ON: Final = "second_factor_next"


class Guarded(LoginRequiredMixin):
    """Only for who has shown lately that it is them; others are asked, and come back."""

    request: HttpRequest

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user, method = request.user, (request.method or "").lower()
        is_answered = method in ("get", "head", "post") and hasattr(self, method)
        if is_answered and isinstance(user, User) and not _is_trusted(request, user):
            return _asked_first(request)
        return super().dispatch(request, *args, **kwargs)


@method_decorator(never_cache, name="dispatch")
class SecondFactor(LoginRequiredMixin, TemplateView):
    """What there is, and what may be added. Where a second factor is needed first, people are led here."""

    template_name = "settings/second_factor.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user = person(request)
        is_settled = session_marks.is_settled(user, request.session)
        if not is_settled and "next" in request.GET:
            request.session[GOING_ON] = entering.safe_next(request, request.GET["next"])
        if not is_settled and factors.has_factor(user):
            asked = urlencode({"next": request.session.pop(GOING_ON, settings.LOGIN_REDIRECT_URL)})
            return redirect(f"{reverse('settings:confirm')}?{asked}")
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = person(self.request)
        held = factors.factors_of(user)
        return super().get_context_data(**kwargs) | {
            "apps": [factor for factor in held if factor.kind == factors.Kind.TOTP],
            "passkeys": [factor for factor in held if factor.kind == factors.Kind.WEBAUTHN],
            "codes_left": factors.recovery_codes_left(user) if held else None,
            "is_needed": session_marks.needs_factor(user),
            "is_settled": session_marks.is_settled(user, self.request.session),
        }


class AddApp(Guarded, SecretForm):
    template_name = "settings/second_factor_app.html"
    form_class = CodeForm
    at = {"": "code"}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        try:
            secret, picture = factors.setting_up(person(self.request), self._sealed())
        except Unreadable:
            del self.request.session[SETTING_UP]
            secret, picture = factors.setting_up(person(self.request), self._sealed())
        # Drawn here, of our own secret.
        shown = {"secret": secret, "picture": mark_safe(_inline(picture))}  # noqa: S308
        return super().get_context_data(**kwargs) | shown

    def act(self, form: Form) -> HttpResponse:
        codes = factors.add_app(
            person(self.request), self._sealed(), form.cleaned_data["code"], address=address_of(self.request)
        )
        del self.request.session[SETTING_UP]
        return _done(self.request, _("The app is set up."), codes)

    def _sealed(self) -> str:
        if SETTING_UP not in self.request.session:
            self.request.session[SETTING_UP] = factors.new_secret()
        return str(self.request.session[SETTING_UP])


class AddPasskey(Guarded, SecretForm):
    template_name = "settings/second_factor_passkey.html"
    form_class = NewPasskeyForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        asked = passkeys.ask_for_new(self.request, person(self.request))
        return super().get_context_data(**kwargs) | {"asked": asked, "is_possible": is_possible(self.request)}

    def act(self, form: Form) -> HttpResponse:
        typed, user = form.cleaned_data, person(self.request)
        codes = passkeys.add(self.request, user, name=typed["name"], answer=typed["credential"])
        return _done(self.request, _("The passkey is set up."), codes)


class Remove(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, factor_id: int) -> HttpResponse:
        user = person(request)
        if all(factor.id != factor_id for factor in factors.factors_of(user)):
            raise Http404
        if not _is_trusted(request, user):
            return _asked_first(request)
        with RefusalsTold(request):
            factors.remove(user, factor_id)
            messages.success(request, _("It is removed, and opens nothing any more."))
        return redirect("settings:second_factor")


class RecoveryCodes(Guarded, View):
    """New ones. They are shown in this answer and nowhere else."""

    http_method_names = ("post", "options")

    def post(self, request: HttpRequest) -> HttpResponse:
        with RefusalsTold(request):
            codes = factors.new_recovery_codes(person(request))
            return _codes_page(request, codes, reverse("settings:second_factor"))
        return redirect("settings:second_factor")


class Confirm(LoginRequiredMixin, SecretForm):
    """Shows anew that it is them: with a second factor if there is one, else with the password or at the provider."""

    template_name = "settings/confirm.html"
    at = {"": "code"}

    def get_form_class(self) -> type[Form]:
        return CodeForm if factors.has_factor(person(self.request)) else ConfirmForm

    def act(self, form: Form) -> HttpResponse:
        user, typed = person(self.request), form.cleaned_data
        if isinstance(form, CodeForm):
            factors.use_code(user, typed["code"], address=address_of(self.request))
            return self._confirmed(with_factor=True)
        if actions.check_credentials(user.email, typed["password"], address=address_of(self.request)) is None:
            form.add_error("password", _("This is not your password."))
            return self.form_invalid(form)
        return self._confirmed(with_factor=False)

    def _confirmed(self, *, with_factor: bool) -> HttpResponse:
        session_marks.mark(self.request.session, with_factor=with_factor)
        return redirect(self._next())

    def _next(self) -> str:
        asked = self.request.POST.get("next", self.request.GET.get("next", ""))
        return entering.safe_next(self.request, asked or reverse("settings:security"))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = person(self.request)
        kinds = {factor.kind for factor in factors.factors_of(user)}
        is_linked = settings.SIGN_ON is not None and any(
            identity.issuer.rstrip("/") == settings.SIGN_ON.issuer.rstrip("/") for identity in identities_of(user)
        )
        return super().get_context_data(**kwargs) | {
            "next": self._next(),
            "has_factor": bool(kinds),
            "has_code": bool(kinds),
            "has_passkey": factors.Kind.WEBAUTHN in kinds,
            "has_password": user.has_usable_password(),
            # With a second factor the provider's word alone is not enough.
            "sign_on": settings.SIGN_ON if is_linked and not kinds else None,
        }


class AskForPasskey(LoginRequiredMixin, View):
    """What `navigator.credentials.get` is given by who confirms that it is them."""

    http_method_names = ("post", "options")

    def post(self, request: HttpRequest) -> HttpResponse:
        answer = JsonResponse(passkeys.ask(request, person(request)))
        answer["Cache-Control"] = "no-store"
        return answer


class ConfirmByPasskey(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest) -> HttpResponse:
        user = person(request)
        form = PasskeyForm(request.POST)
        next_url = entering.safe_next(request, request.POST.get("next", ""))
        try:
            if not form.is_valid():
                raise passkeys.WrongPasskey
            passkeys.check(request, user, form.cleaned_data["credential"])
        except Refused as refused:
            messages.error(request, refused.message)
            return redirect(f"{reverse('settings:confirm')}?{urlencode({'next': next_url})}")
        session_marks.mark(request.session, with_factor=True)
        return redirect(next_url)


def is_possible(request: HttpRequest) -> bool:
    """Whether browsers make passkeys for this address: it needs a name, and https unless it is this machine."""
    host = request.get_host().rpartition(":")[0] or request.get_host()
    is_name = not host.strip("[]").replace(".", "").replace(":", "").isdigit() and not host.startswith("[")
    return is_name and (request.is_secure() or host == "localhost" or host.endswith(".localhost"))


def _is_trusted(request: HttpRequest, user: User) -> bool:
    """Lately, and with a second factor if there is one: else the first one alone could remove the second."""
    if not session_marks.is_recent(request.session):
        return False
    return bool(request.session.get(session_marks.SHOWN)) or not factors.has_factor(user)


def _asked_first(request: HttpRequest) -> HttpResponse:
    """Whether it is them; then back to where they were."""
    back = request.get_full_path() if request.method in ("GET", "HEAD") else reverse("settings:second_factor")
    return redirect(f"{reverse('settings:confirm')}?{urlencode({'next': back})}")


def _done(request: HttpRequest, said: str, codes: list[str]) -> HttpResponse:
    """A factor was added: whoever has to have one has it now. The sessions elsewhere end, which were begun without."""
    session_marks.mark(request.session, with_factor=True)
    next_url = request.session.pop(GOING_ON, reverse("settings:second_factor"))
    if codes:
        sign_ins.end_others(request, person(request))
        return _codes_page(request, codes, next_url, said=said)
    messages.success(request, said)
    return redirect(next_url)


def _codes_page(request: HttpRequest, codes: list[str], next_url: str, *, said: str = "") -> HttpResponse:
    context = {"codes": [factors.tidy(code) for code in codes], "next": next_url, "said": said}
    answer = render(request, "settings/recovery_codes.html", context)
    answer["Cache-Control"] = "no-store"
    return answer


def _inline(picture: str) -> str:
    """The drawing without what stands before it in a file."""
    return picture[picture.index("<svg") :]
