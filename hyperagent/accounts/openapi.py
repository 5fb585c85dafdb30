"""How the API's description names token and session. Apart from `authentication`: DRF loads that before its views."""

from typing import Any

from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension


class TokenAuthenticationScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the API's description names it."""

    target_class = "hyperagent.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API token, `ha_…`."}


class PageAuthenticationScheme(SessionScheme):  # type: ignore[no-untyped-call]
    """As DRF's own session, which it is."""

    target_class = "hyperagent.accounts.authentication.PageAuthentication"
