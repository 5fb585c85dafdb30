"""What the tables say of connected servers, for runs: which tools an agent has, and whether one may still be called.

Synchronous, for threads, but for `has_any`. Every question begins with whose run it is.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

import structlog
from django.db.models import QuerySet
from psycopg import AsyncConnection

from agents.mcp.definitions import Risk
from agents.mcp.having import has_servers
from agents.mcp.models import McpServer, McpTool, ServerKind
from agents.mcp.sealing import opened
from agents.mcp.values import Offered, ServerConfig, review_of
from hyperagent.lib.outside.addresses import BadAddress, canonical

log = structlog.get_logger(__name__)

MOST_TOOLS: Final = 64
MOST_CHARS: Final = 80_000
"""Of descriptions and schemas that one agent is given: each of its requests carries them."""
TITLE_CHARS: Final = 80


def config_of(server: McpServer) -> ServerConfig:
    """With its secrets. Raises Unreadable."""
    hidden = opened(server.sealed)
    return replace(
        bare_config(server),
        headers=hidden.get("headers", {}),
        env=hidden.get("env", {}),
        has_oauth=bool(hidden.get("oauth")),
    )


def bare_config(server: McpServer) -> ServerConfig:
    return ServerConfig(
        server_id=server.id,
        name=server.name,
        kind="http" if server.kind == ServerKind.HTTP else "stdio",
        url=server.url,
        is_inner=server.is_inner,
        command=server.command,
        args=tuple(server.args),
        folder=server.folder,
    )


def server_of(config: ServerConfig, rows: QuerySet[McpServer]) -> McpServer | None:
    """Its row, while that is the server that this config is of: one that was moved meanwhile is another. One query."""
    found = rows.filter(id=config.server_id).first()
    return found if found is not None and bare_config(found).where == config.where else None


_HAS_ANY: Final = f"SELECT {has_servers('%s')}"


async def has_any(connection: AsyncConnection[Any], user_id: UUID | None) -> bool:
    cursor = await connection.execute(_HAS_ANY, [user_id])
    row = await cursor.fetchone()
    return bool(row and row[0])


def offered_to(user_id: UUID | None) -> dict[str, list[Offered]]:
    """By agent, the tools that runs of this person may call, in the order of their names. One query."""
    found = _shares(user_id)
    if left := {agent: len(share.beyond) for agent, share in found.items() if share.beyond}:
        log.warning("mcp.tools_left_out", count_by_agent=left)
    return {agent: sorted(share.given, key=lambda one: one.called) for agent, share in found.items() if share.given}


def left_out(user_id: UUID | None) -> dict[str, list[str]]:
    """The tools that may be called, and that agents in runs of this person are not given all the same: by the name of
    the tool, those agents. One query."""
    found: dict[str, list[str]] = {}
    for agent, share in sorted(_shares(user_id).items()):
        for called in share.beyond:
            found.setdefault(called, []).append(agent)
    return found


@dataclass
class _Share:
    """What one agent is given, and the names of what is beyond its bounds."""

    given: list[Offered] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    chars: int = 0

    def add(self, one: Offered) -> None:
        size = len(one.description) + len(str(one.parameters))
        if len(self.given) >= MOST_TOOLS or self.chars + size > MOST_CHARS:
            self.beyond.append(one.called)
            return
        self.given.append(one)
        self.chars += size


def _shares(user_id: UUID | None) -> dict[str, _Share]:
    """By agent. First the tools that are the person's own, then those of the installation; the last names are those
    that go beyond the bounds."""
    usable = McpTool.objects.usable().filter(server__in=McpServer.objects.of_runs_of(user_id)).select_related("server")
    found: dict[str, _Share] = {}
    for tool in sorted(usable, key=lambda tool: (not tool.server.is_own, tool.called)):
        one = _offered(tool)
        for agent in tool.server.agents:
            found.setdefault(agent, _Share()).add(one)
    return found


def callable_config(offered: Offered, user_id: UUID | None) -> ServerConfig | None:
    """How its server is reached, if the tool may be called as it was offered; None if that is not so any more.

    Raises Unreadable.
    """
    servers = McpServer.objects.of_runs_of(user_id).filter(id=offered.server_id)
    tool = McpTool.objects.usable().filter(server__in=servers, name=offered.name).select_related("server").first()
    if tool is None or _offered(tool).review != offered.review:
        return None
    return config_of(tool.server)


def _host_of(server: McpServer) -> str:
    """Empty for a program, and for an address that is none."""
    if not server.url:
        return ""
    try:
        return canonical(server.url, allow_private=True, any_port=True).host
    except BadAddress:
        return ""


def _offered(tool: McpTool) -> Offered:
    now, risk = tool.now, Risk(tool.risk)
    return Offered(
        called=tool.called,
        server_id=tool.server.id,
        server=tool.server.name,
        name=tool.name,
        description=now.description or now.title,
        parameters=now.parameters,
        pin=tool.pin,
        risk=risk,
        requires_approval=tool.requires_approval,
        host=_host_of(tool.server),
        title=now.title[:TITLE_CHARS],
        review=review_of(bare_config(tool.server), pin=tool.pin, risk=risk, requires_approval=tool.requires_approval),
    )
