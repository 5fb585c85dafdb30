"""`manage.py verify_log [EXECUTION]`: checks the numbering and the hashes of the event log; with `--audit`, those of
the audit log. Changes nothing.
"""

import re
import sys
import uuid
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from agents.engine.chain import GENESIS, Fault, faults
from agents.log.log_retention import Drops
from agents.log.reading import unfolded
from agents.models import Event, Execution
from hyperagent.audit.verifying import End, end
from hyperagent.audit.verifying import verify as verify_audit

CHUNK = 500
UNEXPLAINED = "the log is marked as no longer kept, but the audit log knows of no retention that dropped it then"


class Command(BaseCommand):
    help = "Checks that the event log has no gap, no double, and was not changed after it was written."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("execution", nargs="?", help="The id of one execution; all of them without it.")
        parser.add_argument("--audit", action="store_true", help="The audit log instead.")
        parser.add_argument("--noted", metavar="NUMBER:HASH", help="With --audit: an end that it told before.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["audit"] and options["execution"]:
            raise CommandError("The audit log is checked whole. Leave the id out, or --audit.")
        if options["audit"]:
            self._audit(options["noted"])
            return
        if options["noted"] is not None:
            raise CommandError("An end that was noted is of the audit log. Add --audit.")
        checked = faulty = dropped = 0
        drops = Drops()
        for execution in _executions(options["execution"]):
            if execution.log_dropped_at is not None and drops.explain(execution):
                dropped += 1
                continue
            checked += 1
            for fault in verify(execution):
                faulty += 1
                self.stderr.write(f"execution {execution.id}, event {fault.seq}: {fault.what}")
        self.stdout.write(f"{checked:,} executions checked, {faulty:,} faults")
        if dropped:
            self.stdout.write(f"{dropped:,} executions whose log is no longer kept (LOG_RETENTION_DAYS)")
        if faulty:
            sys.exit(1)

    def _audit(self, noted: str | None) -> None:
        """Tells where the log ends, to be noted elsewhere: whoever cuts the end off leaves no other trace."""
        faulty = 0
        for fault in verify_audit(noted=_noted(noted)):
            faulty += 1
            self.stderr.write(f"audit event {fault.number}: {fault.what}")
        finish = end()
        self.stdout.write(
            f"{finish.number:,} audit events, {faulty:,} faults; the log ends at {finish.number}:{finish.hash}"
        )
        if faulty:
            sys.exit(1)


def _noted(text: str | None) -> End | None:
    if text is None:
        return None
    number, _colon, digest = text.partition(":")
    if not number.isascii() or not number.isdigit() or not re.fullmatch("[0-9a-f]{64}", digest):
        raise CommandError(f"'{text[:80]}' is no end of the log, such as 1200:9f86…, 64 digits after the colon.")
    return End(int(number), digest)


def verify(execution: Execution) -> Iterator[Fault]:
    """Every fault of its log, and whether the log ends where the execution says it does."""
    last_seq, last_hash = 0, GENESIS
    wrong: list[Fault] = []
    if execution.log_dropped_at is not None:
        yield Fault(execution.last_seq, UNEXPLAINED)

    def rows() -> Iterator[tuple[int, str, bytes | None]]:
        nonlocal last_seq, last_hash
        for row in Event.objects.filter(execution=execution).order_by("seq").iterator(chunk_size=CHUNK):
            last_seq, last_hash = row.seq, bytes(row.hash)
            for event in unfolded(row.seq, row.type, row.body, row.frames):
                if not _is_as_it_says(event.body, type_=row.type, agent_id=row.agent_id):
                    wrong.append(Fault(event.seq, "its type or its agent is not the one in its text"))
                yield event.seq, event.body, last_hash if event.seq == row.seq else None

    yield from faults(rows())
    yield from wrong
    if not execution.is_over:
        # Its driver writes these down when it leaves the run.
        return
    if last_seq != execution.last_seq:
        yield Fault(execution.last_seq, f"the log ends at {last_seq}, the execution says {execution.last_seq}")
    elif last_hash != bytes(execution.last_hash):
        yield Fault(last_seq, "the last hash is not the one that the execution holds")


def _is_as_it_says(body: str, *, type_: str, agent_id: uuid.UUID | None) -> bool:
    """Whether the columns by which events are chosen and shown are those of the text that the hash covers."""
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(said, dict) and (said.get("type"), said.get("agent_id")) == (
        type_,
        None if agent_id is None else str(agent_id),
    )


def _executions(which: str | None) -> Iterator[Execution]:
    rows = Execution.objects.only("id", "status", "last_seq", "last_hash", "log_dropped_at", "ended_at")
    rows = rows.order_by("created_at", "id")
    if which is None:
        return rows.iterator(chunk_size=CHUNK)
    try:
        execution_id = uuid.UUID(which)
    except ValueError:
        raise CommandError(f"'{which}' is not an execution's id, such as {uuid.UUID(int=1)}.") from None
    found = rows.filter(id=execution_id)
    if not found:
        raise CommandError(f"There is no execution {execution_id}.")
    return iter(found)
