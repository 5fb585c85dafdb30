"""The pages of service accounts, for administrators: the list, a new one, and one with its tokens. No JavaScript."""

import uuid
from datetime import timedelta
from typing import Any

from django.core.paginator import Paginator
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.accounts import people, service_accounts
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.people_forms import RotateForm, ServiceForm, ServiceTokenForm, end_of
from hyperagent.accounts.people_reading import programs, shown
from hyperagent.accounts.people_views import A_PAGE, ForAdministrators, add_faults
from hyperagent.accounts.requests import person
from hyperagent.lib.refusals import NotThere, Refused

TOKENS_SHOWN = 50


class ServiceAccounts(ForAdministrators):
    def get(self, request: HttpRequest) -> HttpResponse:
        page = Paginator(programs(), A_PAGE).get_page(request.GET.get("page"))
        return render(request, "people/service_accounts.html", {"tab": "programs", "page": page})


class NewServiceAccount(ForAdministrators):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page(ServiceForm(initial={"owner": person(request).email}))

    def post(self, request: HttpRequest) -> HttpResponse:
        form = ServiceForm(request.POST)
        made: list[User] = []
        if form.is_valid() and (wish := form.wish()) is not None:
            by = person(request)
            said = _("The service account is made. Give it a token.")
            if self.tried(lambda: made.append(service_accounts.make(by, wish)), said, form=form):
                return redirect("people:service_account", made[0].pk)
        return self._page(form, status=400)

    def _page(self, form: Form, status: int = 200) -> HttpResponse:
        context = {"tab": "programs", "form": form}
        return render(self.request, "people/new_service_account.html", context, status=status)


class ServiceAccountPage(ForAdministrators):
    def get(self, request: HttpRequest, service_id: uuid.UUID) -> HttpResponse:
        return self._page(_program(service_id))

    def post(self, request: HttpRequest, service_id: uuid.UUID) -> HttpResponse:
        user, by = _program(service_id), person(request)
        match request.POST.get("verb", "save"):
            case "deactivate":
                said = _("Deactivated. Its tokens are revoked, and what it had going is stopped.")
                self.tried(lambda: people.deactivate(by, user.pk), said)
            case "activate":
                self.tried(lambda: people.activate(by, user.pk), _("Activated. It needs new tokens."))
            case "token":
                return self._make_token(user)
            case "rotate":
                return self._rotate(user)
            case "revoke":
                token_id = _token_id(request)
                self.tried(lambda: service_accounts.revoke(by, user.pk, token_id), _("The token is revoked."))
            case _:
                form = ServiceForm(request.POST)
                ends_at = user.service_account.ends_at
                wish = form.wish(ends_at_now=ends_at) if form.is_valid() else None
                if wish is None or not self.tried(
                    lambda: service_accounts.change(by, user.pk, wish), _("Saved."), form=form
                ):
                    return self._page(user, form=form, status=400)
        return redirect("people:service_account", user.pk)

    def _make_token(self, user: User) -> HttpResponse:
        form = ServiceTokenForm(self.request.POST, scopes=user.service_account.scopes)
        if not form.is_valid():
            return self._page(user, token_form=form, status=400)
        typed = form.cleaned_data
        try:
            made, raw = service_accounts.make_token(
                person(self.request),
                user.pk,
                name=typed["name"],
                scopes=typed["scopes"],
                expires_at=end_of(typed["ends_on"]),
            )
        except Refused as refused:
            add_faults(form, refused)
            return self._page(user, token_form=form, status=400)
        return self._page(user, made=made, raw=raw, status=201)

    def _rotate(self, user: User) -> HttpResponse:
        form = RotateForm(self.request.POST)
        if not form.is_valid():
            raise NotThere
        grace = timedelta(hours=int(form.cleaned_data["grace"]))
        made, raw = service_accounts.rotate(person(self.request), user.pk, _token_id(self.request), grace=grace)
        return self._page(user, made=made, raw=raw, status=201)

    def _page(
        self,
        user: User,
        *,
        form: Form | None = None,
        token_form: Form | None = None,
        made: ApiToken | None = None,
        raw: str = "",
        status: int = 200,
    ) -> HttpResponse:
        """A token that was just made is shown in this answer and nowhere else."""
        one = shown(User.objects.filter(pk=user.pk))[0]
        context = {
            "tab": "programs",
            "one": one,
            "program": one.user.service_account,
            "form": form or ServiceForm(initial=_as_it_is(one.user, [group.pk for group in one.groups])),
            "token_form": token_form or ServiceTokenForm(scopes=user.service_account.scopes),
            "rotate_form": RotateForm(auto_id=False),
            "tokens": _tokens_of(user),
            "now": timezone.now(),
            "made": made,
            "raw": raw,
        }
        return render(self.request, "people/service_account.html", context, status=status)


def _tokens_of(user: User) -> list[ApiToken]:
    """All that open a door, for here they are revoked; then the newest of those that open none any more."""
    own = ApiToken.objects.owned_by(user)
    usable = list(own.usable())
    return [*usable, *own.exclude(pk__in=[token.pk for token in usable])[:TOKENS_SHOWN]]


def _as_it_is(user: User, group_ids: list[int]) -> dict[str, Any]:
    program = user.service_account
    return {
        "name": user.display_name,
        "purpose": program.purpose,
        "owner": program.owner.email if program.owner else "",
        "scopes": program.scopes,
        "groups": group_ids,
        "ends_on": program.ends_at.date(),
    }


def _program(service_id: uuid.UUID) -> User:
    rows = User.objects.filter(pk=service_id, deleted_at=None, kind="service").select_related("service_account__owner")
    user = rows.first()
    if user is None:
        raise NotThere
    return user


def _token_id(request: HttpRequest) -> uuid.UUID:
    try:
        return uuid.UUID(request.POST.get("token", ""))
    except ValueError:
        raise NotThere from None
