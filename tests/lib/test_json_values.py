"""How many values are counted in JSON that comes bit by bit."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperagent.lib.outside.json_values import ValueCounter

values = st.recursive(
    st.none() | st.integers() | st.text(), lambda some: st.lists(some) | st.dictionaries(st.text(), some), max_leaves=30
)


def counted(text: bytes, *, cut: int = 1 << 20) -> int:
    counter = ValueCounter()
    for start in range(0, len(text), cut):
        counter.take(text[start : start + cut])
    return counter.found


def marks(value: Any) -> int:
    """The openings and commas that stand before its values."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return 0
    return 1 + max(len(value) - 1, 0) + sum(map(marks, value))


@pytest.mark.slow
@given(value=values, cut=st.integers(1, 20), plain=st.booleans())
def test_what_stands_in_texts_is_not_counted_wherever_it_is_cut(value: Any, cut: int, plain: bool) -> None:
    assert counted(json.dumps(value, ensure_ascii=plain).encode(), cut=cut) == marks(value)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\\\n", '"\n', '\\"\n', '\\\\"\n'])
def test_no_line_of_a_stream_hides_the_values_of_the_next(end: str) -> None:
    stream = f': a comment "{end}data: {json.dumps([1] * 100)}\n\n'

    assert counted(stream.encode(), cut=3) >= 100
