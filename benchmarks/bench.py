"""What every measurement works with, and how contenders are measured in turns. Knows no figure.

Rounds of the product and of its peers alternate, so that a noisy machine hurts both; ratios are formed within a round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.compared import Comparison
from benchmarks.contenders import Contender
from benchmarks.quiet import wait_for_quiet
from benchmarks.sizes import Sizes
from benchmarks.stand import Stand
from benchmarks.streaming import TOKENS_A_SECOND, Window, watch_streams


@dataclass(slots=True)
class Bench:
    """`windows` keeps all that was seen of streams, for the record and the plot; `compared` what the table is of."""

    stand: Stand
    sizes: Sizes
    windows: list[Window] = field(default_factory=list)
    compared: Comparison = field(default_factory=Comparison)
    disturbed: int = 0

    async def quiet(self) -> None:
        if not await wait_for_quiet(self.sizes.patience_s):
            self.disturbed += 1

    async def watch(self, contender: Contender, streams: int, *, rate: int = TOKENS_A_SECOND) -> Window:
        await self.quiet()
        warm_s, window_s = self.sizes.warm_s, self.sizes.window_s
        seen = await watch_streams(contender, self.stand, streams=streams, warm_s=warm_s, window_s=window_s, rate=rate)
        self.windows.append(seen)
        return seen

    async def in_turns(self, contenders: Sequence[Contender], streams: int) -> list[dict[str, Window]]:
        """For each round the windows of all contenders, by name."""
        rounds = []
        for _ in range(self.sizes.rounds):
            rounds.append({one.name: await self.watch(one, streams) for one in contenders})
        return rounds
