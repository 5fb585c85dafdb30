"""Calls to servers that an administrator configured: a search service, OAuth endpoints, a mail provider's API.

Their addresses may be private, for an administrator chose them; what follows an address that people, pages or models
chose goes by `fetching`. No redirect is followed, no cookie kept, no proxy asked. Knows no service and no secret.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import orjson
import stamina

from hyperagent.lib.outside.addresses import BadAddress, canonical
from hyperagent.lib.outside.fetching import USER_AGENT, Fault, NotFetched, body_of
from hyperagent.lib.text import clean_text

if TYPE_CHECKING:
    import aiohttp

LONGEST_WAIT_S: Final = 30.0
"""Longer than this no server's Retry-After is waited for: its answer is given back as it is."""
_SHORTEST_WAIT_S: Final = 0.05
_BUSY: Final = (429, 500, 502, 503, 504)
_SHOWN_CHARS: Final = 300


class NotAnswered(Exception):
    """There is no answer, or none within the bounds; the message is a sentence for people and holds no secret."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class NotJson(ValueError):
    """The answer is there and no JSON; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Any status, for what it means is the caller's to say. `headers`: their names in lower case. `body`: unpacked."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return clean_text(self.body.decode("utf-8", errors="replace"))

    def json(self) -> Any:
        """Raises NotJson."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            raise NotJson(f"It answered {self.status} with {_described(self)} in place of JSON.") from None


class _Busy(Exception):
    """This came of an attempt, and the server may do better in a moment."""

    def __init__(self, outcome: Answer | NotAnswered) -> None:
        super().__init__()
        self.outcome = outcome


async def call(
    method: str,
    url: str,
    *,
    json: Any = None,
    form: Mapping[str, str] | None = None,
    content: tuple[bytes, str] | None = None,
    params: Mapping[str, str | int] | None = None,
    headers: Mapping[str, str] | None = None,
    max_bytes: int,
    timeout_s: float,
    retries: int = 0,
) -> Answer:
    """One call, its body JSON, a form, or bytes with their type. `max_bytes`: of the answer, unpacked; more is refused,
    not cut. `timeout_s`: of each attempt. `retries`: so many more attempts on 429, 5xx and lost connections, only for
    what may be done twice; a Retry-After of up to LONGEST_WAIT_S is waited for. Raises NotAnswered.
    """
    where = _address(url, params)
    body, kind = content or _body(json, form)
    sent = {"accept": "application/json", "accept-encoding": "gzip, deflate", "user-agent": USER_AGENT}
    sent |= {"content-type": kind} if kind else {}
    sent |= {name.lower(): value for name, value in (headers or {}).items()}

    async def attempt() -> Answer:
        return await _call(method, where, body=body, headers=sent, max_bytes=max_bytes, timeout_s=timeout_s)

    if not retries:
        return await attempt()
    try:
        async for again in stamina.retry_context(on=_wait_for, attempts=retries + 1, timeout=None, wait_max=5.0):
            with again:
                return await _unless_busy(attempt())
    except _Busy as busy:
        if isinstance(busy.outcome, NotAnswered):
            raise busy.outcome from None
        return busy.outcome
    raise AssertionError("the last attempt returns or raises")


def retry_after_s(value: str) -> float | None:
    """The seconds of a Retry-After header, which holds a number or a date; None if it holds neither."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def _wait_for(error: Exception) -> bool | float:
    """Whether there is another attempt, or after how many seconds."""
    if not isinstance(error, _Busy):
        return False
    wait_s = retry_after_s(error.outcome.headers.get("retry-after", "")) if isinstance(error.outcome, Answer) else None
    if wait_s is None:
        return True
    return max(wait_s, _SHORTEST_WAIT_S) if wait_s <= LONGEST_WAIT_S else False


async def _unless_busy(attempt: Awaitable[Answer]) -> Answer:
    try:
        answer = await attempt
    except NotAnswered as error:
        if error.fault in (Fault.UNREACHABLE, Fault.TIMED_OUT):
            raise _Busy(error) from None
        raise
    if answer.status in _BUSY:
        raise _Busy(answer)
    return answer


async def _call(
    method: str, url: str, *, body: bytes | None, headers: Mapping[str, str], max_bytes: int, timeout_s: float
) -> Answer:
    import aiohttp
    from yarl import URL

    from hyperagent.lib.outside import client  # half a second; only who calls opens this door

    session = client.guarded_session(allow_private=True, timeout_s=timeout_s, connections=1)
    try:
        async with session, asyncio.timeout(timeout_s):
            where = URL(url, encoded=True)
            async with session.request(method, where, data=body, headers=headers, allow_redirects=False) as response:
                return await _answer(response, max_bytes)
    except TimeoutError:
        raise NotAnswered(Fault.TIMED_OUT, f"No answer within {timeout_s:g} seconds.") from None
    except NotFetched as error:
        raise NotAnswered(error.fault, str(error)) from None
    except zlib.error as error:
        raise NotAnswered(Fault.UNREADABLE, f"What it sends cannot be unpacked: {error}.") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise NotAnswered(Fault.UNREACHABLE, client.words_for(error)) from None


async def _answer(response: "aiohttp.ClientResponse", max_bytes: int) -> Answer:
    body = await body_of(response, max_bytes)
    return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, body)


def _address(url: str, params: Mapping[str, str | int] | None) -> str:
    """The bound on an address is for what people and models write, not for what is asked with it."""
    try:
        base = canonical(url, allow_private=True).url
    except BadAddress as error:
        raise NotAnswered(Fault.BAD_ADDRESS, str(error)) from None
    if not params:
        return base
    return f"{base}{'&' if '?' in base else '?'}{urlencode(params)}"


def _body(json: Any, form: Mapping[str, str] | None) -> tuple[bytes | None, str]:
    if form is not None:
        return urlencode(form).encode(), "application/x-www-form-urlencoded"
    if json is not None:
        return orjson.dumps(json), "application/json"
    return None, ""


def _described(answer: Answer) -> str:
    """What came, in a few words."""
    head = answer.text.lstrip()[:_SHOWN_CHARS]
    if not head:
        return "nothing"
    if head.lower().startswith(("<!doctype html", "<html")):
        return "a web page"
    return "something else"
