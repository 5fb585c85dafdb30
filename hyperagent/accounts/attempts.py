"""Counts tries at a door in the database, so that a lost cache lifts no limit. Does not know what a try is for."""

import hashlib
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models.functions import Now

from hyperagent.accounts.limits import (
    LIMITS,
    Counter,
    Door,
    SubjectKind,
    address_subject,
    count,
    give_back,
    longest_memory_s,
    too_many_tries,
    wait_s,
)
from hyperagent.accounts.models import LoginAttempt, email_key
from hyperagent.lib.refusals import TooMuch


class TooManyTries(TooMuch):
    """Raised before anything was looked up, so it says nothing about the account."""

    retry_after_s: int

    def __init__(self, retry_after_s: int) -> None:
        super().__init__("too_many_tries", too_many_tries(retry_after_s), retry_after_s=retry_after_s)


@dataclass(frozen=True, slots=True)
class Try:
    """One knock at one door: the name that was given, if one was, and the network address that it came from."""

    door: Door
    email: str
    address: str | None

    def subjects(self) -> dict[SubjectKind, str]:
        account = {SubjectKind.ACCOUNT: email_key(self.email)[:254]} if self.email else {}
        return {**account, SubjectKind.ADDRESS: address_subject(self.address)}


def take(attempt: Try) -> None:
    """Counts the try against its account and its address, or raises `TooManyTries` and counts nothing.

    Counted before the password is looked at: of a thousand tries at once no more get through than one after another.
    The transaction is its own, so that a later error does not undo the count. Five queries.
    """
    with transaction.atomic(durable=True):
        now = _lock(attempt)
        before = _counters(attempt)
        wait = max(wait_s(counter, now) for counter in before.values())
        if wait > 0:
            raise TooManyTries(math.ceil(wait))
        _save(attempt, {kind: count(counter, LIMITS[attempt.door, kind], now) for kind, counter in before.items()})


def succeeded(attempt: Try) -> None:
    """The try was right: its account starts anew. Its address gets only this try back.

    Else one account of one's own would wash away a thousand tries at others.
    """
    with transaction.atomic(durable=True):
        _lock(attempt)
        address = _counters(attempt)[SubjectKind.ADDRESS]
        _save(attempt, {SubjectKind.ADDRESS: give_back(address, LIMITS[attempt.door, SubjectKind.ADDRESS])})
        if attempt.email:
            forgive_account(attempt.door, attempt.email)


def forgive_account(door: Door, email: str) -> None:
    """Lifts the limit of one account, because its owner has shown by other means who they are."""
    LoginAttempt.objects.filter(door=door, subject_kind=SubjectKind.ACCOUNT, subject=email_key(email)[:254]).delete()


def prune() -> int:
    """Deletes the counters that are back at nought; returns how many."""
    old = LoginAttempt.objects.filter(counted_at__lt=Now() - timedelta(seconds=longest_memory_s()))
    with transaction.atomic():
        # A row that is being counted up at this moment is not old any more; waiting for it could be a deadlock.
        ids = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True))
        LoginAttempt.objects.filter(pk__in=ids).delete()
    return len(ids)


def _lock(attempt: Try) -> datetime:
    """Holds both counters until the transaction ends, whether their rows exist or not; returns the database's time.

    Advisory locks, taken in order of their numbers: row locks cannot hold a row that is not there yet, and two tries
    that share one subject must not wait for each other.
    """
    keys = sorted(_lock_key(attempt.door, kind, subject) for kind, subject in attempt.subjects().items())
    with connection.cursor() as cursor:
        for key in keys:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])
        # Not now(): that is when the transaction began, before it waited for its turn.
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone() or (None,)
    assert isinstance(now, datetime)
    return now


def _lock_key(door: Door, kind: SubjectKind, subject: str) -> int:
    digest = hashlib.sha256(f"accounts.attempts:{door}:{kind}:{subject}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _counters(attempt: Try) -> dict[SubjectKind, Counter]:
    subjects = attempt.subjects()
    rows = LoginAttempt.objects.filter(door=attempt.door, subject__in=subjects.values())
    found = {(row.subject_kind, row.subject): row for row in rows}
    counters = {}
    for kind, subject in subjects.items():
        row = found.get((kind, subject))
        counters[kind] = Counter(row.level, row.counted_at, row.blocked_until) if row else Counter()
    return counters


def _save(attempt: Try, counters: dict[SubjectKind, Counter]) -> None:
    subjects = attempt.subjects()
    LoginAttempt.objects.bulk_create(
        [
            LoginAttempt(
                door=attempt.door,
                subject_kind=kind,
                subject=subjects[kind],
                level=counter.level,
                counted_at=counter.counted_at,
                blocked_until=counter.blocked_until,
            )
            for kind, counter in counters.items()
            if counter.counted_at is not None
        ],
        update_conflicts=True,
        unique_fields=["door", "subject_kind", "subject"],
        update_fields=["level", "counted_at", "blocked_until"],
    )
