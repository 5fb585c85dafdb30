"""Agents and events in the words of the older agent-tree programs: camelCase, six statuses, chunks for a stream.

Pure, and only for the API's edge: nothing within uses these names.
"""

from collections.abc import Mapping
from typing import Any

from agents.engine.states import AgentStatus

Json = dict[str, Any]
# running, completed, deleted, modified, error, awaiting_user: there are no others.
_STATUSES: Mapping[str, str] = {
    AgentStatus.PENDING: "running",
    AgentStatus.RUNNING: "running",
    AgentStatus.AWAITING_USER: "awaiting_user",
    AgentStatus.COMPLETED: "completed",
    AgentStatus.FAILED: "error",
    AgentStatus.SKIPPED: "error",
    AgentStatus.CANCELLED: "deleted",
    AgentStatus.DELETED: "deleted",
}


def status_of(status: str, *, modified: bool) -> str:
    older = _STATUSES.get(status, status)
    return "modified" if modified and older == "running" else older


def node(agent: Json) -> Json:
    """`agent`: as in `agents.log.shapes.node`."""
    return {
        "agentId": agent["agent_id"],
        "parentId": agent["parent_id"],
        "agentName": agent["agent_name"],
        "status": status_of(agent["status"], modified=agent["modified"]),
        "userComment": agent["user_comment"] or "unchanged",
        "userContent": agent["user_content"] or agent["task"],
        "subagents": agent["subagents"],
        "dependsOn": agent["depends_on"],
        "startedAt": agent["started_at"],
        "endedAt": agent["ended_at"],
    }


def wish(said: Mapping[str, Any]) -> Json:
    """An intervention as `agents.actions.intervene` takes it."""
    return {
        "user_comment": said.get("userComment"),
        "user_content": said.get("userContent"),
        "status": said.get("status"),
    }


def chunk(event: Json) -> Json:
    """An event as a chunk of the older stream; what that stream does not know stays as it is."""
    match event["type"]:
        case "token" if event.get("channel", "answer") == "answer":
            return {"type": "text-delta", "agentId": event["agent_id"], "textDelta": event["content"]}
        case "agent_state":
            return {"type": "agent-state", "agentId": event["agent_id"], "state": _state(event)}
        case "tool_call":
            return {
                "type": "tool-call",
                "toolCallId": event.get("id"),
                "toolName": event["tool"],
                "args": event["args"],
            }
        case "tool_result":
            return {
                "type": "tool-result",
                "toolCallId": event.get("id"),
                "toolName": event["tool"],
                "result": event["content"],
                "isError": event.get("is_error", False),
            }
    return event


def _state(event: Json) -> Json:
    return {
        "agentId": event["agent_id"],
        "parentId": event.get("parent_id"),
        "agentName": event["agent_name"],
        "status": status_of(event["status"], modified=event.get("modified", False)),
        "userComment": event.get("user_comment") or "unchanged",
        "userContent": event.get("task") or "",
    }
