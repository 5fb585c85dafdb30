"""How often a person or an address may try a door, as arithmetic on plain values. Knows neither tables nor requests.

A counter rises by one with each try and leaks slowly. Once it stands at the free number, each further try has to wait
twice as long as the one before. A try that comes too early is refused and not counted, so that hammering a door neither
opens it sooner nor shuts its owner out for longer.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from ipaddress import IPv6Address, ip_address

from django.utils.translation import gettext as _
from django.utils.translation import ngettext


class Door(StrEnum):
    LOGIN = "login"  # Everything that takes a password: the page, the token endpoint, the change of a password.
    REGISTER = "register"
    RESET = "reset"
    SECOND = "second"  # A second factor, after the password was right.
    MEMBERS = "members"  # Adding somebody to a project by their address: the answer says who has an account.
    SSO = "sso"  # Coming back from the provider of single sign-on. Whose account it is, is not known yet.


class SubjectKind(StrEnum):
    ACCOUNT = "account"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class Limit:
    """The tries before the first wait, the waits, and how long it takes to forget one try."""

    free: int
    first_wait_s: float
    longest_wait_s: float
    forget_one_s: float

    @property
    def highest_level(self) -> float:
        """Where the wait is at its longest. The level stops there, or a long attack would be remembered for years."""
        return self.free + math.ceil(math.log2(self.longest_wait_s / self.first_wait_s)) + 1


@dataclass(frozen=True, slots=True)
class Counter:
    level: float = 0.0
    counted_at: datetime | None = None
    blocked_until: datetime | None = None


# An address may be a whole office, so it gets more. The waits for an account stay short enough for its owner to sit
# out, since anyone can fail on somebody else's name.
LIMITS: dict[tuple[Door, SubjectKind], Limit] = {
    (Door.LOGIN, SubjectKind.ACCOUNT): Limit(5, first_wait_s=30, longest_wait_s=900, forget_one_s=3600),
    (Door.LOGIN, SubjectKind.ADDRESS): Limit(30, first_wait_s=30, longest_wait_s=900, forget_one_s=600),
    (Door.SECOND, SubjectKind.ACCOUNT): Limit(5, first_wait_s=30, longest_wait_s=900, forget_one_s=3600),
    (Door.SECOND, SubjectKind.ADDRESS): Limit(30, first_wait_s=30, longest_wait_s=900, forget_one_s=600),
    (Door.SSO, SubjectKind.ACCOUNT): Limit(30, first_wait_s=30, longest_wait_s=900, forget_one_s=600),
    (Door.SSO, SubjectKind.ADDRESS): Limit(30, first_wait_s=30, longest_wait_s=900, forget_one_s=600),
    (Door.MEMBERS, SubjectKind.ACCOUNT): Limit(20, first_wait_s=60, longest_wait_s=3600, forget_one_s=600),
    (Door.MEMBERS, SubjectKind.ADDRESS): Limit(100, first_wait_s=60, longest_wait_s=3600, forget_one_s=120),
    (Door.REGISTER, SubjectKind.ACCOUNT): Limit(5, first_wait_s=60, longest_wait_s=3600, forget_one_s=3600),
    (Door.REGISTER, SubjectKind.ADDRESS): Limit(20, first_wait_s=60, longest_wait_s=3600, forget_one_s=1800),
    (Door.RESET, SubjectKind.ACCOUNT): Limit(3, first_wait_s=300, longest_wait_s=3600, forget_one_s=3600),
    (Door.RESET, SubjectKind.ADDRESS): Limit(15, first_wait_s=60, longest_wait_s=3600, forget_one_s=1800),
}


_SAID_IN_SECONDS = 90


def longest_memory_s() -> float:
    """After this long without a try every counter is back at nought, and its row says nothing any more."""
    return max(limit.highest_level * limit.forget_one_s for limit in LIMITS.values())


def wait_s(counter: Counter, now: datetime) -> float:
    """Seconds until the next try is admitted; 0 if it is admitted now."""
    if counter.blocked_until is None:
        return 0.0
    return max(0.0, (counter.blocked_until - now).total_seconds())


def count(counter: Counter, limit: Limit, now: datetime) -> Counter:
    """The counter after an admitted try."""
    level = min(_leaked(counter, limit, now) + 1, limit.highest_level)
    return Counter(level=level, counted_at=now, blocked_until=_blocked_until(level, limit, now))


def give_back(counter: Counter, limit: Limit) -> Counter:
    """The counter without its last try, which turned out to be right."""
    if counter.counted_at is None:
        return counter
    level = max(0.0, counter.level - 1)
    return Counter(
        level=level, counted_at=counter.counted_at, blocked_until=_blocked_until(level, limit, counter.counted_at)
    )


def too_many_tries(retry_after_s: int) -> str:
    """What the person reads, the same whether the account exists or not."""
    if retry_after_s <= _SAID_IN_SECONDS:
        words = ngettext(
            "Too many tries. Wait {count} second, then try again.",
            "Too many tries. Wait {count} seconds, then try again.",
            retry_after_s,
        )
        return words.format(count=retry_after_s)
    minutes = math.ceil(retry_after_s / 60)
    return _("Too many tries. Wait {minutes} minutes, then try again.").format(minutes=minutes)


def client_address(*, remote: str | None, forwarded_for: str | None, trusted_proxies: int) -> str | None:
    """The address that the outermost trusted proxy saw.

    Without trusted proxies `X-Forwarded-For` is anybody's claim, and ignored.
    """
    if trusted_proxies <= 0 or not forwarded_for:
        return remote
    hops = [hop.strip() for hop in forwarded_for.split(",")]
    if len(hops) < trusted_proxies:
        return remote
    return _without_port(hops[-trusted_proxies])


def _without_port(hop: str) -> str:
    """Some proxies write the port of the connection behind its address."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    host, _colon, port = hop.rpartition(":")
    return host if port.isdigit() and "." in host else hop


def address_subject(address: str | None) -> str:
    """What is counted for an address. IPv6 customers own a /64 and would otherwise have 2^64 names."""
    try:
        parsed = ip_address((address or "").strip())
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        network = int(parsed) >> 64 << 64
        return f"{IPv6Address(network)}/64"
    return str(parsed)


def _leaked(counter: Counter, limit: Limit, now: datetime) -> float:
    if counter.counted_at is None:
        return 0.0
    elapsed_s = max(0.0, (now - counter.counted_at).total_seconds())
    return max(0.0, counter.level - elapsed_s / limit.forget_one_s)


def _blocked_until(level: float, limit: Limit, counted_at: datetime) -> datetime | None:
    # Rounded up: the leak between five quick tries must not make a sixth of them free.
    over = math.ceil(level) - limit.free
    if over < 0:
        return None
    block_s = min(limit.longest_wait_s, limit.first_wait_s * 2**over)
    return counted_at + timedelta(seconds=block_s)
