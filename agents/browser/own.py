"""The provider `Browser`: which addresses may be opened, and whoever steers the browsers, opened when first needed."""

import asyncio
from collections.abc import Callable, Collection
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from agents.browser import chromium
from agents.browser.patience import Patience
from agents.browser.values import SeenPage, Touching
from agents.runtime.driven import About
from agents.sandbox.host.client import SandboxHost
from agents.tools.tool import ToolError
from hyperagent.lib.outside.addresses import BadAddress, canonical

if TYPE_CHECKING:
    from agents.browser.steering import Steering


class OwnBrowser:
    """`private`: `host:port` of one's own networks that may be opened beside the web; the same as the host's."""

    def __init__(
        self, host: Callable[[], SandboxHost], *, private: Collection[str] = (), patience: Patience | None = None
    ) -> None:
        self._host = host
        self._private = frozenset(private)
        self._patience = patience or Patience()
        self._steers: Steering | None = None

    async def why_not_for(self, about: About) -> str:
        return await self._host().why_not()

    async def navigate(self, about: About, url: str) -> SeenPage:
        try:
            address = canonical(url.strip(), allow_private=True)
            if f"{address.host}:{address.port}" not in self._private:
                address = canonical(url.strip(), allow_private=False)
        except BadAddress as fault:
            raise ToolError(str(fault)) from None
        return await (await self._steering()).navigate(about, address)

    async def look(self, about: About) -> SeenPage:
        return await (await self._steering()).look(about)

    async def described(self, about: About, target: str) -> str:
        return await (await self._steering()).described(about, target)

    async def at_point(self, about: About, x: int, y: int) -> str:
        return await (await self._steering()).at_point(about, x, y)

    async def focused(self, about: About) -> str:
        return await (await self._steering()).focused(about)

    async def click(self, about: About, on: str, *, at: tuple[int, int] | None, touching: Touching) -> SeenPage:
        return await (await self._steering()).click(about, on, at=at, touching=touching)

    async def type(self, about: About, on: str, text: str, *, submit: bool, touching: Touching) -> SeenPage:
        return await (await self._steering()).type(about, on, text, submit=submit, touching=touching)

    async def press(self, about: About, on: str, key: str, *, touching: Touching) -> SeenPage:
        return await (await self._steering()).press(about, on, key, touching=touching)

    async def scroll(self, about: About, direction: Literal["up", "down"], screens: float) -> SeenPage:
        return await (await self._steering()).scroll(about, direction, screens)

    async def close(self) -> None:
        """Gives up all connections; the browsers go on."""
        if self._steers is not None:
            await self._steers.close()

    async def _steering(self) -> "Steering":
        if self._steers is None:
            try:
                # In a thread: while its library loads, all runs of the process would stand still.
                steering = await asyncio.to_thread(import_module, "agents.browser.steering")
            except ImportError:
                raise ToolError(chromium.NO_PLAYWRIGHT) from None
            # Of two calls that waited for the library the first one's holds.
            self._steers = self._steers or steering.Steering(self._host, self._patience)
        return self._steers
