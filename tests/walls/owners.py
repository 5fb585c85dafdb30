"""The cast of the walls, and everything that Alice has: a thing for each name that an address can hold, a row of each
table of the admin, and in each of them words that nobody else may come to see.
"""

import uuid
from datetime import timedelta
from typing import Any, Final

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.utils import timezone

from agents.apps.models import App
from agents.engine.events import Complete, ToolResult
from agents.mail.models import MailAccount
from agents.mcp.models import McpServer
from conversations import actions
from conversations.schedules import actions as schedules
from conversations.schedules.kinds import ApprovalRule, Kind
from conversations.schedules.validation import ScheduleInput
from conversations.sharing import actions as sharing
from conversations.sharing.tokens import token_of
from hitl.models import Rule, Switch
from hyperagent.accounts import actions as accounts
from hyperagent.accounts.budget_models import Budget
from hyperagent.accounts.models import ApiToken, DataExport, SignIn, User
from hyperagent.accounts.people_models import Invitation, ServiceAccount
from hyperagent.accounts.sign_on_models import ProviderIdentity
from hyperagent.notices import actions as notices
from memory import projects
from memory.models import Connector, Memory
from memory.workspaces import files
from memory.workspaces.places import Place, Scope
from tests.faces.admin_rows import Rows
from tests.faces.runs import append, make_agent, make_request, make_step, tokens
from tests.memory.giving import given

WORD: Final = "zqword"
"""Stands in everything that Alice has, and nowhere else: an answer that holds it tells of her."""
FILE: Final = {"scope": "conversation", "path": "notes.txt"}
"""Of an address of a file: what stands beside the id, which is the secret."""
# Counted, or noted, when somebody only tries; or not ours.
VOLATILE: Final = {
    "accounts_loginattempt", "accounts_apitoken", "accounts_usermeter", "audit_event", "audit_head",
    "django_migrations",
}  # fmt: skip


def things_of(alice: Any) -> dict[str, str]:
    """The ids, by the names that addresses have for them."""
    said = actions.say(alice, actions.create(alice, title=f"{WORD} title").id, actions.Question(f"{WORD} question"))
    found = ToolResult(tool="search_documents", content=f"{WORD} passage", id="1")
    append(said.execution, found, *tokens(f"{WORD} answer"), Complete(answer=f"{WORD} answer"))
    agent = make_agent(said.execution, task=f"{WORD} task", status="completed")
    make_step(agent, [1], "model", "agent", request={"messages": [{"role": "user", "content": f"{WORD} prompt"}]})
    document = given(alice, f"{WORD} document", filename=f"{WORD}.md")
    link = sharing.share(alice, said.conversation.id, sharing.Choice())
    project = projects.create(alice, name=f"{WORD} project")
    projects.add_documents(alice, project.id, [document.id])
    return {
        "conversation_id": str(said.conversation.id),
        "message_id": str(said.message.id),
        "execution_id": str(said.execution.id),
        "seq": "1",
        "agent_id": str(agent.id),
        "request_id": str(make_request(said.execution, question={"question": f"{WORD} asked"}).request_id),
        "document_id": str(document.id),
        "project_id": str(project.id),
        "memory_id": str(Memory.objects.create(user=alice, kind="fact", text=f"{WORD} memory", origin_key="1").id),
        "scope_id": _file_of(alice),
        "share_id": str(link.id),
        "token": token_of(link.id),
        "schedule_id": str(schedules.create(alice, _schedule()).id),
        "app_id": str(_app_of(alice, said.conversation.id)),
        **_settings_of(alice),
        **_standing_of(alice),
        **_people(alice),
    }


def _settings_of(alice: Any) -> dict[str, str]:
    token, _ = accounts.make_token(alice, name=f"{WORD} token")
    endpoint, _ = notices.add_endpoint(alice, url=f"https://example.org/{WORD}", events=["run.completed"])
    mailbox = MailAccount.objects.create(user=alice, kind="imap", address=f"{WORD}@example.org", sealed="")
    server = McpServer.objects.create(owner=alice, name=WORD, kind="http", url=f"https://example.org/{WORD}")
    sign_in = SignIn.objects.create(user=alice, session_key=WORD, browser=f"{WORD} browser")
    return {
        "token_id": str(token.id),
        "endpoint_id": str(endpoint.id),
        "delivery_id": str(notices.send_test(endpoint).id),
        "account_id": str(mailbox.id),
        "server_id": str(server.id),
        "sign_in_id": str(sign_in.id),
        "export_id": str(_export_of(alice)),
        "factor_id": str(Authenticator.objects.create(user=alice, type="totp", data={"secret": WORD}).pk),
        "identity_id": str(ProviderIdentity.objects.create(user=alice, issuer="https://a.example", subject=WORD).pk),
    }


