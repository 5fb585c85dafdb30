"""The chat page. What it shows comes from the API and the socket; here is only who looks, and at what."""

import os
import uuid
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from agents.availability import modes_lacking
from agents.modes import available_modes
from conversations import reading
from conversations.api.serializers import ConversationSerializer
from conversations.models import Conversation
from conversations.sharing import actions as sharing
from hyperagent.accounts.models import User
from hyperagent.accounts.templatetags import frame
from hyperagent.lib.llm.config import LLMSettings
from memory.models import Document, Project

BUNDLED_NOTICE = gettext_noop("A small built-in model answers here. It is good for trying things out, not for facts.")
MOST_PROJECTS = 300
MOST_PINNED = 100
NO_MODEL_NOTICE = gettext_noop(
    "No model is configured, so nothing can be answered. An administrator sets one in the environment."
)


@never_cache
@ensure_csrf_cookie
@login_required
@require_safe
def chat(request: HttpRequest, conversation_id: uuid.UUID | None = None) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)
    opened = reading.conversations_of(user).filter(id=conversation_id).first() if conversation_id else None
    if conversation_id and opened is None:
        raise Http404
    return render(request, "conversations/chat.html", {"page_data": _page_data(user, opened, request.GET)})


def _page_data(user: User, opened: Conversation | None, asked: QueryDict) -> dict[str, Any]:
    """`asked`: what the address says of a conversation that is yet to begin, such as its project."""
    projects = [{"id": str(pk), "name": name} for pk, name in _projects(user)]
    return {
        "user": {
            "id": str(user.pk),
            "email": user.email,
            "display_name": user.display_name,
            "initials": user.initials,
            "is_staff": user.is_staff,
        },
        "frame": frame.of_chat(user),
        "conversation_id": str(opened.pk) if opened else None,
        "conversation": ConversationSerializer(opened).data if opened else None,
        "projects": projects,
        "project": None if opened else next((one for one in projects if one["id"] == asked.get("project")), None),
        "is_model_small": model_notice() == BUNDLED_NOTICE,
        "model_notice": _(notice) if (notice := model_notice()) else None,
        "max_question_chars": settings.CONFIG.max_question_chars,
        "max_document_bytes": settings.CONFIG.document_max_bytes,
        "modes": available_modes(),
        "modes_lacking": _lacking(),
        "sharing": sharing.is_on(),
        "pinned": _pinned(user),
        "has_documents": Document.objects.seen_by(user).exists(),
    }


def _projects(user: User) -> QuerySet[Project, tuple[uuid.UUID, str]]:
    """Those that the reader may choose from: more than anybody has."""
    return Project.objects.seen_by(user).values_list("pk", "name")[:MOST_PROJECTS]


def _pinned(user: User) -> list[dict[str, Any]]:
    """They stand above the list, whose first page may not have them."""
    rows = reading.conversations_of(user).exclude(pinned_at=None).filter(is_temporary=False)[:MOST_PINNED]
    return list(ConversationSerializer(rows, many=True).data)


@cache
def _lacking() -> dict[str, str]:
    """By mode, what its skill lacks here."""
    return modes_lacking()


@cache
def model_notice() -> str | None:
    """What people should know of the model that answers them; None if there is nothing to say."""
    models = LLMSettings.from_env(os.environ)
    if models.bundled_only:
        return BUNDLED_NOTICE
    return None if models.default else NO_MODEL_NOTICE
