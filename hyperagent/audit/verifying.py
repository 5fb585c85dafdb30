"""Whether the log is whole: its numbers, its hashes, its names, its beginning and its end. Changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from hyperagent.audit.chain import GENESIS, Fault, Link, faults
from hyperagent.audit.models import AuditCut, AuditEvent, AuditHead
from hyperagent.audit.sealing import link_of

CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class End:
    """Where the log ends. Noted somewhere else, it shows later whether the end was cut off or written anew."""

    number: int
    hash: str


def end() -> End:
    head = AuditHead.objects.first()
    return End(head.number, bytes(head.hash).hex()) if head else End(0, GENESIS.hex())


def verify(*, noted: End | None = None) -> Iterator[Fault]:
    """Every fault. `noted`: an end that was written down before, which has to stand in the log as it was."""
    cut = AuditCut.objects.order_by("-number").first()
    number, last = (cut.number, bytes(cut.hash)) if cut else (0, GENESIS)
    to_find = noted

    def rows() -> Iterator[Link]:
        nonlocal number, last, to_find
        sealed = AuditEvent.objects.sealed().filter(number__gt=cut.number if cut else 0).order_by("number")
        for row in sealed.iterator(chunk_size=CHUNK):
            number, last = int(row.number or 0), bytes(row.hash or b"")
            if to_find == End(number, last.hex()):
                to_find = None
            yield link_of(row, number=number)

    yield from faults(rows(), number=number, before=last)
    finish = end()
    if finish.number != number:
        yield Fault(number, f"the log ends here, and {finish.number} events were sealed")
    elif finish.hash != last.hex():
        yield Fault(number, "the last hash is not the one that was kept of the end")
    if to_find and not (cut and to_find.number <= cut.number):
        yield Fault(to_find.number, "is not there with the hash that was noted")
