"""What every embedding model is to the embedder, and what is demanded of its vectors. Pure."""

import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol
from uuid import UUID

LOCAL: Final = "local"
Vector = Sequence[float]
Pulse = Callable[[], None]
"""Called between the parts of long work. Raises Stopped when it is to end."""


class Stopped(Exception):
    """The process was asked to end."""


class Unusable(Exception):
    """The model gives no vectors for now. `str()` is a sentence for people."""


class TextRefused(Unusable):
    """It is one of the texts, as far as one can tell, and not the model."""


class EmbeddingModel(Protocol):
    """Called from two threads at once: one makes the vectors of documents, the other those that somebody waits for."""

    @property
    def name(self) -> str: ...

    @property
    def chunks_at_once(self) -> int:
        """How many chunks make a batch: the same for all processes that use the model."""
        ...

    def windows(self, texts: Sequence[str], pulse: Pulse, *, payer: UUID | None = None) -> list[list[Vector]]:
        """For each text the vectors of its windows, of unit length. `payer`: whose budget a call of a provider is of.
        Raises Unusable, TextRefused among it, and Stopped from `pulse`."""
        ...

    def whole(self, texts: Sequence[str], *, timeout_s: float, payer: UUID | None = None) -> list[Vector]:
        """One vector of unit length for each of a few short texts. Raises Unusable."""
        ...


def of_unit_length(values: object, *, dimensions: int) -> Vector:
    """What a provider sent as a vector. `dimensions`: 0 where they are not known yet. Raises Unusable."""
    if not isinstance(values, list) or not values or not all(isinstance(value, int | float) for value in values):
        raise Unusable("what it answers are no vectors")
    if dimensions and len(values) != dimensions:
        raise Unusable(f"its vectors have {len(values)} numbers now, and those that are stored have {dimensions}")
    try:
        length = math.hypot(*values)
    except OverflowError:
        length = math.inf
    if not math.isfinite(length) or not length:
        raise Unusable("its vectors have no length")
    return [value / length for value in values]
