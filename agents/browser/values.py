"""What is seen of a page, for tools. All of it but `status` is from the page's author."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Touching = Callable[[], Awaitable[None]]
"""Awaited right before something is done that cannot be taken back."""


@dataclass(frozen=True, slots=True)
class SeenPage:
    """`text`: an outline with references of what can be used. `notes`: what came in between. `picture`: a JPEG, empty
    where none could be taken. `status`: of the answer, where the page was just opened."""

    url: str
    title: str
    text: str
    notes: tuple[str, ...] = ()
    picture: bytes = b""
    status: int | None = None
