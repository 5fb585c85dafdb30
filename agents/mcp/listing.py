"""Keeps what a server says of its tools: new ones are off, changed ones are off until reviewed again, and those that it
names no more are gone. Synchronous, idempotent; decides nothing else.
"""

from django.db import transaction
from django.db.models.functions import Now

from agents.mcp.definitions import Definition, called
from agents.mcp.models import McpServer, McpTool, ServerState
from agents.mcp.reading import server_of
from agents.mcp.sessions import Listing
from agents.mcp.values import ServerConfig


def keep(config: ServerConfig, found: Listing) -> None:
    """The server may be gone by now, or another one. Three queries, and one for each tool that is new or another."""
    with transaction.atomic():
        server = server_of(config, McpServer.objects.select_for_update(no_key=True))
        if server is None:
            return
        known = {tool.name: tool for tool in server.tools.all()}
        for one in found.tools:
            _keep(server, one, known)
        listed = {one.name for one in found.tools}
        server.tools.filter(gone_at=None).exclude(name__in=listed).update(gone_at=Now())
        McpServer.objects.filter(id=server.id).update(
            state=ServerState.CONNECTED, last_error="\n".join(found.faults), listed_at=Now()
        )


def keep_failure(config: ServerConfig, message: str, *, needs_sign_in: bool) -> None:
    state = ServerState.NEEDS_SIGN_IN if needs_sign_in else ServerState.FAILED
    if server_of(config, McpServer.objects.all()) is not None:
        McpServer.objects.filter(id=config.server_id).update(state=state, last_error=message)


def _keep(server: McpServer, one: Definition, known: dict[str, McpTool]) -> None:
    before = known.get(one.name)
    if before is not None:
        if before.pin != one.pin or before.gone_at is not None:
            before.definition, before.pin, before.gone_at = one.model_dump(mode="json"), one.pin, None
            before.save(update_fields=["definition", "pin", "gone_at"])
        return
    taken = {tool.called for tool in known.values()}
    known[one.name] = McpTool.objects.create(
        server=server,
        name=one.name,
        called=called(server.name, one.name, own=server.is_own, taken=taken),
        definition=one.model_dump(mode="json"),
        pin=one.pin,
        risk=one.risk.value,
    )
