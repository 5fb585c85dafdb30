"""A run as spans: the run itself, its agents, its waits for people. What was recorded before is not told again, and
nothing that a program decides by comes from here.

Whoever drives a run goes on in the trace of the request that asked for it. Its span's id follows from the run and the
epoch, so that the next driver can name it without having been told.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg

from agents.engine.records import AgentRecord, Record, StepRecord
from agents.engine.states import LIVE_AGENTS, AgentStatus, StepKind, StepStatus
from agents.runtime.leases import Claim
from hyperagent.lib.telemetry import tracing
from hyperagent.lib.telemetry.tracing import NOTHING, TRACEPARENT, Span

_ASKED_AT: Final = "SELECT request_id, created_at FROM hitl_request WHERE execution_id = %s"


class RunTrace:
    """What one driver tells of one run. Without a collector every span of it is `NOTHING`, and no time goes into it."""

    def __init__(self, claim: Claim | None = None) -> None:
        self.span = NOTHING
        self._agents: dict[UUID, Span] = {}
        self._records: dict[UUID, AgentRecord] = {}
        self._asked_ns: dict[str, int] = {}
        if claim is not None and tracing.is_on():
            self.span = _begun(claim)

    @property
    def _is_off(self) -> bool:
        return self.span is NOTHING

    async def look(self, connection: psycopg.AsyncConnection[Any], execution_id: UUID) -> None:
        """When the questions were asked that were open before this driver came. One query."""
        cursor = await connection.execute(_ASKED_AT, [execution_id])
        for request_id, at in await cursor.fetchall():
            self._asked_ns[str(request_id)] = _ns(at)

    def know(self, agents: Mapping[str, AgentRecord]) -> None:
        """The agents that there were before this driver came."""
        if not self._is_off:
            self._records = {agent.id: agent for agent in agents.values()}

    def agent(self, agent_id: UUID) -> Span:
        """Of the agent's work under this driver; it begins with the first thing that is really done."""
        if self._is_off:
            return NOTHING
        found = self._agents.get(agent_id)
        if found is None:
            found = self._agents[agent_id] = self._agent_begun(agent_id)
        return found

    def tool(self, agent_id: UUID, name: str, *, call_id: str | None, arguments: Any) -> Span:
        """One performance of a tool."""
        if self._is_off:
            return NOTHING
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call_id,
        }
        if tracing.captures_content():
            told["gen_ai.tool.call.arguments"] = orjson.dumps(arguments).decode()
        return tracing.begin(f"execute_tool {name}", attributes=told, parent=self.agent(agent_id))

    def recorded(self, records: Sequence[Record], steps: Mapping[UUID, Mapping[Any, StepRecord]]) -> None:
        """What is just being recorded, and so was really done. `steps`: those that were recorded before it."""
        if self._is_off:
            return
        for record in records:
            if isinstance(record, AgentRecord):
                self._agent_recorded(record)
            elif isinstance(record, StepRecord) and record.kind is StepKind.ASK:
                self._ask_recorded(record, steps.get(record.agent_id, {}).get(record.path))

    def end(self, status: str, *, error: str = "") -> None:
        """The driver leaves the run. Agents that go on under another one end here as far as this one tells of them."""
        self.span.set({"hyperagent.run.status": status})
        if error:
            self.span.failed(error)
        for span in (*self._agents.values(), self.span):
            span.end()

    # --- inside

    def _agent_begun(self, agent_id: UUID) -> Span:
        record = self._records.get(agent_id)
        if record is None or record.parent_id is None:
            return self.span
        told = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": record.name,
            "gen_ai.agent.id": str(agent_id),
        }
        return tracing.begin(f"invoke_agent {record.name}", attributes=told, parent=self.agent(record.parent_id))

    def _agent_recorded(self, record: AgentRecord) -> None:
        self._records[record.id] = record
        if record.parent_id is None:
            return
        if record.status is AgentStatus.RUNNING:
            self.agent(record.id)
        elif record.status not in LIVE_AGENTS and (span := self._agents.pop(record.id, None)) is not None:
            span.set({"hyperagent.agent.status": record.status.value})
            if record.status is AgentStatus.FAILED:
                span.failed(str((record.output or {}).get("code", record.error or "failed")))
            span.end()

    def _ask_recorded(self, step: StepRecord, before: StepRecord | None) -> None:
        if step.status is StepStatus.STARTED:
            self._asked_ns.setdefault(step.response["request_id"], time.time_ns())
        elif before is not None and before.status is StepStatus.STARTED:
            began_ns = self._asked_ns.get(before.response["request_id"])
            told = {"hyperagent.request.kind": step.name, "hyperagent.request.id": before.response["request_id"]}
            tracing.begin(
                f"wait_for_person {step.name}", attributes=told, parent=self.agent(step.agent_id), began_ns=began_ns
            ).end()


def _begun(claim: Claim) -> Span:
    asked = str(claim.input.get(TRACEPARENT, ""))
    former = claim.epoch - (2 if claim.lost_by else 1)
    told = {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": claim.pipeline,
        "gen_ai.conversation.id": None if claim.conversation_id is None else str(claim.conversation_id),
        "hyperagent.execution.id": str(claim.id),
        "hyperagent.execution.epoch": claim.epoch,
        "hyperagent.lost_by": claim.lost_by or None,
    }
    return tracing.begin(
        f"invoke_workflow {claim.pipeline}",
        kind=tracing.Kind.CONSUMER,
        attributes=told,
        parent=asked or None,
        own=own_traceparent(claim.id, claim.epoch, asked=asked),
        link=own_traceparent(claim.id, former, asked=asked) if former > 0 else "",
    )


def own_traceparent(execution_id: UUID, epoch: int, *, asked: str) -> str:
    """Of the driver of this epoch: in the trace of the request, or in one of the run's own where nobody traced that."""
    return f"00-{trace_id_of(execution_id, asked=asked)}-{_hex(f'{execution_id} {epoch}', 16)}-01"


def trace_id_of(execution_id: UUID, *, asked: str) -> str:
    """32 hexadecimal digits, the same whenever and wherever one asks. `asked`: the `traceparent` of whoever wanted the
    run; empty where they brought none."""
    return asked.split("-")[1] if asked else _hex(f"trace {execution_id}", 32)


def without_trace(handed: Mapping[str, Any]) -> dict[str, Any]:
    """A run's input as its program gets it: in which trace it goes on is no matter of the program's."""
    return {name: value for name, value in handed.items() if name != TRACEPARENT}


def _hex(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _ns(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000
