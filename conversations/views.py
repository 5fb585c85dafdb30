"""The chat page. What it shows comes from the API and the socket; here is only who looks, and at what."""

import os
import uuid
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from agents.modes import available_modes
from conversations.models import Conversation
from hyperagent.accounts.models import User
from hyperagent.lib.llm.config import LLMSettings

BUNDLED_NOTICE = (
    "A small bundled model answers, because no provider is configured. It is good for trying things out, not for facts."
)
NO_MODEL_NOTICE = "No model is configured, so nothing can be answered. An administrator sets one in the environment."


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def chat(request: HttpRequest, conversation_id: uuid.UUID | None = None) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    if conversation_id and not Conversation.objects.of(user).filter(id=conversation_id).exists():
        raise Http404
    return render(request, "conversations/chat.html", {"page_data": _page_data(user, conversation_id)})


def _page_data(user: User, conversation_id: uuid.UUID | None) -> dict[str, Any]:
    return {
        "user": {"id": str(user.pk), "email": user.email, "display_name": user.display_name, "is_staff": user.is_staff},
        "conversation_id": str(conversation_id) if conversation_id else None,
        "model_notice": model_notice(),
        "max_question_chars": settings.CONFIG.max_question_chars,
        "modes": available_modes(),
    }


@cache
def model_notice() -> str | None:
    """What people should know of the model that answers them; None if there is nothing to say."""
    models = LLMSettings.from_env(os.environ)
    if models.bundled_only:
        return BUNDLED_NOTICE
    return None if models.default else NO_MODEL_NOTICE
