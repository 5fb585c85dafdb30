"""Signing in to servers that ask for it, by OAuth 2.1 as the mcp library does it (discovery, registration, PKCE).

What it gave is kept sealed with the server. The person's way through the browser is in `signing_in`. Imports mcp: open
this file late.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError, TokenStorage
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

from agents.mcp import turns
from agents.mcp.connecting import NotConnected
from agents.mcp.models import McpServer
from agents.mcp.reading import server_of
from agents.mcp.sealing import opened, sealed
from agents.mcp.values import ServerConfig
from hyperagent.lib.secrets import Unreadable
from hyperagent.lib.threads import in_thread

CALLBACK: Final = "/settings/mcp/signed-in/"
# A little before its time is over, so that it does not end on its way.
_EARLY_S: Final = 30.0
RENEWAL_S: Final = 20.0
"""Of silence, while tokens are renewed: whoever has the turn holds up all others that call the server."""
_LOOK_EVERY_S: Final = 0.2


def kept_sign_in(config: ServerConfig) -> OAuthClientProvider:
    """For calls: with what an earlier sign-in gave, renewed as long as the server does. Nobody is asked: a server that
    wants a person again fails the connection."""

    async def nobody(*_: Any) -> Any:
        raise OAuthFlowError("nobody is there to sign in")

    return provider_of(config, shown=nobody, came_back=nobody)


def provider_of(
    config: ServerConfig,
    *,
    shown: Callable[[str], Awaitable[None]],
    came_back: Callable[[], Awaitable[AuthorizationCodeResult]],
) -> OAuthClientProvider:
    """`shown`: gets the address that a person has to open. `came_back`: waits for what they bring."""
    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "HyperAgent",
            "redirect_uris": [f"{settings.SITE_URL}{CALLBACK}"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        }
    )
    kept = _Kept(config)
    provider = _Remembering(config.url, metadata, kept, shown, came_back)
    kept.provider = provider
    return provider


class _Remembering(OAuthClientProvider):
    """The library forgets between two processes where tokens are renewed, and until when they are good; and it renews
    them whoever else does so at the same time."""

    _is_reminded = False

    async def _auth_flow(self, request: Any) -> Any:
        """The library's, in which tokens are renewed by one at a time (`turns`). Whoever comes second goes on with what
        the first was given; so does one whose token the server has taken back since."""
        kept = self.context.storage
        assert isinstance(kept, _Kept)
        if not self._is_reminded:
            self._is_reminded = True
            await in_thread(_remind)(self)
        turn = await self._turn(kept.config)
        flow, may_try_anew = super()._auth_flow(request), True
        try:
            outgoing = await anext(flow)
            while True:
                if outgoing is request:
                    await _give_back(kept.config, turn)
                    turn = None
                elif turn is not None:
                    outgoing.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), RENEWAL_S)
                answer = yield outgoing
                if turn is not None and _is_busy(answer.status_code):
                    why = f"'{kept.config.name}' could not renew its sign-in just now ({answer.status_code})."
                    raise NotConnected(f"{why} Try again in a moment.")
                if outgoing is request and answer.status_code == 401 and may_try_anew:
                    may_try_anew = False
                    if await self._is_given_newer(kept.config):
                        self._add_auth_header(request)
                        answer = yield request
                outgoing = await flow.asend(answer)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()
            await asyncio.shield(_give_back(kept.config, turn))

    async def _turn(self, config: ServerConfig) -> datetime | None:
        """Until when it is ours to renew the tokens; None where there is nothing to renew, any more."""
        if not self._initialized:
            await self._initialize()
        while not self.context.is_token_valid() and self.context.can_refresh_token():
            turn = await in_thread(turns.take)(config)
            self._adopt(turn.kept)
            if turn.until is not None or turn.is_fresh or not turn.kept:
                return turn.until
            await asyncio.sleep(_LOOK_EVERY_S)
        return None

    async def _is_given_newer(self, config: ServerConfig) -> bool:
        """Somebody else has got a token since ours was stored."""
        had = self.context.current_tokens
        self._adopt(await in_thread(_read)(config))
        now = self.context.current_tokens
        return had is not None and now is not None and now.access_token != had.access_token

    def _adopt(self, kept: dict[str, Any]) -> None:
        if kept.get("tokens") and kept.get("client"):
            self.context.current_tokens = OAuthToken.model_validate(kept["tokens"])
            self.context.token_expiry_time = kept.get("expires_at")
            self.context.client_info = OAuthClientInformationFull.model_validate(kept["client"])


def _is_busy(status: int) -> bool:
    """It says nothing about the tokens, which the library would forget."""
    return status in (408, 425, 429) or status >= 500


async def _give_back(config: ServerConfig, turn: datetime | None) -> None:
    if turn is not None:
        await in_thread(turns.give_back)(config, turn)


class _Kept(TokenStorage):
    """In the sealed column of the server's row, as long as it is the server that this began with."""

    provider: OAuthClientProvider | None = None

    def __init__(self, config: ServerConfig) -> None:
        self.config = config

    async def get_tokens(self) -> OAuthToken | None:
        found = (await in_thread(_read)(self.config)).get("tokens")
        return OAuthToken.model_validate(found) if found else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        assert self.provider is not None
        context = self.provider.context
        values = {
            "tokens": tokens.model_dump(mode="json", exclude_none=True),
            "expires_at": time.time() + tokens.expires_in - _EARLY_S if tokens.expires_in else None,
            "metadata": _dumped(context.oauth_metadata),
            "resource": _dumped(context.protected_resource_metadata),
        }
        await in_thread(_write)(self.config, values)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        found = (await in_thread(_read)(self.config)).get("client")
        return OAuthClientInformationFull.model_validate(found) if found else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await in_thread(_write)(self.config, {"client": _dumped(client_info)})


def _dumped(value: Any) -> Any:
    return None if value is None else value.model_dump(mode="json", exclude_none=True)


def _remind(provider: OAuthClientProvider) -> None:
    kept = provider.context.storage
    assert isinstance(kept, _Kept)
    found, context = _read(kept.config), provider.context
    context.token_expiry_time = found.get("expires_at")
    if found.get("metadata"):
        context.oauth_metadata = OAuthMetadata.model_validate(found["metadata"])
    if found.get("resource"):
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(found["resource"])


def _read(config: ServerConfig) -> dict[str, Any]:
    server = server_of(config, McpServer.objects.all())
    try:
        found: dict[str, Any] = opened(server.sealed).get("oauth", {}) if server else {}
    except Unreadable:
        return {}
    return found


def _write(config: ServerConfig, values: dict[str, Any]) -> None:
    """Adds to what is kept. A server that is gone by now, or another one, keeps nothing."""
    with transaction.atomic():
        server = server_of(config, McpServer.objects.select_for_update(no_key=True))
        if server is None:
            return
        try:
            hidden = opened(server.sealed)
        except Unreadable:
            hidden = {}
        server.sealed = sealed({**hidden, "oauth": {**hidden.get("oauth", {}), **values}})
        server.save(update_fields=["sealed"])
