"""The hitl app's registration, and its part of what is kept of a person."""

from django.apps import AppConfig

from hyperagent.accounts.personal import register


class HitlConfig(AppConfig):
    name = "hitl"
    verbose_name = "People in the loop"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register("hitl.personal_part.RequestsPart")
