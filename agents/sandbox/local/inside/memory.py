"""How much memory the box takes, all of it together, and which program must go when it is too much.

There is no cgroup to be had without rights, so it is looked at some dozens of times a second. A look never waits: what
may have to wait for a program is a scout's.
"""

from __future__ import annotations

from . import processes
from .scout import Scout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Final

_AT_MOST_S: Final = 0.01
_OFTEN_S: Final = 0.02
_SELDOM_S: Final = 0.05
_SLOWLY_S: Final = 0.25
_IDLE_S: Final = 0.5
_SELDOM_SCOUTED_S: Final = 2.0
# A scout that has not come back is not waited for any longer: by then what it might excuse is held against the program.
_PATIENCE_S: Final = 0.2
_CLOSER_EVERY_S: Final = 0.06


class Watch:
    """`pause_s`: until the next look, by how much room there was at the last."""

    def __init__(self, most_bytes: int, folders: Sequence[str]) -> None:
        self.pause_s = _OFTEN_S
        self._most = most_bytes
        self._folders = folders
        self._scout: Scout | None = None
        self._shares = False
        self._kernels_bytes = 0
        self._slowly_at = 0.0
        self._looked_at = 0.0
        self._over_since: float | None = None

    def scouts(self) -> list[int]:
        """Processes of the keeper's own that are out."""
        return [] if self._scout is None else [self._scout.pid]

    def who_must_go(self, now: float, shepherds: Mapping[int, int], *, ours: Collection[int]) -> int | None:
        """The number of the program that takes most, if all together take too much."""
        if now - self._looked_at < _AT_MOST_S:
            return None
        if now - self._looked_at > _IDLE_S:
            # What has just begun has had no time to hide anything, and most programs are over before they have.
            self._slowly_at = now
        self._looked_at = now
        parents = processes.living()
        mine = {*ours, *shepherds.values(), *self.scouts()}
        pids = [pid for pid in parents if pid not in mine]
        own = {pid: processes.own_memory_bytes(pid) for pid in pids}
        if now - self._slowly_at > _SLOWLY_S:
            self._look_slowly(pids, now)
        used = self._beside_bytes(parents) + sum(own.values())
        self.pause_s = _OFTEN_S if used > self._most // 2 else _SELDOM_S
        if used <= self._most:
            self._over_since = None
            return None
        # What is known of sockets and tables may be of a program that has ended.
        self._look_slowly(pids, now)
        beside = self._beside_bytes(parents)
        if beside + sum(own.values()) <= self._most:
            return None
        if beside + max(own.values(), default=0) <= self._most and self._may_be_excused(own, beside, now):
            return None
        takes = {
            number: sum(own.get(pid, 0) + self._scouted_bytes([pid]) for pid in processes.below(shepherd, parents))
            for number, shepherd in shepherds.items()
        }
        return max(takes, key=lambda number: takes[number], default=None)

    def _beside_bytes(self, living: Collection[int]) -> int:
        """All but the programs' own pages."""
        if self._scout is not None:
            self._scout.hear()
        return processes.folder_bytes(self._folders) + self._kernels_bytes + self._scouted_bytes(living)

    def _look_slowly(self, pids: Sequence[int], now: float) -> None:
        """What the kernel keeps for these. Now and then a scout goes out; often, once one of them shares memory."""
        self._slowly_at = now
        facts = [processes.tables_and_shared_bytes(pid) for pid in pids]
        self._kernels_bytes = sum(tables for tables, _ in facts) + processes.socket_bytes()
        self._shares = self._shares or any(shared for _, shared in facts)
        idle = self._scout is None or self._scout.over
        if idle and pids and (self._shares or self._scout is None or now - self._scout.began > _SELDOM_SCOUTED_S):
            self._send_scout(pids)

    def _may_be_excused(self, own: Mapping[int, int], beside: int, now: float) -> bool:
        """Of what is shared after a fork each process counts all. While a scout is out nobody is judged, for a moment;
        then by what it has told."""
        if self._over_since is None:
            self._over_since = now
            self._send_scout(list(own))
        scout = self._scout
        patient = now - self._over_since < _PATIENCE_S
        if scout is None or (patient and not scout.over):
            return patient
        if patient and not own.keys() <= scout.found.keys():
            self._send_scout(list(own))
            return True
        fair = sum(scout.found[pid].fair_bytes if pid in scout.found else size for pid, size in own.items())
        excused = beside + fair <= self._most
        if excused and now - scout.began > _CLOSER_EVERY_S:
            self._over_since = None
        return excused

    def _send_scout(self, pids: Sequence[int]) -> None:
        if self._scout is not None:
            self._scout.end()
        try:
            self._scout = Scout(pids)
        except OSError:
            self._scout = None

    def _scouted_bytes(self, pids: Collection[int]) -> int:
        """What several share counts once."""
        if self._scout is None:
            return 0
        found = [one for pid, one in self._scout.found.items() if pid in pids]
        shared: dict[str, int] = {}
        for one in found:
            shared.update(one.shared)
        return sum(one.lists_bytes for one in found) + sum(shared.values())
