"""The notices app's registration."""

from django.apps import AppConfig


class NoticesConfig(AppConfig):
    name = "hyperagent.notices"
    label = "notices"
    default_auto_field = "django.db.models.BigAutoField"
