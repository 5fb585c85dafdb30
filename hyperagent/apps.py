"""The wiring's registration: its commands, and what must hold once every app is loaded."""

from django.apps import AppConfig, apps
from django.contrib import admin


class HyperAgentConfig(AppConfig):
    name = "hyperagent"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # The last app of all. The queue's own pages would load pickles, and run any function that is typed in.
        for model in apps.get_app_config("django_q").get_models():
            if admin.site.is_registered(model):
                admin.site.unregister(model)
