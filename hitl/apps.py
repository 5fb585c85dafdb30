"""The hitl app's registration, its part of what is kept of a person, and whom mails about requests still concern."""

from importlib import import_module
from uuid import UUID

from django.apps import AppConfig

from hyperagent.accounts.personal import register
from hyperagent.notices.kinds import MailKind
from hyperagent.notices.matters import ask_before


class HitlConfig(AppConfig):
    name = "hitl"
    verbose_name = "People in the loop"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register("hitl.personal_part.RequestsPart")
        ask_before((MailKind.REQUEST_WAITING, MailKind.REQUEST_REMINDER), _waits_for)


def _waits_for(user_id: UUID, subject_id: str) -> bool:
    """Known once the tables are."""
    waits: bool = import_module("hitl.telling").waits_for(user_id, subject_id)
    return waits
