"""Numbers in JSON: what can be kept is read, and what cannot is named."""

import pytest

from conversations.frames import parsed
from hyperagent.lib.json_numbers import NotANumber, read_json
from hyperagent.lib.refusals import Refused


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1e400", "1e400"),
        ("-1e400", "-1e400"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("9" * 400, "9" * 39 + "…"),
        ("1." + "0" * 400 + "e999", "1." + "0" * 37 + "…"),
    ],
    ids=["large", "small", "nan", "infinity", "whole", "long"],
)
def test_what_no_double_holds_is_no_number(written: str, shown: str) -> None:
    with pytest.raises(NotANumber) as found:
        read_json(f'{{"a": [{written}]}}')

    assert found.value.shown == shown


def test_all_others_are_read_as_they_are() -> None:
    assert read_json("[1, -0.5, 1e308, 5e-324, 1e-400]") == [1, -0.5, 1e308, 5e-324, 0.0]
    assert read_json("9" * 300) == int("9" * 300)
    assert read_json('"1e400"') == "1e400"


def test_a_socket_is_told_which_number_it_is() -> None:
    with pytest.raises(Refused, match=r"^1e400 is no number that can be kept"):
        parsed('{"type": "ack", "execution_id": "x", "seq": 1e400}')
