"""Leads whoever needs a second factor to it before anything else. Not there at all where nobody needs one."""

from typing import Final, cast

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from hyperagent.accounts.mfa.session_marks import is_settled
from hyperagent.accounts.models import User
from hyperagent.lib.middleware import OfBothKinds
from hyperagent.lib.refusals import error_object
from hyperagent.lib.sign_on import RequiredFor

# What has to be open so that one can get there, and leave.
OPEN: Final = ("/settings/security/second-factor/", "/settings/security/confirm/", "/accounts/", "/static/")
PROGRAMS: Final = ("/api/", "/v1/")


class SecondFactorFirst(OfBothKinds):
    """After the middleware that knows who it is."""

    def now(self, request: HttpRequest) -> HttpResponseBase:
        return _led_away(request) or cast(HttpResponseBase, self.get_response(request))

    async def later(self, request: HttpRequest) -> HttpResponseBase:
        if settings.MFA_REQUIRED_FOR != RequiredFor.NONE and (away := await sync_to_async(_led_away)(request)):
            return away
        return cast(HttpResponseBase, await self.get_response(request))


def _led_away(request: HttpRequest) -> HttpResponse | None:
    if settings.MFA_REQUIRED_FOR == RequiredFor.NONE or request.path.startswith(OPEN):
        return None
    user = request.user
    if not isinstance(user, User) or is_settled(user, request.session):
        return None
    if request.path.startswith(PROGRAMS):
        message = _("This account needs a second factor first. Open the settings, and set one up under Security.")
        return JsonResponse({"error": error_object("second_factor_required", message)}, status=403)
    target = {"next": request.get_full_path()} if request.method in ("GET", "HEAD") else {}
    answer = redirect("settings:second_factor")
    if target:
        answer["Location"] += f"?{urlencode(target)}"
    return answer
