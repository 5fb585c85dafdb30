"""The door to the world outside: where it goes, and what it does with what comes back."""

import gzip
import os
import socket
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from hyperagent.lib.outside import fetching, sockets
from hyperagent.lib.outside.addresses import BadAddress, InsideBadAddress, canonical
from hyperagent.lib.outside.fetching import Fault, Fetched, NotFetched, unpacked
from tests.lib.web import Page, Web

PUBLIC = "93.184.215.14"


async def read(url: str, **more: Any) -> Fetched:
    """From loopback, which the tests' servers are on."""
    values: dict[str, Any] = {"max_bytes": 1_000_000, "timeout_s": 10, "allow_private": True, **more}
    return await fetching.fetch(url, **values)


async def fault_of(url: str, **more: Any) -> Fault:
    with pytest.raises(NotFetched) as refused:
        await read(url, **more)
    assert str(refused.value).endswith(".")
    return refused.value.fault


def names(table: Mapping[str, list[str]]) -> Any:
    """A DNS of one's own; what it does not know does not exist."""

    async def lookup(host: str, port: int) -> list[str]:
        if host not in table:
            raise OSError(f"{host} is not known")
        return table[host]

    return lookup


# ── Addresses ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://127.0.0.1:6379/", "http://127.0.0.1.:80/", "http://10.9.8.7/", "http://172.20.0.1/",
        "http://192.168.0.10/", "http://169.254.169.254/latest/", "http://100.64.1.1/", "http://198.19.0.1/",
        "http://0.0.0.0/", "http://[::]/", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "http://[::7f00:1]/",
        "http://[64:ff9b::a00:1]/", "http://[2002:a00:1::]/", "http://[2001:0:1::1]/", "http://[fe80::2]/",
        "http://[fd12::1]/", "http://[ff05::1]/", "http://localhost/", "http://LocalHost./", "http://x.localhost/",
        "http://wiki/", "http://db.internal/", "http://metadata.goog/", "http://１２７．０．０．１/", "http://①②⑦.0.0.1/",
        "http://ｌocalhost/", "http://168.63.129.16/", "http://api.svc/", "http://printer.local/",
    ],
)  # fmt: skip
def test_an_address_that_shows_that_it_leads_inside_is_refused(url: str) -> None:
    with pytest.raises(InsideBadAddress, match="private network"):
        canonical(url, allow_private=False)


@pytest.mark.parametrize(
    "url",
    [
        "", "http://", "https:///x", "//example.org/", "example.org", "http:example.org", "http:/example.org/",
        "file:///etc/passwd", "ftp://example.org/", "javascript:alert(1)", "http+unix://%2Fvar%2Frun/x",
        "http://user@example.org/", "http://user:secret@example.org/", "http://example.org@127.0.0.1/",
        "http://example.org:22/", "http://example.org:0/", "http://example.org:70000/", "http://example.org:x/",
        "http://exam ple.org/", "http://example.org\t.net/", "http://example.org\\@127.0.0.1/", "http://example.org/\r\n",
        "http://127.0.0.1%00.example.org/", "http://%31%32%37.0.0.1/", "http://[fe80::1%25eth0]/", "http://[example.org]/",
        "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://a.b.0x7f/",
        "http://exa_mple..org/", "http://example.org/\u200b", "http://-\u00ad.example/",
        "https://example.org/" + "x" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_address_for_reading_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(BadAddress) as refused:
        canonical(url, allow_private=False)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("HTTPS://EXAMPLE.ORG", "https://example.org/"),
        ("https://example.org.:443/a#part", "https://example.org/a"),
        ("http://example.org:8080/a?b=c&d", "http://example.org:8080/a?b=c&d"),
        ("https://bücher.example/ü?q=日本", "https://xn--bcher-kva.example/%C3%BC?q=%E6%97%A5%E6%9C%AC"),
        ("https://example.org/a%20b?next=http://127.0.0.1/", "https://example.org/a%20b?next=http://127.0.0.1/"),
        ("https://[2606:4700:4700:0::1111]/", "https://[2606:4700:4700::1111]/"),
        ("https://localhost.example.org/", "https://localhost.example.org/"),
        ("https://10.example.org/", "https://10.example.org/"),
        ("https://1.1.1.1/", "https://1.1.1.1/"),
    ],
)
def test_an_address_of_the_internet_has_one_spelling(url: str, spelled: str) -> None:
    assert canonical(url, allow_private=False).url == spelled
    assert canonical(spelled, allow_private=False).url == spelled


