"""The closed choices of this app, and the pauses between tries. Plain values: knows neither tables nor clients."""

from enum import StrEnum


class EventType(StrEnum):
    """What programs can be told. Names of the outside world: they stay."""

    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_EXPIRING = "approval.expiring"
    BUDGET_THRESHOLD = "budget.threshold"
    TEST = "webhook.test"


# A test is asked for at one endpoint, and never chosen.
CHOOSABLE = tuple(kind for kind in EventType if kind is not EventType.TEST)


class DeliveryStatus(StrEnum):
    """`failed` is tried again; `given_up` is not, unless a person asks for it."""

    PENDING = "pending"
    FAILED = "failed"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


OPEN = (DeliveryStatus.PENDING, DeliveryStatus.FAILED)


class MailKind(StrEnum):
    """What people can be told by mail."""

    REQUEST_WAITING = "request_waiting"
    REQUEST_REMINDER = "request_reminder"
    REQUEST_TIMED_OUT = "request_timed_out"
    WEBHOOK_DISABLED = "webhook_disabled"
    BUDGET_THRESHOLD = "budget_threshold"
    SCHEDULE_FAILED = "schedule_failed"


# Who has chosen nothing is told of everything that waits for them, and of what they have to mend.
ON_BY_DEFAULT = frozenset(MailKind) - {MailKind.REQUEST_TIMED_OUT}

# At least so long between the tries of one delivery; the sweep that finds them comes once a minute.
DELIVERY_PAUSES_S = (5, 30, 120, 600, 3_600, 21_600, 86_400)


def pause_after(tries: int, pauses_s: tuple[int, ...]) -> int | None:
    """Seconds to wait after so many tries that failed; None if they were enough."""
    return pauses_s[tries - 1] if tries <= len(pauses_s) else None
