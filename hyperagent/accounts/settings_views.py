"""The pages of the settings that are the account's. Each reads a form, calls one verb, and shows what came of it. No
JavaScript.
"""

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.paginator import Paginator
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.generic import TemplateView, UpdateView

from hyperagent.accounts import actions, sign_ins
from hyperagent.accounts.forms import AppearanceForm, LanguageForm, PasswordChangeForm, ProfileForm, TokenForm
from hyperagent.accounts.mfa import security
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.people_reading import shown
from hyperagent.accounts.requests import address_of, person
from hyperagent.accounts.views import SecretForm, tell_of_tokens
from hyperagent.lib.languages import known, remember_choice
from hyperagent.lib.refused_forms import Refusable

TOKENS_A_PAGE = 25


class Overview(LoginRequiredMixin, TemplateView):
    template_name = "settings/overview.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        one = shown(User.objects.filter(pk=person(self.request).pk))[0]
        return super().get_context_data(**kwargs) | {"roles": one.roles, "groups": one.groups}


@method_decorator(never_cache, name="dispatch")
class OwnAccount(LoginRequiredMixin, Refusable, UpdateView):  # type: ignore[type-arg]
    """A form over columns of one's own account."""

    def get_object(self, queryset: Any = None) -> User:
        # Another object than the request's: what was typed wrongly must not show in the frame of the page.
        return User.objects.get(pk=person(self.request).pk)

    def act(self, form: Any) -> HttpResponse:
        # Only what the form has: the rest of the row may have changed since it was read.
        form.instance.save(update_fields=list(form.fields))
        messages.success(self.request, _("Saved."))
        return redirect(str(self.success_url))


class Profile(OwnAccount):
    template_name = "settings/profile.html"
    form_class = ProfileForm
    success_url = reverse_lazy("settings:profile")


class Appearance(OwnAccount):
    template_name = "settings/appearance.html"
    form_class = AppearanceForm
    success_url = reverse_lazy("settings:appearance")


class Language(OwnAccount):
    template_name = "settings/language.html"
    form_class = LanguageForm
    success_url = reverse_lazy("settings:language")

    def act(self, form: Any) -> HttpResponse:
        chosen = form.cleaned_data["language"]
        # What is said now is read on the next page, which speaks the new language already.
        with override(known(chosen) if chosen else None):
            answer = super().act(form)
        remember_choice(answer, chosen)
        return answer


class Security(LoginRequiredMixin, SecretForm):
    """The password, and where one is signed in."""

    template_name = "settings/security.html"
    form_class = PasswordChangeForm

    def act(self, form: Form) -> HttpResponse:
        user = person(self.request)
        old, new = form.cleaned_data["old_password"], form.cleaned_data["password"]
        if actions.check_credentials(user.email, old, address=address_of(self.request)) is None:
            form.add_error("old_password", _("This is not your password."))
            return self.form_invalid(form)
        revoked = actions.change_password(user, new, by=user)
        sign_ins.stay_here(self.request, user)
        messages.success(self.request, _("Your password is changed, and you are signed out everywhere else."))
        tell_of_tokens(self.request, revoked)
        return redirect("settings:security")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user = person(self.request)
        places = sign_ins.places(self.request, user)
        tokens = ApiToken.objects.usable().owned_by(user).count()
        own = {"places": places, "tokens": tokens}
        return super().get_context_data(**kwargs) | own | security.shown(self.request, user)


class EndSignIn(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, sign_in_id: uuid.UUID) -> HttpResponse:
        if not sign_ins.end_one(person(request), sign_in_id):
            raise Http404
        messages.success(request, _("That browser is signed out."))
        return redirect("settings:security")


class EndOtherSignIns(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest) -> HttpResponse:
        sign_ins.end_others(request, person(request))
        messages.success(request, _("You are signed out everywhere else."))
        return redirect("settings:security")


class Connections(LoginRequiredMixin, TemplateView):
    template_name = "settings/connections.html"


class Tokens(LoginRequiredMixin, SecretForm):
    template_name = "settings/tokens.html"
    form_class = TokenForm
    at = {"expires_at": "ends_on"}

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"is_staff": person(self.request).is_staff}

    def act(self, form: TokenForm) -> HttpResponse:
        typed = form.cleaned_data
        token, raw = actions.make_token(
            person(self.request), name=typed["name"], scopes=typed["scopes"], expires_at=form.expires_at()
        )
        # Shown in this answer and nowhere else: a redirect would have to keep the token somewhere in between.
        again = TokenForm(is_staff=person(self.request).is_staff)
        return self.render_to_response(self.get_context_data(form=again, made=token, raw=raw), status=201)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        own = ApiToken.objects.owned_by(person(self.request))
        page = Paginator(own, TOKENS_A_PAGE).get_page(self.request.GET.get("page"))
        return super().get_context_data(**kwargs) | {"page": page, "now": timezone.now()}


class TokenRevoke(LoginRequiredMixin, View):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
        if not actions.revoke_token(person(request), token_id):
            raise Http404
        messages.success(request, _("The token is revoked. Nothing can use it any more."))
        return redirect("settings:tokens")
