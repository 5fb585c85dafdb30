"""Calls to servers that an administrator configured."""

import gzip
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from hyperagent.lib.outside.calling import Answer, NotAnswered, NotJson, call, retry_after_s
from hyperagent.lib.outside.fetching import Fault
from tests.lib.web import Page, Web
from tests.web.service import HANGS, Said, SearchServer


async def called(method: str, url: str, **more: Any) -> Answer:
    return await call(method, url, **{"max_bytes": 1_000, "timeout_s": 5.0, **more})


async def fault_of(url: str, **more: Any) -> Fault:
    with pytest.raises(NotAnswered) as refused:
        await called("GET", url, **more)
    assert str(refused.value).endswith(".")
    return refused.value.fault


async def test_parameters_and_headers_are_sent_and_any_status_comes_back(web: Web) -> None:
    web.pages["/a?b=1&q=caf%C3%A9+%26+x"] = Page(b'{"ok": true}', 418, "application/json", {"X-Left": "3"})

    answer = await called("GET", f"{web.url}/a?b=1", params={"q": "café & x"}, headers={"Authorization": "Bearer k"})

    assert (answer.status, answer.is_ok, answer.json(), answer.headers["x-left"]) == (418, False, {"ok": True}, "3")
    sent = web.read[0][1]
    assert sent["authorization"] == "Bearer k"
    assert "cookie" not in sent


async def test_a_body_is_json_or_a_form(search: SearchServer) -> None:
    search.instead = [Said(200, b"[1]")]

    assert (await called("POST", f"{search.url}/x", json={"a": "ü"})).json() == [1]
    assert search.asked == [{"a": "ü"}]


async def test_what_is_no_json_is_said_without_repeating_it(web: Web) -> None:
    web.pages["/"] = "<html>secret</html>"

    answer = await called("GET", f"{web.url}/")

    with pytest.raises(NotJson, match="answered 200 with a web page in place of JSON") as refused:
        answer.json()
    assert "secret" not in str(refused.value)


async def test_no_redirect_is_followed_and_no_bound_passed(web: Web, search: SearchServer) -> None:
    web.pages["/moved"] = Page(status=302, headers={"location": f"{web.url}/there"})
    web.pages["/big"] = b"x" * 1_001
    web.pages["/bomb"] = Page(gzip.compress(b"\0" * 50_000_000), headers={"content-encoding": "gzip"})
    web.pages["/cut"] = Page(gzip.compress(b"x")[:-4], headers={"content-encoding": "gzip"})
    search.instead = [HANGS]

    assert (await called("GET", f"{web.url}/moved")).status == 302
    assert web.paths() == ["/moved"]
    assert await fault_of(f"{web.url}/big") is Fault.TOO_BIG
    assert await fault_of(f"{web.url}/bomb") is Fault.TOO_BIG
    assert await fault_of(f"{web.url}/cut") in (Fault.UNREADABLE, Fault.UNREACHABLE)
    assert await fault_of(f"{search.url}/search", timeout_s=0.2) is Fault.TIMED_OUT
    assert await fault_of("http://127.0.0.1:9/") is Fault.UNREACHABLE
    assert await fault_of("ftp://example.org/") is Fault.BAD_ADDRESS


async def test_a_busy_server_is_asked_again_as_often_as_allowed(search: SearchServer) -> None:
    soon = {"retry-after": "0"}
    search.instead = [Said(503, headers=soon), Said(429, headers=soon), Said(200, b"[]"), Said(429, headers=soon)]

    assert (await called("GET", f"{search.url}/x", retries=2)).status == 200
    assert len(search.asked) == 3
    assert (await called("GET", f"{search.url}/x")).status == 429
    assert len(search.asked) == 4


async def test_an_answer_that_asks_to_wait_for_long_is_given_back_at_once(search: SearchServer) -> None:
    search.instead = [Said(429, headers={"retry-after": "3600"})]

    answer = await called("GET", f"{search.url}/x", retries=3)

    assert answer.status == 429
    assert len(search.asked) == 1


def test_when_to_come_back_is_a_number_or_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)

    assert retry_after_s("7") == 7
    assert 90 < (retry_after_s(later) or 0) <= 100
    assert retry_after_s("Mon, 16 Nov 1998 08:00:00 GMT") == 0
    assert retry_after_s("soon") is None
    assert retry_after_s("") is None
    assert retry_after_s("Mon, 16 Nov 1998 08:00:00 +99999999999999999999") is None


def test_an_answers_body_is_not_in_its_name() -> None:
    assert "token" not in repr(Answer(200, {}, b'{"token": 1}'))