def _standing_of(alice: Any) -> dict[str, str]:
    rule = Rule.objects.create(user=alice, effect="allow", scope="rule", tool="t", text=f"{WORD} rule")
    connector = Connector.objects.create(owner=alice, kind="page", location=f"https://{WORD}.example/")
    return {
        "rule_id": str(rule.id),
        "budget_id": str(Budget.objects.create(whose="user", user=alice, period="day", unit="usd", amount=0).id),
        "member_id": str(alice.id),
        "connector_id": str(connector.id),
        "switch_id": str(Switch.objects.create(scope="user", target=str(alice.pk), reason="a lost laptop").id),
    }


def _people(alice: Any) -> dict[str, str]:
    """What administrators keep: Alice herself, a group, an invitation and a program that she answers for."""
    soon = timezone.now() + timedelta(days=1)
    program = User.objects.create(email="bot@service.invalid", display_name="Bot", kind="service", password="!")
    ServiceAccount.objects.create(user=program, owner=alice, scopes=["read"], ends_at=soon)
    token = ApiToken.objects.create(user=program, name="Bot", digest="0" * 64, scopes=["read"], expires_at=soon)
    return {
        "person_id": str(alice.id),
        "group_id": str(Group.objects.create(name="Legal").pk),
        "invitation_id": str(Invitation.objects.create(email="dora@example.org", ends_at=soon).pk),
        "service_id": str(program.pk),
        "service_token_id": str(token.pk),
    }


def _schedule() -> ScheduleInput:
    rule = next(iter(ApprovalRule))
    return ScheduleInput(
        question=f"{WORD} schedule", on_approval=rule, kind=Kind.EVERY, time_zone="UTC", every_s=86_400
    )


def _file_of(alice: Any) -> str:
    """Below `FILE`, in a conversation of its own."""
    place = Place(Scope(FILE["scope"]), actions.create(alice).id)
    files.write(alice.pk, place, FILE["path"], f"{WORD} file".encode())
    return str(place.scope_id)


def _app_of(alice: Any, conversation_id: uuid.UUID) -> uuid.UUID:
    app = App.objects.create(
        user=alice, task_id=conversation_id, title=f"{WORD} app", command="run", port=80, label=uuid.uuid4().hex
    )
    return app.id


def _export_of(alice: Any) -> uuid.UUID:
    stored_as = default_storage.save(f"exports/{alice.pk}/{WORD}.zip", ContentFile(f"{WORD} all of it".encode()))
    export = DataExport.objects.create(
        user=alice, state="ready", stored_as=stored_as, ends_at=timezone.now() + timedelta(days=1)
    )
    return export.id


def person_with(role: str) -> User:
    """One who holds this role and no other right."""
    someone = User.objects.create(email=f"{role}@example.org", display_name=role.capitalize())
    someone.groups.add(Group.objects.get_or_create(name=role)[0])
    return someone


class OwnWords(Rows):
    """A row of every table of the admin, each column of text with a word of its own: `columns` says which is whose."""

    def __init__(self, owner: Any) -> None:
        super().__init__(WORD, owner=owner)
        self.columns: dict[str, str] = {}
        self._column = ""

    def _simple(self, field: Any) -> Any:
        known = {column: word for word, column in self.columns.items()}
        # What a list is of has no column of its own.
        if hasattr(field, "model"):
            self._column = f"{field.model._meta.label}.{field.name}"
        self._words = known.get(self._column) or f"{WORD}{len(known):03d}"
        self.columns[self._words] = self._column
        return super()._simple(field)


def everything_stored() -> dict[str, Any]:
    """A checksum of each table."""
    sums = {}
    with connection.cursor() as cursor:
        for table in sorted(set(connection.introspection.table_names(cursor)) - VOLATILE):
            cursor.execute(f"SELECT md5(string_agg(t::text, ',' ORDER BY t::text)) FROM \"{table}\" t")
            sums[table] = cursor.fetchone()
    return sums
