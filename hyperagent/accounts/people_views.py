"""The pages about people, for administrators: the list, one person's page, groups and invitations. Each reads a form,
calls one verb, and shows what came of it. No JavaScript.
"""

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin, UserPassesTestMixin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache

from hyperagent.accounts import closing, invitations, people, people_groups
from hyperagent.accounts.models import User
from hyperagent.accounts.people_forms import FindForm, GroupForm, InviteForm, MemberForm, PersonForm
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.people_reading import (
    PersonState,
    Wanted,
    found,
    groups_with_members,
    shown,
    usable_tokens,
)
from hyperagent.accounts.requests import person
from hyperagent.accounts.scopes import Role, UserKind
from hyperagent.lib.alphabet import by_name
from hyperagent.lib.outbox import mails_leave
from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.text import clean_text

A_PAGE = 50


@method_decorator(never_cache, name="dispatch")
class ForAdministrators(LoginRequiredMixin, UserPassesTestMixin, View):
    """Whoever is signed in and none is told that it is not allowed."""

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

    def tried(self, verb: Callable[[], Any], done: str, *, form: Form | None = None) -> bool:
        """Does it and says so. What is refused is said at its field of the form, or at the top of the page."""
        try:
            verb()
        except NotThere:
            raise
        except Refused as refused:
            if form is None:
                messages.error(self.request, refused.message)
            else:
                add_faults(form, refused)
            return False
        messages.success(self.request, done)
        return True


def add_faults(form: Form, refused: Refused) -> None:
    known = {name: said for name, said in refused.fields.items() if name in form.fields}
    for name, said in known.items():
        form.add_error(name, said)
    if not known:
        form.add_error(None, refused.message)


class PeopleList(ForAdministrators):
    def get(self, request: HttpRequest) -> HttpResponse:
        form = FindForm(request.GET)
        form.is_valid()
        chosen = form.cleaned_data
        wanted = Wanted(
            text=clean_text(chosen.get("q") or "").strip(),
            role=Role(chosen["role"]) if chosen.get("role") else None,
            group=chosen["group"].pk if chosen.get("group") else None,
            state=PersonState(chosen["state"]) if chosen.get("state") else None,
            kind=UserKind.PERSON,
        )
        page = Paginator(found(wanted), A_PAGE).get_page(request.GET.get("page"))
        assert isinstance(page.object_list, QuerySet)
        kept = request.GET.copy()
        kept.pop("page", None)
        context = {
            "tab": "people",
            "form": form,
            "page": page,
            "people": shown(page.object_list),
            "is_narrowed": any(request.GET.get(name) for name in form.fields),
            "kept": kept.urlencode(),
        }
        return render(request, "people/people.html", context)


