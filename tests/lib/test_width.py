"""How much stands in a value: counted at every depth, and no further than it has to be."""

from typing import Any

import pytest

from hyperagent.lib.width import holds_more

WIDE = {"a": [{"b": 1}, {"b": 2}], "free": [1, 2, 3, 4, 5]}


@pytest.mark.parametrize(
    ("value", "holds"),
    [(5, 0), ("text", 0), ([], 0), ([1, 2, 3], 3), ({"a": {"b": [1, 2]}}, 4), (WIDE, 11), ([[[[]]]], 3)],
    ids=["number", "text", "empty", "list", "nested", "wide", "deep"],
)
def test_every_part_counts_once(value: Any, holds: int) -> None:
    assert not holds_more(value, holds)
    assert not holds or holds_more(value, holds - 1)


def test_what_nobody_looks_into_counts_as_one() -> None:
    assert not holds_more(WIDE, 6, but=("free",))
    assert holds_more(WIDE, 5, but=("free",))
