"""The address `/mcp`: who may come in, how often, and how much they may send, as at the API. A token is needed: a
browser's cookie opens nothing here.
"""

from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from conversations.handshake import is_trusted
from hyperagent.accounts.authentication import HasScope, TokenAuthentication
from hyperagent.accounts.models import ApiToken, User
from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.tokens import scopes_of
from hyperagent.lib.async_api import AsyncAnswerView, Later
from hyperagent.lib.refusals import NotAllowed

PASSED_ON = ("accept", "content-type", "mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name")


class ModelContextProtocol(AsyncAnswerView):
    authentication_classes = (TokenAuthentication,)
    permission_classes = (HasScope(Scope.RUN, Scope.READ, Scope.APPROVE, Scope.DOCUMENTS),)

    @extend_schema(exclude=True)
    def post(self, request: Request) -> HttpResponseBase:
        """One message of the Model Context Protocol (Streamable HTTP, without sessions)."""
        bare: HttpRequest = request._request
        _check_origin(bare)
        user, token = request.user, request.auth
        assert isinstance(user, User)
        scopes = scopes_of(user, token if isinstance(token, ApiToken) else None)
        passed_on = {name: value for name, value in bare.headers.items() if name.lower() in PASSED_ON}
        body = bare.body

        async def answer() -> HttpResponseBase:
            from conversations.mcp.serving import served  # a second of import, for whoever is the first

            return await served(user, scopes, method="POST", path=bare.path, headers=passed_on, body=body)

        return Later(answer)


def _check_origin(request: HttpRequest) -> None:
    """A page in a browser says where it comes from; one of elsewhere has no business here, whatever token it has."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    try:
        parts = urlsplit(origin)
        is_ours = parts.netloc == request.get_host() or is_trusted(parts)
    except ValueError:
        is_ours = False
    if not is_ours:
        raise NotAllowed("foreign_origin", "Pages of other sites may not call this.")
