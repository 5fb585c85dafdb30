"""Who steers: one driver for all browsers of a process, and nobody's trouble is another's."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agents.browser.patience import Patience
from agents.browser.steering import Steering
from agents.runtime.driven import About
from agents.sandbox.base import BoxType, SandboxError
from agents.tools.tool import ToolError
from tests import chromium

PAGE = "data:text/html,Hello"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0")


class Loopback:
    """Stands for a box whose browser listens at a port of this machine. Who steers it is let in by `may_come`: the
    first question is only whether there is one.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.questions = 0
        self.came = asyncio.Event()
        self.may_come = asyncio.Event()
        self.is_broken = False

    async def connect(self, port: int) -> Any:
        self.questions += 1
        if self.questions > 1:
            self.came.set()
            await self.may_come.wait()
            if self.is_broken:
                raise SandboxError("The box is broken.")
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def remember(self, kept: Any) -> None:
        pass


class Boxes:
    """Stands for the host, by user."""

    def __init__(self) -> None:
        self.of: dict[Any, Loopback] = {}

    async def existing(self, user_id: Any, task_id: Any, box_type: BoxType) -> Loopback:
        return self.of[user_id]


@asynccontextmanager
async def a_browser(folder: Path) -> AsyncIterator[int]:
    """The port at which it can be steered."""
    told = folder / "DevToolsActivePort"
    command = (chromium.EXECUTABLE, *FLAGS, f"--user-data-dir={folder}", PAGE)
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL, start_new_session=True)
    try:
        async with asyncio.timeout(30):
            while not told.exists() or not told.read_text():
                await asyncio.sleep(0.02)
        yield int(told.read_text().splitlines()[0])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


@pytest.mark.spec("S196")
async def test_a_browser_that_cannot_be_steered_cuts_off_nobody_who_is_about_to_steer_another(tmp_path: Path) -> None:
    boxes: Any = Boxes()
    alice, bob = (About(uuid4(), user_id=uuid4(), conversation_id=uuid4()) for _ in range(2))
    steering = Steering(lambda: boxes, Patience())
    async with a_browser(tmp_path) as port:
        alices, bobs = boxes.of[alice.user_id], boxes.of[bob.user_id] = Loopback(port), Loopback(port)
        looking = asyncio.ensure_future(steering.look(alice))
        await alices.came.wait()
        bobs.is_broken = True
        bobs.may_come.set()

        with pytest.raises(ToolError):
            await steering.look(bob)

        alices.may_come.set()
        assert (await looking).url == PAGE
        await steering.close()
