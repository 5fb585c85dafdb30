"""Invitations over the API, for administrators. Decides nothing itself."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hyperagent.accounts import invitations
from hyperagent.accounts.people_api import REFUSALS, AdministratorsView, GroupName
from hyperagent.accounts.people_models import Invitation, InvitationState
from hyperagent.accounts.scopes import Role
from hyperagent.lib.api import Pages, Several, own_or_404


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    state = serializers.ChoiceField(choices=[state.value for state in InvitationState])
    groups = GroupName(many=True)
    invited_by = serializers.UUIDField(source="invited_by_id", allow_null=True)
    link = serializers.SerializerMethodField(
        help_text="Only while it is open and no mail brings it (EMAIL_URL is not set, or it could not be sent): "
        "give it to the person yourself."
    )

    class Meta:
        model = Invitation
        fields = (
            "id", "email", "roles", "groups", "state", "invited_by", "made_at", "mailed_at", "ends_at", "accepted_at",
            "revoked_at", "link",
        )  # fmt: skip

    def get_link(self, invitation: Invitation) -> str | None:
        return invitations.link_to_give(invitation) or None


class NewInvitation(serializers.Serializer[Any]):
    email = serializers.CharField(max_length=254)
    roles = Several(
        child=serializers.CharField(max_length=100), max_length=20, required=False, help_text=f"Of {', '.join(Role)}."
    )
    groups = Several(child=serializers.IntegerField(), max_length=1_000, required=False, help_text="Their ids.")


class InvitationPage(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = InvitationSerializer(many=True)


class InvitationList(AdministratorsView):
    @extend_schema(operation_id="api_v1_invitations_list", responses={200: InvitationPage})
    def get(self, request: Request) -> Response:
        """Every invitation, newest first: open, accepted, revoked and ended ones."""
        return self.paged(request, _rows(), Pages.ordered_by("-made_at", "-id"), _shapes)

    @extend_schema(request=NewInvitation, responses={201: InvitationSerializer, **REFUSALS})
    def post(self, request: Request) -> Response:
        """Invites an address, with the roles and groups that the person is to have. A mail is sent if the installation
        sends any; else `link` is what you give to the person. 409 if the address has an account or an open
        invitation.
        """
        asked = NewInvitation(data=request.data)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        made = invitations.invite(
            self.caller, values["email"], roles=values.get("roles", ()), group_ids=values.get("groups", ())
        )
        return _answer(made.pk, status=201)


class InvitationDetail(AdministratorsView):
    @extend_schema(responses={200: InvitationSerializer, **REFUSALS})
    def get(self, request: Request, invitation_id: uuid.UUID) -> Response:
        """One invitation and what has become of it."""
        return _answer(invitation_id)

    @extend_schema(responses={200: InvitationSerializer, **REFUSALS})
    def delete(self, request: Request, invitation_id: uuid.UUID) -> Response:
        """Revokes it: its link opens nothing from then on. It stays in the list."""
        invitations.revoke(self.caller, invitation_id)
        return _answer(invitation_id)


class InvitationSend(AdministratorsView):
    @extend_schema(request=None, responses={200: InvitationSerializer, **REFUSALS})
    def post(self, request: Request, invitation_id: uuid.UUID) -> Response:
        """Sends it again with a new link and a new end; the link before opens nothing any more. 409 if it was accepted
        or revoked.
        """
        invitations.send_again(self.caller, invitation_id)
        return _answer(invitation_id)


def _rows() -> Any:
    return Invitation.objects.prefetch_related("groups", "letters")


def _shapes(rows: list[Invitation]) -> Any:
    return InvitationSerializer(rows, many=True).data


def _answer(invitation_id: uuid.UUID, *, status: int = 200) -> Response:
    """Whoever has the link can accept, so no cache keeps it."""
    shown = InvitationSerializer(own_or_404(_rows(), pk=invitation_id)).data
    return Response(shown, status=status, headers={"Cache-Control": "no-store"})
