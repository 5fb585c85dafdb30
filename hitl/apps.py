"""The hitl app's registration, its part of what is kept of a person, and whom news of requests still concern."""

from importlib import import_module

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
        telling = import_module("hitl.telling")  # known once the tables are
        ask_before((MailKind.REQUEST_WAITING, MailKind.REQUEST_REMINDER), telling.waits_for)
        ask_before_telling((EventType.APPROVAL_REQUESTED, EventType.APPROVAL_EXPIRING), telling.shows)
