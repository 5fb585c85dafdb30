"""Somebody of whom every part of the product keeps something, and where each of it can be looked for."""

import io
import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone

from agents.engine.states import AgentStatus, ExecutionStatus, StepKind, StepStatus
from agents.guardrails.models import Verdict
from agents.mail.models import MailAccount
from agents.mcp.models import McpServer
from agents.models import AgentExecution, Event, Execution, Step
from agents.usage.models import ModelCall
from conversations.models import Conversation, Message
from conversations.schedules.models import Schedule, ScheduledRun
from hitl.models import Decision, Request, Rule, RuleUse
from hyperagent.accounts import actions
from hyperagent.accounts.people_models import Invitation
from memory import projects
from memory.actions import documents
from memory.ingestion import driver
from memory.models import Document, Memory, Project
from memory.workspaces import files
from memory.workspaces.places import Place, Scope

SECRET = "zanzibar"
"""A word that stands in whatever is the person's own, and nowhere else."""


@dataclass(frozen=True)
class Kept:
    conversation: Conversation
    run: Execution
    request: Request
    document: Document
    shared: Project
    alone: Project


def keep_something_of(user: Any, friend: Any) -> Kept:
    """One of each, with SECRET in it. `friend` is in one of the two projects."""
    actions.make_token(user, name=f"{SECRET} laptop")
    conversation = Conversation.objects.create(user=user, title=f"About {SECRET}/1")
    run = _run(user, conversation)
    Verdict.objects.create(
        execution=run, seq=1, user=user, place="input", scanner="injection", kind="order", certainty="suspected",
        action="warn", reason=f"It asks for {SECRET}.", excerpt=SECRET, created_at=timezone.now(),
    )  # fmt: skip
    asked = Message.objects.create(conversation=conversation, role="user", text=f"What is {SECRET}?")
    Message.objects.create(conversation=conversation, role="assistant", parent=asked, execution=run)
    request = Request.objects.create(
        execution_id=run.pk, agent_id=uuid.uuid4(), agent_name="mail", user=user, kind="approval", status="approved",
        tool_names=["send_mail"], question={"text": f"Send {SECRET}?"}, user_instructions=SECRET, decided_by=user,
    )  # fmt: skip
    Decision.objects.create(
        request=request, happening="approved", actor=user, actor_name=user.email, via="page", note=f"yes, {SECRET}"
    )
    rule = Rule.objects.create(
        user=user, effect="allow", scope="always", tool="send_mail", text=f"Always {SECRET}",
        conditions=[{"path": "to", "op": "equals", "value": SECRET}],
    )  # fmt: skip
    RuleUse.objects.create(
        rule=rule, call_key=uuid.uuid4().hex, execution_id=run.pk, agent_name="mail", tool="send_mail",
        arguments={"to": SECRET}, arguments_hash="5e11",
    )  # fmt: skip
    document, _ = documents.add(user, io.BytesIO(f"All about {SECRET}.".encode()), filename=f"{SECRET}.txt")
    driver.ingest(document.pk)
    files.write(user.pk, Place(Scope.USER, user.pk), f"notes/{SECRET}.md", SECRET.encode())
    files.write(user.pk, Place(Scope.CONVERSATION, conversation.pk), f"{SECRET}.csv", b"a,b\n" + SECRET.encode())
    Memory.objects.create(user=user, kind="fact", text=f"Likes {SECRET}", origin_key="1")
    MailAccount.objects.create(user=user, kind="imap", address=f"{SECRET}@example.org", sealed="sealed")
    Invitation.objects.create(email=user.email, accepted_by=user, accepted_at=timezone.now(), ends_at=timezone.now())
    McpServer.objects.create(owner=user, name=SECRET, kind="http", url="https://example.org/mcp", sealed="sealed")
    _schedule(user, conversation, run)
    shared = projects.create(user, name=f"Ours {SECRET}")
    projects.add_member(user, shared.pk, friend.email)
    return Kept(conversation, run, request, document, shared, projects.create(user, name=f"Mine {SECRET}"))


def _schedule(user: Any, conversation: Conversation, run: Execution) -> None:
    now = timezone.now()
    schedule = Schedule.objects.create(
        user=user, title=f"{SECRET} daily", question=f"What is new of {SECRET}?", kind="cron", cron="0 9 * * *",
        time_zone="UTC", counts_from=now, talk="same", conversation=conversation, on_approval="wait", next_due_at=now,
    )  # fmt: skip
    ScheduledRun.objects.create(
        schedule=schedule, due_at=now, cause="time", outcome="started", execution=run, conversation=conversation
    )
    ScheduledRun.objects.create(
        schedule=schedule, due_at=run.created_at, cause="time", outcome="refused", refusal=SECRET
    )


def _run(user: Any, conversation: Conversation) -> Execution:
    now = timezone.now()
    run = Execution.objects.create(
        user=user, conversation_id=conversation.pk, status=ExecutionStatus.COMPLETED, question=f"What is {SECRET}?",
        input={"version": 1, "history": [{"role": "user", "content": SECRET}], "options": {}}, ended_at=now,
        answer=f"An island: {SECRET}", result={"answer": SECRET}, prompt_tokens=12, cost_usd="0.5", last_seq=1,
    )  # fmt: skip
    agent = AgentExecution.objects.create(
        execution=run, agent_name="chat", lineage="0", task=SECRET, status=AgentStatus.COMPLETED, output=SECRET
    )
    Step.objects.create(
        agent=agent, path=[1], kind=StepKind.MODEL, name="chat", request={"messages": SECRET}, request_hash=bytes(32),
        status=StepStatus.FINISHED, response={"text": SECRET}, usage={"prompt_tokens": 12}, epoch=1, started_at=now,
    )  # fmt: skip
    Event.objects.create(execution=run, seq=1, type="complete", body=f'"{SECRET}"', hash=bytes(32), created_at=now)
    ModelCall.objects.create(
        step_id=uuid.uuid4().int >> 70, user=user, execution_id=run.pk, conversation_id=conversation.pk, at=now,
        agent_name="chat", provider="scripted", model="m", prompt_tokens=12, completion_tokens=3, cost_usd="0.5",
    )  # fmt: skip
    return run


def tables_with(word: str) -> dict[str, int]:
    """Every table that has the word in a row, as text, with how many rows."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', [f"%{word}%"])
            if count := cursor.fetchone()[0]:
                found[table] = count
    return found
