"""What is handed from table to connection, and what a run notes of the tools that it has. Plain values."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from agents.engine.canonical import canonical
from agents.mcp.definitions import Risk


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server as it is connected to. `url`: of one at an address; `command`, `args`, `folder`: of a program. Secrets
    are opened, and shown by nothing."""

    server_id: UUID
    name: str
    kind: Literal["http", "stdio"]
    url: str = ""
    is_inner: bool = False
    command: str = ""
    args: tuple[str, ...] = ()
    folder: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    has_oauth: bool = False

    @property
    def key(self) -> str:
        """Changes with whatever decides what is at the other end, secrets included."""
        return _digest([*self._where(), dict(self.headers), dict(self.env), self.is_inner])

    @property
    def where(self) -> str:
        """Changes with the address or the program: a review holds for the server that it was made of."""
        return _digest(self._where())

    def _where(self) -> list[Any]:
        return [str(self.server_id), self.kind, self.url, self.command, list(self.args), self.folder]


class Offered(BaseModel):
    """A tool that an agent of a run has, as it was when the agent began; noted, so that a replay has the same.

    `review`: what somebody had reviewed and decided, as one hash: the call is refused once that is another.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    called: str
    server_id: UUID
    server: str
    name: str
    description: str
    parameters: dict[str, Any]
    pin: str
    risk: Risk
    requires_approval: bool
    review: str
    host: str = ""
    """Where the server is at an address."""
    title: str = ""
    """What the server calls it, for people."""


def review_of(config: ServerConfig, *, pin: str, risk: Risk, requires_approval: bool) -> str:
    return _digest([config.where, pin, risk.value, requires_approval])


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
