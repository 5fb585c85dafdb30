"""A house in which everything that a person, a model, a file, a tool or a mail can name attacks whoever looks at it.

Written into an installation's database by its own code: `manage.py shell -c "from tests.page import hostile_house; …"`.
"""

import json
import uuid
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from itertools import cycle
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents import samples
from agents.engine import events as e
from agents.engine.records import Announced
from agents.engine.states import AgentStatus
from agents.mcp.models import McpServer, McpTool, ServerKind
from agents.models import AgentExecution, Event, Execution
from agents.runtime.outbox import Outbox
from conversations.models import Conversation, Message, Role, TitledBy
from conversations.sharing.actions import Choice, share
from conversations.sharing.tokens import token_of
from hitl.models import Request, Rule
from hyperagent.accounts.models import ApiToken, User
from hyperagent.lib.hashes import arguments_hash
from hyperagent.notices.kinds import CHOOSABLE
from hyperagent.notices.models import Endpoint
from memory.models import Chunk, Document, DocumentPage, Memory, Project
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.page.hostile_markdown import everything_hostile

MOST_ROWS = 40  # of what has a line alone
NAME_CHARS = 100  # of a file, which has 255 bytes
PASSAGE = 1_500  # characters of a text that holds many of them
DOCUMENTS_A_PAGE, FILES_A_PAGE = 25, 100


def payloads() -> list[str]:
    """Without NUL, which nothing takes at its door."""
    found = (text.replace("\x00", "") for text in everything_hostile().values())
    return [text for text in dict.fromkeys(found) if text.strip()]


def packed(hostile: Sequence[str], room: int, between: str = "\n") -> list[str]:
    """All of them in as few texts as have room for them; one that is longer is cut, and goes alone."""
    rows: list[str] = []
    for text in hostile:
        longer = f"{rows[-1]}{between}{text}" if rows else ""
        if longer and len(longer) <= room:
            rows[-1] = longer
        else:
            rows.append(text[:room])
    return rows


