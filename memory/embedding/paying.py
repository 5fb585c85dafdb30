"""Who pays for the vectors of a provider's model, as a port: the embedder asks before each call, and tells afterwards.
Who answers is given to it from above.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol
from uuid import UUID

from hyperagent.lib.llm.prices import NO_PRICES, Price, PriceBook
from hyperagent.lib.llm.types import Embedded
from memory.embedding.model import Unusable


class Unaffordable(Unusable):
    """A budget of whoever would pay is used up; others go on."""


class Till(Protocol):
    """Called from two threads at once."""

    def reserve(self, payer: UUID | None, texts: Sequence[str], price: Callable[[], Price | None]) -> Any:
        """For a call that is about to be made; what comes back is given to `settle`. Raises Unaffordable."""
        ...

    def settle(self, held: Any, payer: UUID | None, took: Sequence[Embedded]) -> None:
        """What it took, if anything."""
        ...

    def prices(self) -> PriceBook:
        """The installation's own."""
        ...


class NobodyPays:
    """Where nothing is counted."""

    def reserve(self, payer: UUID | None, texts: Sequence[str], price: Callable[[], Price | None]) -> None:
        return None

    def settle(self, held: Any, payer: UUID | None, took: Sequence[Embedded]) -> None:
        return None

    def prices(self) -> PriceBook:
        return NO_PRICES
