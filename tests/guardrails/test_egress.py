"""Where agents may go at all, and what of a redirect is followed: by the one door that pages, the browser and connected
servers go through. Real servers on loopback.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agents.web.pages import GuardedPages
from hyperagent.lib.conf import Config
from hyperagent.lib.outside.egress import Egress
from hyperagent.lib.outside.fetching import Fault, Fetched, NotFetched, fetch
from hyperagent.lib.outside.http_client import Refused, guarded_http_client
from hyperagent.lib.outside.tunnel import Because, NotConnected, connected
from tests.lib.web import Page, Web

OURS = Egress(allowed=("ours.example", "*.ours.example"), trusted=("wiki.ours.example",))


async def loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


@pytest.fixture
def web() -> Iterator[Web]:
    served = Web()
    yield served
    served.stop()


async def read(url: str, *, egress: Egress, stays: bool = False) -> Fetched:
    return await fetch(
        url, max_bytes=10_000, timeout_s=10, allow_private=True, lookup=loopback, egress=egress, stays=stays
    )


async def fault_of(url: str, **more: Any) -> tuple[Fault, str]:
    with pytest.raises(NotFetched) as refused:
        await read(url, **more)
    return refused.value.fault, str(refused.value)


def redirecting(web: Web, to: str) -> None:
    web.pages["/here"] = Page(status=302, headers={"location": to})
    web.pages["/there"] = Page(b"there", content_type="text/plain")
    web.pages["/there?d=1"] = Page(b"data", content_type="text/plain")


@pytest.mark.parametrize(
    ("host", "is_let"),
    [
        ("ours.example", True),
        ("a.b.ours.example", True),
        ("notours.example", False),
        ("ours.example.evil.example", False),
        ("evil.example", False),
    ],
)
def test_a_host_stands_for_itself_and_a_star_for_what_is_below(host: str, is_let: bool) -> None:
    assert OURS.lets(host) is is_let
    assert Egress().lets(host)
    assert not Egress().trusts(host)


@pytest.mark.parametrize(
    "written", ["https://ours.example", "ours.example:8080", "*", "a/b", "*.*.example", "OURS.example"]
)
def test_what_is_no_host_stops_the_start_with_its_name(written: str) -> None:
    with pytest.raises(ValidationError, match="is no host"):
        Config.model_validate({"SECRET_KEY": "x" * 40, "EGRESS_ALLOW": written})


@pytest.mark.spec("S207")
@pytest.mark.threat("T12")
async def test_only_hosts_that_are_allowed_are_reached_also_by_a_redirect(web: Web) -> None:
    redirecting(web, f"http://evil.example:{web.port}/there")

    fault, said = await fault_of(f"http://evil.example:{web.port}/there", egress=OURS)
    hop, _ = await fault_of(f"http://ours.example:{web.port}/here", egress=OURS)

    assert (fault, hop) == (Fault.NOT_ALLOWED, Fault.NOT_ALLOWED)
    assert "evil.example is not among those" in said
    assert "EGRESS_ALLOW" in said
    assert web.paths() == ["/here"]
    assert (await read(f"http://wiki.ours.example:{web.port}/there", egress=OURS)).body == b"there"


@pytest.mark.threat("T12")
@pytest.mark.parametrize(
    ("to", "is_followed"),
    [
        ("http://ours.example:{port}/there?d=1", True),
        ("http://www.ours.example:{port}/there?d=1", True),
        ("/there?d=1", True),
        ("http://wiki.ours.example:{port}/there?d=1", True),  # counts as ours
        ("http://evil.example:{port}/there?d=1", False),
        ("http://ours.example.evil.example:{port}/there?d=1", False),
    ],
)
async def test_what_was_let_through_for_its_host_stays_there(web: Web, to: str, is_followed: bool) -> None:
    """`https://ours.example/out?to=https://evil.example/?d=…` would carry out what nobody agreed to."""
    redirecting(web, to.format(port=web.port))
    start = f"http://ours.example:{web.port}/here"
    anywhere = Egress(trusted=OURS.trusted)

    assert (await read(start, egress=anywhere)).body == b"data"
    web.read.clear()
    if is_followed:
        assert (await read(start, egress=anywhere, stays=True)).body == b"data"
    else:
        fault, said = await fault_of(start, egress=anywhere, stays=True)
        assert fault is Fault.ELSEWHERE
        assert "redirects to another host" in said
        assert web.paths() == ["/here"]


@pytest.mark.threat("T12", "T31")
async def test_connected_servers_and_the_browser_reach_no_other_hosts_either(web: Web, tmp_path: Path) -> None:
    client, _ = guarded_http_client(
        allow_private=True, max_bytes=1_000, max_values=10, read_timeout_s=5, lookup=loopback, egress=OURS
    )
    async with client:
        with pytest.raises(Refused, match="is not among those"):
            await client.get(f"http://evil.example:{web.port}/there")
        assert (await client.get(f"http://ours.example:{web.port}/there")).status_code == 404
    with pytest.raises(NotConnected) as refused:
        await connected("evil.example", web.port, timeout_s=5, allow_private=True, lookup=loopback, egress=OURS)
    _, writer = await connected("ours.example", web.port, timeout_s=5, allow_private=True, lookup=loopback, egress=OURS)
    writer.close()

    assert refused.value.because is Because.PROHIBITED
    assert web.paths() == ["/there"]


@pytest.mark.threat("T12")
async def test_the_installations_own_settings_hold_where_nobody_gives_others(web: Web, settings: Any) -> None:
    settings.CONFIG = settings.CONFIG.model_copy(update={"egress_allow": ("ours.example",)})
    pages = GuardedPages(allow_private=True, lookup=loopback)

    with pytest.raises(Exception, match="is not among those"):
        await pages.read(f"http://evil.example:{web.port}/there")
    assert web.paths() == []
