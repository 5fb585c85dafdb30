"""How this installation reaches programs, and how it is signed in: what `connecting` asks for. Open this file late."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid5

from agents.mcp.oauth import kept_sign_in
from agents.mcp.programs import OpensBoxes, program
from agents.mcp.values import ServerConfig
from agents.runtime.driven import About
from agents.sandbox.base import BoxType
from agents.sandbox.host.client import HostedBox, sandbox_host
from hyperagent.lib.outside.http_client import Auth

_BOXES: Final = UUID("6f0e4e36-9d0b-4c1c-8a3b-7f52b2d0a7c4")

SignedIn = Callable[[ServerConfig], Auth | None]


def _kept(config: ServerConfig) -> Auth | None:
    return kept_sign_in(config) if config.has_oauth else None


@dataclass(frozen=True, slots=True)
class Ways:
    """The `Transports` of `connecting`."""

    open_box: OpensBoxes
    signed_in: SignedIn

    def program(self, config: ServerConfig) -> AbstractAsyncContextManager[Any]:
        return program(config, self.open_box)

    def auth(self, config: ServerConfig) -> Auth | None:
        return self.signed_in(config)


def ways_of(user_id: UUID | None, *, signed_in: SignedIn = _kept) -> Ways:
    """For this person: the boxes of programs are theirs alone. `signed_in`: how, where a server asks who we are."""

    async def open_box(config: ServerConfig) -> HostedBox:
        task = uuid5(_BOXES, config.where)
        return await sandbox_host().box(About(task, user_id=user_id), BoxType.CODE, task_id=task, run_seconds=False)

    return Ways(open_box, signed_in)
