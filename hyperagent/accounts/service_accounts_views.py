"""The pages of service accounts, for administrators: the list, a new one, and one with its tokens. No JavaScript."""

import uuid
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from hyperagent.accounts import people, service_accounts
from hyperagent.accounts.administrators import ForAdministrators
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.people_forms import RotateForm, ServiceForm, ServiceTokenForm, end_of
from hyperagent.accounts.people_reading import Person, programs
from hyperagent.accounts.people_views import A_PAGE, one_of
from hyperagent.accounts.requests import person
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold

TOKENS_SHOWN = 50


class ServiceAccounts(ForAdministrators):
    def get(self, request: HttpRequest) -> HttpResponse:
        page = Paginator(programs(), A_PAGE).get_page(request.GET.get("page"))
        return render(request, "people/service_accounts.html", {"tab": "programs", "page": page})


class NewServiceAccount(ForAdministrators, RefusableForm):
    template_name = "people/new_service_account.html"
    form_class = ServiceForm
    at = {"ends_at": "ends_on"}

    def get_initial(self) -> dict[str, Any]:
        return {"owner": person(self.request).email}

    def act(self, form: ServiceForm) -> HttpResponse:
        made = service_accounts.make(person(self.request), form.wish())
        messages.success(self.request, _("The service account is made. Give it a token."))
        return redirect("people:service_account", made.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"tab": "programs"}


class ServiceAccountPage(ForAdministrators, RefusableForm):
    """Two forms, and the buttons of the account and of its tokens."""

    template_name = "people/service_account.html"
    at = {"ends_at": "ends_on", "expires_at": "ends_on"}

    @cached_property
    def one(self) -> Person:
        return one_of(User.objects.filter(pk=self.kwargs["service_id"], kind="service"))

    def get_form(self, form_class: Any = None) -> Form:
        if self.request.POST.get("verb") == "token":
            return ServiceTokenForm(self.request.POST, scopes=self.one.user.service_account.scopes)
        return ServiceForm(self.request.POST or None, initial=_as_it_is(self.one))

    def post(self, request: HttpRequest, service_id: uuid.UUID) -> HttpResponse:
        by, user, verb = person(request), self.one.user, request.POST.get("verb", "save")
        if verb in ("save", "token"):
            return super().post(request)
        with RefusalsTold(request):
            if verb == "rotate":
                return self._rotate()
            messages.success(request, _done(by, user, verb, request))
        return redirect("people:service_account", user.pk)

    def act(self, form: Form) -> HttpResponse:
        by, user, typed = person(self.request), self.one.user, form.cleaned_data
        if isinstance(form, ServiceForm):
            service_accounts.change(by, user.pk, form.wish(ends_at_now=user.service_account.ends_at))
            messages.success(self.request, _("Saved."))
            return redirect("people:service_account", user.pk)
        ends = end_of(typed["ends_on"])
        made = service_accounts.make_token(by, user.pk, name=typed["name"], scopes=typed["scopes"], expires_at=ends)
        return self._with_token(*made)

    def _rotate(self) -> HttpResponse:
        form = RotateForm(self.request.POST)
        if not form.is_valid():
            raise NotThere
        grace = timedelta(hours=int(form.cleaned_data["grace"]))
        token_id = _token_id(self.request)
        made = service_accounts.rotate(person(self.request), self.one.user.pk, token_id, grace=grace)
        return self._with_token(*made)

    def _with_token(self, made: ApiToken, raw: str) -> HttpResponse:
        """A token that was just made is shown in this answer and nowhere else."""
        form = ServiceForm(initial=_as_it_is(self.one))
        return self.render_to_response(self.get_context_data(form=form, made=made, raw=raw), status=201)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        form, user = context["form"], self.one.user
        program, asks = user.service_account, isinstance(form, ServiceTokenForm)
        return context | {
            "tab": "programs",
            "one": self.one,
            "program": program,
            "form": ServiceForm(initial=_as_it_is(self.one)) if asks else form,
            "token_form": form if asks else ServiceTokenForm(scopes=program.scopes),
            "rotate_form": RotateForm(auto_id=False),
            "tokens": _tokens_of(user),
            "now": timezone.now(),
        }


def _done(by: User, user: User, verb: str, request: HttpRequest) -> str:
    match verb:
        case "deactivate":
            people.deactivate(by, user.pk)
            return _("Deactivated. Its tokens are revoked, and what it had going is stopped.")
        case "activate":
            people.activate(by, user.pk)
            return _("Activated. It needs new tokens.")
        case "revoke":
            service_accounts.revoke(by, user.pk, _token_id(request))
            return _("The token is revoked.")
        case _:
            raise NotThere


def _tokens_of(user: User) -> list[ApiToken]:
    """All that open a door, for here they are revoked; then the newest of those that open none any more."""
    own = ApiToken.objects.owned_by(user)
    usable = list(own.usable())
    return [*usable, *own.exclude(pk__in=[token.pk for token in usable])[:TOKENS_SHOWN]]


def _as_it_is(one: Person) -> dict[str, Any]:
    program = one.user.service_account
    return {
        "name": one.user.display_name,
        "purpose": program.purpose,
        "owner": program.owner.email if program.owner else "",
        "scopes": program.scopes,
        "groups": [group.pk for group in one.groups],
        "ends_on": program.ends_at.date(),
    }


def _token_id(request: HttpRequest) -> uuid.UUID:
    try:
        return uuid.UUID(request.POST.get("token", ""))
    except ValueError:
        raise NotThere from None
