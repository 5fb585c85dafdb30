"""Service accounts and their tokens over the API, for administrators. Decides nothing itself."""

import uuid
from datetime import timedelta
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hyperagent.accounts import service_accounts
from hyperagent.accounts.api import NewToken, TokenSerializer
from hyperagent.accounts.models import ApiToken
from hyperagent.accounts.people_api import REFUSALS, AdministratorsView
from hyperagent.accounts.people_models import ServiceAccount
from hyperagent.accounts.people_reading import PersonState, programs
from hyperagent.accounts.scopes import SERVICE_SCOPES
from hyperagent.accounts.service_accounts import GRACES, ServiceAccountInput
from hyperagent.lib.api import Pages, Several, whole_list
from hyperagent.lib.refusals import NotThere

_SCOPES_HELP = f"Of {', '.join(SERVICE_SCOPES)}."
_INPUT_NAMES = {"owner": "owner_id", "groups": "group_ids"}
_HOURS = [int(grace.total_seconds() // 3600) for grace in GRACES]


class ServiceAccountSerializer(serializers.Serializer[ServiceAccount]):
    id = serializers.UUIDField(source="user_id")
    name = serializers.CharField(source="user.display_name")
    known_as = serializers.CharField(source="user.email", help_text="Its name in the audit.")
    purpose = serializers.CharField()
    owner = serializers.UUIDField(source="owner_id", allow_null=True)
    state = serializers.SerializerMethodField()
    scopes = serializers.ListField(child=serializers.CharField(), help_text=_SCOPES_HELP)
    groups = serializers.SerializerMethodField()
    ends_at = serializers.DateTimeField()
    made_at = serializers.DateTimeField()

    def get_state(self, program: ServiceAccount) -> str:
        return (PersonState.ACTIVE if program.user.is_active else PersonState.DEACTIVATED).value

    def get_groups(self, program: ServiceAccount) -> list[dict[str, Any]]:
        return [{"id": group.pk, "name": group.name} for group in program.user.groups.all()]


class ServiceAccountChange(serializers.Serializer[Any]):
    """What is left out stays as it is."""

    name = serializers.CharField(max_length=1_000, required=False)
    purpose = serializers.CharField(max_length=1_000, required=False, allow_blank=True)
    owner = serializers.UUIDField(required=False, help_text="The id of the person who answers for it.")
    scopes = Several(child=serializers.CharField(max_length=100), max_length=20, required=False, help_text=_SCOPES_HELP)
    groups = Several(child=serializers.IntegerField(), max_length=1_000, required=False)
    ends_at = serializers.DateTimeField(required=False)


class NewServiceAccount(ServiceAccountChange):
    """`owner`: without it you; `ends_at`: without it in a year."""

    name = serializers.CharField(max_length=1_000)
    scopes = Several(child=serializers.CharField(max_length=100), max_length=20, help_text=_SCOPES_HELP)


class ServiceAccountPage(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = ServiceAccountSerializer(many=True)


class ServiceToken(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=100, required=False, default="", allow_blank=True)
    scopes = Several(
        child=serializers.CharField(max_length=100), max_length=20, required=False, default=None, allow_null=True
    )
    expires_at = serializers.DateTimeField(required=False, default=None, allow_null=True)


class Rotation(serializers.Serializer[Any]):
    grace_hours = serializers.ChoiceField(choices=_HOURS, default=24, help_text="How long the old one still works.")


class ServiceAccountList(AdministratorsView):
    @extend_schema(operation_id="api_v1_service_accounts_list", responses={200: ServiceAccountPage})
    def get(self, request: Request) -> Response:
        """The accounts of programs, newest first."""
        return self.paged(request, _rows(), Pages.ordered_by("-made_at"), _shapes)

    @extend_schema(request=NewServiceAccount, responses={201: ServiceAccountSerializer, **REFUSALS})
    def post(self, request: Request) -> Response:
        """An account for a program: with the most that its tokens may do (`scopes`), a person who answers for it, and
        an end. It has no password and no token yet.
        """
        asked = NewServiceAccount(data=request.data)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        made = service_accounts.make(
            self.caller,
            ServiceAccountInput(
                name=values["name"],
                owner_id=values.get("owner", self.caller.pk),
                scopes=values["scopes"],
                ends_at=values.get("ends_at") or service_accounts.usual_end(),
                group_ids=values.get("groups", ()),
                purpose=values.get("purpose", ""),
            ),
        )
        return Response(_shape(_program(made.pk)), status=201)


class ServiceAccountDetail(AdministratorsView):
    @extend_schema(responses={200: ServiceAccountSerializer, **REFUSALS})
    def get(self, request: Request, service_id: uuid.UUID) -> Response:
        """One service account."""
        return Response(_shape(_program(service_id)))

    @extend_schema(request=ServiceAccountChange, responses={200: ServiceAccountSerializer, **REFUSALS})
    def patch(self, request: Request, service_id: uuid.UUID) -> Response:
        """Changes what is sent; what is left out stays as it is. Its tokens reach as far as the account does from now
        on, and end no later than it.
        """
        asked = ServiceAccountChange(data=request.data)
        asked.is_valid(raise_exception=True)
        _program(service_id)
        given = {_INPUT_NAMES.get(name, name): value for name, value in asked.validated_data.items()}
        service_accounts.change_some(self.caller, service_id, **given)
        return Response(_shape(_program(service_id)))


class ServiceTokens(AdministratorsView):
    @extend_schema(responses={200: TokenSerializer(many=True), **REFUSALS})
    def get(self, request: Request, service_id: uuid.UUID) -> Response:
        """Its tokens, revoked and ended ones too, without the tokens themselves."""
        own = ApiToken.objects.owned_by(_program(service_id).user)
        return Response(whole_list(TokenSerializer(own, many=True).data))

    @extend_schema(request=ServiceToken, responses={201: NewToken, **REFUSALS})
    def post(self, request: Request, service_id: uuid.UUID) -> Response:
        """A new token, shown this once. Without `scopes` it may do all that the account may. 409 while the account is
        deactivated.
        """
        asked = ServiceToken(data=request.data)
        asked.is_valid(raise_exception=True)
        return _new_token(service_accounts.make_token(self.caller, service_id, **asked.validated_data))


class ServiceTokenDetail(AdministratorsView):
    @extend_schema(responses={204: None, **REFUSALS})
    def delete(self, request: Request, service_id: uuid.UUID, service_token_id: uuid.UUID) -> Response:
        """Revokes the token: it is refused from the next request on."""
        service_accounts.revoke(self.caller, service_id, service_token_id)
        return Response(status=204)


class ServiceTokenRotate(AdministratorsView):
    @extend_schema(request=Rotation, responses={201: NewToken, **REFUSALS})
    def post(self, request: Request, service_id: uuid.UUID, service_token_id: uuid.UUID) -> Response:
        """A new token in the place of this one, which still works for `grace_hours`. The new one is shown this once."""
        asked = Rotation(data=request.data)
        asked.is_valid(raise_exception=True)
        grace = timedelta(hours=asked.validated_data["grace_hours"])
        return _new_token(service_accounts.rotate(self.caller, service_id, service_token_id, grace=grace))


def _rows() -> Any:
    return programs().prefetch_related("user__groups")


def _program(service_id: uuid.UUID) -> ServiceAccount:
    program: ServiceAccount | None = _rows().filter(pk=service_id).first()
    if program is None:
        raise NotThere
    return program


def _shape(program: ServiceAccount) -> Any:
    return ServiceAccountSerializer(program).data


def _shapes(rows: list[ServiceAccount]) -> Any:
    return [_shape(program) for program in rows]


def _new_token(made: tuple[ApiToken, str]) -> Response:
    token, raw = made
    shape = {"token": raw, "id": token.pk, "scopes": token.scopes, "expires_at": token.expires_at}
    return Response(NewToken(shape).data, status=201, headers={"Cache-Control": "no-store"})
