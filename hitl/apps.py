"""The hitl app's registration."""

from django.apps import AppConfig


class HitlConfig(AppConfig):
    name = "hitl"
    default_auto_field = "django.db.models.BigAutoField"
