"""Which tests one process runs, and what is begun first, when several share the work (pytest-xdist).

By file, so that what a module shares is made once, and by folder where that shares something. Not by `xdist_group`:
pytest-xdist 3.8 tells its groups in a way that pytest 9.2 does not hear, and spreads each over all processes.
"""

from collections.abc import Sequence

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Files of one browser, or of one site, by the name of their group. Those of the stage need no site; the other groups
# have one each.
TOGETHER = {
    "page: staged": (
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
    ),
    "page: looked at": (
        "tests/page/test_admin.py",
        "tests/page/test_every_page.py",
        "tests/page/test_frame.py",
        "tests/page/test_german.py",
        "tests/page/test_inbox.py",
        "tests/page/test_memories.py",
        "tests/page/test_palette.py",
        "tests/page/test_usage.py",
    ),
    "page: lived in": ("tests/page/",),
    "faults": ("tests/faults/test_processes.py", "tests/faults/test_pipeline.py"),
}
# What takes a minute or more and is one process's, however many there are, must not come last; and what waits stands
# beside what works.
FIRST = (
    "page: lived in",
    "page: looked at",
    "tests/house/test_up.py",
    "faults",
    "page: staged",
    "tests/walls/test_api_fuzz.py",
    "tests/hitl/test_days.py",
    "tests/walls/test_matrix.py",
    "tests/house/test_queue.py",
    "tests/bench/test_bench.py",
    "tests/walls/test_matrix_admin.py",
)


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        config.option.loadscopereorder = False  # by their number would put what is slow at the end
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """A name of `TOGETHER`, or the test's file."""
    groups = (name for name, files in TOGETHER.items() if nodeid.startswith(files))
    return next(groups, nodeid.partition("::")[0])


def slow_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    place = {scope: number for number, scope in enumerate(FIRST)}
    return sorted(items, key=lambda item: place.get(scope_of(item.nodeid), len(FIRST)))
