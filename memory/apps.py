"""The memory app's registration, and its part of what is kept of a person."""

from django.apps import AppConfig

from hyperagent.accounts.personal import register


class MemoryConfig(AppConfig):
    name = "memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register("memory.personal_part.MemoryPart")
