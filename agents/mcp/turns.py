"""Whose turn it is to renew a server's tokens. A server may take back the old ones with each renewal, so that of two
who renew at once one loses its tokens, or both.

A turn is a time in the server's row, by the database's clock. It is taken and given back in short transactions; none is
open, and no connection is held, while the server is asked. Whoever dies with a turn has it until its time is over, and
then the next takes it. What the server had given them by then, and they had not yet stored, is lost: where it has taken
back the old tokens with it, a person has to sign in again.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models.functions import Now

from agents.mcp.models import McpServer
from agents.mcp.reading import server_of
from agents.mcp.sealing import opened
from agents.mcp.values import ServerConfig
from hyperagent.lib.secrets import Unreadable

TURN_S: Final = 60.0
"""Longer than a renewal may take; see `oauth.RENEWAL_S`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """`until`: None where somebody else has it, or nothing is to be renewed. `kept`: what is stored of the sign-in now;
    empty where the server is gone, or is another one."""

    until: datetime | None
    kept: dict[str, Any]

    @property
    def is_fresh(self) -> bool:
        """Somebody has renewed it by now."""
        expires_at = self.kept.get("expires_at")
        return bool(self.kept.get("tokens")) and (expires_at is None or time.time() <= expires_at)


def take(config: ServerConfig) -> Turn:
    """A turn, unless somebody has it, or has had it meanwhile."""
    with transaction.atomic():
        rows = McpServer.objects.select_for_update(no_key=True).annotate(now=Now())
        server: Any = server_of(config, rows)
        if server is None:
            return Turn(None, {})
        try:
            kept = opened(server.sealed).get("oauth", {})
        except Unreadable:
            return Turn(None, {})
        turn = Turn(None, kept)
        if turn.is_fresh or (server.renewing_until is not None and server.renewing_until > server.now):
            return turn
        server.renewing_until = server.now + timedelta(seconds=TURN_S)
        server.save(update_fields=["renewing_until"])
        return Turn(server.renewing_until, kept)


def give_back(config: ServerConfig, until: datetime) -> None:
    """Nothing where it is somebody else's by now."""
    McpServer.objects.filter(id=config.server_id, renewing_until=until).update(renewing_until=None)
