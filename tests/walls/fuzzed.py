"""Something of each kind that an address of the API can name, so that what is tried there finds something."""

import uuid
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents.engine.events import Complete, ToolResult
from conversations import actions
from conversations.sharing import actions as sharing
from hitl.models import Rule, Switch
from hyperagent.accounts import actions as accounts
from hyperagent.notices import actions as notices
from hyperagent.notices.kinds import EventType
from hyperagent.notices.models import Endpoint
from memory import projects
from memory.models import Connector, Memory, Project
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.faces.runs import append, make_agent, make_request, make_run, make_step, tokens
from tests.memory.giving import given

FILE = "a.txt"


def _a_project(user: Any) -> Project:
    """Only so many may be owned."""
    return Project.objects.filter(owner=user).first() or projects.create(user, name="Trains")


def furnish(user: Any) -> dict[str, str]:
    """By the names that the addresses have for their parts; made anew for each call."""
    conversation = actions.create(user, title="Trains")
    with transaction.atomic():  # so that no runner takes it
        said = actions.say(user, conversation.id, actions.Question("Which train?"))
        agent = make_agent(said.execution, status="completed")
        found = ToolResult(tool="search_documents", content="Trains", id="1")
        append(said.execution, found, *tokens("A train"), Complete(answer="A train"))
    make_step(agent, [1], "model", "agent", request={"messages": [{"role": "user", "content": "Which train?"}]})
    driven = timezone.now() + timedelta(days=1)
    run = make_run(user, conversation.id, lease_until=driven, leased_by="a runner that is busy")
    append(run, *tokens("Some", " words"))
    files.write(user.pk, Place(Scope.CONVERSATION, conversation.id), FILE, b"one, two, three")
    token, _ = accounts.make_token(user, name="A program")
    endpoint = Endpoint.objects.create(user=user, url="https://example.org/hook", events=[EventType.RUN_COMPLETED])
    return {
        "conversation_id": str(conversation.id),
        "message_id": str(said.reply.id),
        "execution_id": str(said.execution.id),
        "seq": "1",
        "execution": str(run.id),
        "agent_id": str(make_agent(run).id),
        "token_id": str(token.id),
        "request_id": str(make_request(run).request_id),
        "rule_id": str(Rule.objects.create(user=user, effect="allow", scope="rule", tool="t", text="Trains").id),
        "document_id": str(given(user, f"Trains of {uuid.uuid4()}", filename="trains.md").id),
        "project_id": str(_a_project(user).id),
        "connector_id": str(
            Connector.objects.create(owner=user, kind="page", location=f"https://example.org/{uuid.uuid4()}").id
        ),
        "memory_id": str(
            Memory.objects.create(user=user, kind="fact", text="Likes trains", origin_key=uuid.uuid4().hex).id
        ),
        "switch_id": str(Switch.objects.create(scope="tool", target=uuid.uuid4().hex, reason="Fuzz").id),
        "endpoint_id": str(endpoint.id),
        "delivery_id": str(notices.send_test(endpoint).id),
        "scope": "conversation",
        "scope_id": str(conversation.id),
        "path": FILE,
        "share_id": str(sharing.share(user, conversation.id, sharing.Choice()).id),
    }
