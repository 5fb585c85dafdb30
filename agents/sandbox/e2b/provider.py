"""Boxes of the service E2B, by its SDK: computers that E2B runs, to be paid for, reached over the internet.

Not tried against the real service: that takes an account. It is tested against E2B's own protocol on this machine, as
the SDK speaks it. What it cannot: doors (so no scripts that call tools), folders of the host, connections to a port of
the box (so no preview of apps); limits are those of E2B's template. The internet is closed to programs.
"""

import asyncio
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import structlog

from agents.sandbox.base import HOME, WITHOUT_NETWORK, Box, BoxGone, BoxSpec, SandboxError, Stream
from agents.sandbox.remote.box import GONE, RemoteBox

log = structlog.get_logger(__name__)

LIVES_S: Final = 3_600
"""After so long E2B ends it by itself, should nobody say otherwise."""
_RENEW_S: Final = 600
_TRY_S: Final = 20.0
_OPENING_S: Final = 300.0
"""Longer than anybody waits for a box. Of one that was made and not told of nobody would know, and it is paid for."""


class E2BSandbox:
    """`template`: of E2B; empty for its own. `options`: of the connection, for the SDK."""

    name = "e2b"

    def __init__(self, *, api_key: str, template: str = "", **options: Any) -> None:
        self._template = template
        self._options = {"api_key": api_key, **options}

    async def why_not(self) -> str:
        """Whether the account answers. No box is opened for it: each is paid for."""
        from e2b_code_interpreter import AsyncSandbox  # type: ignore[import-untyped]

        try:
            async with asyncio.timeout(_TRY_S):
                await AsyncSandbox.list(limit=1, **self._options).next_items()
        except Exception as error:  # noqa: BLE001 (the SDK's are many, and all of them mean no)
            return f"E2B does not answer, or not to this E2B_API_KEY: {type(error).__name__}: {error}"[:500]
        return ""

    async def open(self, spec: BoxSpec) -> Box:
        from e2b_code_interpreter import AsyncSandbox

        try:
            sandbox = await AsyncSandbox.create(
                template=self._template or None,
                timeout=LIVES_S,
                metadata={"key": spec.key},
                allow_internet_access=False,
                **{"request_timeout": _OPENING_S, **self._options},
            )
        except Exception as error:
            raise SandboxError(f"E2B opened no sandbox: {type(error).__name__}: {error}"[:500]) from error
        box = RemoteBox(spec, _Computer(sandbox))
        try:
            await box.prepare()
        except BaseException:
            await box.close()
            raise
        return box


class _Computer:
    """The `Machine` of a RemoteBox."""

    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox
        self._renewed_at = time.monotonic()

    async def execute(
        self, argv: Sequence[str], *, env: Mapping[str, str], told: Callable[[Stream, bytes], None]
    ) -> int:
        from e2b import CommandExitException

        await self._renew()
        handle = await self._asked(
            self._sandbox.commands.run(
                shlex.join(argv),
                background=True,
                envs={**WITHOUT_NETWORK, **env},
                cwd=HOME,
                timeout=0,
                on_stdout=lambda text: told("stdout", text.encode("utf-8", "replace")),
                on_stderr=lambda text: told("stderr", text.encode("utf-8", "replace")),
            )
        )
        try:
            return int((await self._asked(handle.wait())).exit_code)
        except CommandExitException as error:
            return int(error.exit_code)
        finally:
            await handle.disconnect()

    async def put(self, path: str, content: bytes) -> None:
        await self._asked(self._sandbox.files.write(path, content))

    async def get(self, path: str, *, max_bytes: int) -> bytes:
        content = bytes(await self._asked(self._sandbox.files.read(path, format="bytes")))
        if len(content) > max_bytes:
            raise SandboxError(f"{path!r} has more than {max_bytes:,} bytes")
        return content

    async def relay(self, argv: Sequence[str]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        raise SandboxError(
            "nothing can be connected to in sandboxes of E2B; for previews set SANDBOX_PROVIDER to local or docker"
        )

    async def destroy(self) -> None:
        try:
            await self._sandbox.kill(request_timeout=_TRY_S)
        except Exception as error:
            raise SandboxError(f"E2B did not end the sandbox: {error}"[:500]) from error

    async def _renew(self) -> None:
        if time.monotonic() - self._renewed_at > _RENEW_S:
            await self._asked(self._sandbox.set_timeout(LIVES_S))
            self._renewed_at = time.monotonic()

    async def _asked(self, asking: Any) -> Any:
        from e2b import CommandExitException

        try:
            return await asking
        except CommandExitException:
            raise
        except Exception as error:
            if await self._is_gone():
                raise BoxGone(GONE) from error
            raise SandboxError(f"E2B: {type(error).__name__}: {error}"[:500]) from error

    async def _is_gone(self) -> bool:
        """Not while nobody can be asked."""
        try:
            return not await self._sandbox.is_running(request_timeout=_TRY_S)
        except Exception as error:  # noqa: BLE001 (likewise)
            log.warning("sandbox.e2b_not_asked", why=str(error))
            return False
