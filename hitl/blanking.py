"""Requests and rules of which nothing is said any more: that something was asked or allowed, when, and how it ended
stays for the audit.
"""

from django.db.models import QuerySet
from django.db.models.functions import Coalesce, Now

from hitl.models import Decision, Request, Rule, RuleUse
from hyperagent.accounts.personal import BLANK, not_blank

AT_ONCE = 500


def blank_requests(requests: "QuerySet[Request]") -> int:
    """Some of them at a time; gives how many, 0 once all are."""
    ids = list(not_blank(requests, "question").values_list("pk", flat=True)[:AT_ONCE])
    Decision.objects.filter(request__in=ids).update(note="", details={})
    return Request.objects.filter(pk__in=ids).update(
        question=BLANK, answer=None, edited_arguments=None, user_instructions="", task_description=""
    )


def blank_uses(uses: "QuerySet[RuleUse]") -> int:
    """Some of what was done by rules at a time; gives how much, 0 once all is. The tool, when, and the hash of the
    arguments stay."""
    ids = list(not_blank(uses, "arguments").values_list("pk", flat=True)[:AT_ONCE])
    return RuleUse.objects.filter(pk__in=ids).update(arguments=BLANK)


def blank_rules(rules: "QuerySet[Rule]") -> int:
    """The same for the rules themselves. One without words counts no longer."""
    ids = list(not_blank(rules, "conditions").values_list("pk", flat=True)[:AT_ONCE])
    return Rule.objects.filter(pk__in=ids).update(text="", conditions=BLANK, revoked_at=Coalesce("revoked_at", Now()))
