"""The agents' endpoints: the roster, the tree of a run, one agent with its history, and intervening in it.

Every query begins with what the caller may see.
"""

import uuid
from typing import Any

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents import actions
from agents.api import older_serializers, serializers
from agents.availability import why_unavailable
from agents.engine.states import StepKind
from agents.guardrails.showing import Shown
from agents.log import agent_reading, older_shapes, shapes
from agents.models import AgentExecution, Execution
from agents.registry import specs
from agents.spec import AgentSpec
from hitl.switches import agents_switched_off
from hyperagent.accounts.authentication import HasScope
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib.api import ErrorSerializer, own_or_404, whole_list
from hyperagent.lib.refusals import Conflict

OF_RUN = OpenApiParameter("execution", uuid.UUID, description="A run; without it, the agents that run now.")


class AgentList(APIView):
    permission_classes = (HasScope(Scope.READ),)

    @extend_schema(responses=serializers.RosterSerializer)
    def get(self, request: Request) -> Response:
        """The roster: who can work on a question, and what is missing where somebody cannot. `enabled` is false while
        an administrator has switched the agent off."""
        off = agents_switched_off()
        described = [
            {**_described(spec, request.user.pk), "enabled": spec.name not in off} for spec in specs().values()
        ]
        return Response(whole_list(described))


def _described(spec: AgentSpec, user_id: uuid.UUID | None) -> dict[str, Any]:
    reason = why_unavailable(spec, user_id)
    return {**spec.described(), "available": not reason, "unavailable_reason": reason or None}


class AgentTree(APIView):
    permission_classes = (HasScope(Scope.READ),)

    @extend_schema(parameters=[OF_RUN], responses={200: serializers.TreeSerializer, 404: ErrorSerializer})
    def get(self, request: Request) -> Response:
        """The agents of a run, without their history; without `execution`, all of the caller's that run now."""
        return Response({"agents": _tree(request)})


class AgentDetail(APIView):
    permission_classes = (HasScope(Scope.READ),)

    # The roster has the other name.
    @extend_schema(
        operation_id="v1_agents_detail_retrieve",
        responses={200: serializers.AgentDetailSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request, agent_id: uuid.UUID) -> Response:
        """One agent with its messages, of its newest 100 calls of models, and its steps. Its id is that of
        `/agents/tree`, not a name of the roster."""
        agent = _own_agent(request, agent_id)
        return Response(
            {
                **_node(agent),
                "messages": _messages(agent),
                "steps": _steps(agent),
            }
        )


def _messages(agent: AgentExecution) -> list[dict[str, Any]]:
    shown = _shown(agent)
    return [shown.message(message) for message in agent_reading.messages_of(agent)]


def _steps(agent: AgentExecution) -> list[dict[str, Any]]:
    """Of a model's call its reply is what the agent says."""
    shown = _shown(agent)
    steps = [shapes.step_shape(step) for step in agent_reading.steps_of(agent)]
    return [
        {**step, "response": shown.text(step["response"])}
        if step["kind"] == StepKind.MODEL and step["response"]
        else step
        for step in steps
    ]


def _shown(agent: AgentExecution) -> Shown:
    config = settings.CONFIG
    looks = config.guardrails_enabled and config.guardrails_output_enabled
    return Shown(config.guardrails_redact if looks else (), lambda: agent.execution.question)


class AgentIntervene(APIView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        request=serializers.InterveneSerializer,
        responses={200: serializers.IntervenedSerializer, **dict.fromkeys((400, 404, 409), ErrorSerializer)},
    )
    def post(self, request: Request, agent_id: uuid.UUID) -> Response:
        """Deletes the agent and all below it, gives it other instructions, or tells it something while it works."""
        _own_agent(request, agent_id)
        asked = serializers.InterveneSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        agent, refused = _intervened(request, agent_id, asked.validated_data)
        return _intervention_answer(agent, refused, {"agent": _node(agent)})


def _intervened(request: Request, agent_id: uuid.UUID, wish: dict[str, Any]) -> tuple[AgentExecution, Conflict | None]:
    """The agent afterwards, and why nothing was done if it was over."""
    try:
        actions.intervene(agent_id, by=_caller(request), **wish)
    except Conflict as refused:
        return _own_agent(request, agent_id), refused
    return _own_agent(request, agent_id), None


def _intervention_answer(agent: AgentExecution, refused: Conflict | None, shown: dict[str, Any]) -> Response:
    if refused is None:
        return Response({"success": True, **shown})
    return Response(
        {"success": False, "reason": refused.message, **shown, "error": refused.as_error()}, status=refused.status
    )


class OlderTree(APIView):
    """`GET /agent/tree` of the older agent-tree programs, in their words."""

    permission_classes = (HasScope(Scope.READ),)

    @extend_schema(parameters=[OF_RUN], responses={200: OpenApiTypes.OBJECT, 404: ErrorSerializer})
    def get(self, request: Request) -> Response:
        """As `/agents/tree`: the agents by their ids, with camelCase names and the older statuses."""
        return Response({agent_id: older_shapes.node(agent) for agent_id, agent in _tree(request).items()})


class OlderAgent(APIView):
    permission_classes = (HasScope(Scope.READ),)

    @extend_schema(responses={200: older_serializers.OlderAgentDetailSerializer, 404: ErrorSerializer})
    def get(self, request: Request, agent_id: uuid.UUID) -> Response:
        """As `/agents/{agent_id}`, with camelCase names and the older statuses."""
        agent = _own_agent(request, agent_id)
        return Response({**older_shapes.node(_node(agent)), "messages": _messages(agent)})


class OlderIntervene(APIView):
    permission_classes = (HasScope(Scope.RUN),)

    @extend_schema(
        request=older_serializers.OlderInterveneSerializer,
        responses={200: serializers.SuccessSerializer, **dict.fromkeys((400, 404, 409), ErrorSerializer)},
    )
    def post(self, request: Request, agent_id: uuid.UUID) -> Response:
        """As `/agents/{agent_id}/intervene`, with `userComment` and `userContent`."""
        _own_agent(request, agent_id)
        asked = older_serializers.OlderInterveneSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        agent, refused = _intervened(request, agent_id, older_shapes.wish(asked.validated_data))
        return _intervention_answer(agent, refused, {})


def _caller(request: Request) -> User:
    assert isinstance(request.user, User)
    return request.user


def _tree(request: Request) -> dict[str, Any]:
    asked = serializers.TreeQuerySerializer(data=request.query_params)
    asked.is_valid(raise_exception=True)
    execution_id = asked.validated_data.get("execution")
    user = _caller(request)
    if execution_id is None:
        return shapes.tree(agent_reading.running_agents(user))
    own_or_404(Execution.objects.of(user).only("id"), id=execution_id)
    return shapes.tree(agent_reading.tree_of(user, execution_id))


def _own_agent(request: Request, agent_id: uuid.UUID) -> AgentExecution:
    return own_or_404(agent_reading.agents_of(_caller(request)), id=agent_id)


def _node(agent: AgentExecution) -> dict[str, Any]:
    agent_reading.with_usage([agent])
    return shapes.node(agent, agent_reading.subagents_of(agent))
