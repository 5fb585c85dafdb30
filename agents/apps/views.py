"""The way from a conversation to its app's preview: looked up among one's own, started where it sleeps, and gone to."""

from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

import structlog
from csp.constants import SELF
from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_GET

from agents.apps import records
from agents.apps.records import AppRow
from agents.apps.starting import NotStarted, PortTaken, Server, answering, launch, listens
from agents.runtime.driven import About
from agents.sandbox.base import BoxType, SandboxError
from agents.sandbox.host.client import sandbox_host
from hyperagent.accounts.models import User
from hyperagent.lib.threads import in_thread

log = structlog.get_logger(__name__)

LOCAL: Final = ("localhost", "127.0.0.1", "[::1]", "::1")
NO_ORIGIN: Final = gettext_noop(
    "Previews are shown on an origin of their own, and this installation has no name for it. An administrator sets "
    "PREVIEW_HOST to a name of which every subdomain leads here, such as previews.example.org."
)


@require_GET
@xframe_options_exempt  # the chat page shows what it leads to in a frame, or why it leads nowhere
async def preview(request: HttpRequest, app_id: UUID) -> HttpResponseBase:
    """GET /previews/<id>/"""
    user = await request.auser()
    if not isinstance(user, User):
        return redirect_to_login(request.path)
    app = await in_thread(records.of_user)(user.pk, app_id)
    if app is None:
        raise Http404
    if not (address := address_of(app, request)):
        return _cannot(request, _(NO_ORIGIN), status=503)
    try:
        await _awake(app)
    except NotStarted as error:
        return _cannot(
            request,
            _("The app could not be started. {message} Ask for it to be mended.").format(message=error.message),
            status=502,
        )
    except SandboxError as error:
        return _cannot(request, error.message, status=503)
    return HttpResponseRedirect(address)


def address_of(app: AppRow, request: HttpRequest) -> str:
    """Where the app is shown; empty if there is no name for it. The port and scheme are those of this page."""
    suffix = settings.CONFIG.preview_name
    here = urlsplit(f"//{request.get_host()}")
    if not suffix or (suffix == "localhost" and (here.hostname or "") not in LOCAL):
        return ""
    port = f":{here.port}" if here.port else ""
    return f"{request.scheme}://{app.label}.{suffix}{port}/"


async def _awake(app: AppRow) -> None:
    """It is started once, however many windows of it are opened at a time, and whoever leaves them.

    Raises NotStarted and SandboxError.
    """
    about = About(app.id, user_id=app.user_id, conversation_id=app.task_id)
    box = await sandbox_host().box(about, BoxType.APP)
    if await listens(box, app.port):
        return
    server = Server(app.started)
    if not await box.running(server.id):
        try:
            server = await launch(box, app.command, port=app.port)
        except PortTaken:
            # By another window, since the look above.
            return
        kept = await in_thread(records.started_again)(app, server.id)
        if kept is None or kept.started != server.id:
            await box.stop(server.id)
            server = Server(kept.started if kept else "")
        else:
            log.info("preview.started_again", app=str(app.id))
    await answering(box, server, port=app.port)


def _cannot(request: HttpRequest, why: str, *, status: int) -> HttpResponseBase:
    """It is read in the frame that would have shown the app."""
    said = render(request, "agents/no_preview.html", {"message": why}, status=status)
    return csp_replace({"frame-ancestors": [SELF]})(lambda _: said)(request)
