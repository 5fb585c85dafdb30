"""Web apps that agents build: a project of files in the conversation's workspace, a server in its box, and a preview on
an origin of its own. `proxy` shows it, `own` builds and starts it, `starters` are what projects begin with.

Django looks for an app's registration in a module of this name: that of `agents` stands here too, with its part of what
is kept of a person.
"""

from collections.abc import Mapping
from importlib import import_module
from uuid import UUID

from django.apps import AppConfig

from hyperagent.accounts.budgets import Limit, read_by
from hyperagent.accounts.personal import register
from hyperagent.lib.tool_labels import read_labels_by


class AgentsConfig(AppConfig):
    name = "agents"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        register("agents.personal_part.RunsPart")
        read_by(_standing_of)
        read_labels_by(_labels)


def _labels() -> Mapping[str, str]:
    """Known once the first is wanted."""
    declared: Mapping[str, str] = import_module("agents.tools.labels").declared_labels()
    return declared


def _standing_of(user_id: UUID) -> list[Limit]:
    """Known once the tables are."""
    purses = import_module("agents.usage.purses")
    standing: list[Limit] = purses.standing_of(user_id) if purses.holds_for_anybody() else []
    return standing
