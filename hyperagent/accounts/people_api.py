"""People and groups over the API, for administrators (scope `admin`). Decides nothing itself."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from hyperagent.accounts import people, people_groups
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.people_reading import Person, PersonState, Wanted, found, groups_with_members, shown
from hyperagent.accounts.scoped import ScopedView
from hyperagent.accounts.scopes import Role, Scope, UserKind
from hyperagent.lib.api import ErrorSerializer, OneOf, Pages, Several
from hyperagent.lib.refusals import NotThere

REFUSALS: dict[int, Any] = dict.fromkeys((400, 403, 404, 409), ErrorSerializer)
MOST_MEMBERS = 1_000


class AdministratorsView(ScopedView):
    looking = HasScope(Scope.ADMIN)
    changing = HasScope(Scope.ADMIN)

    def paged(self, request: Request, rows: Any, pages: type[BasePagination], shape: Any) -> Response:
        pager = pages()
        return pager.get_paginated_response(shape(pager.paginate_queryset(rows, request, view=self) or []))


class GroupName(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()


class PersonSerializer(serializers.Serializer[Person]):
    id = serializers.UUIDField(source="user.pk")
    email = serializers.CharField(source="user.email")
    display_name = serializers.CharField(source="user.display_name")
    kind = serializers.ChoiceField(source="user.kind", choices=[(kind.value, kind.name) for kind in UserKind])
    state = serializers.ChoiceField(choices=[state.value for state in PersonState])
    roles = serializers.ListField(child=serializers.ChoiceField(choices=[role.value for role in Role]))
    groups = GroupName(many=True)
    runs_now = serializers.IntegerField(source="going")
    last_sign_in = serializers.DateTimeField(source="user.last_login", allow_null=True)
    created_at = serializers.DateTimeField(source="user.date_joined")


class PersonChange(serializers.Serializer[Any]):
    """What is left out stays as it is."""

    roles = Several(child=OneOf(Role), max_length=len(Role), required=False)
    groups = Several(
        child=serializers.IntegerField(), max_length=1_000, required=False, help_text="Their ids, roles apart."
    )


class PeopleFilter(serializers.Serializer[Any]):
    q = serializers.CharField(required=False, max_length=254, help_text="In the name or the e-mail address; or an id.")
    role = OneOf(Role, required=False)
    group = serializers.IntegerField(required=False)
    state = OneOf(PersonState, required=False)
    kind = OneOf(UserKind, required=False)


class PeoplePage(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = PersonSerializer(many=True)


class PeopleList(AdministratorsView):
    @extend_schema(
        operation_id="api_v1_people_list", parameters=[PeopleFilter], responses={200: PeoplePage, 400: ErrorSerializer}
    )
    def get(self, request: Request) -> Response:
        """Everybody with an account, by e-mail address; people and service accounts. Filters can be combined."""
        asked = PeopleFilter(data=request.query_params.dict())
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        wanted = Wanted(
            text=values.get("q", ""),
            role=Role(values["role"]) if "role" in values else None,
            group=values.get("group"),
            state=PersonState(values["state"]) if "state" in values else None,
            kind=UserKind(values["kind"]) if "kind" in values else None,
        )
        return self.paged(request, found(wanted), Pages.ordered_by("email"), _people)


class PersonDetail(AdministratorsView):
    @extend_schema(responses={200: PersonSerializer, **REFUSALS})
    def get(self, request: Request, person_id: uuid.UUID) -> Response:
        """One account: its roles and groups, whether it is active, and how many runs of it are going on."""
        return Response(shape_of(person_id))

    @extend_schema(request=PersonChange, responses={200: PersonSerializer, **REFUSALS})
    def patch(self, request: Request, person_id: uuid.UUID) -> Response:
        """Sets the roles, the groups, or both: each list is all that the person has from then on, and what is left out
        stays as it is. 409 for the last administrator, who has to stay one.
        """
        asked = PersonChange(data=request.data)
        asked.is_valid(raise_exception=True)
        shape_of(person_id)
        people.set_both(
            self.caller,
            person_id,
            roles=asked.validated_data.get("roles"),
            group_ids=asked.validated_data.get("groups"),
        )
        return Response(shape_of(person_id))


class PersonDeactivate(AdministratorsView):
    @extend_schema(request=None, responses={200: PersonSerializer, **REFUSALS})
    def post(self, request: Request, person_id: uuid.UUID) -> Response:
        """Deactivates the account: no session and no token of it opens anything from the answer on, and what goes on in
        its name is stopped. Doing it twice changes nothing. 409 for yourself and for the last administrator.
        """
        people.deactivate(self.caller, person_id)
        return Response(shape_of(person_id))


class PersonActivate(AdministratorsView):
    @extend_schema(request=None, responses={200: PersonSerializer, **REFUSALS})
    def post(self, request: Request, person_id: uuid.UUID) -> Response:
        """Activates the account again: the person may sign in. Its tokens are gone for good, and what was stopped or
        paused stays so. Doing it twice changes nothing.
        """
        people.activate(self.caller, person_id)
        return Response(shape_of(person_id))


class GroupSerializer(GroupName):
    members = serializers.IntegerField(help_text="How many.")


class GroupPage(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = GroupSerializer(many=True)


class NewGroup(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=10_000)


class GroupChange(serializers.Serializer[Any]):
    """What is left out stays as it is."""

    name = serializers.CharField(max_length=10_000, required=False)
    members = Several(
        child=serializers.UUIDField(), max_length=MOST_MEMBERS, required=False, help_text="The ids of all of them."
    )


class GroupList(AdministratorsView):
    @extend_schema(operation_id="api_v1_groups_list", responses={200: GroupPage})
    def get(self, request: Request) -> Response:
        """All groups with the number of their members, by name. Roles are no groups: `/people` has them."""
        return self.paged(request, groups_with_members(), Pages.ordered_by("name"), _groups)

    @extend_schema(request=NewGroup, responses={201: GroupSerializer, **REFUSALS})
    def post(self, request: Request) -> Response:
        """A new group without members. 400 if the name cannot be used, 409 if there is one of this name."""
        asked = NewGroup(data=request.data)
        asked.is_valid(raise_exception=True)
        made = people_groups.make(self.caller, asked.validated_data["name"])
        return Response(_group(made.pk), status=201)


class GroupDetail(AdministratorsView):
    @extend_schema(responses={200: GroupSerializer, **REFUSALS})
    def get(self, request: Request, group_id: int) -> Response:
        """One group and how many members it has. 404 for a role."""
        return Response(_group(group_id))

    @extend_schema(request=GroupChange, responses={200: GroupSerializer, **REFUSALS})
    def patch(self, request: Request, group_id: int) -> Response:
        """Another name, or other members: `members` are all that it then has. What is left out stays as it is."""
        asked = GroupChange(data=request.data)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        _group(group_id)
        people_groups.change(self.caller, group_id, name=values.get("name"), user_ids=values.get("members"))
        return Response(_group(group_id))

    @extend_schema(responses={204: None, **REFUSALS})
    def delete(self, request: Request, group_id: int) -> Response:
        """Deletes the group. Its members keep their accounts, and see no longer what was shared with it. 409 while an
        approval policy names it.
        """
        people_groups.delete(self.caller, group_id)
        return Response(status=204)


def shape_of(person_id: uuid.UUID) -> Any:
    rows = shown(User.objects.filter(pk=person_id, deleted_at=None))
    if not rows:
        raise NotThere
    return PersonSerializer(rows[0]).data


def _people(users: Iterable[User]) -> Any:
    ids = [user.pk for user in users]
    by_id = {one.user.pk: one for one in shown(User.objects.filter(pk__in=ids))}
    return [PersonSerializer(by_id[pk]).data for pk in ids if pk in by_id]


def _groups(groups: Iterable[Group]) -> Any:
    return GroupSerializer(list(groups), many=True).data


def _group(group_id: int) -> Any:
    found_here = groups_with_members().filter(pk=group_id).first()
    if found_here is None:
        raise NotThere
    return GroupSerializer(found_here).data
