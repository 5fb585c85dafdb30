"""What a call of a model may take at most, before it is made. Pure.

Tokens of the prompt from its bytes (`hyperagent.lib.llm.estimates`); of the answer what it is allowed to write. What it
really took is told afterwards.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from hyperagent.lib.llm.estimates import prompt_tokens_of
from hyperagent.lib.llm.prices import Price

# What an answer may write where nothing else is said and a budget holds; and what is not worth a call any more.
OUTPUT_TOKENS: Final = 16_384
LEAST_OUTPUT: Final = 256
Prices = Mapping[str, Price | None]


@dataclass(frozen=True, slots=True)
class Took:
    tokens: int
    usd: Decimal
    is_unpriced: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """`calls`: how often the model may be asked for one answer, its repairs included."""

    prompt_tokens: int
    calls: int = 1
    least_output: int = LEAST_OUTPUT

    def output_tokens(self, wanted: int | None) -> int:
        return min(wanted or OUTPUT_TOKENS, OUTPUT_TOKENS)

    def unpriced(self, prices: Prices) -> tuple[str, ...]:
        return tuple(sorted(name for name, price in prices.items() if price is None))

    def of(self, output: int, prices: Prices) -> Took:
        """At the dearest of the models that may be asked."""
        known = [price for price in prices.values() if price is not None]
        each = max((self._cost(price, output) for price in known), default=Decimal(0))
        tokens = self.calls * (self.prompt_tokens + output)
        return Took(tokens, round(self.calls * each, 10), bool(prices) and not known)

    def output_that_fits(
        self, tokens_left: Decimal | None, usd_left: Decimal | None, prices: Prices, *, below: int
    ) -> int | None:
        """The most that the answer may write within what is left, less than `below`; None if that is too little."""
        fits = [below - 1]
        if tokens_left is not None:
            fits.append(int(tokens_left) // self.calls - self.prompt_tokens)
        if usd_left is not None:
            fits += [self._affordable(price, usd_left / self.calls) for price in prices.values() if price is not None]
        return found if (found := min(fits)) >= self.least_output else None

    def _cost(self, price: Price, output: int) -> Decimal:
        return price.most(prompt_tokens=self.prompt_tokens, completion_tokens=output)

    def _affordable(self, price: Price, usd: Decimal) -> int:
        rest = usd - self._cost(price, 0)
        per_token = price.most(prompt_tokens=0, completion_tokens=1)
        if per_token <= 0:
            return OUTPUT_TOKENS if rest >= 0 else 0
        return max(0, math.floor(rest / per_token))


def estimate_of(asked: Mapping[str, Any], *, calls: int = 1) -> Estimate:
    """`asked`: a request as it is recorded."""
    return Estimate(prompt_tokens_of(asked), calls)
