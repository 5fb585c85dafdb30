"""What agents keep of a person: runs with their journals and events, mailboxes, connected servers, apps, boxes.

The audit and the bills outlive them: that a run was, when, by which agents and tools, how it ended and what it cost.
What was said goes. The log of a run goes whole: its numbers are chained by hashes of the very words.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count
from django.utils.translation import gettext_lazy as _

from agents import actions
from agents.apps.models import App
from agents.guardrails.models import Verdict
from agents.log.blanking import blank_runs
from agents.mail.models import MailAccount
from agents.mcp.models import McpServer, McpSignIn
from agents.models import Execution
from agents.sandbox import snapshots
from agents.sandbox.models import CloseWanted, SandboxSession
from agents.usage.models import ModelCall
from hitl import ending
from hyperagent.accounts.archive import Archive
from hyperagent.accounts.personal import PersonalPart
from hyperagent.lib.times import iso

AT_ONCE = 500


class RunsPart(PersonalPart):
    name = "agents"
    goes = (
        _("Runs: what was asked, answered and done in them; those that still go are stopped"),
        _("Mailboxes and MCP servers with their passwords and keys, apps and sandboxes"),
    )
    stays = (
        _("What was spent: when, by which agent and model, how many tokens and at what cost"),
        _("Mails that were sent, and whatever else agents did outside of here"),
    )

    def write(self, user_id: UUID, archive: Archive) -> None:
        archive.rows("usage.json", _usage(user_id))
        runs = Execution.objects.filter(user=user_id).asked().order_by("created_at", "pk")
        archive.rows("runs.json", (_run(run) for run in runs.defer("input", "result").iterator(chunk_size=AT_ONCE)))
        archive.rows("guardrails.json", _verdicts(user_id))
        archive.rows("mailboxes.json", (_mailbox(row) for row in MailAccount.objects.of(user_id).iterator()))
        servers = McpServer.objects.filter(owner=user_id)
        archive.rows("mcp_servers.json", (_server(row) for row in servers.iterator()))

    def suspend(self, user_id: UUID) -> None:
        # In the order of their ids, as everybody does who locks several.
        for execution_id in Execution.objects.live().filter(user=user_id).order_by("pk").values_list("pk", flat=True):
            actions.cancel(execution_id, by=None)
        # In one transaction with it: else a faster driver closes the questions as those of a run that is over.
        ending.withdraw_all(user_id)
        open_boxes = SandboxSession.objects.filter(user=user_id, ended_at=None)
        open_boxes.update(close_wanted=CloseWanted.REMOVE)

    def stop(self, user_id: UUID) -> None:
        # No secret outlives the yes.
        MailAccount.objects.filter(user=user_id).delete()
        McpSignIn.objects.filter(user=user_id).delete()
        McpServer.objects.filter(owner=user_id).delete()
        App.objects.filter(user=user_id).delete()

    def is_going(self, user_id: UUID) -> bool:
        return Execution.objects.live().filter(user=user_id).exists()

    def going(self, user_ids: Collection[UUID]) -> Mapping[UUID, int]:
        live = Execution.objects.live().filter(user__in=list(user_ids)).order_by()
        return dict(live.values_list("user").annotate(Count("id")))

    def erase(self, user_id: UUID) -> int:
        snapshots.forget_user(user_id)
        connected = MailAccount.objects.filter(user=user_id).delete()[0] + App.objects.filter(user=user_id).delete()[0]
        connected += McpServer.objects.filter(owner=user_id).delete()[0]
        return connected + blank_runs(Execution.objects.filter(user=user_id))


# --- the export


def _usage(user_id: UUID) -> Iterator[dict[str, Any]]:
    for call in ModelCall.objects.filter(user=user_id).order_by("at").iterator(chunk_size=AT_ONCE):
        yield {
            "at": iso(call.at),
            "run": call.execution_id,
            "agent": call.agent_name,
            "provider": call.provider,
            "model": call.model,
            "prompt_tokens": call.prompt_tokens,
            "completion_tokens": call.completion_tokens,
            "cost_usd": call.cost_usd,
        }


def _run(run: Execution) -> dict[str, Any]:
    return {
        "id": run.pk,
        "conversation_id": run.conversation_id,
        "status": run.status,
        "mode": run.mode,
        "task_id": run.task_id,
        "question": run.question,
        "answer": run.answer,
        "error": run.error_message or None,
        "prompt_tokens": run.prompt_tokens,
        "completion_tokens": run.completion_tokens,
        "cost_usd": run.cost_usd,
        "created_at": iso(run.created_at),
        "ended_at": iso(run.ended_at),
    }


def _verdicts(user_id: UUID) -> Iterator[dict[str, Any]]:
    found = Verdict.objects.filter(user=user_id).order_by("created_at", "id")
    for verdict in found.iterator(chunk_size=AT_ONCE):
        yield {
            "at": iso(verdict.created_at),
            "run": verdict.execution_id,
            "place": verdict.place,
            "scanner": verdict.scanner,
            "kind": verdict.kind,
            "action": verdict.action,
            "reason": verdict.reason,
            "excerpt": verdict.excerpt,
            "tool": verdict.tool or None,
            "count": verdict.count,
        }


def _mailbox(account: MailAccount) -> dict[str, Any]:
    return {"address": account.address, "kind": account.kind, "imap": account.imap_host, "smtp": account.smtp_host}


def _server(server: McpServer) -> dict[str, Any]:
    return {"name": server.name, "url": server.url, "enabled": server.enabled, "created_at": iso(server.created_at)}
