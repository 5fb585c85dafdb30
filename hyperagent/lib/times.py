"""How moments are told to others."""

import math
from datetime import UTC, datetime
from typing import Final

_LAST_YEAR: Final = 9998


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC, as the API and the events write it."""
    return moment.isoformat().replace("+00:00", "Z") if moment else None


def seconds_until(moment: datetime) -> int:
    """Whole ones from now, at least 1."""
    return max(1, math.ceil((moment - datetime.now(UTC)).total_seconds()))


def is_tellable(moment: datetime) -> bool:
    """Whether clocks in every zone can show it: some are a day ahead, and after the last day of a calendar there is
    none."""
    return moment.year <= _LAST_YEAR
