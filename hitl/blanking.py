"""Requests of which nothing is said any more: that something was asked, when, and how it ended stays for the audit."""

from django.db.models import QuerySet

from hitl.models import Decision, Request
from hyperagent.accounts.personal import BLANK, not_blank

AT_ONCE = 500


def blank_requests(requests: "QuerySet[Request]") -> int:
    """Some of them at a time; gives how many, 0 once all are."""
    ids = list(not_blank(requests, "question").values_list("pk", flat=True)[:AT_ONCE])
    Decision.objects.filter(request__in=ids).update(note="", details={})
    return Request.objects.filter(pk__in=ids).update(
        question=BLANK, answer=None, edited_arguments=None, user_instructions="", task_description=""
    )
