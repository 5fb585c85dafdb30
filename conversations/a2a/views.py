"""The card that everybody may read, and the door for other programs' agents: a token opens it, a browser's cookie does
not. Imports no protocol before somebody asks.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import APIException, ParseError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.availability import why_unavailable
from agents.registry import specs
from conversations.a2a.switch import check_is_on
from hyperagent.accounts.authentication import HasScope, TokenAuthentication
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import Scope
from hyperagent.lib import outage
from hyperagent.lib.api import exception_handler
from hyperagent.lib.async_api import AsyncAnswerView

CARD_KEPT_S = 300


class _WhereOn(APIView):
    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        check_is_on()
        super().initial(request, *args, **kwargs)


class AgentCard(_WhereOn):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """Who can be asked here, and how: nothing of anybody."""
        from conversations.a2a.card import card_of  # imports a2a

        able = [spec for spec in specs().values() if not why_unavailable(spec, None)]
        card = card_of(able, address=f"{settings.CONFIG.site_url}/a2a")
        return Response(card, headers={"Cache-Control": f"public, max-age={CARD_KEPT_S}"})


class AgentToAgent(AsyncAnswerView, _WhereOn):
    authentication_classes = (TokenAuthentication,)
    permission_classes = (HasScope(Scope.RUN),)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        return _told_error

    @extend_schema(exclude=True)
    def post(self, request: Request) -> HttpResponseBase:
        """One JSON-RPC call of the Agent2Agent protocol."""
        from conversations.a2a import answering  # imports a2a

        assert isinstance(request.user, User)
        try:
            body = request.data
        except ParseError as error:
            return answering.unreadable(str(error.detail))
        return answering.answered(request.user, body, version=request.headers.get("a2a-version", ""))


def _told_error(error: Exception, context: dict[str, Any]) -> Response | None:
    """What goes wrong before a call is read is HTTP's to say; an outage is told in the protocol's words, too."""
    answer = exception_handler(error, context)
    if answer is not None and outage.is_outage(error):
        from conversations.a2a import answering  # imports a2a

        answer.data = answering.away(_body_of(context.get("request")))
    return answer


def _body_of(request: Request | None) -> Any:
    try:
        return request.data if request is not None else None
    except (APIException, RequestDataTooBig):
        return None
