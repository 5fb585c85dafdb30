"""A server that wants to know who one is: OAuth 2.1 by the library's own server side, on loopback, all in memory."""

import time
from secrets import token_urlsafe
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.mcp.servers import READS


class Consent(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Says yes to whoever comes. `granted`: the kinds of grants, in order. With `renewal_s` a renewal takes so long,
    and takes all older tokens back. So many renewals fail as `failures` says, by a fault of the server's own."""

    def __init__(self, *, renewal_s: float | None = None) -> None:
        self.renewal_s = renewal_s
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refreshing: dict[str, RefreshToken] = {}
        self.granted: list[str] = []
        self.failures = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=token_urlsafe(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        del self.codes[authorization_code.code]
        self.granted.append("code")
        return self._token(authorization_code.client_id, authorization_code.scopes)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the database of this server is away")
        del self.refreshing[refresh_token.token]
        self.granted.append("refresh")
        if self.renewal_s is not None:
            self.tokens.clear()
            await anyio.sleep(self.renewal_s)
        return self._token(refresh_token.client_id, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.tokens.pop(token.token, None)

    def _token(self, client_id: str, scopes: list[str]) -> OAuthToken:
        access, refresh = token_urlsafe(), token_urlsafe()
        self.tokens[access] = AccessToken(token=access, client_id=client_id, scopes=scopes)
        self.refreshing[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=3600, scope=" ".join(scopes))


def guarded(consent: Consent, port: int) -> MCPServer:
    address: Any = f"http://127.0.0.1:{port}"
    server = MCPServer(
        "guarded",
        auth_server_provider=consent,
        auth=AuthSettings(
            issuer_url=address,
            resource_server_url=f"{address}/mcp",
            validate_token_resource=False,
            client_registration_options=ClientRegistrationOptions(enabled=True),
        ),
    )

    @server.tool(annotations=READS)
    def whoami() -> str:
        """Says who one is."""
        return "a friend"

    return server