def test_where_private_addresses_are_allowed_any_port_and_name_of_theirs_is() -> None:
    assert canonical("http://wiki:8090/start", allow_private=True).url == "http://wiki:8090/start"
    with pytest.raises(BadAddress):
        canonical("http://me:secret@wiki/", allow_private=True)


# ── Connections ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], ["::ffff:10.0.0.1"], [PUBLIC, "fd00::1"]],
)
async def test_a_name_with_one_address_inside_is_not_connected_to(web: Web, answers: list[str]) -> None:
    fault = await fault_of(
        "http://rebound.example:8080/",
        allow_private=False,
        lookup=names({"rebound.example": answers}),
    )

    assert fault is Fault.PRIVATE_ADDRESS
    assert web.read == []


async def test_the_connection_goes_to_the_address_that_was_looked_at(web: Web) -> None:
    """The name is asked for once a connection; what it means afterwards changes nothing."""
    web.pages["/"] = "<p>here</p>"
    asked: list[str] = []

    async def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["127.0.0.99"]

    found = await read(f"http://pinned.example:{web.port}/", lookup=lookup)

    assert found.body == b"<p>here</p>"
    assert asked == ["pinned.example"]
    assert web.read[0][1]["host"] == f"pinned.example:{web.port}"


async def test_an_unknown_name_is_said(web: Web) -> None:
    with pytest.raises(NotFetched, match=r"The name gone\.example cannot be resolved") as refused:
        await read("http://gone.example/", lookup=names({}))
    assert refused.value.fault is Fault.UNREACHABLE


async def test_a_loopback_literal_is_refused_before_any_connection(web: Web) -> None:
    assert await fault_of(f"{web.url}/", allow_private=False) is Fault.PRIVATE_ADDRESS
    assert web.read == []


# ── Redirects ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_redirects_are_followed_and_the_last_address_is_told(web: Web) -> None:
    for step in range(5):
        web.pages[f"/{step}"] = Page(status=302, headers={"location": f"/{step + 1}#x"})
    web.pages["/5"] = "there"

    found = await read(f"{web.url}/0")

    assert (found.url, found.body, found.status) == (f"{web.url}/5", b"there", 200)


async def test_a_sixth_redirect_is_not_followed(web: Web) -> None:
    web.pages["/"] = Page(status=302, headers={"location": "/"})

    assert await fault_of(f"{web.url}/") is Fault.TOO_MANY_REDIRECTS
    assert len(web.read) == 6


@pytest.mark.parametrize(
    ("location", "fault"),
    [
        ("file:///etc/passwd", Fault.BAD_ADDRESS),
        ("http://user:secret@example.org/", Fault.BAD_ADDRESS),
        ("gopher://example.org/", Fault.BAD_ADDRESS),
        ("http://[::1/", Fault.BAD_ADDRESS),
    ],
)
async def test_a_redirect_to_what_is_no_address_is_not_followed(web: Web, location: str, fault: Fault) -> None:
    web.pages["/"] = Page(status=302, headers={"location": location})

    assert await fault_of(f"{web.url}/") is fault


async def test_a_redirect_that_is_not_escaped_is_followed_as_browsers_follow_it(web: Web) -> None:
    web.pages["/"] = Page(status=302, headers={"location": "/a report?of=this year"})
    web.pages["/a%20report?of=this%20year"] = "there"
    page = canonical("https://example.org/", allow_private=False)

    assert (await read(f"{web.url}/")).body == b"there"
    assert page.at("/\udcfcber", allow_private=False).url == "https://example.org/%FCber"
    with pytest.raises(BadAddress):
        page.at("https://evil example.org/", allow_private=False)


@pytest.mark.parametrize("location", ["http://169.254.169.254/latest/", "http://127.0.0.1/", "//10.0.0.1/", "//wiki/"])
def test_a_redirect_into_a_private_network_is_refused(location: str) -> None:
    page = canonical("https://example.org/a/b", allow_private=False)

    assert page.at("../c?d#e", allow_private=False).url == "https://example.org/c?d"
    with pytest.raises(InsideBadAddress):
        page.at(location, allow_private=False)


