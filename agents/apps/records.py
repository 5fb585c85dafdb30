"""Reads and writes the rows of apps. Synchronous; knows no box."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models.functions import Now

from agents.apps.models import App

LABEL_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
LABEL_LENGTH = 32
"""160 bits, and a name that DNS takes."""


@dataclass(frozen=True, slots=True)
class AppRow:
    """An app as others may use it."""

    id: UUID
    user_id: UUID
    task_id: UUID
    title: str
    command: str
    port: int
    label: str
    started: str
    started_at: datetime


def started(user_id: UUID, task_id: UUID, *, title: str, command: str, port: int, server: str) -> AppRow:
    """That this app was started. It keeps the origin that it has."""
    app, _ = App.objects.update_or_create(
        user_id=user_id,
        task_id=task_id,
        defaults={"title": title, "command": command, "port": port, "started": server, "started_at": Now()},
        create_defaults={
            "title": title,
            "command": command,
            "port": port,
            "started": server,
            "label": "".join(secrets.choice(LABEL_LETTERS) for _ in range(LABEL_LENGTH)),
        },
    )
    app.refresh_from_db()
    return _row(app)


def started_again(app: AppRow, server: str) -> AppRow | None:
    """The row as it is now. Where another start has come first it has theirs, not this one; None if it is gone."""
    App.objects.filter(id=app.id, started=app.started, started_at=app.started_at).update(
        started=server, started_at=Now()
    )
    return _found(id=app.id)


def of_task(user_id: UUID, task_id: UUID) -> AppRow | None:
    return _found(user_id=user_id, task_id=task_id)


def of_user(user_id: UUID, app_id: UUID) -> AppRow | None:
    """If it is theirs."""
    return _found(user_id=user_id, id=app_id)


def by_label(label: str) -> AppRow | None:
    """Whose user may still sign in."""
    return _found(label=label, user__is_active=True)


def forget_task(user_id: UUID, task_id: UUID) -> None:
    App.objects.filter(user_id=user_id, task_id=task_id).delete()


def _found(**wanted: object) -> AppRow | None:
    app = App.objects.filter(**wanted).first()
    return _row(app) if app else None


def _row(app: App) -> AppRow:
    return AppRow(
        id=app.pk,
        user_id=app.user_id,
        task_id=app.task_id,
        title=app.title,
        command=app.command,
        port=app.port,
        label=app.label,
        started=app.started,
        started_at=app.started_at,
    )
