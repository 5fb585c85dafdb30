"""Tells people that a budget comes to its end: once at each percentage that is set, in each day or month, however many
calls of however many processes cross it at once. Looked at once a minute.
"""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from agents.usage import purse_sql, purses
from hyperagent.accounts.budgets import Limit, Unit, Whose, amount_per, as_json, crossed, told, when
from hyperagent.accounts.models import User
from hyperagent.notices import actions as notices
from hyperagent.notices.kinds import EventType, MailKind

PAGE = "/usage/"


def tell_of_thresholds() -> int:
    """Call as often as you like. How many were told of. A query if nothing was crossed."""
    if not purses.holds_for_anybody():
        return 0
    thresholds = sorted(settings.CONFIG.budget_alerts)
    count = 0
    for limit, before in purses.everybodys():
        percent = crossed(limit, thresholds, before)
        if percent is not None:
            count += _tell(limit, percent)
    return count


def _tell(limit: Limit, percent: int) -> bool:
    """The mark and what is told are written together; of several that come at once, one does."""
    column = "told_usd" if limit.unit is Unit.USD else "told_tokens"
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(purse_sql.TELL.format(column=column), {"percent": percent, "purse": limit.purse_id})
            if not cursor.rowcount:
                return False
        person = _person(limit)
        subject = f"{limit.purse} {limit.period} {limit.starts} {limit.unit} {percent}"
        payload = {key: value for key, value in as_json(limit).items() if key != "name"}
        notices.emit(
            EventType.BUDGET_THRESHOLD,
            user_id=person,
            subject_id=subject,
            payload={**payload, "percent": percent, "user_id": None if person is None else str(person)},
            path=PAGE,
        )
        administrators = User.objects.filter(is_staff=True, is_active=True)
        notices.tell_people(
            [person] if person is not None else administrators.values_list("pk", flat=True),
            MailKind.BUDGET_THRESHOLD,
            subject_id=subject,
            title=title_of(limit, percent),
            path=PAGE,
            facts=facts_of(limit),
        )
    return True


def _person(limit: Limit) -> UUID | None:
    return UUID(limit.purse.partition(":")[2]) if limit.whose is Whose.USER else None


def title_of(limit: Limit, percent: int) -> str:
    """Told in each reader's language by `hyperagent.lib.stored_sentences`."""
    which = {
        Whose.USER: f"Your budget of {amount_per(limit)}",
        Whose.GROUP: f"The budget of the group {limit.name} of {amount_per(limit)}",
        Whose.INSTALLATION: f"The budget of this installation of {amount_per(limit)}",
    }[limit.whose]
    return f"{which} is used up" if limit.is_used_up else f"{which}: {percent} % are used"


def facts_of(limit: Limit) -> dict[str, Any]:
    return {
        "Used": told(limit.used, limit.unit),
        "Left": told(limit.left, limit.unit),
        "Starts anew": when(limit.ends_at),
    }
