"""The wiring's registration: its commands, and what must hold once every app is loaded."""

from django.apps import AppConfig


class HyperAgentConfig(AppConfig):
    name = "hyperagent"
    default_auto_field = "django.db.models.BigAutoField"
