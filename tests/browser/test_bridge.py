"""The way to a browser: for who knows the secret, once, and with messages of a bounded size."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from agents.browser.bridge import Bridge, pass_messages


class Loopback:
    """Stands for a box: its browser listens at a port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def connect(self, port: int) -> Any:
        return await asyncio.open_connection("127.0.0.1", self.port)


async def asked(address: str, path: str) -> bytes:
    port = int(address.split(":")[2].partition("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    try:
        async with asyncio.timeout(5):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_only_who_knows_the_secret_is_led_to_the_browser_and_only_once() -> None:
    heard: list[bytes] = []

    async def browser(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        writer.write(b"HTTP/1.1 101 Switching\r\n\r\n\x81\x02hi")
        writer.close()

    server = await asyncio.start_server(browser, "127.0.0.1", 0)
    bridge = Bridge(Loopback(server.sockets[0].getsockname()[1]), "/devtools/browser/abc")  # type: ignore[arg-type]
    async with server:
        await bridge.open()
        secret = "/" + bridge.address.rpartition("/")[2]
        assert await asked(bridge.address, "/json/version") == b""
        assert await asked(bridge.address, f"{secret[:-1]}x") == b""
        assert heard == []
        assert await asked(bridge.address, secret) == b"HTTP/1.1 101 Switching\r\n\r\n\x81\x02hi"
        assert heard == [b"GET /devtools/browser/abc HTTP/1.1\r\n"]
        with pytest.raises(ConnectionRefusedError):
            await asked(bridge.address, secret)
        await bridge.close()


async def test_a_message_that_is_too_large_is_not_passed_on_also_in_parts() -> None:
    class Kept:
        said = b""

        def write(self, piece: bytes) -> None:
            self.said += piece

        async def drain(self) -> None:
            return None

    async def passed(*frames: bytes) -> bytes:
        reader, kept = asyncio.StreamReader(), Kept()
        reader.feed_data(b"HTTP/1.1 101\r\n\r\n" + b"".join(frames))
        reader.feed_eof()
        with suppress(asyncio.IncompleteReadError):
            await pass_messages(reader, kept, most_bytes=300)  # type: ignore[arg-type]
        return kept.said.removeprefix(b"HTTP/1.1 101\r\n\r\n")

    small, medium = b"\x81\x03abc", b"\x81\x7e\x00\xc8" + b"m" * 200
    first, rest = b"\x01\x7e\x00\xc8" + b"m" * 200, b"\x80\x7e\x00\xc8" + b"m" * 200
    huge = b"\x81\x7f" + (1 << 40).to_bytes(8)

    assert await passed(small, medium, medium, small) == small + medium + medium + small
    assert await passed(small, huge, small) == small
    assert await passed(first, rest, small) == first
