"""How long conversations are kept: those of long ago are deleted, and what was said in deleted ones is erased.

The audit and the bills stay: that there were runs, by which agents and tools, what they cost, and who decided what.
"""

import time
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.log.blanking import blank_runs
from agents.models import Execution
from conversations import actions, afterwards, follow_ups, summaries
from conversations.models import Conversation, Message, Role
from hitl.blanking import blank_requests, blank_rules, blank_uses
from hitl.kinds import RuleScope
from hitl.models import Request, Rule, RuleUse
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import record
from hyperagent.lib.database import db_now

log = structlog.get_logger(__name__)

CONVERSATIONS_AT_ONCE: Final = 50
MESSAGES_AT_ONCE: Final = 2_000
# The queue ends a job after 300 s: it stops by itself before, and the next one goes on.
WORK_S: Final = 200.0


def keep_no_longer(*, work_s: float = WORK_S) -> None:
    """Lot by lot until all is done, or the time is up. May run twice at once."""
    until = time.monotonic() + work_s
    deleted = erased = 0
    while time.monotonic() < until and (some := delete_some(_before(settings.CONFIG.retention_days))):
        deleted += some
    while time.monotonic() < until and (some := erase_some(_before(settings.CONFIG.retention_deleted_days))):
        erased += some
    if deleted or erased:
        record(
            AuditKind.RETENTION_RAN,
            actor=None,
            details={"what": "conversations", "deleted": deleted, "erased": erased},
        )
        log.info("retention.done", deleted=deleted, erased=erased)


def delete_some(before: datetime) -> int:
    """Some of the conversations in which nothing was said since then; gives how many. What is pinned stays, and what
    has a run that is not over."""
    if not settings.CONFIG.retention_days:
        return 0
    old = _at_rest().filter(deleted_at=None, pinned_at=None, updated_at__lt=before)
    lot = list(old.order_by("updated_at").values_list("pk", flat=True)[:CONVERSATIONS_AT_ONCE])
    deleted = 0
    for conversation_id in lot:
        with transaction.atomic():
            # Somebody may be coming back to it, or deleting it, at this instant.
            still = old.select_related("user").select_for_update(of=("self",)).filter(pk=conversation_id).first()
            if still is not None:
                actions.delete(still.user, still.pk)
                deleted += 1
    return deleted


def erase_some(before: datetime) -> int:
    """Some of what was said in conversations that were deleted before; gives how much was done, 0 once all is. Runs
    that were cancelled with theirs may still write for a moment: those come later."""
    deleted = _at_rest().filter(deleted_at__lt=before).order_by("deleted_at")
    ids = list(deleted.values_list("pk", flat=True)[:CONVERSATIONS_AT_ONCE])
    if not ids:
        return 0
    runs = Execution.objects.filter(conversation_id__in=ids)
    done = blank_requests(Request.objects.filter(conversation_id__in=ids))
    done = done or blank_uses(RuleUse.objects.filter(execution_id__in=runs.values("pk")))
    done = done or blank_rules(_rules_of(ids, runs))
    done = done or blank_runs(runs)
    done = done or blank_runs(Execution.objects.filter(id__in=_beside(ids)))
    return done or erase_conversations(Conversation.objects.filter(pk__in=ids))


def erase_conversations(conversations: "QuerySet[Conversation]") -> int:
    """Some of what was said in them, then themselves; gives how much was done, 0 once all is."""
    ids = list(conversations.values_list("pk", flat=True)[:CONVERSATIONS_AT_ONCE])
    # The latest first: a parent takes its children with it, and Django descends to each child of a child. Those are
    # later than it (`turns.later`), so no lot leaves any behind.
    latest = Message.objects.filter(conversation__in=ids).order_by("-created_at", "-id")
    lot = list(latest.values_list("pk", flat=True)[:MESSAGES_AT_ONCE])
    if lot:
        return Message.objects.filter(pk__in=lot).delete()[0]
    Conversation.objects.filter(pk__in=ids).delete()
    return len(ids)


def _beside(conversations: list[UUID]) -> list[UUID]:
    """The runs that told, continued or ended what was said there, without being the conversation's own."""
    replies = Message.objects.filter(conversation__in=conversations, role=Role.ASSISTANT)
    found = replies.values_list("pk", "execution_id")
    ids = [id_ for reply, _ in found for id_ in (summaries.run_of(reply), follow_ups.run_of(reply))]
    return [*ids, *(afterwards.run_of(run) for _, run in found if run)]


def _rules_of(conversations: list[UUID], runs: "QuerySet[Execution]") -> "QuerySet[Rule]":
    """Those that hold in these conversations or runs alone. One that holds in every run is their person's."""
    in_one = Q(scope=RuleScope.CONVERSATION, conversation_id__in=conversations)
    return Rule.objects.filter(in_one | Q(scope=RuleScope.RUN, execution_id__in=runs.values("pk")))


def _at_rest() -> "QuerySet[Conversation]":
    """Those without a run that is not over."""
    return Conversation.objects.filter(~Exists(Execution.objects.live().filter(conversation_id=OuterRef("pk"))))


def _before(days: int) -> datetime:
    return db_now() - timedelta(days=days)
