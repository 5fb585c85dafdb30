"""Watching the browser of one's own conversation, as it is at this moment."""

from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.browser.watching import frame as frame_of
from agents.sandbox.base import BoxType, SandboxError
from agents.sandbox.host.client import HostedBox, sandbox_host
from hyperagent.accounts.models import User
from hyperagent.lib.threads import in_thread
from memory.workspaces.places import talks


@require_GET
@never_cache
async def watch(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """GET /browser/<conversation>/"""
    user = await request.auser()
    if not isinstance(user, User):
        return redirect_to_login(request.path)
    title = await _title(user, conversation_id)
    runs = await _box(user, conversation_id) is not None
    # In a thread: the page's head asks who the reader is.
    return await in_thread(render)(request, "agents/browser.html", {"title": title, "runs": runs})


@require_GET
@never_cache
async def frame(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """GET /browser/<conversation>/frame.jpg"""
    user = await request.auser()
    if not isinstance(user, User):
        raise Http404
    await _title(user, conversation_id)
    box = await _box(user, conversation_id)
    try:
        taken = await frame_of(box) if box is not None else b""
    except SandboxError:
        taken = b""
    if not taken:
        raise Http404
    return HttpResponse(taken, content_type="image/jpeg", headers={"X-Content-Type-Options": "nosniff"})


async def _title(user: User, conversation_id: UUID) -> str:
    """Of a conversation that is this user's own. Raises Http404."""
    talk = (await in_thread(talks)(user.pk, [conversation_id])).get(conversation_id)
    if talk is None or talk.user_id != user.pk:
        raise Http404
    return talk.title


async def _box(user: User, conversation_id: UUID) -> HostedBox | None:
    """None also where nobody holds boxes on this machine."""
    try:
        return await sandbox_host().existing(user.pk, conversation_id, BoxType.DESKTOP)
    except SandboxError:
        return None
