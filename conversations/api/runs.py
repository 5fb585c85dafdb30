"""Runs that begin from others: their replies stand in the conversation, so they are made here and not in `agents`."""

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.api.serializers import ExecutionSerializer
from agents.api.views import detailed, visible_to
from conversations import actions
from conversations.api import serializers
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, own_or_404

RESPONSES = {202: ExecutionSerializer, **dict.fromkeys((400, 404, 409), ErrorSerializer)}


class ExecutionRetry(APIView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(request=serializers.RetrySerializer, responses=RESPONSES)
    def post(self, request: Request, execution_id: uuid.UUID) -> Response:
        """A new run that keeps what was done and does again what failed, or the agent that is named. What had an
        effect on the world is not done twice.
        """
        assert isinstance(request.user, User)
        own_or_404(visible_to(request).only("id"), id=execution_id)
        asked = serializers.RetrySerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        begun = actions.retry_run(request.user, execution_id, agent_id=asked.validated_data["agent_id"])
        return Response(detailed(request, begun.id), status=202)


class ExecutionFork(APIView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(request=serializers.ForkSerializer, responses=RESPONSES)
    def post(self, request: Request, execution_id: uuid.UUID) -> Response:
        """A new run that goes the same way up to a step of an agent, and does everything from there on anew."""
        assert isinstance(request.user, User)
        own_or_404(visible_to(request).only("id"), id=execution_id)
        asked = serializers.ForkSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        begun = actions.fork_run(request.user, execution_id, agent_id=given["agent_id"], step=given["step"])
        return Response(detailed(request, begun.id), status=202)
