"""The accounts app's registration, and its part of what is kept of a person."""

from django.apps import AppConfig

from hyperagent.accounts.personal import register


class AccountsConfig(AppConfig):
    name = "hyperagent.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register("hyperagent.accounts.own_part.AccountPart")
