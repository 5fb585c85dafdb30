"""The hitl app's registration, its part of what is kept of a person, and whom news of requests still concern."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any
from uuid import UUID

from django.apps import AppConfig

from hyperagent.accounts.personal import register
from hyperagent.notices.kinds import EventType, MailKind
from hyperagent.notices.matters import ask_before, ask_before_telling


class HitlConfig(AppConfig):
    name = "hitl"
    verbose_name = "People in the loop"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register("hitl.personal_part.RequestsPart")
        ask_before((MailKind.REQUEST_WAITING, MailKind.REQUEST_REMINDER), _waits_for)
        ask_before_telling((EventType.APPROVAL_REQUESTED, EventType.APPROVAL_EXPIRING), _shows)


def _waits_for(user_id: UUID, subject_id: str) -> bool:
    """Known once the tables are."""
    waits: bool = import_module("hitl.telling").waits_for(user_id, subject_id)
    return waits


def _shows(user_id: UUID, data: Mapping[str, Any]) -> bool:
    shows: bool = import_module("hitl.telling").shows(user_id, data)
    return shows
