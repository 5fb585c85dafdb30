"""The conversations of a project: the caller's own. Members do not see each other's."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response

from conversations import reading
from conversations.api import serializers
from conversations.models import Conversation
from hyperagent.accounts.scoped import ScopedView
from hyperagent.lib.api import ErrorSerializer, Pages
from memory import projects


class ProjectConversations(ScopedView, generics.GenericAPIView[Conversation]):
    serializer_class = serializers.ConversationSerializer
    pagination_class = Pages.ordered_by("-updated_at", "-id")
    filter_backends = ()
    queryset = Conversation.objects.none()

    def get_queryset(self) -> QuerySet[Conversation]:
        project = projects.seen(self.caller, self.kwargs["project_id"])
        return reading.conversations_of(self.caller).filter(project=project, is_temporary=False)

    @extend_schema(responses={200: serializers.ConversationSerializer(many=True), 404: ErrorSerializer})
    def get(self, request: Request, project_id: UUID) -> Response:
        """The caller's own, newest first. `POST /conversations` with `project_id` begins one."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.get_serializer(page, many=True).data)