# ── What comes back ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_sent_carries_no_cookie_and_nothing_of_the_environment(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    web.pages["/"] = Page(status=302, headers={"location": "/next", "set-cookie": "a=b"})
    web.pages["/next"] = "ok"

    found = await read(f"{web.url}/", accept="text/html", headers={"if-none-match": '"x"'})

    assert found.body == b"ok"
    sent = web.read[1][1]
    assert sent["accept"] == "text/html"
    assert sent["if-none-match"] == '"x"'
    assert "cookie" not in sent
    assert "referer" not in sent


@pytest.mark.parametrize(
    ("packed", "body"),
    [
        ("gzip", gzip.compress(b"words " * 10_000)),
        ("deflate", zlib.compress(b"words " * 10_000)),
        ("deflate", zlib.compress(b"words " * 10_000)[2:-4]),
    ],
)
async def test_a_packed_page_is_unpacked(web: Web, packed: str, body: bytes) -> None:
    web.pages["/"] = Page(body, headers={"content-encoding": packed})

    assert (await read(f"{web.url}/")).body == b"words " * 10_000


@pytest.mark.parametrize("window", [zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS], ids=["gzip", "zlib", "bare"])
async def test_a_packed_page_is_unpacked_wherever_its_last_words_end(window: int) -> None:
    """Deflate repeats up to 258 bytes by one word, which may reach over the end of a piece."""

    async def sent(page: bytes) -> AsyncIterator[bytes]:
        packer = zlib.compressobj(9, zlib.DEFLATED, window)
        yield packer.compress(page) + packer.flush()

    for size in range(65_536, 65_536 + 300):
        page = b"a" * size
        assert b"".join([piece async for piece in unpacked(sent(page))]) == page


@pytest.mark.slow
async def test_a_bomb_is_refused_within_the_bound(web: Web) -> None:
    web.pages["/"] = Page(gzip.compress(b"\0" * 200_000_000, 9), headers={"content-encoding": "gzip"})

    assert await fault_of(f"{web.url}/", max_bytes=1_000_000) is Fault.TOO_BIG


@pytest.mark.parametrize(
    "page",
    [
        Page(b"not gzip at all", headers={"content-encoding": "gzip"}),
        Page(gzip.compress(os.urandom(5_000))[:2_000], headers={"content-encoding": "gzip"}),
        Page(b"x", headers={"content-encoding": "br"}),
    ],
)
async def test_what_cannot_be_unpacked_is_said(web: Web, page: Page) -> None:
    web.pages["/"] = page

    assert await fault_of(f"{web.url}/") in (Fault.UNREACHABLE, Fault.UNREADABLE)


async def test_more_than_the_bound_is_refused_and_exactly_the_bound_is_taken(web: Web) -> None:
    web.pages["/"] = b"x" * 1_000

    assert len((await read(f"{web.url}/", max_bytes=1_000)).body) == 1_000
    assert await fault_of(f"{web.url}/", max_bytes=999) is Fault.TOO_BIG


async def test_whoever_says_nothing_is_left(web: Web) -> None:
    web.pages["/"] = web.hang

    assert await fault_of(f"{web.url}/", timeout_s=0.3) is Fault.TIMED_OUT


async def test_any_status_is_told_with_its_page(web: Web) -> None:
    web.pages["/"] = Page(b"%PDF", 410, "application/pdf", {"ETag": '"7"'})

    found = await read(f"{web.url}/")

    assert (found.status, found.content_type, found.headers["etag"]) == (410, "application/pdf", '"7"')


def test_addresses_of_both_kinds_come_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"2": socket.AF_INET6, "9": socket.AF_INET}
    found = [
        (kinds[address[0]], socket.SOCK_STREAM, 6, "", (address, 443))
        for address in ("2001:db8::1", "2001:db8::2", "2001:db8::3", "93.184.215.14", "93.184.215.14")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_asked, **_more: found)

    assert sockets.asked_of_dns("some.example", 443) == ["2001:db8::1", "93.184.215.14", "2001:db8::2", "2001:db8::3"]
