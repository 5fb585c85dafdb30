"""Chromium in a desktop box: which one, how it is started, and the way to it. Knows no Playwright and no tool."""

import asyncio
import json
import re
import shutil
from collections import deque
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import structlog

from agents.apps.exchange import BadAnswer, Exchange
from agents.sandbox.base import Box, BoxGone, Command, SandboxError, Stream
from agents.sandbox.specs import WEB_PORT
from hyperagent.lib import conf
from hyperagent.lib.conf import Config

log = structlog.get_logger(__name__)

DEBUGGING_PORT: Final = 9222
WIDTH, HEIGHT = 1280, 800
STARTS_WITHIN_S: Final = 30.0
LIVES_S: Final = 24 * 3600.0
"""Of the browser; its box ends it earlier, when nobody uses it."""
_LOOK_EVERY_S: Final = 0.1
_ANSWER_BYTES: Final = 1 << 20
_NAME: Final = re.compile(r"[\w-]{1,100}")
_ANSWERS_WITHIN_S: Final = 10.0

# The program itself, for the script of that name reads what is not there in a box. Boxes see of the host's programs
# those below /usr only.
_PROGRAMS: Final = (
    "/usr/lib/chromium/chromium-headless-shell",  # the same pages for a fifth of the work
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib64/chromium-browser/chromium-browser",
)
_FLAGS: Final = (
    "--headless",
    # The box is its sandbox: its own needs namespaces, which programs in a box cannot make.
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-breakpad",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    "--no-default-browser-check",
    "--mute-audio",
    "--hide-scrollbars",
    "--deny-permission-prompts",
    "--log-level=3",
    "--disk-cache-size=50000000",
    "--user-data-dir=/tmp/browser/profile",
    f"--window-size={WIDTH},{HEIGHT}",
    f"--remote-debugging-port={DEBUGGING_PORT}",
    # The one way out; also for what a page calls localhost, where the browser itself can be steered.
    f"--proxy-server=http://127.0.0.1:{WEB_PORT}",
    "--proxy-bypass-list=<-loopback>",
)
# What it writes is not kept in snapshots: those have the home folder.
_ENV: Final = {"HOME": "/tmp/browser"}  # noqa: S108 - a folder of the box

NOT_LOCAL: Final = (
    "The browser works in sandboxes of this machine only: an administrator can set SANDBOX_PROVIDER to local."
)
NO_CHROMIUM: Final = (
    "The browser needs Chromium, which is not installed on this machine. An administrator installs the package "
    "chromium-headless-shell or chromium."
)
NO_PLAYWRIGHT: Final = (
    "The browser needs the Python package playwright, which is not installed. An administrator installs it."
)
NOT_STARTED: Final = "The browser did not start. Try again; if it fails again, do without it."


def why_off(config: Config) -> str:
    """What can be told without asking the host: why no browser can be had; else empty."""
    if config.sandbox_provider is not conf.SandboxProvider.LOCAL:
        return NOT_LOCAL
    if program() is None:
        return NO_CHROMIUM
    return "" if find_spec("playwright") else NO_PLAYWRIGHT


def program() -> str | None:
    named = (shutil.which(name) for name in ("chromium", "chromium-browser"))
    found = [Path(path) for path in (*_PROGRAMS, *filter(None, named))]
    return next((str(path) for path in found if path.is_file() and not _is_script(path)), None)


def _is_script(path: Path) -> bool:
    with path.open("rb") as opened:
        return opened.read(2) == b"#!"


async def running(box: Box) -> str:
    """The path of the socket by which the browser in this box is steered; empty if none runs. Raises BoxGone."""
    told = await asked(box, "/json/version")
    address = told.get("webSocketDebuggerUrl") if isinstance(told, dict) else None
    name = str(address or "").rpartition("/")[2]
    return f"/devtools/browser/{name}" if _NAME.fullmatch(name) else ""


async def asked(box: Box, path: str) -> Any:
    """What the browser in this box says of itself, as JSON; None if none runs, or says nothing. Raises BoxGone."""
    try:
        reader, writer = await box.connect(DEBUGGING_PORT)
    except BoxGone:
        raise
    except SandboxError:
        return None
    exchange = Exchange(reader, writer)
    try:
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            await exchange.ask("GET", path.encode(), [(b"Host", b"127.0.0.1"), (b"Connection", b"close")])
            await exchange.head()
            said = b""
            async for piece in exchange.body():
                said += piece
                if len(said) > _ANSWER_BYTES:
                    return None
        return json.loads(said)
    except (BadAnswer, OSError, ValueError, RecursionError):
        return None
    finally:
        exchange.close()


async def started(box: Box) -> str:
    """The same, of one that is started if none runs. Raises SandboxError."""
    if path := await running(box):
        return path
    chromium = program()
    if chromium is None:
        raise SandboxError(NO_CHROMIUM)
    said: deque[str] = deque(maxlen=40)

    def heard(_: Stream, text: str) -> None:
        said.append(text)

    id_ = await box.start(Command((chromium, *_FLAGS, "about:blank"), env=_ENV, wall_s=LIVES_S), heard=heard)
    until = asyncio.get_running_loop().time() + STARTS_WITHIN_S
    while not (path := await running(box)):
        if not await box.running(id_) or asyncio.get_running_loop().time() > until:
            await box.stop(id_)
            log.warning("browser.not_started", said="".join(said)[-2_000:])
            raise SandboxError(NOT_STARTED)
        await asyncio.sleep(_LOOK_EVERY_S)
    return path
