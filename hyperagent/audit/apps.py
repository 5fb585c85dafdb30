"""The audit app's registration. It hears of looks at content by a port of `hyperagent.lib`."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "hyperagent.audit"
    label = "audit"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Its models exist only now.
        from hyperagent.audit.admin_changes import looked
        from hyperagent.lib import looks

        looks.tell(looked)
