"""How moments are told to others."""

from datetime import datetime


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC, as the API and the events write it."""
    return moment.isoformat().replace("+00:00", "Z") if moment else None
