"""Orders to the assistant that are none of its user's: ignoring instructions, giving them away, sending data out."""

from collections.abc import Sequence
from typing import Final

from agents.guardrails.scanner import Finding, Place, Scanner, Subject
from agents.guardrails.wording import orders
from agents.guardrails.wording.weighing import Weigher

_WEIGHER: Final = Weigher("injection", near=60, certain=1.8, kinds=orders.KINDS)


def scan(text: str, subject: Subject) -> Sequence[Finding]:
    return _WEIGHER.findings(text)


SCANNER: Final = Scanner("injection", frozenset({Place.INPUT, Place.CONTENT}), scan, order=10)
