"""The conversations' endpoints. Each checks the shape of what came, calls a verb of `actions` and shows what it
gave.
"""

import uuid
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from conversations import actions, exporting, reading
from conversations.api import query, serializers
from conversations.models import Conversation, Origin
from conversations.options import chosen
from conversations.shapes import message_shape
from hyperagent.accounts.scoped import ScopedView
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.api import ErrorSerializer, Pages, whole_list


class ConversationList(ScopedView, generics.GenericAPIView[Conversation]):
    serializer_class = serializers.ConversationSerializer
    pagination_class = Pages.ordered_by("-updated_at", "-id")
    filter_backends = ()
    queryset = Conversation.objects.none()

    def get_queryset(self) -> QuerySet[Conversation]:
        asked = serializers.ConversationQuerySerializer(data=self.request.query_params)
        asked.is_valid(raise_exception=True)
        rows = reading.conversations_of(self.caller).filter(is_temporary=False)
        origin = asked.validated_data.get("origin") or ("all" if self.request.auth else "page")
        if origin == "page":
            return rows.exclude(origin=Origin.API)
        return rows if origin == "all" else rows.filter(origin=origin)

    @extend_schema(
        parameters=[serializers.ConversationQuerySerializer], responses=serializers.ConversationSerializer(many=True)
    )
    def get(self, request: Request) -> Response:
        """Your conversations, newest first."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(
        request=serializers.ConversationWriteSerializer,
        responses={201: serializers.ConversationSerializer, 404: ErrorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Begins an empty conversation, in a project if one is named."""
        asked = serializers.ConversationWriteSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        begun = actions.create(
            self.caller, title=given["title"], project_id=given["project_id"], is_temporary=given["temporary"]
        )
        return Response(_shown(reading.own_conversation(self.caller, begun.id)), status=201)


def _shown(conversation: Conversation) -> dict[str, Any]:
    return dict(serializers.ConversationSerializer(conversation).data)


class ConversationDetail(ScopedView):
    @extend_schema(responses={200: serializers.ConversationSerializer, 404: ErrorSerializer})
    def get(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """One conversation of yours, without its messages."""
        return Response(_shown(reading.own_conversation(self.caller, conversation_id)))

    @extend_schema(
        request=serializers.ConversationChangeSerializer,
        responses={200: serializers.ConversationSerializer, **dict.fromkeys((400, 404), ErrorSerializer)},
    )
    def patch(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Renames it, moves it into a project or out of it, or pins it."""
        reading.own_conversation(self.caller, conversation_id)
        asked = serializers.ConversationChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        with transaction.atomic():
            if "title" in given:
                actions.rename(self.caller, conversation_id, given["title"])
            if "project_id" in given:
                actions.move(self.caller, conversation_id, given["project_id"])
            if "pinned" in given:
                actions.pin(self.caller, conversation_id, is_pinned=given["pinned"])
        return Response(_shown(reading.own_conversation(self.caller, conversation_id)))

    @extend_schema(responses={204: None, 404: ErrorSerializer})
    def delete(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Deletes the conversation: it disappears, and what runs in it is cancelled. Runs and their events are kept for
        the audit, for as long as the installation says.
        """
        actions.delete(self.caller, conversation_id)
        return Response(status=204)


def _earlier(request: Request, first: str, limit: int) -> str:
    """Where the messages before that one are."""
    return f"{request.build_absolute_uri(request.path)}?limit={limit}&before={first}"


class ConversationMessages(ScopedView):
    @extend_schema(
        parameters=[serializers.MessagesQuerySerializer],
        responses={200: serializers.MessagesSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """All that was said, oldest first, as a tree by `parent_id`. With `limit` only the newest, and with `before`
        those before that message, as `next` has it: a parent may then be on an earlier page.
        """
        conversation = reading.own_conversation(self.caller, conversation_id)
        asked = serializers.MessagesQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        results, has_earlier = reading.page_of(conversation, limit=given["limit"], before=given["before"])
        earlier = _earlier(request, results[0]["id"], given["limit"]) if has_earlier else None
        return Response({**whole_list(results), "next": earlier, "has_earlier": has_earlier})

    @extend_schema(
        request=serializers.SaySerializer,
        parameters=[query.IDEMPOTENCY],
        responses={
            201: serializers.SaidSerializer,
            200: serializers.SaidSerializer,
            **dict.fromkeys((400, 404, 409), ErrorSerializer),
        },
    )
    def post(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Asks a question, and answers at once with it and its reply, whose run goes on: follow it by
        `/executions/{id}/events`. 200 with the first question and its reply if this `client_id` was seen before.
        """
        reading.own_conversation(self.caller, conversation_id)
        asked = serializers.SaySerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        key = query.key_of(request) if given["client_id"] is None else None
        if key is not None:
            query.refuse_another_place(self.caller, key, conversation_id)
        question = actions.Question(
            given["text"],
            mode=given["mode"],
            options=chosen({**(given["options"] or {}), "attachment_ids": given["attachment_ids"] or None}),
            client_id=key or given["client_id"],
        )
        after = given["after"] or given["parent_id"]
        said = actions.say(self.caller, conversation_id, question, edits=given["edits"], after=after)
        if key is not None:
            query.refuse_another(said, question)
        shown = {"message": message_shape(said.message), "reply": message_shape(said.reply)}
        return Response(shown, status=200 if said.repeated else 201)


class MessageRetry(ScopedView):
    @extend_schema(
        request=None, responses={201: serializers.RetriedSerializer, 404: ErrorSerializer, 409: ErrorSerializer}
    )
    def post(self, request: Request, message_id: uuid.UUID) -> Response:
        """Asks the same question once more: another reply, beside the old one, which stays as a branch."""
        said = actions.retry_reply(self.caller, message_id)
        return Response({"reply": message_shape(said.reply)}, status=201)


class ConversationExport(ScopedView):
    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # What is refused is JSON for those too who only accept Markdown.
        return JSONRenderer(), JSONRenderer.media_type

    @extend_schema(
        parameters=[
            OpenApiParameter("as", str, enum=list(serializers.EXPORTED_AS), description="Without it `Accept` says it.")
        ],
        responses={
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "application/json"): serializers.ExportedConversationSerializer,
        },
    )
    def get(self, request: Request, conversation_id: uuid.UUID) -> HttpResponseBase:
        """The conversation as a file: Markdown (the branch that is shown), or JSON (every branch, with the runs'
        plans).
        """
        conversation = reading.own_conversation(self.caller, conversation_id)
        asked = serializers.ExportQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        target = Target("conversation", str(conversation.pk))
        form = asked.validated_data["as"] or _form_accepted(request)
        record(AuditKind.EXPORT_TAKEN, actor=actor_of(self.caller), target=target, details={"form": form})
        if form == "json":
            shown = exporting.as_json(conversation, _shown(conversation))
            return _file(JsonResponse(shown), exporting.name_of(conversation, "json"))
        text = exporting.as_markdown(conversation)
        return _file(
            HttpResponse(text, content_type="text/markdown; charset=utf-8"), exporting.name_of(conversation, "md")
        )


def _form_accepted(request: Request) -> str:
    forms = {media_type: form for form, media_type in serializers.EXPORTED_AS.items()}
    return forms[request.get_preferred_type(list(forms)) or next(iter(forms))]


def _file(response: HttpResponse, name: str) -> HttpResponse:
    """To be saved, never shown: what is in it was written by others."""
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
