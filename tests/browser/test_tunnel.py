"""Where the guarded connection goes, and where it never goes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hyperagent.lib.outside.tunnel import Because, NotConnected, connected
from tests.lib.web import silent


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[int, list[str]]]:
    came: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append("one")
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], came


def answers(*addresses: str) -> object:
    async def lookup(host: str, port: int) -> list[str]:
        return list(addresses)

    return lookup


async def why_not(host: str, port: int = 443, **more: object) -> Because:
    with pytest.raises(NotConnected) as raised:
        await connected(host, port, timeout_s=5, **more)  # type: ignore[arg-type]
    return raised.value.because


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "foo.localhost",
        "LOCALHOST.",
        "169.254.169.254",
        "metadata.google.internal",
        "10.0.0.1",
        "[::1]",
        "::1",
        "::ffff:127.0.0.1",
        "fd00::1",
        "printer",
        "64:ff9b::7f00:1",
    ],
)
async def test_what_is_inside_by_its_name_is_not_even_looked_up(host: str) -> None:
    async def never(host: str, port: int) -> list[str]:
        raise AssertionError("it was looked up")

    assert await why_not(host, lookup=never) == Because.PROHIBITED


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "exa mple.org", "a@b", "a/b", "", "%31"]
)
async def test_odd_spellings_are_no_hosts(host: str) -> None:
    async def never(host: str, port: int) -> list[str]:
        raise AssertionError("it was looked up")

    assert await why_not(host, lookup=never) in (Because.UNAVAILABLE, Because.PROHIBITED)


@pytest.mark.parametrize(
    "found",
    [("127.0.0.1",), ("93.184.216.34", "127.0.0.1"), ("93.184.216.34", "::1"), ("169.254.169.254",), ("fe80::1%1",)],
)
async def test_a_name_of_which_one_address_is_inside_is_not_connected_to(found: tuple[str, ...]) -> None:
    async with listening() as (_, came):
        assert await why_not("example.org", lookup=answers(*found)) == Because.PROHIBITED

    assert came == []


async def test_a_name_that_means_something_else_a_moment_later_gains_nothing() -> None:
    asked: list[str] = []

    async def changing(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["192.0.2.1"] if len(asked) > 1 else ["127.0.0.1"]

    async with listening() as (_, came):
        assert await why_not("example.org", lookup=changing) == Because.PROHIBITED

    assert asked == ["example.org"]
    assert came == []


async def test_only_ports_of_the_web_are_used() -> None:
    assert await why_not("example.org", 22, lookup=answers("93.184.216.34")) == Because.PROHIBITED


async def test_a_name_without_addresses_is_told_as_such() -> None:
    async def unknown(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    assert await why_not("example.org", lookup=unknown) == Because.DNS
    assert await why_not("example.org", lookup=answers()) == Because.DNS


async def test_where_it_is_allowed_to_it_connects_and_says_why_it_does_not() -> None:
    async with listening() as (port, came):
        reader, writer = await connected("127.0.0.1", port, timeout_s=5, allow_private=True)
        assert await reader.read() == b"hello"
        writer.close()
    assert came == ["one"]

    assert await why_not("127.0.0.1", port, allow_private=True) == Because.REFUSED


@pytest.mark.slow
async def test_an_address_that_leads_nowhere_leaves_its_turn_to_the_next() -> None:
    async with listening() as (port, came):
        with silent("127.0.0.2", port):
            lookup = answers("127.0.0.2", "127.0.0.1")
            reader, writer = await connected("some.example", port, timeout_s=15, allow_private=True, lookup=lookup)  # type: ignore[arg-type]
        said = await reader.read()
        writer.close()

    assert (said, came) == (b"hello", ["one"])
