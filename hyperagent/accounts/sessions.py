"""How long a session lasts: so long after the sign-in at most, and so long after it was last used.

The end stands in the session's row, where Django looks at it whenever somebody shows the key; the cookie holds until
the first of the two. A use puts off the row's end alone, seldom, and without writing what is in the session.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

BEGUN: Final = "signed_in_at"
# A use is written down at most once in a twentieth of the time that is allowed without one, and once an hour.
PARTS: Final = 20
SELDOM: Final = timedelta(hours=1)


class SessionStore(DatabaseStore):
    """What SESSION_ENGINE names."""

    _kept_until: datetime | None = None

    def use(self) -> None:
        """Puts off the end of a session that somebody uses. One query, if it is time for one, and none otherwise."""
        if not _idle() or self._kept_until is None or BEGUN not in self:
            return
        now, until = timezone.now(), self.get_expiry_date()
        if until - self._kept_until < min(SELDOM, _idle() / PARTS):
            return
        rows = self.get_model_class().objects.filter(session_key=self.session_key, expire_date__gt=now)
        rows.update(expire_date=until)
        self._kept_until = until

    def get_expiry_age(self, **kwargs: Any) -> int:
        """Of the cookie, in seconds."""
        return max(0, round((self._last_end() - timezone.now()).total_seconds()))

    def get_expiry_date(self, **kwargs: Any) -> datetime:
        """Of the row."""
        last = self._last_end()
        return min(last, timezone.now() + _idle()) if _idle() else last

    def _last_end(self) -> datetime:
        """However much it is used. Of a session that nobody has signed in by: counted from now."""
        begun = self.get(BEGUN)
        since = datetime.fromtimestamp(begun, UTC) if isinstance(begun, (int, float)) else timezone.now()
        return since + timedelta(seconds=settings.SESSION_COOKIE_AGE)

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        row: AbstractBaseSession | None = super()._get_session_from_db()  # type: ignore[misc]
        self._kept_until = row.expire_date if row else None
        return row


class Sessions(SessionMiddleware):
    """Django's; and whoever looked at a session in a request has used it."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        answer: HttpResponse = super().process_response(request, response)
        session = getattr(request, "session", None)
        if session is not None and session.accessed and not session.is_empty():
            use(session)
        return answer


def use(session: SessionBase) -> None:
    if isinstance(session, SessionStore):
        session.use()


def _idle() -> timedelta:
    """Nothing where a session may lie unused."""
    return timedelta(minutes=settings.CONFIG.session_idle_minutes)
