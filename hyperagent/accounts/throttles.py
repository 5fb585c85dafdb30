"""How many requests a person may make to the API, counted by the minute in Redis for all web processes, and in each
process for itself: while Redis is away, the process's own count holds.
"""

import time
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import UUID

from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.throttling import UserRateThrottle

from hyperagent.accounts.metering import amounts_of, too_much
from hyperagent.accounts.models import User
from hyperagent.accounts.quotas import MINUTE_S, Quota


@dataclass(slots=True)
class _Minute:
    most: int
    count: int = 0


class Requests:
    """This process's count of the present minute. The quota is read once a minute for each person."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._number = 0
        self._minutes: dict[UUID, _Minute] = {}

    def count(self, user_id: UUID, number: int) -> tuple[int, int]:
        """Counts one in the minute of this number; gives how many there are now, and how many may be (0: any)."""
        with self._lock:
            if number != self._number:
                self._number, self._minutes = number, {}
            minute = self._minutes.get(user_id)
        if minute is None:
            most = amounts_of(user_id, [Quota.REQUESTS_PER_MINUTE])[Quota.REQUESTS_PER_MINUTE]
        with self._lock:
            minute = minute or self._minutes.setdefault(user_id, _Minute(most))
            minute.count += 1
            return minute.count, minute.most


_here = Requests()


class ApiThrottle(UserRateThrottle):
    """Strangers are counted by their address, by the rate of `user` in DEFAULT_THROTTLE_RATES."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if not isinstance(request.user, User):
            return bool(super().allow_request(request, view))
        now = time.time()
        number = int(now // MINUTE_S)
        here, most = _here.count(request.user.pk, number)
        everywhere = _count_in_redis(request.user.pk, number)
        if most and max(here, everywhere) > most:
            wait = int(MINUTE_S - now % MINUTE_S) + 1
            raise too_much(Quota.REQUESTS_PER_MINUTE, most, wait)
        return True


def _count_in_redis(user_id: UUID, number: int) -> int:
    """1 while Redis is away."""
    key = f"requests:{user_id}:{number}"
    cache.add(key, 0, 2 * MINUTE_S)
    try:
        return int(cache.incr(key))
    except ValueError:
        # It was dropped between the two.
        return 1
