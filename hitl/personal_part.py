"""What people in the loop keep of a person: their standing rules, what they were asked, and what they decided.

The audit outlives them: that something was asked, of what kind, how it ended, when and by which door. What was said in
words goes; the hash of the arguments that were shown stays, so that a copy kept elsewhere can still be proved.
"""

from typing import Any
from uuid import UUID

from django.db.models import F, Func, Q, TextField
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from hitl.blanking import blank_requests, blank_rules, blank_uses
from hitl.kinds import ApproverKind
from hitl.models import Decision, Request, Rule, RuleUse
from hitl.shapes import history_shape
from hyperagent.accounts.archive import Archive
from hyperagent.accounts.closing import pseudonym
from hyperagent.accounts.personal import PersonalPart
from hyperagent.lib.times import iso

AT_ONCE = 500


class RequestsPart(PersonalPart):
    name = "hitl"
    goes = (_("The words of standing rules, and of what was asked and answered"),)
    stays = (
        _("That a decision or a standing rule was made: when, about which tool, how it ended, and by a deleted user"),
    )

    def write(self, user_id: UUID, archive: Archive) -> None:
        archive.rows("rules.json", (_rule(rule) for rule in Rule.objects.filter(user=user_id).iterator()))
        asked = Request.objects.filter(user=user_id).order_by("created_at", "request_id")
        archive.rows("requests.json", (_request(request) for request in asked.iterator()))
        decided = Decision.objects.filter(actor=user_id).order_by("at", "id")
        archive.rows("decisions.json", (_decision(decision) for decision in decided.iterator()))

    def stop(self, user_id: UUID) -> None:
        Rule.objects.filter(user=user_id, revoked_at=None).update(revoked_at=Now(), revoked_by=user_id)

    def group_renamed(self, before: str, after: str) -> None:
        waiting = Request.objects.pending().filter(approver_kind=ApproverKind.GROUP, approver_name=before)
        waiting.update(approver_name=after)

    def program_handed_over(self, program_id: UUID, before: UUID | None, after: UUID) -> None:
        """Where a policy names people, these stay. Whoever decides now is told as of a new request."""
        approvers = Func(F("question"), template="(%(expressions)s #>> '{approvers,kind}')", output_field=TextField())
        waiting = Request.objects.pending().filter(user=program_id).alias(asked_of=approvers)
        theirs = Q(asked_of=None) | Q(asked_of=ApproverKind.SELF)
        waiting.filter(theirs, approver_kind=ApproverKind.NAMED, approver_ids=[before]).update(
            approver_ids=[after], announced_at=None
        )

    def erase(self, user_id: UUID) -> int:
        return (
            blank_uses(RuleUse.objects.filter(rule__user=user_id))
            or blank_rules(Rule.objects.filter(user=user_id))
            or blank_requests(Request.objects.filter(user=user_id))
            or _blank_decisions(user_id)
        )


def _blank_decisions(user_id: UUID) -> int:
    """Those that they made of other people's requests too: their reasons, and what they chose, wrote and changed."""
    name = pseudonym(user_id)
    named = Decision.objects.filter(actor=user_id).exclude(Q(actor_name=name) & Q(note=""))
    ids = list(named.values_list("pk", flat=True)[:AT_ONCE])
    return Decision.objects.filter(pk__in=ids).update(actor_name=name, note="", details={})


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "text": rule.text,
        "effect": rule.effect,
        "scope": rule.scope,
        "tool": rule.tool,
        "conditions": rule.conditions,
        "until": iso(rule.until),
        "uses": rule.uses,
        "created_at": iso(rule.created_at),
        "revoked_at": iso(rule.revoked_at),
    }


def _request(request: Request) -> dict[str, Any]:
    return {
        "request_id": request.pk,
        "kind": request.kind,
        "agent": request.agent_name,
        "tools": request.tool_names,
        "question": request.question,
        "status": request.status,
        "answer": request.answer,
        "instructions": request.user_instructions,
        "created_at": iso(request.created_at),
        "responded_at": iso(request.answered_at),
        "ended_at": iso(request.responded_at),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {"request_id": decision.request_id, **history_shape(decision)}
