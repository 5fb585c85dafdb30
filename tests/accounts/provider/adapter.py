"""What the provider says of people beyond the usual: whatever the test wants it to."""

from typing import Any

from allauth.idp.oidc.adapter import DefaultOIDCAdapter

from tests.accounts.provider.serve import WORLD


class Adapter(DefaultOIDCAdapter):  # type: ignore[misc]
    def get_claims(self, purpose: Any, user: Any, client: Any, scopes: Any, **more: Any) -> dict[str, Any]:
        claims: dict[str, Any] = super().get_claims(purpose, user, client, scopes, **more)
        claims.update(WORLD["claims"].get(purpose, {}))
        return claims
