"""The shapes of the older agent-tree programs, in their spelling. Values: `agents.log.older_shapes`."""
# ruff: noqa: N815 - the names are theirs

from typing import Any

from rest_framework import serializers

from agents.api.serializers import AgentMessageSerializer


class OlderNodeSerializer(serializers.Serializer[Any]):
    agentId = serializers.UUIDField()
    parentId = serializers.UUIDField(allow_null=True)
    agentName = serializers.CharField()
    status = serializers.ChoiceField(choices=["running", "completed", "deleted", "modified", "error", "awaiting_user"])
    userComment = serializers.CharField()
    userContent = serializers.CharField()
    subagents = serializers.ListField(child=serializers.UUIDField())
    dependsOn = serializers.ListField(child=serializers.UUIDField())
    startedAt = serializers.DateTimeField(allow_null=True)
    endedAt = serializers.DateTimeField(allow_null=True)


class OlderAgentDetailSerializer(OlderNodeSerializer):
    messages = AgentMessageSerializer(many=True)


class OlderInterveneSerializer(serializers.Serializer[Any]):
    userComment = serializers.CharField(required=False, allow_blank=True, allow_null=True)
    userContent = serializers.CharField(required=False, allow_blank=True, allow_null=True, trim_whitespace=False)
    status = serializers.CharField(required=False, allow_null=True)
