"""Posts to addresses that people chose, as webhooks are: follows no redirect, reads no more than it keeps, waits no
longer than TIMEOUT_S. Knows no table and no secret.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hyperagent.lib.text import clean_text

if TYPE_CHECKING:
    import aiohttp

TIMEOUT_S = 10.0
READ_BYTES = 2_000
GONE = 410


@dataclass(frozen=True, slots=True)
class Post:
    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """`error`: why it does not count as delivered, a sentence; empty if it does. `head`: how the answer begins."""

    status: int | None
    head: str
    error: str

    @property
    def is_gone(self) -> bool:
        return self.status == GONE


async def post_all(posts: Sequence[Post], *, allow_private: bool) -> list[Answer]:
    """All at once, in at most TIMEOUT_S. The answers stand in the order of the posts."""
    from hyperagent.lib.outside import client  # half a second; only the queue's process opens this door

    session = client.guarded_session(allow_private=allow_private, timeout_s=TIMEOUT_S, connections=len(posts))
    async with session:
        return list(await asyncio.gather(*(_post(session, post) for post in posts)))


async def _post(session: "aiohttp.ClientSession", post: Post) -> Answer:
    import aiohttp

    from hyperagent.lib.outside.client import words_for

    try:
        async with asyncio.timeout(TIMEOUT_S):
            async with session.post(post.url, data=post.body, headers=post.headers, allow_redirects=False) as response:
                head = await _head_of(response)
                return Answer(response.status, head, _fault_of(response.status))
    except TimeoutError:
        return Answer(None, "", f"No answer within {TIMEOUT_S:.0f} seconds.")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Answer(None, "", words_for(error))


async def _head_of(response: "aiohttp.ClientResponse") -> str:
    """How the answer begins. What follows is not read: the connection is closed with it."""
    head = b""
    while len(head) < READ_BYTES and (more := await response.content.read(READ_BYTES - len(head))):
        head += more
    response.close()
    return clean_text(head.decode("utf-8", errors="replace"))


def _fault_of(status: int) -> str:
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"Answered {status}, a redirect. Redirects are not followed; enter the address that it leads to."
    return f"Answered {status}. Any status from 200 to 299 counts as delivered."