class PersonPage(ForAdministrators):
    """Of a person. That of a program is `service_accounts_views`'."""

    def get(self, request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
        user = _somebody(person_id)
        if user.is_service:
            return redirect("people:service_account", person_id)
        return self._page(user)

    def post(self, request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
        user = _somebody(person_id)
        if user.is_service:
            raise NotThere
        by, verb = person(request), request.POST.get("verb", "save")
        if verb == "deactivate":
            said = _("Deactivated. What they had going is stopped.")
            self.tried(lambda: people.deactivate(by, person_id), said)
        elif verb in ("give-all", "take-all"):
            gives = verb == "give-all"
            said = _("They have all rights now.") if gives else _("They have all rights no more.")
            self.tried(lambda: people.set_all_rights(by, person_id, gives), said)
        elif verb == "activate":
            said = _("Activated. Their tokens are gone, and what was paused stays so until they resume it.")
            self.tried(lambda: people.activate(by, person_id), said)
        else:
            form = PersonForm(request.POST)
            if not form.is_valid() or not self.tried(lambda: _save(by, user, form), _("Saved."), form=form):
                return self._page(user, form)
        return redirect("people:person", person_id)

    def _page(self, user: User, form: Form | None = None) -> HttpResponse:
        one = shown(User.objects.filter(pk=user.pk))[0]
        is_own, by = user.pk == person(self.request).pk, person(self.request)
        may = by.is_superuser or not user.is_superuser
        programs = User.objects.filter(service_account__owner=user, deleted_at=None)
        held = {"roles": [role.value for role in one.roles], "groups": [group.pk for group in one.groups]}
        context = {
            "tab": "people",
            "one": one,
            "form": form or PersonForm(initial={**held, "shown": held}),
            "tokens": usable_tokens(user),
            "programs": programs.order_by(*by_name("display_name")),
            "is_own": is_own,
            "may": may,
            "gives_all": by.is_superuser and user.is_staff and user.is_active,
            "why_last": closing.why_not(user),
        }
        return render(self.request, "people/person.html", context, status=400 if form else 200)


def _save(by: User, user: User, form: PersonForm) -> None:
    now = shown(User.objects.filter(pk=user.pk))[0]
    roles, groups = form.ticks(roles=now.roles, group_ids=[group.pk for group in now.groups])
    people.turn(by, user.pk, roles=roles, group_ids=groups)


class Groups(ForAdministrators):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page(GroupForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        form = GroupForm(request.POST)
        by = person(request)
        if form.is_valid() and self.tried(
            lambda: people_groups.make(by, form.cleaned_data["name"]), _("The group is made."), form=form
        ):
            return redirect("people:groups")
        return self._page(form, status=400)

    def _page(self, form: Form, status: int = 200) -> HttpResponse:
        page = Paginator(groups_with_members(), A_PAGE).get_page(self.request.GET.get("page"))
        return render(self.request, "people/groups.html", {"tab": "groups", "page": page, "form": form}, status=status)


class GroupPage(ForAdministrators):
    def get(self, request: HttpRequest, group_id: int) -> HttpResponse:
        return self._page(group_id, {})

    def post(self, request: HttpRequest, group_id: int) -> HttpResponse:
        by, verb = person(request), request.POST.get("verb", "rename")
        if verb == "delete":
            gone = self.tried(lambda: people_groups.delete(by, group_id), _("The group is deleted."))
            return redirect("people:groups") if gone else redirect("people:group", group_id)
        if verb == "remove":
            member = _id_in(request.POST.get("member", ""))
            self.tried(lambda: people_groups.remove_member(by, group_id, member), _("Taken out of the group."))
            return redirect("people:group", group_id)
        if verb == "add":
            typed = MemberForm(request.POST)
            if typed.is_valid() and self.tried(
                lambda: people_groups.add_member(by, group_id, typed.cleaned_data["email"]),
                _("Added to the group."),
                form=typed,
            ):
                return redirect("people:group", group_id)
            return self._page(group_id, {"adding": typed})
        named = GroupForm(request.POST)
        if named.is_valid() and self.tried(
            lambda: people_groups.rename(by, group_id, named.cleaned_data["name"]), _("Renamed."), form=named
        ):
            return redirect("people:group", group_id)
        return self._page(group_id, {"naming": named})

    def _page(self, group_id: int, forms: dict[str, Form]) -> HttpResponse:
        group = people_groups.get(group_id)
        page = Paginator(found(Wanted(group=group.pk)), A_PAGE).get_page(self.request.GET.get("page"))
        context = {
            "tab": "groups",
            "group": group,
            "page": page,
            "naming": GroupForm(initial={"name": group.name}),
            "adding": MemberForm(),
            **forms,
        }
        return render(self.request, "people/group.html", context, status=400 if forms else 200)


class Invitations(ForAdministrators):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page(InviteForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        form, by = InviteForm(request.POST), person(request)
        if form.is_valid() and self.tried(
            lambda: invitations.invite(
                by, form.cleaned_data["email"], roles=form.cleaned_data["roles"], group_ids=form.group_ids()
            ),
            _sent_or_made(),
            form=form,
        ):
            return redirect("people:invitations")
        return self._page(form, status=400)

    def _page(self, form: Form, status: int = 200) -> HttpResponse:
        rows = Invitation.objects.select_related("invited_by").prefetch_related("groups", "letters")
        page = Paginator(rows, A_PAGE).get_page(self.request.GET.get("page"))
        listed = [(one, invitations.link_to_give(one)) for one in page]
        context = {"tab": "invitations", "page": page, "listed": listed, "form": form, "mails_leave": mails_leave()}
        return render(self.request, "people/invitations.html", context, status=status)


class InvitationVerb(ForAdministrators):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, invitation_id: uuid.UUID) -> HttpResponse:
        by = person(request)
        if request.POST.get("verb") == "send":
            self.tried(lambda: invitations.send_again(by, invitation_id), _sent_or_made())
        else:
            self.tried(lambda: invitations.revoke(by, invitation_id), _("Revoked. Its link opens nothing any more."))
        return redirect("people:invitations")


def _somebody(person_id: uuid.UUID) -> User:
    user = User.objects.filter(pk=person_id, deleted_at=None).first()
    if user is None:
        raise NotThere
    return user


def _id_in(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise NotThere from None


def _sent_or_made() -> str:
    if mails_leave():
        return _("The invitation is on its way by mail.")
    return _("The invitation is made. No mails leave from here: copy its link.")
