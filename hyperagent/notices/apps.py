"""The notices app's registration, and its part of what is kept of a person."""

from django.apps import AppConfig

from hyperagent.accounts.personal import register


class NoticesConfig(AppConfig):
    name = "hyperagent.notices"
    label = "notices"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register("hyperagent.notices.personal_part.NoticesPart")
