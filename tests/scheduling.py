"""Which tests one process runs, and what is begun first, when several share the work (pytest-xdist).

By file, so that what a module shares is made once, and by folder where that shares something. Not by `xdist_group`:
pytest-xdist 3.8 tells its groups in a way that pytest 9.2 does not hear, and spreads each over all processes.
"""

from collections.abc import Sequence

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# One browser serves all that only puts the page on a stage, and another one, and a site, all else of the page.
_STAGED = (
    "tests/page/test_activity.py",
    "tests/page/test_approvals.py",
    "tests/page/test_budget_and_doubt.py",
    "tests/page/test_chat_flows.py",
    "tests/page/test_citations.py",
    "tests/page/test_guarded.py",
    "tests/page/test_hand_cards.py",
    "tests/page/test_people.py",
    "tests/page/test_rendering.py",
    "tests/page/test_run.py",
    "tests/page/test_store.py",
    "tests/page/test_tainted_card.py",
)
_PAGE = "tests/page/"
TOGETHER = {**dict.fromkeys(_STAGED, "staged"), _PAGE: _PAGE}
# What takes a minute or more and is one process's, however many there are, must not come last.
FIRST = (
    "tests/page/",
    "tests/house/test_up.py",
    "tests/faults/test_processes.py",
    "tests/faults/",
    "tests/bench/",
    "tests/hitl/test_days.py",
    "tests/house/test_queue.py",
)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        config.option.loadscopereorder = False  # by their number would put what is slow at the end
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        groups = (group for start, group in TOGETHER.items() if nodeid.startswith(start))
        return next(groups, nodeid.partition("::")[0])


def slow_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    def place(item: pytest.Item) -> int:
        return next((number for number, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST))

    return sorted(items, key=place)
