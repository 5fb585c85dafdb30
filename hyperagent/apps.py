"""The wiring's registration: its commands, and what must hold once every app is loaded."""

from typing import Any

import structlog
from django.apps import AppConfig, apps
from django.contrib import admin
from django.http import HttpRequest
from django_structlog.signals import bind_extra_request_metadata

from hyperagent.lib import labels


class HyperAgentConfig(AppConfig):
    name = "hyperagent"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # The last app of all. The queue's own pages would load pickles, and run any function that is typed in.
        for model in apps.get_app_config("django_q").get_models():
            if admin.site.is_registered(model):
                admin.site.unregister(model)
        labels.put_words(admin.site._registry)
        bind_extra_request_metadata.connect(_log_address)


def _log_address(request: HttpRequest, **_: Any) -> None:
    """The one that our proxies saw. django-structlog's own guess believes whatever a client writes into the header."""
    from hyperagent.accounts.requests import address_of  # its models exist only once every app is loaded

    structlog.contextvars.bind_contextvars(ip=address_of(request))
