"""`/conversations/{id}/share`: the links by which others read a conversation."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from conversations.models import Share
from conversations.sharing import actions
from conversations.sharing.tokens import shown_again
from hyperagent.accounts.scoped import ScopedView
from hyperagent.lib.api import ErrorSerializer, ListSerializer, whole_list
from hyperagent.lib.times import iso


class ShareWriteSerializer(serializers.Serializer[Any]):
    message_id = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The last message that is shown; null: all of it."
    )
    with_sources = serializers.BooleanField(required=False, default=True, help_text="Names and places of sources.")
    with_attachments = serializers.BooleanField(required=False, default=False, help_text="Names of attached files.")
    keeps_up = serializers.BooleanField(
        required=False, default=False, help_text="Shows what is said later too; without, what stands there now."
    )
    ends_at = serializers.DateTimeField(required=False, allow_null=True, default=None)

    def choice(self) -> actions.Choice:
        """Once it is valid."""
        given: dict[str, Any] = self.validated_data
        return actions.Choice(
            upto=given["message_id"],
            with_sources=given["with_sources"],
            with_attachments=given["with_attachments"],
            keeps_up=given["keeps_up"],
            ends_at=given["ends_at"],
        )


class ShareSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    url = serializers.CharField(
        allow_null=True,
        help_text="Null where it was made with a SECRET_KEY that is gone: it works, nobody can show it.",
    )
    message_id = serializers.UUIDField(allow_null=True)
    with_sources = serializers.BooleanField()
    with_attachments = serializers.BooleanField()
    keeps_up = serializers.BooleanField()
    ends_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    views = serializers.IntegerField(help_text="Without those of its owner.")
    last_seen_at = serializers.DateTimeField(allow_null=True)


class SharesSerializer(ListSerializer):
    enabled = serializers.BooleanField(help_text="Whether this installation allows links.")
    results = ShareSerializer(many=True)


def share_shape(link: Share, request: Request) -> dict[str, Any]:
    token = shown_again(link.id, link.token_hash)
    return {
        "id": str(link.id),
        "url": request.build_absolute_uri(f"/s/{token}/") if token else None,
        "message_id": str(link.upto_id) if link.upto_id else None,
        "with_sources": link.with_sources,
        "with_attachments": link.with_attachments,
        "keeps_up": link.keeps_up,
        "ends_at": iso(link.ends_at),
        "created_at": iso(link.created_at),
        "views": link.views,
        "last_seen_at": iso(link.last_seen_at),
    }


class ConversationShares(ScopedView):
    @extend_schema(responses={200: SharesSerializer, 404: ErrorSerializer})
    def get(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """The conversation's links that are open, newest first."""
        links: QuerySet[Share] = actions.links_of(self.caller, conversation_id)
        return Response({"enabled": actions.is_on(), **whole_list(share_shape(link, request) for link in links)})

    @extend_schema(
        request=ShareWriteSerializer,
        responses={201: ShareSerializer, **dict.fromkeys((400, 403, 404), ErrorSerializer)},
    )
    def post(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """A new link. Everybody who has it reads questions and answers, until it is revoked or ends."""
        # First of all: whose it is, so that a fault of the request tells nobody that it is there.
        actions.links_of(self.caller, conversation_id)
        asked = ShareWriteSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        return Response(share_shape(actions.share(self.caller, conversation_id, asked.choice()), request), status=201)

    @extend_schema(
        operation_id="api_v1_conversations_share_revoke_all",
        request=None,
        responses={204: None, 404: ErrorSerializer},
    )
    def delete(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Revokes all links of the conversation: from now on nobody opens them."""
        actions.revoke_all(self.caller, conversation_id)
        return Response(status=204)


class ConversationShare(ScopedView):
    @extend_schema(request=None, responses={204: None, 404: ErrorSerializer})
    def delete(self, request: Request, conversation_id: uuid.UUID, share_id: uuid.UUID) -> Response:
        """Revokes one link: from now on nobody opens it."""
        actions.revoke(self.caller, conversation_id, share_id)
        return Response(status=204)