def furnish(email: str) -> None:
    """Prints, as JSON, the addresses of what has a page of its own: {"conversation": "/c/…/", …}; of "", those of lists
    that have more than a page.
    """
    user, hostile = User.objects.get(email=email), payloads()
    user.display_name = hostile[0][:120]
    user.save(update_fields=["display_name"])
    with transaction.atomic():
        conversation = _conversations(user, hostile)
        document = _documents(user, hostile)
        project = _projects(user, hostile)
        project.documents.set(user.documents.all())
        _memories(user, hostile)
        requests = _requests(user, hostile)
        _settings(user, hostile)
        server = _servers(user, hostile)
    _files(user, conversation, hostile)
    link = share(user, conversation.id, Choice(with_attachments=True))
    run = conversation.messages.filter(role=Role.ASSISTANT).latest("created_at").execution_id
    files_pages = len(packed(hostile, NAME_CHARS)) // FILES_A_PAGE + 1
    more = [f"/documents/?page={number}" for number in range(2, len(packed(hostile, 255)) // DOCUMENTS_A_PAGE + 2)]
    more += [f"/files/conversation/{conversation.id}/?page={number}" for number in range(2, files_pages + 1)]
    places: dict[str, Any] = {
        "": more,
        **{f"{kind} request": f"/inbox/{id_}/" for kind, id_ in requests.items()},
        "conversation": f"/c/{conversation.id}/",
        "run": f"/c/{conversation.id}/?run={run}",
        "conversation's files": f"/files/conversation/{conversation.id}/",
        "document": f"/documents/{document.id}/",
        "project": f"/projects/{project.id}/",
        "server": f"/settings/mcp/{server.id}/",
        "shared": f"/s/{token_of(link.id)}/",
    }
    print(json.dumps(places))


def _conversations(user: User, hostile: Sequence[str]) -> Conversation:
    """Many titles; and one with a turn for each text, the last of which did everything that a run can be told of."""
    for text in packed(hostile, 200):
        Conversation.objects.create(user=user, title=text[:200], titled_by=TitledBy.PERSON)
    talk = Conversation.objects.create(user=user, title=hostile[1][:200], titled_by=TitledBy.PERSON)
    parent = None
    for text in packed(hostile, PASSAGE, "\n\n"):
        parent = _turn(talk, parent, text, samples.finished_run(user, talk.id, text, text))
    busy = samples.finished_run(user, talk.id, "All of it", "See above.")
    _write_log(busy, hostile)
    _turn(talk, parent, "All of it", busy)
    return talk


def _turn(talk: Conversation, parent: Message | None, text: str, run: Execution) -> Message:
    now = timezone.now()
    question = Message(conversation=talk, parent=parent, role=Role.USER, text=text, created_at=now)
    question.metadata = {"attachments": [{"id": str(uuid.uuid4()), "name": text[:200]}]}
    later = now + timedelta(microseconds=1)
    reply = Message(conversation=talk, parent=question, role=Role.ASSISTANT, execution=run, created_at=later)
    Message.objects.bulk_create([question, reply])
    source = {"type": "document", "source": text[:200], "url": "javascript:alert(1)", "excerpt": text, "section": text}
    run.result = {"answer": run.answer, "sources": [source]}
    run.save(update_fields=["result"])
    return reply


def _write_log(run: Execution, hostile: Sequence[str]) -> None:
    """The log of a run in which each event carries such a text in each of its fields."""
    root = run.agents.get()
    child = AgentExecution.objects.create(
        execution=run, parent=root, agent_name="data", lineage="root/1", task=hostile[2],
        status=AgentStatus.FAILED, started_at=run.started_at, ended_at=run.ended_at,
    )  # fmt: skip
    bodies = [e.AgentState(agent_name="turn", status="running"), e.StatusChanged(status="running")]
    made: list[tuple[uuid.UUID, e.Body]] = [(root.id, body) for body in bodies]
    state = e.AgentState(agent_name="data", status="running", parent_id=str(root.id), task=hostile[2])
    made.append((child.id, state))
    made += [(child.id, body) for text in packed(hostile, PASSAGE) for body in _happenings(text)]
    failed = state.model_copy(update={"status": "failed", "error": hostile[3]})
    made += [
        (child.id, failed),
        (root.id, e.AgentState(agent_name="turn", status="completed")),
        (root.id, e.Complete(answer=run.answer)),
    ]
    outbox = Outbox(run.id, epoch=0, group=run.group_name, wake_writer=lambda outbox, durable: None)
    outbox.write(*(Announced(agent, body) for agent, body in made))
    rows = outbox.take().rows
    run.events.all().delete()
    Event.objects.bulk_create(
        Event(
            execution=run, seq=row.seq, agent_id=row.agent_id, type=row.type, body=row.body, hash=row.hash,
            origin=row.origin, created_at=run.created_at,
        )
        for row in rows
    )  # fmt: skip
    run.last_seq, run.last_hash = rows[-1].seq, rows[-1].hash
    run.save(update_fields=["last_seq", "last_hash"])


def _happenings(text: str) -> list[e.Body]:
    call, run = uuid.uuid4().hex, uuid.uuid4().hex
    line = " ".join(text.split())[:200]
    series = {"label": line, "data": [1]}
    return [
        e.ToolCall(tool=line[:60], args={line: [text, {"deep": text}]}, id=call),
        e.ToolResult(tool=line[:60], content=text, id=call, is_error=True),
        e.TerminalCommand(command=text, id=run, language="python"),
        e.TerminalOutput(content=f"\x1b[31m{text}\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07", id=run),
        e.TerminalError(content=text, id=run),
        e.TerminalComplete(exit_code=1, id=run, note=text),
        e.CodeResult(code=text, stdout=text, stderr=text, exit_code=1, language=line[:20], note=text),
        e.Visualization(title=line, spec={"type": "bar", "data": {"labels": [line], "datasets": [series]}}),
        e.Image(path=f"{line[:80]}.png", alt=text),
        e.BrowserAction(action=line[:40], target=text, url="javascript:alert(1)", title=text, screenshot="x.png"),
        e.AppPreview(url="javascript:alert(1)", title=line),
        e.WorkspaceUpdate(path=line, operation="written", size_bytes=1, media_type="text/html"),
        e.Handoff(source_agent="data", target_agent=line[:40], task_description=text, context=text),
        e.SourceFound(source=e.Source(type="web", source=line, url="javascript:alert(1)", excerpt=text)),
        e.Token(content=text, channel="thinking"),
    ]


def _documents(user: User, hostile: Sequence[str]) -> Document:
    documents = [
        Document.objects.create(
            owner=user, filename=text[:255].replace("/", "∕"), title=text[:255], doc_type="md",
            sha256=sha256(text.encode("utf-8", "replace")).hexdigest(), size_bytes=len(text), status="ready",
            description=text, note=text, source_url=text, total_pages=1, total_chunks=1, ready_at=timezone.now(),
        )
        for text in packed(hostile, 255)
    ]  # fmt: skip
    document = documents[-1]
    whole = "\n\n".join(hostile)
    DocumentPage.objects.create(
        document=document,
        number=1,
        title=hostile[0][:255],
        text=whole,
        start=0,
        blocks=[["paragraph", 0, 0, len(whole)]],
    )
    Chunk.objects.create(
        chunk_id=uuid.uuid4(), document=document, ordinal=0, text=whole, start=0, end=len(whole), page=1, last_page=1,
        section_title=hostile[1][:255], kind="text", tokens=len(whole) // 4,
    )  # fmt: skip
    return document


def _projects(user: User, hostile: Sequence[str]) -> Project:
    for name, text in zip(packed(hostile, 120), packed(hostile, PASSAGE), strict=False):
        project = Project.objects.create(owner=user, name=name, instructions=text)
        project.members.add(user)
    return project


def _memories(user: User, hostile: Sequence[str]) -> None:
    kinds, states = cycle(["fact", "preference", "episode"]), cycle(["active", "active", "quarantined"])
    for text, kind, status in zip(packed(hostile, PASSAGE), kinds, states, strict=False):
        Memory.objects.create(
            user=user, kind=kind, text=text, status=status, reason=text, source_excerpt=text,
            origin_key=uuid.uuid4().hex,
        )  # fmt: skip
    Memory.objects.create(user=user, kind="fact", field="user_name", text=hostile[0], origin_key="name")


def _requests(user: User, hostile: Sequence[str]) -> dict[str, uuid.UUID]:
    """Approvals of mails, programs, changes of files and anything else, each with such texts throughout. Of each kind,
    the id of one that has all of them.
    """
    made: dict[str, uuid.UUID] = {}
    for number, text in enumerate([*hostile[:MOST_ROWS], *["\n".join(hostile)] * 4]):
        line = " ".join(text.split())
        arguments: dict[str, Any] = {"to": [line], "subject": line, "body": text}
        preview = (
            {"kind": "mail", **arguments},
            {"kind": "code", "language": line[:20], "code": text},
            {"kind": "diff", "path": line, "before": text, "after": text[::-1]},
            {"kind": "form", "fields": [{"label": line, "value": text}]},
        )[number % 4]
        call: dict[str, Any] = {
            "id": str(uuid.uuid4()),
            "tool": "send_email",
            "arguments": arguments,
            "arguments_hash": arguments_hash("send_email", arguments),
            "risk": "high",
            "irreversible": True,
            "effect": "write",
            "preview": preview,
            "schema": {"type": "object", "properties": {}},
        }
        question = {
            "question": text,
            "tool_names": ["send_email"],
            "tool_calls": [call],
            "risk": "high",
            "rules_allowed": True,
            "stage": "tool",
            "why": text,
        }
        request = Request.objects.create(
            execution_id=uuid.uuid4(), agent_id=uuid.uuid4(), agent_name="mail", user=user, kind="approval",
            stage="tool", question=question, tool_names=["send_email"], task_description=text, risk="high",
            arguments_hash=call["arguments_hash"], user_instructions=text,
        )  # fmt: skip
        made[str(preview["kind"])] = request.pk
    return made


def _settings(user: User, hostile: Sequence[str]) -> None:
    later = timezone.now() + timedelta(days=30)
    for text in packed(hostile, 100, " ")[:MOST_ROWS]:
        digest = sha256(text.encode("utf-8", "replace")).hexdigest()
        ApiToken.objects.create(user=user, name=text[:100], digest=digest, scopes=["read"], expires_at=later)
        conditions = [{"path": "to", "op": "equals", "value": text}]
        Rule.objects.create(
            user=user, effect="allow", scope="always", tool="send_email", conditions=conditions, text=text
        )
    Endpoint.objects.create(
        user=user, url=f"https://example.org/{hostile[0][:50]}", events=[CHOOSABLE[0].value], secret_sealed="x",
        disabled_at=timezone.now(), disabled_why=hostile[0][:100],
    )  # fmt: skip


def _servers(user: User, hostile: Sequence[str]) -> McpServer:
    server = McpServer.objects.create(
        owner=user, name=hostile[0][:20], kind=ServerKind.HTTP, url="https://example.org/mcp", last_error=hostile[1],
        made_by=user,
    )  # fmt: skip
    for number, (name, text) in enumerate(zip(packed(hostile, 60), packed(hostile, PASSAGE), strict=False)):
        definition = {"name": name, "description": text, "parameters": {"type": "object", "title": text}}
        McpTool.objects.create(
            server=server, name=name, called=f"tool_{number}", definition=definition, pin=f"{number:064d}",
            risk="write",
        )  # fmt: skip
    return server


def _files(user: User, talk: Conversation, hostile: Sequence[str]) -> None:
    for text in packed(hostile, NAME_CHARS, " "):
        name = "".join(letter if letter.isprintable() and letter not in "/\\" else "_" for letter in text).strip(" .")
        for place in (Place(Scope.USER, user.id), Place(Scope.CONVERSATION, talk.id)):
            files.write(user.id, place, f"{name or 'x'}.html", text.encode("utf-8", "replace"), by=text[:100])
