"""Requests that nobody can decide any more: whom they name was deactivated, left the group or lost the role, or their
group is gone. They are for administrators then, as new ones are by `hitl.policy`.
"""

import structlog
from django.db.models import Q
from django.db.models.functions import Now

from hitl.kinds import ApproverKind
from hitl.models import Request
from hitl.policy import ADMINISTRATORS
from hitl.reading import deciders_of

log = structlog.get_logger(__name__)


def hand_on() -> int:
    """Gives them to administrators, who are told as of new ones. How many. Two queries if there are none."""
    in_time = Q(expires_at=None) | Q(expires_at__gt=Now())
    named = Request.objects.pending().filter(in_time, user__is_active=True).exclude(approver_kind=ApproverKind.SELF)
    others = named.exclude(approver_kind=ApproverKind.ROLE, approver_name=ADMINISTRATORS)
    deciders = deciders_of(list(others.values_list("pk", flat=True)))
    stranded = [request_id for request_id, people in deciders.items() if not people]
    changed = others.filter(pk__in=stranded).update(
        approver_kind=ApproverKind.ROLE, approver_name=ADMINISTRATORS, approver_ids=[], announced_at=None
    )
    if changed:
        log.warning("requests.nobody_could_decide", count=changed)
    return changed
