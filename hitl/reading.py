"""Reading requests: how many wait for whom. Writes nothing."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Count

from hitl.models import Request


def pending_by_user(user_ids: Iterable[Any]) -> dict[Any, int]:
    """How many requests wait for each of these people; who has none is left out. One query, by the index of pending
    requests.
    """
    rows = Request.objects.pending().filter(user__in=set(user_ids)).order_by().values_list("user")
    return dict(rows.annotate(Count("request_id")))
