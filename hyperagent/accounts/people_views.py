"""The pages about people, for administrators: the list, one person's page, groups and invitations. Each reads a form,
calls one verb, and shows what came of it. No JavaScript.
"""

import uuid
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import Group
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from hyperagent.accounts import closing, invitations, people, people_groups
from hyperagent.accounts.administrators import ForAdministrators
from hyperagent.accounts.models import User
from hyperagent.accounts.people_forms import FindForm, GroupForm, InviteForm, MemberForm, PersonForm
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.people_reading import (
    Person,
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
from hyperagent.lib.outgoing_mails import mails_leave
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.refused_forms import RefusableForm, RefusalsTold
from hyperagent.lib.text import clean_text

A_PAGE = 50


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


class PersonPage(ForAdministrators, RefusableForm):
    """Of a person. That of a program is `service_accounts_views`'."""

    template_name = "people/person.html"
    form_class = PersonForm

    @cached_property
    def one(self) -> Person:
        return one_of(User.objects.filter(pk=self.kwargs["person_id"]))

    def get(self, request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
        if self.one.user.is_service:
            return redirect("people:service_account", person_id)
        return super().get(request)

    def post(self, request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
        if self.one.user.is_service:
            raise NotThere
        verb = request.POST.get("verb", "save")
        if verb == "save":
            return super().post(request)
        with RefusalsTold(request):
            messages.success(request, _turned(person(request), person_id, verb))
        return redirect("people:person", person_id)

    def get_initial(self) -> dict[str, Any]:
        one = self.one
        held = {"roles": [role.value for role in one.roles], "groups": [group.pk for group in one.groups]}
        return {**held, "shown": held}

    def act(self, form: PersonForm) -> HttpResponse:
        one = self.one
        roles, groups = form.ticks(roles=one.roles, group_ids=[group.pk for group in one.groups])
        people.turn(person(self.request), one.user.pk, roles=roles, group_ids=groups)
        messages.success(self.request, _("Saved."))
        return redirect("people:person", one.user.pk)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user, by = self.one.user, person(self.request)
        programs = User.objects.filter(service_account__owner=user, deleted_at=None)
        return super().get_context_data(**kwargs) | {
            "tab": "people",
            "one": self.one,
            "tokens": usable_tokens(user),
            "programs": programs.order_by(*by_name("display_name")),
            "is_own": user.pk == by.pk,
            "may": by.is_superuser or not user.is_superuser,
            "gives_all": by.is_superuser and user.is_staff and user.is_active,
            "why_last": closing.why_not(user),
        }


def _turned(by: User, person_id: uuid.UUID, verb: str) -> str:
    match verb:
        case "deactivate":
            people.deactivate(by, person_id)
            return _("Deactivated. What they had going is stopped.")
        case "activate":
            people.activate(by, person_id)
            return _("Activated. Their tokens are gone, and what was paused stays so until they resume it.")
        case "give-all":
            people.set_all_rights(by, person_id, True)
            return _("They have all rights now.")
        case "take-all":
            people.set_all_rights(by, person_id, False)
            return _("They have all rights no more.")
        case _:
            raise NotThere


class Groups(ForAdministrators, RefusableForm):
    template_name = "people/groups.html"
    form_class = GroupForm

    def act(self, form: GroupForm) -> HttpResponse:
        people_groups.make(person(self.request), form.cleaned_data["name"])
        messages.success(self.request, _("The group is made."))
        return redirect("people:groups")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        page = Paginator(groups_with_members(), A_PAGE).get_page(self.request.GET.get("page"))
        return super().get_context_data(**kwargs) | {"tab": "groups", "page": page}


class GroupPage(ForAdministrators, RefusableForm):
    """Two forms, and the buttons of the group and of its members."""

    template_name = "people/group.html"

    def get_form_class(self) -> type[Form]:
        return MemberForm if self.request.POST.get("verb") == "add" else GroupForm

    @cached_property
    def group(self) -> Group:
        return people_groups.get(self.kwargs["group_id"])

    def get_initial(self) -> dict[str, Any]:
        return {"name": self.group.name}

    def post(self, request: HttpRequest, group_id: int) -> HttpResponse:
        by, verb = person(request), request.POST.get("verb", "rename")
        if verb not in ("delete", "remove"):
            return super().post(request)
        with RefusalsTold(request):
            if verb == "delete":
                people_groups.delete(by, group_id)
                messages.success(request, _("The group is deleted."))
                return redirect("people:groups")
            people_groups.remove_member(by, group_id, _id_in(request.POST.get("member", "")))
            messages.success(request, _("Taken out of the group."))
        return redirect("people:group", group_id)

    def act(self, form: Form) -> HttpResponse:
        by, group_id = person(self.request), self.group.pk
        if isinstance(form, MemberForm):
            people_groups.add_member(by, group_id, form.cleaned_data["email"])
            messages.success(self.request, _("Added to the group."))
        else:
            people_groups.rename(by, group_id, form.cleaned_data["name"])
            messages.success(self.request, _("Renamed."))
        return redirect("people:group", group_id)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        form, adds = context["form"], isinstance(context["form"], MemberForm)
        page = Paginator(found(Wanted(group=self.group.pk)), A_PAGE).get_page(self.request.GET.get("page"))
        return context | {
            "tab": "groups",
            "group": self.group,
            "page": page,
            "naming": GroupForm(initial=self.get_initial()) if adds else form,
            "adding": form if adds else MemberForm(),
        }


class Invitations(ForAdministrators, RefusableForm):
    template_name = "people/invitations.html"
    form_class = InviteForm

    def act(self, form: InviteForm) -> HttpResponse:
        typed = form.cleaned_data
        invitations.invite(person(self.request), typed["email"], roles=typed["roles"], group_ids=form.group_ids())
        messages.success(self.request, _sent_or_made())
        return redirect("people:invitations")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = Invitation.objects.select_related("invited_by").prefetch_related("groups", "letters")
        page = Paginator(rows, A_PAGE).get_page(self.request.GET.get("page"))
        listed = [(one, invitations.link_to_give(one)) for one in page]
        more = {"tab": "invitations", "page": page, "listed": listed, "mails_leave": mails_leave()}
        return super().get_context_data(**kwargs) | more


class InvitationVerb(ForAdministrators):
    http_method_names = ("post", "options")

    def post(self, request: HttpRequest, invitation_id: uuid.UUID) -> HttpResponse:
        by = person(request)
        with RefusalsTold(request):
            if request.POST.get("verb") == "send":
                invitations.send_again(by, invitation_id)
                messages.success(request, _sent_or_made())
            else:
                invitations.revoke(by, invitation_id)
                messages.success(request, _("Revoked. Its link opens nothing any more."))
        return redirect("people:invitations")


def one_of(rows: QuerySet[User]) -> Person:
    some = shown(rows.filter(deleted_at=None))
    if not some:
        raise NotThere
    return some[0]


def _id_in(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise NotThere from None


def _sent_or_made() -> str:
    if mails_leave():
        return _("The invitation is on its way by mail.")
    return _("The invitation is made. No mails leave from here: copy its link.")
