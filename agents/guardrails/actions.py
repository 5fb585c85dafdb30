"""What people say of verdicts: whether a guardrail was right. Whoever looks after the rules reads it."""

from django.db.models import QuerySet
from django.utils import timezone

from agents.guardrails.models import Feedback, Verdict
from hyperagent.accounts.models import User
from hyperagent.lib.refusals import NotAllowed

PERMISSION = "agents.judge_verdict"


def judge(verdicts: QuerySet[Verdict], feedback: Feedback, *, by: User) -> int:
    """How many were judged. The last word counts; none takes an earlier one back. Raises NotAllowed."""
    if not by.has_perm(PERMISSION):
        raise NotAllowed("not_allowed", "It takes the permission “Can say whether a guardrail was right”.")
    if feedback is Feedback.NONE:
        return verdicts.update(feedback=feedback, feedback_by=None, feedback_at=None)
    return verdicts.update(feedback=feedback, feedback_by=by, feedback_at=timezone.now())
