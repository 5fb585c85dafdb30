"""How much stands in a value of JSON. Of one that is wide each wrong part is a fault of its own, and to tell hundreds
of thousands of them apart takes seconds, so it is counted first. Pure.
"""

from collections.abc import Collection
from typing import Any


def holds_more(value: Any, most: int, *, but: Collection[str] = ()) -> bool:
    """Whether more than `most` values stand in it, at whatever depth. What has one of the names `but` counts as one:
    nobody looks into it."""
    left, within = most, [value]
    while within:
        one = within.pop()
        left -= len(one) if isinstance(one, dict | list) else 0
        if left < 0:
            return True
        if isinstance(one, dict):
            within += [part for name, part in one.items() if isinstance(part, dict | list) and name not in but]
        elif isinstance(one, list):
            within += [part for part in one if isinstance(part, dict | list)]
    return False
