"""What tokens cost: prices that an installation sets itself, and what a call takes by them. Plain values.

An own price goes before that of LiteLLM's table (`adapter.price_of`). A model in neither has no known price, and what
it takes is unknown: it is never counted as free. The bundled model runs on the own machine, and costs nothing.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hyperagent.lib.llm.types import Usage

MILLION: Final = Decimal(1_000_000)
MOST_USD: Final = Decimal(100_000)
FORM: Final = (
    'a JSON object of dollars per million tokens by model: {"mine/model": {"input": 1.25, "output": 10, "cached": 0.1, '
    '"reasoning": 10}}; cached and reasoning may be left out'
)


class Price(BaseModel):
    """Dollars per million tokens. `cached`: of the prompt's tokens those that the provider read from its cache, and
    `reasoning`: of the written ones those that were thought; None: as the others."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    input: Decimal = Field(ge=0, le=MOST_USD)
    output: Decimal = Field(ge=0, le=MOST_USD)
    cached: Decimal | None = Field(default=None, ge=0, le=MOST_USD)
    reasoning: Decimal | None = Field(default=None, ge=0, le=MOST_USD)

    def cost(self, usage: Usage) -> Decimal:
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        thought = min(usage.reasoning_tokens, usage.completion_tokens)
        parts = (
            (usage.prompt_tokens - cached, self.input),
            (cached, self.input if self.cached is None else self.cached),
            (usage.completion_tokens - thought, self.output),
            (thought, self.output if self.reasoning is None else self.reasoning),
        )
        return round(sum((tokens * price for tokens, price in parts), Decimal(0)) / MILLION, 10)

    def most(self, *, prompt_tokens: int, completion_tokens: int) -> Decimal:
        """What so much costs at most."""
        dearest = max(self.output, self.reasoning or Decimal(0))
        return (prompt_tokens * max(self.input, self.cached or Decimal(0)) + completion_tokens * dearest) / MILLION


FREE: Final = Price(input=Decimal(0), output=Decimal(0))


@dataclass(frozen=True, slots=True)
class Dated:
    """`price`: None where the own one was taken back, and what is known elsewhere holds."""

    price: Price | None
    since: datetime


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Own prices by `provider/model`, or by the model's name alone; of each the ones that hold from some time on."""

    prices: Mapping[str, tuple[Dated, ...]] = field(default_factory=dict)

    def price_of(self, provider: str, model: str, *, at: datetime | None = None) -> Price | None:
        """None where none is set; the provider's own goes before that of the bare name."""
        moment = at or datetime.now(UTC)
        for name in (f"{provider}/{model}", model):
            held = [dated for dated in self.prices.get(name, ()) if dated.since <= moment]
            price = max(held, key=lambda dated: dated.since).price if held else None
            if price is not None:
                return price
        return None

    def with_rows(self, rows: Iterable[tuple[str, Price | None, datetime]]) -> "PriceBook":
        """This book and these prices; a later one holds instead of an earlier one. Without a price: what this book says
        holds again."""
        merged = dict(self.prices)
        for name, price, since in rows:
            said = self.prices[name][0].price if price is None and name in self.prices else price
            merged[name] = (*merged.get(name, ()), Dated(said, since))
        return PriceBook(merged)


NO_PRICES: Final = PriceBook()


def read(text: str) -> PriceBook:
    """The book that MODEL_PRICES writes. Raises ValueError with what is wrong."""
    if not text.strip():
        return NO_PRICES
    try:
        given: Any = json.loads(text)
    except ValueError as error:
        raise ValueError("no JSON") from error
    if not isinstance(given, dict):
        raise ValueError("no JSON object")
    began = datetime.min.replace(tzinfo=UTC)
    try:
        return PriceBook({name: (Dated(Price.model_validate(price), began),) for name, price in given.items()})
    except ValidationError as error:
        raise ValueError(str(error.errors()[0]["msg"])) from error
