"""A stream of events where what it is read from goes away in its midst: the headers are out."""

from collections.abc import AsyncGenerator

import pytest
from django.db import OperationalError
from django.http import StreamingHttpResponse

from hyperagent.lib.async_api import event_stream


async def broken(error: Exception) -> AsyncGenerator[bytes, None]:
    yield b"one"
    raise error


async def read(response: StreamingHttpResponse) -> list[bytes]:
    return [part async for part in response]


@pytest.mark.parametrize(("farewell", "rest"), [(b"goodbye", [b"goodbye"]), (b"", [])])
async def test_a_stream_whose_database_goes_away_ends_with_its_last_word(farewell: bytes, rest: list[bytes]) -> None:
    response = event_stream(broken(OperationalError("gone")), of="it", farewell=farewell)

    assert await read(response) == [b"one", *rest]


async def test_what_nobody_foresaw_is_no_end_of_a_stream() -> None:
    response = event_stream(broken(KeyError("x")), of="it", farewell=b"goodbye")

    with pytest.raises(KeyError):
        await read(response)
