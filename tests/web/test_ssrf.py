"""`fetch_url` leads to no address within, whatever it is given: as it is written, by DNS, and by redirects.

Every connection of the loop is watched. The one public address is this machine's site in truth; whatever else is
connected to is written down and refused.
"""

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agents.tools.gateway import Gateway
from agents.web.pages import GuardedPages
from tests.lib.web import Page, Web
from tests.tools.doubles import fake_providers
from tests.tools.driving import call_once

PUBLIC = "93.184.215.14"
PAGE = "<p>words that anybody may read on this page of a public site</p>"
LIST = Path(os.environ.get("BENCH_DATA", "/nowhere")) / "security" / "ssrf_urls_curated" / "data.jsonl"
Lookup = Callable[[str, int], Awaitable[list[str]]]


@pytest.fixture
async def connected(web: Web, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The IP addresses that were connected to."""
    seen: list[str] = []
    loop = asyncio.get_running_loop()
    real = loop.sock_connect

    async def connect(sock: socket.socket, address: Any) -> None:
        seen.append(str(address[0]))
        if address[0] != PUBLIC:
            raise ConnectionRefusedError(111, "Connection refused")
        await real(sock, ("127.0.0.1", web.port))

    monkeypatch.setattr(loop, "sock_connect", connect)
    return seen


def names(table: Mapping[str, Sequence[str]], *, other: str = PUBLIC) -> Lookup:
    """A DNS of one's own; `other` is what it says of every name that it does not know."""

    async def lookup(host: str, port: int) -> list[str]:
        return list(table.get(host, [other]))

    return lookup


async def fetched(url: str, lookup: Lookup) -> dict[str, Any]:
    gateway = Gateway(fake_providers(pages=GuardedPages(lookup=lookup, timeout_s=5)))
    return await call_once(gateway, "fetch_url", {"url": url})


WRITTEN = (
    "http://127.0.0.1/", "http://127.0.0.1:8080/", "http://127.9.9.9/", "http://10.1.2.3/", "http://172.16.5.4/",
    "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/", "http://100.100.100.200/", "http://0.0.0.0/",
    "http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[fe80::1]/",
    "http://[fd00:ec2::254]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[::127.0.0.1]/",
    "http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://127.1/", "http://0x7f.0x0.0x0.0x1/",
    "http://localhost/", "http://localhost.localdomain/", "http://kubernetes.default.svc/", "http://redis:8080/",
    "http://１２７.0.0.1/", "http://127。0。0。1/", "http://%31%32%37.0.0.1/", "http://x@127.0.0.1/", "http://127.0.0.1#@x.y/",
    "http://public.example@127.0.0.1/", "http://public.example\\@127.0.0.1/", "https://public.example:22/",
    "http://public.example:6379/",
)  # fmt: skip


@pytest.mark.spec("S207")
@pytest.mark.threat("T07")
@pytest.mark.parametrize("answer", [PUBLIC, "127.0.0.1"])
async def test_an_address_that_leads_inside_is_not_connected_to_however_it_is_written(
    connected: list[str], answer: str
) -> None:
    """Whatever DNS says of it."""
    for url in WRITTEN:
        reply = await fetched(url, names({}, other=answer))

        assert reply["is_error"], url
        assert reply["content"].endswith(".")
    assert connected == []


@pytest.mark.spec("S207")
@pytest.mark.threat("T07")
@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], [PUBLIC, "10.0.0.5"], ["10.0.0.5", PUBLIC], ["::1"], ["::ffff:10.0.0.5"], [PUBLIC, "fd00::1"]],
)
async def test_a_name_that_leads_inside_even_partly_is_not_connected_to(
    connected: list[str], answers: list[str]
) -> None:
    reply = await fetched("http://rebound.example/", names({"rebound.example": answers}))

    assert reply["is_error"]
    assert "private network" in reply["content"]
    assert connected == []


@pytest.mark.threat("T08")
async def test_a_name_that_means_something_else_a_moment_later_gains_nothing(web: Web, connected: list[str]) -> None:
    """Each connection asks anew: the first, for robots.txt, is answered with a public address, the next is not."""
    web.pages["/"] = PAGE
    asked: list[str] = []

    async def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return [PUBLIC] if len(asked) == 1 else ["127.0.0.1"]

    reply = await fetched("http://changing.example/", lookup)

    assert reply["is_error"]
    assert web.paths() == ["/robots.txt"]
    assert connected == [PUBLIC]


@pytest.mark.spec("S207")
@pytest.mark.threat("T07", "T08")
async def test_no_redirect_leads_inside(web: Web, connected: list[str]) -> None:
    inside = names({"inside.example": ["10.0.0.5"], "half.example": [PUBLIC, "::1"]})
    targets = [
        "http://127.0.0.1/", "//127.0.0.1/", "http://[::1]/", "http://[::ffff:169.254.169.254]/", "http://2130706433/",
        "http://0x7f.1/", "http://inside.example/", "http://half.example/", "http://redis:6379/", "file:///etc/passwd",
        "gopher://127.0.0.1/", "http://public.example:22/", "http://public.example@127.0.0.1/", "http:\\\\127.0.0.1",
    ]  # fmt: skip
    for number, target in enumerate(targets):
        web.pages[f"/{number}"] = Page(status=302, headers={"location": f"/{number}b"})
        web.pages[f"/{number}b"] = Page(status=307, headers={"location": target})

        reply = await fetched(f"http://public.example/{number}", inside)

        assert reply["is_error"], target
    assert set(connected) == {PUBLIC}


async def test_a_public_page_is_read_by_the_same_door(web: Web, connected: list[str]) -> None:
    web.pages["/old"] = Page(status=302, headers={"location": "http://other.example:8080/new"})
    web.pages["/new"] = Page(PAGE.encode(), content_type="text/plain")

    reply = await fetched("http://public.example/old", names({}))

    assert not reply["is_error"], reply
    assert reply["data"]["url"] == "http://other.example:8080/new"
    assert set(connected) == {PUBLIC}


# ── The list ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def lines() -> Iterator[dict[str, Any]]:
    yield from map(json.loads, LIST.read_text().splitlines())


@pytest.mark.spec("S207")
@pytest.mark.threat("T07")
@pytest.mark.skipif(not LIST.is_file(), reason="BENCH_DATA has no security/ssrf_urls_curated")
async def test_every_line_of_the_list_ends_as_it_says(connected: list[str]) -> None:
    """With an `allow`, the address that is connected to is the one that the line gives."""
    wrong = []
    for line in lines():
        connected.clear()
        given = [part.strip() for part in line.get("resolves_to", PUBLIC).split(",")]

        async def lookup(host: str, port: int, given: list[str] = given) -> list[str]:
            return given

        reply = await fetched(line["url"], lookup)
        # What is public is refused by the watch, and that is told as a connection that failed.
        if line["verdict"] == "block" and (connected or not reply["is_error"]):
            wrong.append((line["id"], line["url"], list(connected)))
        if line["verdict"] == "allow" and set(connected) != set(given):
            wrong.append((line["id"], line["url"], list(connected)))
    assert wrong == []
