"""A house that is lived in, for pictures of the product: recorded runs, written into an installation's database by its
own code, as if they had been driven there. `manage.py shell -c "from tests.page import furnished_house; …"`.
"""

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from agents.engine import chain
from agents.models import AgentExecution, Event, Execution
from conversations.models import Conversation, Message, Role, TitledBy
from hitl.models import Request
from hyperagent.accounts.models import User
from memory.models import Memory, Project
from tests.page import asked, recorded, recorded_hands
from tests.page.recorded import Recorded

EARLIER = (
    ("Travel policy: hotels in Berlin", 2),
    ("Draft of the release notes", 5),
    ("Why did the nightly import fail?", 26),
    ("Three slides for the board", 50),
    ("Questions for the interview on Thursday", 75),
    ("Which customers renew in June?", 190),
    ("Contract with Northwind: notice periods", 410),
)
MEMORIES = (
    ("user_name", "Alice Nowak"),
    ("company_name", "Northwind"),
    ("job_title", "Head of Support"),
)


def furnish(email: str) -> None:
    """Prints the addresses of what it made, as JSON."""
    user = User.objects.get(email=email)
    user.display_name = "Alice Nowak"
    user.save(update_fields=["display_name"])
    with transaction.atomic():
        for title, hours in EARLIER:
            talk = _talk(user, title)
            Conversation.objects.filter(pk=talk.pk).update(updated_at=datetime.now(UTC) - timedelta(hours=hours))
        project = Project.objects.create(owner=user, name="Support search", instructions="Answer in British English.")
        project.members.add(user)
        for name, text in MEMORIES:
            Memory.objects.create(user=user, kind="fact", field=name, text=text, origin_key=name)
        analysed = _run(user, "Revenue by month", "Analyse this CSV and plot it", recorded_hands.analysed())
        planned = _run(user, "Vector database for the support search", recorded.QUESTION, recorded.finished())
        _requests(user)
    print(json.dumps({"planned": planned, "analysed": analysed}))


def _talk(user: User, title: str) -> Conversation:
    return Conversation.objects.create(user=user, title=title, titled_by=TitledBy.PERSON)


def _run(user: User, title: str, question: str, run: Recorded) -> str:
    """A conversation with this run as its one turn; the run's address."""
    talk = _talk(user, title)
    ids: dict[str, uuid.UUID] = {}
    execution = Execution.objects.create(
        id=uuid.uuid4(), user=user, conversation_id=talk.id, question=question, input={}
    )
    last = run.last
    began, ended = _time(run.events[0]), _time(last)
    _write(execution, run, ids)
    Execution.objects.filter(pk=execution.pk).update(
        status="completed", answer=last["answer"], created_at=began, started_at=began, ended_at=ended, mode="auto",
        result={name: last[name] for name in ("answer", "sources", "checks")}, cost_usd=last["usage"]["cost_usd"],
        prompt_tokens=last["usage"]["prompt_tokens"], completion_tokens=last["usage"]["completion_tokens"],
        finish_handled_at=ended, last_seq=len(run.events),
    )  # fmt: skip
    asks = Message(conversation=talk, role=Role.USER, text=question, created_at=began)
    later = began + timedelta(microseconds=1)
    reply = Message(conversation=talk, parent=asks, role=Role.ASSISTANT, execution=execution, created_at=later)
    Message.objects.bulk_create([asks, reply])
    return f"/c/{talk.id}/?run={execution.id}"


def _write(execution: Execution, run: Recorded, ids: dict[str, uuid.UUID]) -> None:
    """The log, with ids of its own: those of recordings are made of names, the same in all."""
    agents: dict[str, AgentExecution] = {}
    rows, previous = [], chain.GENESIS
    for event in run.events:
        body = json.dumps(_renamed(event, execution, ids), ensure_ascii=False, separators=(",", ":"))
        previous = chain.link(previous, body)
        agent_id = ids[event["agent_id"]]
        _keep_agent(agents, execution, event, ids)
        rows.append(
            Event(
                execution=execution, seq=event["seq"], agent_id=agent_id, type=event["type"], body=body,
                hash=previous, created_at=_time(event),
            )
        )  # fmt: skip
    AgentExecution.objects.bulk_create(agents.values())
    Event.objects.bulk_create(rows)
    Execution.objects.filter(pk=execution.pk).update(last_hash=previous)


def _renamed(event: Mapping[str, Any], execution: Execution, ids: dict[str, uuid.UUID]) -> dict[str, Any]:
    def own(id_: str) -> str:
        return str(ids.setdefault(id_, uuid.uuid4()))

    changed: dict[str, Any] = {"execution_id": str(execution.id), "agent_id": own(event["agent_id"])}
    if event.get("parent_id"):
        changed["parent_id"] = own(event["parent_id"])
    if event["type"] == "agent_state" and event.get("depends_on"):
        changed["depends_on"] = [own(other) for other in event["depends_on"]]
    return {**event, **changed}


def _keep_agent(
    agents: dict[str, AgentExecution], execution: Execution, event: Mapping[str, Any], ids: dict[str, uuid.UUID]
) -> None:
    if event["type"] != "agent_state":
        return
    one = agents.get(event["agent_id"])
    if one is None:
        one = agents[event["agent_id"]] = AgentExecution(
            id=ids[event["agent_id"]], execution=execution, agent_name=event["agent_name"],
            parent_id=ids.get(event.get("parent_id") or ""), lineage=f"root/{len(agents)}",
            task=event.get("task") or "", started_at=_time(event),
        )  # fmt: skip
    one.status, one.ended_at, one.error = event["status"], _time(event), event.get("error") or ""


def _time(event: Mapping[str, Any]) -> datetime:
    return datetime.fromtimestamp(event["timestamp"] / 1000, UTC)


def _requests(user: User) -> None:
    """A mail, a program and a change of a file that wait for their owner."""
    for call in (asked.mail_call(), asked.diff_call(), asked.code_call(), asked.note_call()):
        told = asked.approval(call)
        question = {name: told[name] for name in ("question", "tool_names", "tool_calls", "risk", "rules_allowed")}
        Request.objects.create(
            execution_id=uuid.uuid4(), agent_id=uuid.uuid4(), agent_name=told["agent_name"], user=user, kind="approval",
            stage="tool", question={**question, "stage": "tool", "why": told["why"]}, tool_names=told["tool_names"],
            task_description=told["task_description"], risk=told["risk"], arguments_hash=told["arguments_hash"],
        )  # fmt: skip
