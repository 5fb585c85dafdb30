"""The closed choices of schedules, and what may not be gone beyond. Knows no table."""

from enum import StrEnum
from typing import Final

MOST_ACTIVE: Final = 50
LEAST_APART_S: Final = 300
MOST_APART_S: Final = 366 * 86_400
TITLE_CHARS: Final = 120
CRON_CHARS: Final = 100
MOST_AHEAD_DAYS: Final = 3_660


class Kind(StrEnum):
    """What its times are made of: one moment, a pause, or a cron expression in its time zone."""

    ONCE = "once"
    EVERY = "every"
    CRON = "cron"


class Talk(StrEnum):
    """Where its questions are asked: each in a new conversation, or all of them in one."""

    NEW = "new"
    SAME = "same"


class ApprovalRule(StrEnum):
    """What becomes of a call that needs a yes, as nobody watches: it waits in the inbox; it is denied; or only what was
    approved when the schedule was made goes ahead, and all else is denied."""

    WAIT = "wait"
    DENY = "deny"
    PREAPPROVED = "preapproved"


class WhenMissed(StrEnum):
    """What becomes of times that came while nothing ran here: one run makes up for them all, or they are left out."""

    ONCE = "once"
    SKIP = "skip"


class State(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    OVER = "over"


class PausedWhy(StrEnum):
    """Who or what paused it. `refused`: it did not work several times in a row, be it that it could not be asked, or
    that its runs failed."""

    PERSON = "person"
    OWNER_INACTIVE = "owner_inactive"
    REFUSED = "refused"


class Cause(StrEnum):
    """Why a run was due: its time came; its time, and perhaps more, had been missed; somebody wanted it now."""

    TIME = "time"
    CATCH_UP = "catch_up"
    NOW = "now"


class Outcome(StrEnum):
    """What came of a time. What became of a run that was started is its execution's to say."""

    STARTED = "started"
    SKIPPED = "skipped"
    REFUSED = "refused"


class SkippedWhy(StrEnum):
    """`restored`: it came after a backup was taken that was put back since, and may have been asked then."""

    STILL_RUNNING = "still_running"
    STILL_WAITING = "still_waiting"
    MISSED = "missed"
    RESTORED = "restored"
    OWNER_INACTIVE = "owner_inactive"
